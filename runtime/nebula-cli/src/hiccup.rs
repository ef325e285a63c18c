//! Measures pauses of cores: loops that only read the clock, and the gaps between readings.

use std::time::Duration;

use nebula_nic::{Span, Timestamp};
use nebula_sys::affinity::{allowed_cores, pin_to};
use nebula_sys::clock::Clock;
use nebula_workload::{GapDetector, GapSummary};

use nebula_ui::output::Failure;
use nebula_ui::signal;

/// One for a client and one for a server.
const CORES: usize = 2;
/// Of each core.
const GAPS_MAX: usize = 1 << 18;

#[derive(Clone, Debug)]
pub(crate) struct CoreHiccups {
    pub(crate) core: usize,
    pub(crate) summary: GapSummary,
    /// Of the gaps of at least a microsecond.
    lengths: Vec<Span>,
}

pub(crate) fn watch(time: Duration) -> Result<Vec<CoreHiccups>, Failure> {
    let cores = allowed_cores().into_iter().take(CORES);
    let spawn = |core| std::thread::Builder::new().name(format!("nebula-watch-{core}")).spawn(move || spin(core, time));
    let threads = cores.map(spawn).collect::<Result<Vec<_>, _>>().map_err(Failure::fault)?;
    let join = |thread: std::thread::JoinHandle<_>| {
        thread.join().map_err(|_| Failure::fault("a measuring thread panicked"))?
    };
    threads.into_iter().map(join).collect()
}

fn spin(core: usize, time: Duration) -> Result<CoreHiccups, Failure> {
    pin_to(core).map_err(|error| Failure::fault(format!("cannot pin to core {core}: {error}")))?;
    let clock = Clock::new();
    let mut detector = GapDetector::new(GapDetector::COUNTED_FROM, GAPS_MAX);
    let mut now = clock.now_ps();
    let until = now.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).saturating_mul(1000));
    while now < until && !signal::has_come() {
        detector.observe(Timestamp::from_ps(now));
        now = clock.now_ps();
    }
    let lengths = detector.log().iter().map(|gap| gap.length()).collect();
    Ok(CoreHiccups { core, summary: detector.summary(), lengths })
}

/// The lowest possible p99 of an RPC that takes no time itself but needs all of these cores at a
/// random moment.
///
/// An RPC that meets a gap of length L waits for the rest of it. It waits longer than x with the
/// probability (L − x) / observed, summed over all gaps longer than x and all cores. The floor is
/// the x at which that is 1 %.
pub(crate) fn p99_floor(cores: &[CoreHiccups]) -> Span {
    let share_above = |x: Span| -> f64 { cores.iter().map(|core| core.share_waiting_longer_than(x)).sum() };
    let longest = cores.iter().map(|core| core.summary.longest.as_ps()).max().unwrap_or(0);
    let (mut below, mut beyond) = (0, longest);
    if share_above(Span::ZERO) <= 0.01 {
        return Span::ZERO;
    }
    while beyond - below > 1 {
        let middle = below + (beyond - below) / 2;
        if share_above(Span::from_ps(middle)) > 0.01 { below = middle } else { beyond = middle }
    }
    Span::from_ps(beyond)
}

impl CoreHiccups {
    fn share_waiting_longer_than(&self, x: Span) -> f64 {
        let rest: f64 = self.lengths.iter().map(|&length| length.saturating_sub(x).as_secs_f64()).sum();
        let observed = self.summary.observed.as_secs_f64();
        if observed > 0.0 { rest / observed } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_workload::GapTally;

    fn core(gaps: u64, length: Span) -> CoreHiccups {
        let mut tally = GapTally::new();
        tally.observe(Span::from_secs(1));
        (0..gaps).for_each(|_| tally.count(length));
        let lengths = vec![length; usize::try_from(gaps).unwrap()];
        CoreHiccups { core: 0, summary: tally.summary(), lengths }
    }

    #[test]
    fn a_quiet_machine_has_no_floor() {
        assert_eq!(p99_floor(&[core(1000, Span::from_us(9))]), Span::ZERO, "0.9 % of the time is below 1 %");
        assert_eq!(p99_floor(&[]), Span::ZERO);
    }

    #[test]
    fn the_floor_is_where_one_rpc_in_a_hundred_waits() {
        // 1000 gaps of 20 µs: at x the share (20 µs − x) · 1000/s is 1 % at 10 µs; of two such
        // cores at 15 µs.
        let near = |floor: Span, expected: Span| floor.as_ps().abs_diff(expected.as_ps()) <= 2;
        let one = core(1000, Span::from_us(20));
        assert!(near(p99_floor(std::slice::from_ref(&one)), Span::from_us(10)));
        assert!(near(p99_floor(&[one.clone(), one]), Span::from_us(15)));
    }
}

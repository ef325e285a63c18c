//! A sample of service times, taken while serving.
//!
//! One RPC in [`EVERY`] is timed, chosen by a hash of the clock. The latest [`KEPT`] times are
//! kept, without lock or allocation.

use std::io::Write;
use std::path::Path;

use nebula::Span;
use nebula_sys::clock::Clock;
use nebula_sys::sync::{AtomicU64, Ordering};

use nebula_ui::output::Failure;

/// Two clock reads then do not slow down every RPC.
const EVERY: u64 = 32;
const KEPT: usize = 1 << 16;

pub(super) struct ServiceTimes {
    clock: Clock,
    /// In ticks; the next index is `taken` modulo the length.
    times: Box<[AtomicU64]>,
    taken: AtomicU64,
}

impl ServiceTimes {
    pub(super) fn new() -> Self {
        let times = (0..KEPT).map(|_| AtomicU64::new(0)).collect();
        Self { clock: Clock::new(), times, taken: AtomicU64::new(0) }
    }

    #[inline]
    pub(super) fn begin(&self) -> Option<u64> {
        let ticks = self.clock.ticks();
        // Fibonacci hashing: the low bits of the counter may be constant.
        (ticks.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32).is_multiple_of(EVERY).then_some(ticks)
    }

    #[inline]
    pub(super) fn end(&self, began: u64) {
        let took = self.clock.ticks().wrapping_sub(began);
        // Relaxed: the times are read when the workers have been joined.
        let taken = self.taken.fetch_add(1, Ordering::Relaxed);
        #[expect(clippy::cast_possible_truncation, reason = "less than the number of places")]
        let place = (taken % KEPT as u64) as usize;
        self.times[place].store(took, Ordering::Relaxed);
    }

    /// Writes the times to `path` in nanoseconds, one per line, as `simulate --service trace:FILE`
    /// reads them.
    pub(super) fn write(&self, path: &Path) -> Result<(), Failure> {
        let taken = usize::try_from(self.taken.load(Ordering::Relaxed)).unwrap_or(KEPT).min(KEPT);
        let mut text = b"service_ns\n".to_vec();
        for time in &self.times[..taken] {
            let span = Span::from_ps(self.clock.ps(time.load(Ordering::Relaxed)));
            writeln!(text, "{:.3}", span.as_ns_f64())?;
        }
        std::fs::write(path, text)
            .map_err(|error| Failure::fault(format!("cannot write the service times to {}: {error}", path.display())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_workload::ServiceTime;

    #[test]
    fn some_rpcs_are_timed_and_their_times_read_back_as_a_distribution() {
        let times = ServiceTimes::new();
        let mut timed = 0;
        for _ in 0..100_000 {
            if let Some(began) = times.begin() {
                times.end(began);
                timed += 1;
            }
        }
        assert!(timed > 100 && timed < 50_000, "one in {EVERY} of 100000: {timed}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("times.csv");
        times.write(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 1 + timed);
        let service = ServiceTime::from_samples("times.csv", text.as_bytes()).unwrap();
        assert!(service.mean_ps() > 0.0);
    }
}

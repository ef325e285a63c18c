//! An observer that keeps each RPC of the window: its arrival, core, begin and end.

use super::cpu::Central;
use super::demand::Demand;
use super::length::Length;
use super::observed::{Observed, Observer};
use super::one_run::run_behind;
use super::request::Request;
use super::servers::{Ended, Received};
use crate::error::SimError;
use crate::load::Load;
use crate::system::System;
use crate::tally::Tally;
use nebula_nic::{CentralDispatch, Policy, Span, Timestamp, Verdict};
use nebula_workload::Seed;
use std::cell::RefCell;

/// One RPC of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TracedRpc {
    /// Its arrival at the server; the last one, if it was refused and tried again.
    pub arrived: Timestamp,
    /// How many RPCs it found waiting.
    pub(crate) found: u32,
    /// Its core, counted over all servers, and its begin and end; `None` if it was refused.
    pub served: Option<(usize, Timestamp, Timestamp)>,
}

/// Runs `load` as [`run`](super::run) does; returns the measured window's RPCs as sent.
///
/// # Errors
///
/// Those of [`run`](super::run); [`SimError::Trace`] if an RPC may not be served by one core from
/// begin to end: for a policy that decides again after the dispatch, and for servers behind a
/// router, a host interface or other tiers.
///
/// # Cost
///
/// That of the events of [`run_with`](super::run_with), and 56 bytes per RPC.
///
/// # Examples
///
/// ```
/// use nebula_nic::Policy;
/// use nebula_sim::{Length, Load, System, trace};
/// use nebula_workload::Seed;
///
/// let load = Load::open("exp:1us".parse()?, 0.5);
/// let rpcs = trace(&System::new(Policy::Jbsq(2), 4), &load, Length::of(1_000), Seed(1))?;
/// assert_eq!(rpcs.len(), 1_000);
/// assert!(rpcs.iter().all(|rpc| rpc.served.is_some_and(|(core, begun, _)| core < 4 && begun >= rpc.arrived)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn trace(system: &System, load: &Load, length: Length, seed: Seed) -> Result<Vec<TracedRpc>, SimError> {
    if system.costs.grow() {
        system.validate()?;
        return trace(&system.at_size(), load, length, seed);
    }
    if !is_of_one_core(system) {
        return Err(SimError::Trace { policy: system.policy_name() });
    }
    traced(system, load, length, seed, |cores, seed| system.dispatcher(cores, seed)).map(|(rpcs, _)| rpcs)
}

/// [`trace`] under any central policy, with the tally of the run.
pub(crate) fn traced<D: CentralDispatch>(
    system: &System,
    load: &Load,
    length: Length,
    seed: Seed,
    dispatch: impl Fn(u16, u64) -> D,
) -> Result<(Vec<TracedRpc>, Tally), SimError> {
    let rpcs = RefCell::default();
    let (tally, _) = run_behind(system, Demand { load, length, seed, parts: 0 }, |slots| {
        // A run that restarts with more room restarts its trace.
        *rpcs.borrow_mut() = vec![TracedRpc::default(); usize::try_from(length.rpcs).unwrap_or(0)];
        Ok(Observed::new(Central::try_new(system, slots, seed, &dispatch)?, Tracing { length, rpcs: &rpcs }))
    })?;
    Ok((rpcs.into_inner(), tally))
}

/// Whether one core serves an RPC from begin to end.
fn is_of_one_core(system: &System) -> bool {
    let decides_again =
        matches!(system.policy, Policy::WorkStealing | Policy::Preemptive(_) | Policy::Darc | Policy::Altocumulus(_));
    let is_direct = !system.is_tiered() && system.router.is_none() && system.host.is_none() && !system.has_queues();
    is_direct && (system.custom.is_some() || !decides_again)
}

struct Tracing<'a> {
    length: Length,
    rpcs: &'a RefCell<Vec<TracedRpc>>,
}

impl Tracing<'_> {
    fn note(&self, number: u64, change: impl FnOnce(&mut TracedRpc)) {
        if self.length.is_measured(number) {
            let index = usize::try_from(number - self.length.warmup).unwrap_or(usize::MAX);
            if let Some(rpc) = self.rpcs.borrow_mut().get_mut(index) {
                change(rpc);
            }
        }
    }
}

impl Observer for Tracing<'_> {
    fn note_received(&mut self, now: Timestamp, request: &Request, received: Received) {
        let is_admitted = matches!(received.verdict, Verdict::Write { .. });
        self.note(request.number, |rpc| {
            (rpc.arrived, rpc.found) = (now, received.depth);
            // An RPC that was refused and comes again has not been served.
            if !is_admitted {
                rpc.served = None;
            }
        });
    }

    fn note_ended(&mut self, now: Timestamp, ended: &Ended) {
        let queued = Span::from_ps(ended.queued_ps);
        self.note(ended.served.number, |rpc| rpc.served = ended.core.map(|core| (core, rpc.arrived + queued, now)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::run;

    const LENGTH: Length = Length::of(5_000);

    fn load() -> Load {
        Load::open("exp:1us".parse().expect("a law"), 0.8)
    }

    #[test]
    fn a_trace_is_of_the_run_that_the_tally_is_of() {
        for policy in [Policy::Jbsq(2), Policy::SingleQueue, Policy::Rss, Policy::TwoChoices] {
            let system = System::new(policy, 4);
            let rpcs = trace(&system, &load(), LENGTH, Seed(3)).expect("it runs");
            let tally = run(&system, &load(), LENGTH, Seed(3)).expect("it runs");
            let served = || rpcs.iter().filter_map(|rpc| Some((rpc.arrived, rpc.served?)));
            let sum: u64 = served().map(|(arrived, (_, _, ended))| (ended - arrived).as_ps()).sum();
            assert_eq!(served().count() as u64, tally.served);
            assert!((sum as f64 / tally.served as f64 / tally.latency.mean() - 1.0).abs() < 1e-12, "{policy}");
        }
    }

    #[test]
    fn a_core_serves_one_at_a_time() {
        let rpcs = trace(&System::new(Policy::Jbsq(2), 4), &load(), LENGTH, Seed(3)).expect("it runs");
        let mut served: Vec<_> = rpcs.iter().filter_map(|rpc| rpc.served).collect();
        served.sort_unstable();
        assert!(served.windows(2).all(|pair| pair[0].0 != pair[1].0 || pair[0].2 <= pair[1].1));
    }

    #[test]
    fn what_is_refused_has_no_core_and_other_policies_have_no_trace() {
        let bounded = System::new(Policy::Jbsq(1), 2).queue_bound(1);
        let overload = Load::open("exp:1us".parse().expect("a law"), 1.5);
        let rpcs = trace(&bounded, &overload, LENGTH, Seed(3)).expect("it runs");
        let tally = run(&bounded, &overload, LENGTH, Seed(3)).expect("it runs");
        assert_eq!(rpcs.iter().filter(|rpc| rpc.served.is_none()).count() as u64, tally.nacks);
        assert!(tally.nacks > 500);
        for policy in ["work-stealing", "preemptive:5us", "darc"] {
            let system = System::new(policy.parse().expect("a policy"), 4);
            let refused = trace(&system, &load(), LENGTH, Seed(3));
            assert!(matches!(refused, Err(SimError::Trace { .. })), "{policy}");
        }
    }
}

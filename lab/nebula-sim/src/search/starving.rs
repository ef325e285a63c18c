//! Does a system fall behind its load?

use crate::system::System;
use crate::tally::Tally;
use nebula_nic::Policy;

/// Bounds the queue of a scheduler that does not serve in order. Past saturation it starves RPCs,
/// and the run ends only at the queue's limit. No load that meets an SLO comes near this bound.
pub(crate) fn bounded(system: &System) -> System {
    match (system.policy, system.queue_bound) {
        (Policy::Preemptive(_) | Policy::Darc, None) => {
            system.clone().queue_bound(WAITING_PER_CORE * u32::from(system.workers()))
        }
        _ => system.clone(),
    }
}

pub(crate) const WAITING_PER_CORE: u32 = 64;

/// Whether a scheduler that does not serve in order meets its SLO by starving a few RPCs.
///
/// If fewer than 1 % starve, no p99 shows it. The sign is an RPC that took over half of the
/// measured window, which in a stable system is many times longer than any RPC.
pub(crate) fn is_starving(system: &System, tally: &Tally) -> bool {
    matches!(system.policy, Policy::Preemptive(_) | Policy::Darc) && tally.latency.max() > tally.window.as_ps() / 2
}

//! Does a system fall behind its load?

use crate::system::System;
use crate::tally::Tally;
use nebula_nic::Policy;

/// Past saturation, a scheduler that does not serve in order starves some RPCs, and a run would end
/// only when its queue exceeds its
/// limit. This bound ends such a run. No load that meets an SLO comes near it.
pub(crate) fn bounded(system: &System) -> System {
    match (system.policy, system.queue_bound) {
        (Policy::Preemptive(_) | Policy::Darc, None) => {
            system.clone().queue_bound(WAITING_PER_CORE * u32::from(system.workers()))
        }
        _ => system.clone(),
    }
}

pub(crate) const WAITING_PER_CORE: u32 = 64;

/// Whether a scheduler that does not serve in order meets its SLO by starving a few RPCs for as
/// long as the load lasts.
///
/// If fewer than 1 % are long, no p99 shows it. The sign is an RPC that took longer than half of
/// the measured window: in a stable system,
/// the window is many times longer than any RPC.
pub(crate) fn is_starving(system: &System, tally: &Tally) -> bool {
    matches!(system.policy, Policy::Preemptive(_) | Policy::Darc) && tally.latency.max() > tally.window.as_ps() / 2
}

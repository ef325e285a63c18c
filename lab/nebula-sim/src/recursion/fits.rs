//! Which systems and loads does a recursion simulate?

use crate::load::{Load, Source};
use crate::system::{Costs, System};
use nebula_nic::{Policy, Span};
use nebula_requester::RetryPolicy;

/// Whether the recursions are exact for a run: its times depend only on the order of arrival.
pub(crate) fn fits(system: &System, load: &Load) -> bool {
    let Costs { dispatch: _, notify: _, receive: _, decision, lock_handoff, steal, interrupt, discover, hop, per_core } =
        system.costs;
    let is_open = matches!(load.source, Source::Open { .. });
    let has_one_server = system.servers == 1 && system.router.is_none() && system.batch.is_none();
    // A refused RPC is gone, unless its client tries again.
    let admits = system.queue_bound.is_none_or(|bound| {
        (1..=BOUND_MAX).contains(&bound) && has_one_queue(system.policy) && system.reaction == RetryPolicy::GiveUp
    });
    let is_simple = decision + lock_handoff + steal + interrupt + discover + hop + per_core == Span::ZERO;
    let is_in_order = has_one_queue(system.policy) || has_queue_per_core(system.policy);
    // Nothing distinguishes cores or moments.
    let is_even = load.is_even() && load.over_time.is_none() && system.speeds.is_none() && system.host.is_none();
    is_open
        && has_one_server
        && admits
        && !system.fair_shares
        && is_simple
        && is_in_order
        && is_even
        && system.custom.is_none()
        && !system.is_tiered()
}

/// Above this bound on the queue, a server may run out of slots first.
pub(crate) const BOUND_MAX: u32 = 1 << 16;

pub(crate) const fn has_one_queue(policy: Policy) -> bool {
    matches!(policy, Policy::SingleQueue | Policy::McsLock | Policy::Jbsq(_))
}

pub(crate) const fn has_queue_per_core(policy: Policy) -> bool {
    let by_rpc = matches!(policy, Policy::Rss | Policy::Static | Policy::RoundRobin | Policy::Random | Policy::KeyHash);
    by_rpc || matches!(policy, Policy::TwoChoices)
}

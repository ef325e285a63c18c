//! Costs and limits of all servers.

use crate::error::SimError;
use crate::load::Load;
use crate::system::System;
use nebula_nic::schedule::{self, Condition, TYPES_MAX};
use nebula_nic::{Policy, Span, Timestamp};

#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub(super) workers: u16,
    pub(super) types: u8,
    pub(super) turns: Option<schedule::Preemption>,
    pub(super) stays_at_core: bool,
    pub(super) dispatcher_serves: bool,
    pub(super) depth: u32,
    // -- busy times of the dispatcher --
    pub(super) decision: Span,
    pub(super) send: Span,
    // -- latencies --
    pub(super) dispatch: Span,
    pub(super) notify: Span,
    // -- busy times of a core --
    pub(super) receive: Span,
    /// An interrupt and the context switch after it.
    pub(super) suspend: Span,
    safe_points: SafePoints,
}

/// Where code can be interrupted, and the cost of each check.
#[derive(Clone, Copy, Debug)]
struct SafePoints {
    every_ps: u64,
    check_ps: u64,
}

impl Terms {
    pub(super) fn try_new(system: &System, load: &Load) -> Result<Self, SimError> {
        let (costs, preemption) = (&system.costs, &system.preemption);
        let is_typed = system.policy == Policy::Darc || preemption.slo_services.is_some();
        let types = if is_typed { load.service.types().len() } else { 1 };
        let types = u8::try_from(types).ok().filter(|&types| types <= TYPES_MAX).ok_or(SimError::Types { types })?;
        let condition = if preemption.interrupts_always { Condition::Always } else { Condition::OthersWait };
        let turns = match system.policy {
            Policy::Preemptive(quantum) => Some(schedule::Preemption::new(quantum).condition(condition)),
            _ => None,
        };
        Ok(Self {
            workers: system.workers(),
            types,
            turns,
            stays_at_core: preemption.stays_at_core,
            dispatcher_serves: preemption.dispatcher_serves,
            depth: preemption.depth,
            decision: costs.decision,
            send: preemption.send,
            dispatch: costs.dispatch,
            notify: costs.notify,
            receive: costs.receive,
            suspend: preemption.receive + preemption.switch,
            safe_points: SafePoints {
                every_ps: preemption.safe_point_every.as_ps(),
                check_ps: preemption.safe_point_check.as_ps(),
            },
        })
    }

    /// The event sources of a server: cores, messages to and from them, the dispatcher.
    #[inline]
    pub(super) fn sources(&self) -> usize {
        usize::from(self.workers) + 3
    }

    #[inline]
    pub(super) fn deliveries(&self) -> usize {
        self.workers.into()
    }

    #[inline]
    pub(super) fn notices(&self) -> usize {
        usize::from(self.workers) + 1
    }

    #[inline]
    pub(super) fn dispatcher(&self) -> usize {
        usize::from(self.workers) + 2
    }

    #[inline]
    pub(super) fn due_at(&self, since: Timestamp) -> Timestamp {
        self.turns.map_or(NEVER, |turns| turns.due_at(since))
    }

    #[inline]
    pub(super) fn time_for(&self, service_ps: u64) -> Span {
        Span::from_ps(service_ps + scaled(service_ps, self.safe_points.check_ps, self.safe_points.every_ps))
    }

    /// Service done in this core time.
    #[inline]
    pub(super) fn service_in(&self, time: Span) -> u64 {
        let SafePoints { every_ps, check_ps } = self.safe_points;
        if check_ps == 0 { time.as_ps() } else { scaled(time.as_ps(), every_ps, every_ps + check_ps) }
    }

    /// The first safe point from `at` on, of an RPC that runs since `since`.
    #[inline]
    pub(super) fn safe_point(&self, since: Timestamp, at: Timestamp) -> Timestamp {
        let SafePoints { every_ps, check_ps } = self.safe_points;
        if every_ps == 0 {
            return at;
        }
        let step_ps = every_ps + check_ps;
        since + Span::from_ps((at - since).as_ps().div_ceil(step_ps).saturating_mul(step_ps))
    }
}

pub(super) const NEVER: Timestamp = Timestamp::from_ps(u64::MAX);

/// `value · numerator / denominator`, rounded down; 0 for a denominator of 0.
#[expect(
    clippy::cast_possible_truncation,
    reason = "checks take no longer than service by a factor that a time could not hold"
)]
#[inline]
fn scaled(value: u64, numerator: u64, denominator: u64) -> u64 {
    if numerator == 0 || denominator == 0 {
        return 0;
    }
    (u128::from(value) * u128::from(numerator) / u128::from(denominator)) as u64
}

//! `preemptive:Q`: *has the running RPC used its quantum, and where does it go?*
//!
//! If service times are unknown, short RPCs may wait behind a long one. So each RPC runs for a
//! quantum at a time and then goes to the tail of a queue, and the RPCs waiting there run first.
//! With a short enough quantum all RPCs share the core evenly, and each ends after a time
//! proportional to its length.
//!
//! The caller observes the time: with a dispatcher that sends interrupts, at safe points of the
//! code, or with a timer. All make the same call.

use super::run_queue::RunQueue;
use crate::dispatch::Quantum;
use crate::time::{Span, Timestamp};

/// Whether the end of a quantum matters when no RPC waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Condition {
    /// An RPC continues while no other waits for its core.
    #[default]
    OthersWait,
    /// An RPC is interrupted whether or not another waits.
    Always,
}

/// Where an RPC goes when its quantum is used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackTo {
    /// To the tail of the queue that it came from: any core may resume it.
    #[default]
    SharedQueue,
    /// To the tail of its core's own run queue: the same core resumes it.
    OwnCore,
}

/// What happens to an RPC in service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It continues.
    Continue,
    /// It leaves the core and joins the tail of a queue.
    Suspend(BackTo),
}

/// Decides when an RPC has used its quantum.
///
/// Source: Shinjuku: a dispatcher interrupts RPCs that have run for 5 µs, and puts them at the tail
/// of their type's queue. nanoPU: a core's thread scheduler moves a thread that has run for its
/// bound behind those that wait at the same core.
///
/// # Examples
///
/// ```
/// use nebula_nic::schedule::{BackTo, Preemption, Turn};
/// use nebula_nic::{Quantum, Span};
///
/// let shinjuku = Preemption::new(Quantum::SHINJUKU, BackTo::SharedQueue);
/// assert_eq!(shinjuku.decide(Span::from_us(5), true), Turn::Suspend(BackTo::SharedQueue));
/// assert_eq!(shinjuku.decide(Span::from_us(5), false), Turn::Continue);
/// assert_eq!(shinjuku.decide(Span::from_us(4), true), Turn::Continue);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preemption {
    quantum: Quantum,
    back_to: BackTo,
    condition: Condition,
}

impl Preemption {
    /// Interrupts after `quantum` while others wait.
    #[must_use]
    pub const fn new(quantum: Quantum, back_to: BackTo) -> Self {
        Self { quantum, back_to, condition: Condition::OthersWait }
    }

    /// Sets whether the end of a quantum matters when no RPC waits.
    #[must_use]
    pub const fn condition(mut self, condition: Condition) -> Self {
        self.condition = condition;
        self
    }

    /// The decision about an RPC that has kept its core for `used` since it was begun or resumed.
    #[must_use]
    #[inline]
    pub fn decide(&self, used: Span, others_wait: bool) -> Turn {
        let is_wanted = others_wait || self.condition == Condition::Always;
        if used >= self.quantum.span() && is_wanted { Turn::Suspend(self.back_to) } else { Turn::Continue }
    }

    /// The decision at a core with its own run queue: only RPCs in that queue wait for it.
    #[must_use]
    #[inline]
    pub fn decide_at_core<T: Copy>(&self, used: Span, queue: &RunQueue<T>) -> Turn {
        let turn = self.decide(used, queue.waiting() > 0);
        if queue.can_suspend() { turn } else { Turn::Continue }
    }

    /// When an RPC begun or resumed at `since` has used its quantum.
    #[must_use]
    #[inline]
    pub fn due_at(&self, since: Timestamp) -> Timestamp {
        since + self.quantum.span()
    }

    /// The quantum.
    #[must_use]
    pub const fn quantum(&self) -> Quantum {
        self.quantum
    }
}

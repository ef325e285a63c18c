//! `preemptive:Q`: *has the RPC that a core serves had its turn, and where does it go?*
//!
//! An RPC whose service time is not known in advance may be a long one before which short ones wait. So it is served for a quantum
//! at a time: once that is used up, it goes to the tail of a queue and what waits there comes first. With a short enough quantum all
//! RPCs share the core evenly, and a short one is done after a time in proportion to its length.
//!
//! Who looks at the time is the world's matter: a dispatcher that sends interrupts, the code itself at safe points, a timer. It asks
//! the same question.

use super::RunQueue;
use crate::dispatch::Quantum;
use crate::time::{Span, Timestamp};

/// Whether the end of a quantum counts where nobody is waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Condition {
    /// An RPC goes on while no other waits for its core.
    #[default]
    OthersWait,
    /// An RPC is interrupted whether or not another one waits.
    Always,
}

/// Where an RPC goes whose quantum is used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackTo {
    /// To the tail of the queue that it came from: any core may go on with it.
    #[default]
    SharedQueue,
    /// To the tail of its core's own run queue: the same core goes on with it.
    OwnCore,
}

/// What becomes of an RPC in service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The core goes on with it.
    Continue,
    /// It leaves the core and joins a tail.
    Suspend(BackTo),
}

/// Decides when an RPC has had its turn.
///
/// # Source
///
/// Shinjuku: a dispatcher interrupts what has run for 5 µs, to the tail of its type's queue. nanoPU: a core's thread scheduler lets
/// what has run for its bound fall behind what waits at the same core.
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

    /// Sets whether the end of a quantum counts where nobody is waiting.
    #[must_use]
    pub const fn condition(mut self, condition: Condition) -> Self {
        self.condition = condition;
        self
    }

    /// What becomes of an RPC that has kept its core for `used` since it was begun or resumed.
    #[must_use]
    #[inline]
    pub fn decide(&self, used: Span, others_wait: bool) -> Turn {
        let is_wanted = others_wait || self.condition == Condition::Always;
        if used >= self.quantum.span() && is_wanted { Turn::Suspend(self.back_to) } else { Turn::Continue }
    }

    /// What becomes of the RPC that a core with a run queue of its own serves: only what stands in that queue counts as waiting.
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

    /// How long a turn is.
    #[must_use]
    pub const fn quantum(&self) -> Quantum {
        self.quantum
    }
}

//! `preemptive:Q`: *has the running RPC used its quantum?*
//!
//! If service times are unknown, short RPCs may wait behind a long one. So each RPC runs for a
//! quantum at a time and then goes to the tail of a queue, and the RPCs waiting there run first.
//! With a short enough quantum all RPCs share the core evenly, and each ends after a time
//! proportional to its length.
//!
//! The caller observes the time: with a dispatcher that sends interrupts, at safe points of the
//! code, or with a timer. All make the same call.

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

/// Decides when an RPC has used its quantum.
///
/// Source: Shinjuku: a dispatcher interrupts RPCs that have run for 5 µs, and puts them at the tail
/// of their type's queue. nanoPU: a core's thread scheduler moves a thread that has run for its
/// bound behind those that wait at the same core.
///
/// # Examples
///
/// ```
/// use nebula_nic::schedule::Preemption;
/// use nebula_nic::{Quantum, Span};
///
/// let shinjuku = Preemption::new(Quantum::SHINJUKU);
/// assert!(shinjuku.suspends(Span::from_us(5), true));
/// assert!(!shinjuku.suspends(Span::from_us(5), false));
/// assert!(!shinjuku.suspends(Span::from_us(4), true));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preemption {
    quantum: Quantum,
    condition: Condition,
}

impl Preemption {
    /// Interrupts after `quantum` while others wait.
    #[must_use]
    pub const fn new(quantum: Quantum) -> Self {
        Self { quantum, condition: Condition::OthersWait }
    }

    setters! {
        /// Sets whether the end of a quantum matters when no RPC waits.
        condition: Condition;
    }

    /// Whether an RPC that has kept its core for `used` since it was begun or resumed is suspended,
    /// and joins the tail of a queue.
    #[must_use]
    #[inline]
    pub fn suspends(&self, used: Span, others_wait: bool) -> bool {
        used >= self.quantum.span() && (others_wait || self.condition == Condition::Always)
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

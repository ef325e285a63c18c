//! `preemptive:Q` at one core of the runtime: *which RPC runs next, which has run long enough?*
//!
//! A core's RPCs run round-robin. Each runs until it ends or says that it can be interrupted. If it
//! has then used its quantum and others wait, it goes to the tail of the core's queue, behind RPCs
//! that the core got meanwhile.
//!
//! ```text
//!   dispatched ─▶ [ fresh, suspended, fresh, … ] ─▶ runs ─▶ over
//!                            ▲                       │
//!                            └─── due, others wait ──┘
//! ```
//!
//! An RPC that has begun keeps its *context*, which the core needs to resume it, until it ends.
//! Contexts are few; once all are in use, no RPC begins before another ends, and those that have
//! begun run round-robin.

use super::preemption::Preemption;
use crate::dispatch::{JBSQ_BOUND_MAX, Quantum};
use crate::time::Timestamp;
use alloc::collections::VecDeque;

/// The most RPCs that a core can have suspended: with the running one and one behind it, they are
/// all that it can get.
pub const SUSPENDED_MAX: u32 = JBSQ_BOUND_MAX - 2;

/// Which RPC runs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The first RPC given to the core that has not begun; its context is free.
    Begin {
        /// Its context while it is suspended.
        context: u32,
    },
    /// The RPC in this context resumes.
    Resume {
        /// Its context.
        context: u32,
    },
}

/// What happens to an RPC that can be interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yielded {
    /// It keeps the core, with a new quantum if it had used one up.
    Runs,
    /// It is suspended, at the tail.
    Suspended,
}

/// The RPCs of one core, which run round-robin.
///
/// Call [`handle_dispatch`](Self::handle_dispatch) for each RPC that the core gets, and
/// [`poll_next`](Self::poll_next) while none runs. Then call [`handle_yield`](Self::handle_yield)
/// when the RPC can be interrupted, which has an effect only from [`due_at`](Self::due_at) on, and
/// [`handle_end`](Self::handle_end) when it ends. Cost: O(1), no allocation after construction.
///
/// Source: Shinjuku for the quantum and the tail; nanoPU and Concord for a queue at the core.
/// Concord's compiler inserts the checks by which an RPC itself says when it can be interrupted.
///
/// # Examples
///
/// ```
/// use nebula_nic::schedule::{Next, Turns, Yielded};
/// use nebula_nic::{Quantum, Span, Timestamp};
///
/// let mut turns = Turns::new(Quantum::SHINJUKU, 16);
/// turns.handle_dispatch(); // a long one
/// assert_eq!(turns.poll_next(Timestamp::ZERO), Some(Next::Begin { context: 0 }));
/// let due = turns.due_at();
/// assert_eq!(turns.handle_yield(due), Yielded::Runs, "nobody waits");
/// turns.handle_dispatch(); // a short one
/// assert_eq!(turns.handle_yield(due), Yielded::Runs, "its quantum has begun again");
/// assert_eq!(turns.handle_yield(due + Span::from_us(5)), Yielded::Suspended);
/// assert_eq!(turns.poll_next(due), Some(Next::Begin { context: 1 }));
/// turns.handle_end();
/// assert_eq!(turns.poll_next(due), Some(Next::Resume { context: 0 }));
/// ```
#[derive(Clone, Debug)]
pub struct Turns {
    preemption: Preemption,
    /// Queue positions of the RPCs that have not begun.
    fresh: VecDeque<u32>,
    /// Queue positions and contexts of the suspended RPCs.
    suspended: VecDeque<(u32, u32)>,
    place: u32,
    /// One bit per free context.
    free_contexts: u64,
    contexts: u32,
    running: Option<u32>,
    since: Timestamp,
}

impl Turns {
    /// An empty queue whose RPCs have a quantum of `quantum`, with at most `suspended_max`
    /// suspended at once; 0 lets each run to its end.
    ///
    /// # Panics
    ///
    /// If `suspended_max` is more than [`SUSPENDED_MAX`].
    #[must_use]
    pub fn new(quantum: Quantum, suspended_max: u32) -> Self {
        assert!(suspended_max <= SUSPENDED_MAX, "at most {SUSPENDED_MAX} RPCs can be suspended, not {suspended_max}");
        Self {
            preemption: Preemption::new(quantum),
            contexts: suspended_max + 1,
            fresh: VecDeque::with_capacity(JBSQ_BOUND_MAX as usize),
            suspended: VecDeque::with_capacity(JBSQ_BOUND_MAX as usize),
            place: 0,
            free_contexts: (2 << suspended_max) - 1,
            running: None,
            since: Timestamp::ZERO,
        }
    }

    /// Queues an RPC that the core was given.
    ///
    /// # Panics
    ///
    /// If as many wait as a core can get.
    #[inline]
    pub fn handle_dispatch(&mut self) {
        assert!(self.fresh.len() < JBSQ_BOUND_MAX as usize, "a core was given more RPCs than any policy gives");
        let place = self.next_place();
        self.fresh.push_back(place);
    }

    /// The RPC that runs from `now` on: the running one, or the first in the queue that has a
    /// context or can get one.
    #[inline]
    pub fn poll_next(&mut self, now: Timestamp) -> Option<Next> {
        if let Some(context) = self.running {
            return Some(Next::Resume { context });
        }
        if self.free_contexts == 0 {
            return self.poll_suspended(now);
        }
        let is_fresh = match (self.fresh.front(), self.suspended.front()) {
            (Some(fresh), Some((place, _))) => fresh.wrapping_sub(*place).cast_signed() < 0,
            (fresh, _) => fresh.is_some(),
        };
        if is_fresh { Some(self.begin(now)) } else { self.poll_suspended(now) }
    }

    /// Like [`poll_next`](Self::poll_next), but no RPC begins.
    #[inline]
    pub fn poll_suspended(&mut self, now: Timestamp) -> Option<Next> {
        if self.running.is_none() {
            self.running = Some(self.suspended.pop_front()?.1);
            self.since = now;
        }
        self.running.map(|context| Next::Resume { context })
    }

    /// When the running RPC has used its quantum.
    #[must_use]
    #[inline]
    pub fn due_at(&self) -> Timestamp {
        self.preemption.due_at(self.since)
    }

    /// The running RPC can be interrupted; `Runs` if none runs.
    #[inline]
    pub fn handle_yield(&mut self, now: Timestamp) -> Yielded {
        let used = now - self.since;
        let can_begin = !self.fresh.is_empty() && self.free_contexts != 0;
        if let Some(context) = self.running
            && self.preemption.suspends(used, can_begin || !self.suspended.is_empty())
        {
            let place = self.next_place();
            self.suspended.push_back((place, context));
            self.running = None;
            return Yielded::Suspended;
        }
        if now >= self.due_at() {
            self.since = now;
        }
        Yielded::Runs
    }

    /// The running RPC has ended: its context is free.
    #[inline]
    pub fn handle_end(&mut self) {
        if let Some(context) = self.running.take() {
            self.free_contexts |= 1 << context;
        }
    }

    /// RPCs that are suspended.
    #[must_use]
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "at most SUSPENDED_MAX")]
    pub fn suspended(&self) -> u32 {
        self.suspended.len() as u32
    }

    /// RPCs that have begun and not ended.
    #[must_use]
    #[inline]
    pub const fn begun(&self) -> u32 {
        self.contexts - self.free_contexts.count_ones()
    }

    /// RPCs that have not begun.
    #[must_use]
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "at most JBSQ_BOUND_MAX")]
    pub fn fresh(&self) -> u32 {
        self.fresh.len() as u32
    }

    /// RPCs that can have begun: the suspended ones and the running one.
    #[must_use]
    pub const fn contexts(&self) -> u32 {
        self.contexts
    }

    /// The quantum while others wait.
    #[must_use]
    pub const fn quantum(&self) -> Quantum {
        self.preemption.quantum()
    }

    #[inline]
    fn begin(&mut self, now: Timestamp) -> Next {
        self.fresh.pop_front();
        let context = self.free_contexts.trailing_zeros();
        self.free_contexts &= self.free_contexts - 1;
        (self.running, self.since) = (Some(context), now);
        Next::Begin { context }
    }

    #[inline]
    fn next_place(&mut self) -> u32 {
        let place = self.place;
        self.place = place.wrapping_add(1);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;
    use alloc::vec::Vec;

    const QUANTUM: Span = Span::from_us(5);

    fn queue(suspended_max: u32) -> Turns {
        Turns::new(Quantum::try_new(QUANTUM).unwrap(), suspended_max)
    }

    /// The same rules over a list: a waiting RPC is `Ok(context)` if suspended, `Err(())` if new.
    #[derive(Default)]
    struct Model {
        line: VecDeque<Result<u32, ()>>,
        running: Option<u32>,
        since: Timestamp,
    }

    impl Model {
        fn suspended(&self) -> usize {
            self.line.iter().filter(|waits| waits.is_ok()).count()
        }

        fn lowest_free(&self) -> u32 {
            (0..).find(|&context| !self.line.contains(&Ok(context))).unwrap()
        }

        fn poll(&mut self, may_begin: bool, now: Timestamp) -> Option<Next> {
            if let Some(context) = self.running {
                return Some(Next::Resume { context });
            }
            let at = self.line.iter().position(|waits| waits.is_ok() || may_begin)?;
            let next = self.line.remove(at)?;
            let turn = match next {
                Ok(context) => Next::Resume { context },
                Err(()) => Next::Begin { context: self.lowest_free() },
            };
            let (Next::Begin { context } | Next::Resume { context }) = turn;
            (self.running, self.since) = (Some(context), now);
            Some(turn)
        }

        fn handle_yield(&mut self, now: Timestamp, suspended_max: usize) -> Yielded {
            if now - self.since < QUANTUM {
                return Yielded::Runs;
            }
            self.since = now;
            let can_take_over = |waits: &Result<u32, ()>| waits.is_ok() || self.suspended() < suspended_max;
            if !self.line.iter().any(can_take_over) {
                return Yielded::Runs;
            }
            self.line.push_back(Ok(self.running.take().unwrap()));
            Yielded::Suspended
        }
    }

    #[test]
    fn it_decides_as_one_plain_list_does() {
        nebula_testing::seeded(|u| {
            let suspended_max = u.int_in_range(0..=4_u32)?;
            let (mut queue, mut model) = (queue(suspended_max), Model::default());
            let mut now = Timestamp::ZERO;
            for _ in 0..u.int_in_range(1..=400)? {
                now += Span::from_us(u.int_in_range(0..=3)?);
                match u.int_in_range(0..=4)? {
                    0 if model.line.len() < 40 => {
                        queue.handle_dispatch();
                        model.line.push_back(Err(()));
                    }
                    1 => {
                        let may_begin = model.suspended() <= suspended_max as usize;
                        assert_eq!(queue.poll_next(now), model.poll(may_begin, now));
                    }
                    2 => assert_eq!(queue.poll_suspended(now), model.poll(false, now)),
                    3 if model.running.is_some() => {
                        assert_eq!(queue.due_at(), model.since + QUANTUM);
                        assert_eq!(queue.handle_yield(now), model.handle_yield(now, suspended_max as usize));
                    }
                    4 => {
                        queue.handle_end();
                        model.running = None;
                    }
                    _ => {}
                }
                assert_eq!(queue.suspended() as usize, model.suspended());
                assert_eq!(queue.fresh() as usize, model.line.len() - model.suspended());
                assert!(model.suspended() + usize::from(model.running.is_some()) <= suspended_max as usize + 1);
            }
            Ok(())
        });
    }

    #[test]
    fn turns_go_round() {
        let mut queue = queue(2);
        (0..3).for_each(|_| queue.handle_dispatch());
        let mut now = Timestamp::ZERO;
        let mut contexts = Vec::new();
        for _ in 0..9 {
            let (Next::Begin { context } | Next::Resume { context }) = queue.poll_next(now).unwrap();
            contexts.push(context);
            now += QUANTUM;
            assert_eq!(queue.handle_yield(now), Yielded::Suspended);
        }
        assert_eq!(contexts, [0, 1, 2, 0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn once_all_contexts_are_in_use_their_rpcs_run_round_robin() {
        let mut queue = queue(1);
        (0..3).for_each(|_| queue.handle_dispatch());
        let mut now = Timestamp::ZERO;
        let mut turn = |queue: &mut Turns| {
            now += QUANTUM;
            queue.handle_yield(now);
            queue.poll_next(now).unwrap()
        };
        let turns: Vec<_> = (0..4).map(|_| turn(&mut queue)).collect();
        let [zero, one] = [0, 1].map(|context| Next::Resume { context });
        assert_eq!(turns, [Next::Begin { context: 0 }, Next::Begin { context: 1 }, zero, one]);
        queue.handle_end();
        assert_eq!(
            queue.poll_next(now),
            Some(Next::Begin { context: 1 }),
            "it was queued before the other was suspended again"
        );
    }

    #[test]
    fn without_contexts_for_suspended_ones_each_runs_to_its_end() {
        let mut queue = queue(0);
        (0..2).for_each(|_| queue.handle_dispatch());
        assert_eq!(queue.poll_next(Timestamp::ZERO), Some(Next::Begin { context: 0 }));
        assert_eq!(queue.handle_yield(Timestamp::ZERO + QUANTUM), Yielded::Runs);
        queue.handle_end();
        assert_eq!(queue.poll_next(Timestamp::ZERO), Some(Next::Begin { context: 0 }));
    }
}

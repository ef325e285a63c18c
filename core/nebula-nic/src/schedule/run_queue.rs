//! A core's own run queue: *which of the RPCs given to a core runs next?*
//!
//! New and suspended RPCs join at the tail; the head is begun or resumed. So the RPCs at one core
//! run round-robin.

use alloc::boxed::Box;
use alloc::vec;

/// The RPCs at one core: one in service, the others in the order in which they will run. `T` is the
/// caller's identifier of an RPC. Cost: every operation O(1), no allocation after construction.
///
/// # Invariants
///
/// At most [`capacity`](Self::capacity) wait, of which at most `suspended_max` were begun; none is
/// lost or runs twice.
///
/// # Examples
///
/// ```
/// use nebula_nic::schedule::RunQueue;
///
/// let mut core = RunQueue::new(4, 1);
/// assert!(core.admit('a') && core.admit('b'));
/// assert_eq!(core.resume(), Some('a'));
/// assert!(core.suspend(), "behind b");
/// assert_eq!(core.resume(), Some('b'));
/// assert_eq!((core.finish(), core.resume()), (Some('b'), Some('a')));
/// ```
#[derive(Clone, Debug)]
pub struct RunQueue<T> {
    ring: Box<[Option<Turned<T>>]>,
    head: u32,
    waiting: u32,
    running: Option<T>,
    suspended: u32,
    suspended_max: u32,
}

#[derive(Clone, Copy, Debug)]
struct Turned<T> {
    rpc: T,
    was_begun: bool,
}

impl<T: Copy> RunQueue<T> {
    /// Room for `capacity` waiting RPCs, of which at most `suspended_max` may have begun.
    ///
    /// # Panics
    ///
    /// If `capacity` is 0.
    #[must_use]
    pub fn new(capacity: u32, suspended_max: u32) -> Self {
        assert!(capacity > 0, "a run queue needs room for one RPC at least");
        Self {
            ring: vec![None; capacity as usize].into(),
            head: 0,
            waiting: 0,
            running: None,
            suspended: 0,
            suspended_max,
        }
    }

    /// Adds an RPC that was given to the core; `false` if there is no room.
    #[inline]
    pub fn admit(&mut self, rpc: T) -> bool {
        self.push(Turned { rpc, was_begun: false })
    }

    /// The RPC to begin or resume; `None` if one is in service already, or none waits.
    #[inline]
    pub fn resume(&mut self) -> Option<T> {
        if self.running.is_some() || self.waiting == 0 {
            return None;
        }
        let Turned { rpc, was_begun } = self.ring[self.head as usize].take()?;
        self.head = self.behind(1);
        self.waiting -= 1;
        self.suspended -= u32::from(was_begun);
        self.running = Some(rpc);
        self.running
    }

    /// Moves the RPC in service to the tail; `false` if there is none or it [cannot
    /// be](Self::can_suspend) suspended.
    #[inline]
    pub fn suspend(&mut self) -> bool {
        if !self.can_suspend() {
            return false;
        }
        let Some(rpc) = self.running.take() else { return false };
        self.suspended += 1;
        self.push(Turned { rpc, was_begun: true })
    }

    /// Ends the RPC in service.
    #[inline]
    pub fn finish(&mut self) -> Option<T> {
        self.running.take()
    }

    /// Whether the RPC in service could be suspended: room is left, below `suspended_max`.
    #[must_use]
    #[inline]
    pub fn can_suspend(&self) -> bool {
        self.suspended < self.suspended_max && self.has_room()
    }

    /// Whether another RPC could wait.
    #[must_use]
    #[inline]
    pub fn has_room(&self) -> bool {
        self.waiting < self.capacity()
    }

    /// The RPC in service.
    #[must_use]
    #[inline]
    pub const fn running(&self) -> Option<T> {
        self.running
    }

    /// RPCs that wait to run.
    #[must_use]
    #[inline]
    pub const fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Waiting RPCs that were begun before.
    #[must_use]
    #[inline]
    pub const fn suspended(&self) -> u32 {
        self.suspended
    }

    /// The most that can wait.
    #[must_use]
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "made from a u32")]
    pub fn capacity(&self) -> u32 {
        self.ring.len() as u32
    }

    #[inline]
    fn push(&mut self, turned: Turned<T>) -> bool {
        if !self.has_room() {
            return false;
        }
        let tail = self.behind(self.waiting);
        self.ring[tail as usize] = Some(turned);
        self.waiting += 1;
        true
    }

    #[inline]
    fn behind(&self, ahead: u32) -> u32 {
        let room = self.capacity() - self.head;
        if ahead < room { self.head + ahead } else { ahead - room }
    }
}

//! Station 6: *which complete RPCs wait for a core, and in which order?*
//!
//! A notification of an RPC (where its payload is, and how long) waits here; the payload stays in its slots. Central
//! policies with one queue use a ring. Policies that choose a core at arrival use one list per core, all in one pool,
//! and a bitmap of the cores that have both work and credit, so that finding one never scans the cores.
//!
//! Next: station 7, [`dispatch`](crate::dispatch).

use crate::core_set::CoreSet;
use crate::dispatch::{Placement, Queues};
use crate::id::CoreId;
use crate::verdict::{Arrival, PackedArrival};
use alloc::boxed::Box;
use alloc::vec;

/// The RPCs that wait for a core.
///
/// # Cost
///
/// Every operation O(1), no allocation after construction.
#[derive(Clone, Debug)]
pub struct ArrivalQueue {
    shared: Ring,
    cores: CoreLists,
    waiting_max: u32,
}

impl ArrivalQueue {
    /// A queue for `capacity` RPCs and the cores below `cores`, with storage for what the policy uses.
    #[must_use]
    pub fn new(capacity: u32, cores: u16, queues: Queues) -> Self {
        let (shared, each) = match queues {
            Queues::Shared => (capacity, 0),
            Queues::PerCore => (0, capacity),
            Queues::Both => (capacity, capacity),
        };
        let lists = CoreLists::new(each, if each == 0 { 0 } else { cores });
        Self { shared: Ring::new(shared), cores: lists, waiting_max: 0 }
    }

    /// RPCs waiting, in all queues.
    #[must_use]
    #[inline]
    pub const fn waiting(&self) -> u32 {
        self.shared.len + self.cores.waiting
    }

    /// The highest count that [`note_waiting`](Self::note_waiting) has recorded.
    #[must_use]
    pub const fn waiting_max(&self) -> u32 {
        self.waiting_max
    }

    /// RPCs waiting at `placement`; `u32::MAX` if it names no queue, since nothing fits there.
    #[must_use]
    #[inline]
    pub fn waiting_at(&self, placement: Placement) -> u32 {
        match placement {
            Placement::Shared if self.shared.items.is_empty() => u32::MAX,
            Placement::Shared => self.shared.len,
            Placement::Core(core) => self.cores.lists.get(core.index()).map_or(u32::MAX, |list| list.len),
        }
    }

    /// Whether an RPC waits in the queue that all cores share.
    #[must_use]
    #[inline]
    pub const fn has_shared(&self) -> bool {
        self.shared.len > 0
    }

    /// Appends an RPC.
    ///
    /// # Panics
    ///
    /// If the queue is full, or the placement names a queue that the policy did not declare.
    #[inline(always)]
    pub fn push(&mut self, placement: Placement, arrival: Arrival) {
        match placement {
            Placement::Shared => self.shared.push(arrival),
            Placement::Core(core) => self.cores.push(core, arrival),
        }
    }

    /// Records how many RPCs wait after dispatch: no core has taken them, or none has credit.
    #[inline]
    pub fn note_waiting(&mut self) {
        self.waiting_max = self.waiting_max.max(self.waiting());
    }

    /// Takes the head of the shared queue.
    #[inline(always)]
    pub fn pop_shared(&mut self) -> Option<Arrival> {
        self.shared.pop()
    }

    /// The RPC `ahead` places after the head of the shared queue.
    #[must_use]
    #[inline]
    pub fn peek_shared(&self, ahead: usize) -> Option<Arrival> {
        self.shared.peek(ahead)
    }

    /// Takes the tail of the shared queue, if `may_leave` permits it.
    #[inline]
    pub fn pop_newest_shared(&mut self, may_leave: impl FnOnce(&Arrival) -> bool) -> Option<Arrival> {
        self.shared.pop_newest(may_leave)
    }

    /// Takes an RPC from the lowest core that has work and credit.
    #[inline]
    pub fn pop_ready(&mut self) -> Option<(CoreId, Arrival)> {
        let core = self.cores.ready.first()?;
        Some((core, self.cores.pop(core)))
    }

    /// Records that `core` has no credit: its own queue waits.
    pub fn withhold(&mut self, core: CoreId) {
        self.cores.set_credit(core, false);
    }

    /// Records that `core` has credit again.
    pub fn grant(&mut self, core: CoreId) {
        if !self.cores.lists.is_empty() {
            self.cores.set_credit(core, true);
        }
    }
}

/// A ring whose length is a power of two.
#[derive(Clone, Debug)]
struct Ring {
    items: Box<[PackedArrival]>,
    head: u32,
    len: u32,
}

impl Ring {
    fn new(capacity: u32) -> Self {
        let items = if capacity == 0 { 0 } else { (capacity as usize).next_power_of_two() };
        Self { items: vec![PackedArrival::default(); items].into(), head: 0, len: 0 }
    }

    #[inline]
    fn place(&self, ahead: u32) -> usize {
        self.head.wrapping_add(ahead) as usize & self.items.len().wrapping_sub(1)
    }

    #[inline(always)]
    fn push(&mut self, arrival: Arrival) {
        assert!((self.len as usize) < self.items.len(), "admission admits no more than the queue holds");
        let place = self.place(self.len);
        self.items[place] = arrival.into();
        self.len += 1;
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<Arrival> {
        if self.len == 0 {
            return None;
        }
        let arrival = self.items[self.place(0)].into();
        self.len -= 1;
        // An empty ring restarts at its first place: at low load, only one line of it is used and stays in the cache.
        self.head = if self.len == 0 { 0 } else { self.head.wrapping_add(1) };
        Some(arrival)
    }

    fn pop_newest(&mut self, may_leave: impl FnOnce(&Arrival) -> bool) -> Option<Arrival> {
        let newest = self.peek(self.len.checked_sub(1)? as usize).filter(may_leave)?;
        self.len -= 1;
        Some(newest)
    }

    #[inline]
    fn peek(&self, ahead: usize) -> Option<Arrival> {
        let ahead = u32::try_from(ahead).ok().filter(|&ahead| ahead < self.len)?;
        Some(self.items[self.place(ahead)].into())
    }
}

/// "No node" in the lists of the pool.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    arrival: Arrival,
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct List {
    front: u32,
    back: u32,
    len: u32,
}

/// A queue per core, all in one pool.
#[derive(Clone, Debug)]
struct CoreLists {
    pool: Box<[Node]>,
    free: u32,
    lists: Box<[List]>,
    waiting: u32,
    credit: CoreSet,
    /// Cores with credit whose queue is not empty.
    ready: CoreSet,
}

impl CoreLists {
    fn new(capacity: u32, cores: u16) -> Self {
        let mut pool = vec![Node::default(); capacity as usize];
        for (node, next) in pool.iter_mut().zip((1..capacity).chain([NONE])) {
            node.next = next;
        }
        let lists = vec![List { front: NONE, back: NONE, len: 0 }; usize::from(cores)].into();
        let free = if capacity == 0 { NONE } else { 0 };
        let (credit, ready) = (CoreSet::full(cores), CoreSet::empty(cores));
        Self { pool: pool.into(), free, lists, waiting: 0, credit, ready }
    }

    fn push(&mut self, core: CoreId, arrival: Arrival) {
        assert!(self.free != NONE, "admission admits no more than the queue holds");
        let number = self.free;
        let node = &mut self.pool[number as usize];
        self.free = node.next;
        *node = Node { arrival, next: NONE };
        let list = &mut self.lists[core.index()];
        match list.back {
            NONE => list.front = number,
            back => self.pool[back as usize].next = number,
        }
        list.back = number;
        list.len += 1;
        self.waiting += 1;
        if self.credit.contains(core) {
            self.ready.insert(core);
        }
    }

    /// Takes the head of a non-empty queue.
    fn pop(&mut self, core: CoreId) -> Arrival {
        let list = &mut self.lists[core.index()];
        let number = list.front;
        let Node { arrival, next } = self.pool[number as usize];
        list.front = next;
        list.len -= 1;
        self.waiting -= 1;
        if next == NONE {
            list.back = NONE;
            self.ready.remove(core);
        }
        self.pool[number as usize].next = self.free;
        self.free = number;
        arrival
    }

    fn set_credit(&mut self, core: CoreId, has_credit: bool) {
        if !has_credit {
            self.credit.remove(core);
            self.ready.remove(core);
            return;
        }
        self.credit.insert(core);
        if self.lists[core.index()].len > 0 {
            self.ready.insert(core);
        }
    }
}

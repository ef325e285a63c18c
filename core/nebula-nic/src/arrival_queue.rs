//! Station 6: *which complete RPCs wait for a core, and in which order?*
//!
//! The notification of an RPC (where its payload is, and how long) waits here; the payload stays in
//! its slots. Central policies with one queue use a ring, with one entry for all RPCs of a
//! [burst](crate::burst). A second ring has the RPCs that are served first while sources
//! [share](crate::fair_share) the room. Policies that choose a core at arrival use one list per
//! core, all in one pool, and a bitmap of the cores that have both work and credit, so that finding
//! one never scans the cores.
//!
//! Next: station 7, [`dispatch`](crate::dispatch).

use crate::burst::{BURST_MAX, Burst, BurstRpc, Run};
use crate::core_set::CoreSet;
use crate::dispatch::placement::{Placement, Queues};
use crate::id::{CoreId, NodeId, RpcKey, Slot, TransferId};
use crate::time::Timestamp;
use crate::verdict::{Arrival, halves, pair};
use alloc::boxed::Box;
use alloc::vec;

/// The RPCs that wait for a core. Cost: every operation is O(1) except
/// [`peek_shared`](Self::peek_shared); no allocation after construction.
#[derive(Clone, Debug)]
pub struct ArrivalQueue {
    shared: Ring,
    /// RPCs that are served before those of `shared`; without places where no RPC is.
    first: Ring,
    /// RPCs of the shared queue that wait in `first` or [by type](crate::schedule::ByType).
    beside: u32,
    cores: CoreLists,
    waiting_max: u32,
}

impl ArrivalQueue {
    /// A queue for `capacity` RPCs and the cores below `cores`, stored as the policy needs it.
    #[must_use]
    pub fn new(capacity: u32, cores: u16, queues: Queues) -> Self {
        let (shared, each) = match queues {
            Queues::Shared => (capacity, 0),
            Queues::PerCore => (0, capacity),
            Queues::Both => (capacity, capacity),
        };
        let lists = CoreLists::new(each, if each == 0 { 0 } else { cores });
        Self { shared: Ring::new(shared), first: Ring::new(0), beside: 0, cores: lists, waiting_max: 0 }
    }

    /// Lets up to `rpcs` RPCs of the shared queue be served before its others.
    #[must_use]
    pub(crate) fn with_first(self, rpcs: u32) -> Self {
        let rpcs = if self.shared.entries.is_empty() { 0 } else { rpcs };
        Self { first: Ring::new(rpcs), ..self }
    }

    /// RPCs waiting, in all queues.
    #[must_use]
    #[inline]
    pub const fn waiting(&self) -> u32 {
        self.shared.len + self.beside + self.cores.waiting
    }

    /// The highest count that [`note_waiting`](Self::note_waiting) has recorded.
    #[must_use]
    pub const fn waiting_max(&self) -> u32 {
        self.waiting_max
    }

    /// RPCs waiting at `placement`; `u32::MAX` if it names no queue, where nothing fits.
    #[must_use]
    #[inline]
    pub fn waiting_at(&self, placement: Placement) -> u32 {
        match placement {
            Placement::Shared if self.shared.entries.is_empty() => u32::MAX,
            Placement::Shared => self.shared.len + self.beside,
            Placement::Core(core) => self.cores.lists.get(core.index()).map_or(u32::MAX, |list| list.len),
        }
    }

    /// Whether an RPC waits in the queue that all cores share.
    #[must_use]
    #[inline]
    pub const fn has_shared(&self) -> bool {
        (self.shared.len | self.first.len) > 0
    }

    /// Appends an RPC.
    ///
    /// # Panics
    ///
    /// If the queue is full, or the placement names a queue that the policy did not declare.
    #[inline(always)]
    pub fn push(&mut self, placement: Placement, arrival: Arrival) {
        match placement {
            Placement::Shared => self.shared.push_one(&arrival),
            Placement::Core(core) => self.cores.push(core, arrival),
        }
    }

    /// Appends an RPC to those that are served first.
    #[inline(never)]
    pub(crate) fn push_first_alone(&mut self, arrival: &Arrival) {
        self.first.push_one(arrival);
        self.beside += 1;
    }

    /// Places for the sizes and hashes of the next RPCs of the shared queue, at most a burst; empty
    /// when it is full. Nothing is queued before [`push_burst`](Self::push_burst).
    #[inline(always)]
    pub fn places(&mut self) -> &mut [BurstRpc] {
        self.shared.places()
    }

    /// The words written to the [`places`](Self::places).
    pub(crate) fn written(&self) -> &[BurstRpc] {
        &self.shared.rpcs[self.shared.place(self.shared.first.wrapping_add(self.shared.len))..]
    }

    /// Appends a burst of `rpcs` RPCs, which lie in consecutive slots, to the shared queue, and
    /// returns it as a run. Their words were written to the first [`places`](Self::places).
    ///
    /// # Panics
    ///
    /// If there are none, or more than the queue has room for.
    #[inline(always)]
    pub fn push_burst(&mut self, burst: &Burst, first_slot: Slot, arrived: Timestamp, rpcs: u32) -> Run {
        let at = self.shared.push(burst, first_slot, arrived, rpcs);
        Run { burst: *burst, rpcs, first_slot, arrived, at }
    }

    /// How many RPCs of the next burst can be [served first](Self::push_first): there are places
    /// for them in one piece.
    pub(crate) fn first_places(&mut self) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "at most a burst")]
        let places = self.first.places().len() as u32;
        places
    }

    /// Like [`push_burst`](Self::push_burst), to be served before the shared queue and behind
    /// earlier ones of this kind.
    #[cold]
    #[inline(never)]
    pub(crate) fn push_first(&mut self, burst: &Burst, first_slot: Slot, arrived: Timestamp, rpcs: u32) -> Run {
        // They were written behind the shared queue's last RPC, and stay while the run is read.
        let at = self.shared.place(self.shared.first.wrapping_add(self.shared.len));
        let written = &self.shared.rpcs[at..at + rpcs as usize];
        self.first.places()[..rpcs as usize].copy_from_slice(written);
        self.first.push(burst, first_slot, arrived, rpcs);
        self.beside += rpcs;
        #[expect(clippy::cast_possible_truncation, reason = "a ring has fewer than 2^32 places")]
        let at = at as u32;
        Run { burst: *burst, rpcs, first_slot, arrived, at }
    }

    /// The run that [`push_burst`](Self::push_burst) and [`pop_run`](Self::pop_run) would make of a
    /// burst, while nothing is queued.
    #[inline(always)]
    pub fn first_run(&self, burst: &Burst, first_slot: Slot, arrived: Timestamp, rpcs: u32) -> Run {
        Run { burst: *burst, rpcs, first_slot, arrived, at: self.shared.first }
    }

    /// Takes the first RPCs of the shared queue, as many as are of one burst and at most `most`.
    #[inline(always)]
    pub fn pop_run(&mut self, most: u32) -> Option<Run> {
        if self.first.len > 0 { self.pop_first(most) } else { self.shared.pop_run(most) }
    }

    /// Like [`pop_run`](Self::pop_run), from those that are served first. Their words are copied to
    /// places of the shared queue, for [`rpcs_of`](Self::rpcs_of): one place is free, since these
    /// RPCs take none there.
    #[cold]
    #[inline(never)]
    fn pop_first(&mut self, most: u32) -> Option<Run> {
        let at = self.shared.place(self.shared.first.wrapping_add(self.shared.len));
        let places = self.shared.places();
        #[expect(clippy::cast_possible_truncation, reason = "a ring has fewer than 2^32 places")]
        let (at, most) = (at as u32, most.min(places.len() as u32));
        let run = self.first.pop_run(most)?;
        self.beside -= run.rpcs;
        let rpcs = &self.first.rpcs[run.at as usize..(run.at + run.rpcs) as usize];
        places[..run.rpcs as usize].copy_from_slice(rpcs);
        Some(Run { at, ..run })
    }

    /// The words in which the RPCs of a run differ; they stay until something is pushed.
    #[must_use]
    #[inline(always)]
    pub fn rpcs_of(&self, run: &Run) -> &[BurstRpc] {
        &self.shared.rpcs[run.at as usize..(run.at + run.rpcs) as usize]
    }

    /// Records how many RPCs wait after dispatch, when no core has taken them.
    #[inline]
    pub fn note_waiting(&mut self) {
        self.waiting_max = self.waiting_max.max(self.waiting());
    }

    /// Takes the head of the shared queue.
    #[inline(always)]
    pub fn pop_shared(&mut self) -> Option<Arrival> {
        if self.first.len > 0 { self.pop_first_alone() } else { self.shared.pop() }
    }

    #[cold]
    #[inline(never)]
    fn pop_first_alone(&mut self) -> Option<Arrival> {
        self.beside -= 1;
        self.first.pop()
    }

    /// The RPC `ahead` places after the head of the shared queue. Cost: O(bursts before it).
    #[must_use]
    #[inline]
    pub fn peek_shared(&self, ahead: usize) -> Option<Arrival> {
        let first = self.first.len as usize;
        if ahead < first { self.first.peek(ahead) } else { self.shared.peek(ahead - first) }
    }

    /// An RPC of the shared queue waits by its type.
    pub(crate) fn note_elsewhere(&mut self) {
        self.beside += 1;
    }

    /// An RPC that waited by its type was taken.
    pub(crate) fn note_taken_elsewhere(&mut self) {
        self.beside -= 1;
    }

    /// Takes the tail of the shared queue, if `may_leave` permits; never one served first.
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

/// The RPCs of one push. Whole words, for the same reason as in [`PackedArrival`].
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Sender and number of the first RPC.
    rpc: u64,
    /// The first slot of the first RPC, and the slots of each.
    slots: u64,
    /// How many RPCs are left, and the difference between their numbers.
    run: u64,
    arrived: u64,
}

impl Entry {
    #[inline(always)]
    fn new(burst: &Burst, first_slot: Slot, rpcs: u32, arrived: Timestamp) -> Self {
        let Burst { first, step, slots_each } = *burst;
        Self {
            rpc: pair(first.snid.0, first.tid.0),
            slots: pair(first_slot.0, slots_each),
            run: pair(rpcs, step),
            arrived: arrived.as_ps(),
        }
    }

    /// Its first `rpcs` RPCs, whose words lie at `at`.
    #[inline(always)]
    fn run(&self, rpcs: u32, at: u32) -> Run {
        let ((snid, tid), (start, slots_each), (_, step)) = (halves(self.rpc), halves(self.slots), halves(self.run));
        let first = RpcKey { snid: NodeId(snid), tid: TransferId(tid) };
        let arrived = Timestamp::from_ps(self.arrived);
        Run { burst: Burst { first, step, slots_each }, rpcs, first_slot: Slot(start), arrived, at }
    }

    #[inline(always)]
    fn rpcs(&self) -> u32 {
        halves(self.run).0
    }

    /// Removes the first RPCs, which are not all.
    #[inline(always)]
    fn advance(&mut self, taken: &Run) {
        let (rpcs, step) = halves(self.run);
        self.rpc = pair(taken.burst.first.snid.0, taken.tid(taken.rpcs).0);
        self.slots = pair(taken.slots(taken.rpcs).start.0, taken.burst.slots_each);
        self.run = pair(rpcs - taken.rpcs, step);
    }
}

/// A ring of bursts whose length is a power of two, and one of their RPCs' words.
#[derive(Clone, Debug)]
struct Ring {
    entries: Box<[Entry]>,
    rpcs: Box<[BurstRpc]>,
    /// The first entry, and how many there are.
    head: u32,
    bursts: u32,
    /// The first RPC, and how many there are.
    first: u32,
    len: u32,
}

impl Ring {
    fn new(capacity: u32) -> Self {
        let places = if capacity == 0 { 0 } else { (capacity as usize).next_power_of_two() };
        let (entries, rpcs) = (vec![Entry::default(); places].into(), vec![BurstRpc::default(); places].into());
        Self { entries, rpcs, head: 0, bursts: 0, first: 0, len: 0 }
    }

    #[inline(always)]
    fn place(&self, at: u32) -> usize {
        at as usize & self.entries.len().wrapping_sub(1)
    }

    /// Places behind the last RPC, those in one piece, at most [`BURST_MAX`].
    #[inline(always)]
    fn places(&mut self) -> &mut [BurstRpc] {
        let at = self.place(self.first.wrapping_add(self.len));
        let free = self.rpcs.len() - self.len as usize;
        let end = (at + free.min(BURST_MAX as usize)).min(self.rpcs.len());
        &mut self.rpcs[at..end]
    }

    /// Appends an entry for the RPCs in the first [`places`](Self::places); returns where they lie.
    #[inline(always)]
    fn push(&mut self, burst: &Burst, first_slot: Slot, arrived: Timestamp, rpcs: u32) -> u32 {
        assert!(
            (self.len + rpcs) as usize <= self.entries.len() && rpcs > 0,
            "admission admits no more than the queue holds"
        );
        let at = self.first.wrapping_add(self.len);
        let place = self.place(self.head.wrapping_add(self.bursts));
        self.entries[place] = Entry::new(burst, first_slot, rpcs, arrived);
        self.bursts += 1;
        self.len += rpcs;
        #[expect(clippy::cast_possible_truncation, reason = "a ring has fewer than 2^32 places")]
        let at = self.place(at) as u32;
        at
    }

    #[inline(always)]
    fn push_one(&mut self, arrival: &Arrival) {
        let burst = Burst { first: arrival.rpc, step: 0, slots_each: arrival.slots.slots };
        if let Some(place) = self.places().first_mut() {
            *place = BurstRpc::new(arrival.bytes, arrival.key_hash);
        }
        self.push(&burst, arrival.slots.start, arrival.arrived, 1);
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<Arrival> {
        let run = self.pop_run(1)?;
        Some(run.arrival(0, self.rpcs[run.at as usize]))
    }

    #[inline(always)]
    fn pop_run(&mut self, most: u32) -> Option<Run> {
        if self.len == 0 {
            return None;
        }
        let (place, at) = (self.place(self.head), self.place(self.first));
        let entry = &mut self.entries[place];
        let all = entry.rpcs();
        #[expect(clippy::cast_possible_truncation, reason = "a ring has fewer than 2^32 places")]
        let (at, to_end) = (at as u32, (self.rpcs.len() - at) as u32);
        let run = entry.run(all.min(most).min(to_end), at);
        let is_whole = run.rpcs == all;
        if !is_whole {
            entry.advance(&run);
        }
        self.bursts -= u32::from(is_whole);
        self.len -= run.rpcs;
        // An empty ring restarts at its first place: at low load only one line of it is used.
        let goes_on = self.len > 0;
        self.head = if goes_on { self.head.wrapping_add(u32::from(is_whole)) } else { 0 };
        self.first = if goes_on { self.first.wrapping_add(run.rpcs) } else { 0 };
        Some(run)
    }

    fn pop_newest(&mut self, may_leave: impl FnOnce(&Arrival) -> bool) -> Option<Arrival> {
        let newest = self.peek(self.len.checked_sub(1)? as usize).filter(may_leave)?;
        let place = self.place(self.head.wrapping_add(self.bursts - 1));
        let (rpcs, step) = halves(self.entries[place].run);
        self.entries[place].run = pair(rpcs - 1, step);
        self.bursts -= u32::from(rpcs == 1);
        self.len -= 1;
        Some(newest)
    }

    #[inline]
    fn peek(&self, ahead: usize) -> Option<Arrival> {
        let ahead = u32::try_from(ahead).ok().filter(|&ahead| ahead < self.len)?;
        let mut index = ahead;
        let bursts = (0..self.bursts).map(|burst| &self.entries[self.place(self.head.wrapping_add(burst))]);
        for entry in bursts {
            if index < entry.rpcs() {
                let rpc = self.rpcs[self.place(self.first.wrapping_add(ahead))];
                return Some(entry.run(entry.rpcs(), 0).arrival(index, rpc));
            }
            index -= entry.rpcs();
        }
        None
    }
}

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

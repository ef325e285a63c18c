//! Station 5: *which RPC does this packet belong to?*
//!
//! RPCs of several packets are matched by (source node, transfer id) in a table with a fixed number
//! of entries, the papers' CAM. Packets arrive in any order: the first one, whatever its index,
//! creates the entry, since each header has the RPC's size. A packet that disagrees with its entry
//! is refused.
//!
//! Packets seen are not stored in the entry: each is one bit in a second bitvector over the slots
//! of the receive buffer, where the packet's payload begins. Entries stay in place in a pool; an
//! open-addressed index finds them. They are linked by age, so that the oldest is known at once and
//! can be abandoned.
//!
//! Departs: the papers' link loses nothing, so every RPC completes. Where peers can end at any
//! moment, an RPC that does not complete in time is abandoned and its slots are freed.
//!
//! Next: station 6, [`arrival_queue`](crate::arrival_queue).

mod arrived;
mod shares;

pub use arrived::Missing;

use crate::dispatch::Placement;
use crate::hash::mix;
use crate::id::{NodeId, RpcKey, SlotRange};
use crate::time::{Span, Timestamp};
use crate::verdict::{Abandoned, DropReason};
use crate::wire::{Header, Mtu};
use alloc::boxed::Box;
use alloc::vec;
use arrived::Arrived;
use shares::Shares;

/// An RPC of which some packets have not arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Incomplete {
    /// Its key.
    pub rpc: RpcKey,
    /// Its slots.
    pub slots: SlotRange,
    /// Its payload in bytes, according to its first packet.
    pub bytes: u32,
    /// Hash of its key, according to its first packet.
    pub key_hash: u32,
    /// Where its notification will queue.
    pub placement: Placement,
}

/// A packet that agrees with its RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Others have not arrived.
    More(Incomplete),
    /// It was the last; the entry is free again.
    Last(Incomplete),
}

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    rpc: Incomplete,
    packets_left: u32,
    since: Timestamp,
    /// Neighbors by age; `newer` also chains the free and the abandoned entries.
    older: u32,
    newer: u32,
}

/// A list of entries through `newer`, taken from the front.
#[derive(Clone, Copy, Debug)]
struct List {
    front: u32,
    back: u32,
}

impl List {
    const EMPTY: Self = Self { front: NONE, back: NONE };
}

/// The bounded table of incomplete RPCs. Cost: expected O(1) for each packet, no allocation: the
/// index is at most half full, and its hash depends on the seed.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Header, Incomplete, Mtu, Part, Reassembler, SlotRange, Timestamp};
///
/// let mut table = Reassembler::new(2, 64, Mtu::MIN, 0);
/// let second = Header { rpc_bytes: 128, pkt_idx: 1, ..Header::default() };
/// let rpc = Incomplete { slots: SlotRange::new(10, 2), bytes: 128, ..Incomplete::default() };
/// table.start(Timestamp::ZERO, rpc, second.pkt_idx);
/// assert!(table.handle_packet(&second).unwrap().is_err(), "a duplicate");
/// assert_eq!(table.handle_packet(&Header { pkt_idx: 0, ..second }), Some(Ok(Part::Last(rpc))));
/// ```
#[derive(Clone, Debug)]
pub struct Reassembler {
    mtu: Mtu,
    seed: u64,
    entries: Box<[Entry]>,
    /// Entry numbers at their hash's place or after it; a power of two, at least twice the entries.
    index: Box<[u32]>,
    arrived: Arrived,
    shares: Shares,
    live: u32,
    by_age: List,
    free: u32,
    abandoned: List,
}

impl Reassembler {
    /// A table of `entries` entries for a receive buffer of `slots` slots.
    #[must_use]
    pub fn new(entries: u32, slots: u32, mtu: Mtu, seed: u64) -> Self {
        let mut pool = vec![Entry::default(); entries as usize];
        for (entry, next) in pool.iter_mut().zip((1..entries).chain([NONE])) {
            entry.newer = next;
        }
        let index = (entries as usize * 2).next_power_of_two();
        Self {
            mtu,
            seed,
            entries: pool.into(),
            index: vec![NONE; index].into(),
            arrived: Arrived::new(slots, mtu),
            shares: Shares::unlimited(),
            live: 0,
            by_age: List::EMPTY,
            free: if entries == 0 { NONE } else { 0 },
            abandoned: List::EMPTY,
        }
    }

    /// Limits each peer to `rpcs` entries while more than half of them are in use. Two peers with
    /// the same hash, of 256, share one limit.
    #[must_use]
    pub fn per_peer(mut self, rpcs: u32) -> Self {
        self.shares = Shares::limited(rpcs, self.seed);
        self
    }

    /// For a receive buffer whose slots are numbered from `first`.
    #[must_use]
    pub fn numbered_from(mut self, first: u32) -> Self {
        self.arrived.number_from(first);
        self
    }

    /// RPCs being reassembled.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> u32 {
        self.live
    }

    /// Whether no RPC is being reassembled.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Whether no entry is left. Abandoned RPCs keep theirs until
    /// [`poll_abandoned`](Self::poll_abandoned).
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.free == NONE
    }

    /// Whether an RPC of a peer may be in reassembly; mostly exact with [limits](Self::per_peer).
    #[must_use]
    pub fn may_hold(&self, snid: NodeId) -> bool {
        self.live > 0 && self.shares.may_hold(snid)
    }

    /// Whether a peer has reached [its limit](Self::per_peer) while others need the entries.
    #[must_use]
    pub fn is_beyond_share(&self, snid: NodeId) -> bool {
        self.live as usize > self.entries.len() / 2 && self.shares.is_used_up(snid)
    }

    /// The packets that an RPC lacks; `None` if it is not being reassembled. O(packets of the RPC).
    #[must_use]
    pub fn missing(&self, rpc: RpcKey) -> Option<Missing> {
        let number = self.index[self.find(rpc)?];
        let Incomplete { slots, bytes, .. } = self.entries[number as usize].rpc;
        self.arrived.missing(slots, self.mtu.packets(bytes))
    }

    /// Matches a packet with its RPC; `None` if the RPC has no entry.
    ///
    /// # Errors
    ///
    /// The reason to drop the packet, if it disagrees with its RPC or is a duplicate.
    pub fn handle_packet(&mut self, header: &Header) -> Option<Result<Part, DropReason>> {
        let place = self.find(header.rpc())?;
        Some(self.handle_part(place, header))
    }

    fn handle_part(&mut self, place: usize, header: &Header) -> Result<Part, DropReason> {
        let number = self.index[place];
        let rpc = self.entries[number as usize].rpc;
        if header.rpc_bytes != rpc.bytes {
            return Err(DropReason::SizeMismatch);
        }
        if header.pkt_idx >= self.mtu.packets(rpc.bytes) {
            return Err(DropReason::IndexOutOfRange);
        }
        if !self.arrived.set(rpc.slots, header.pkt_idx) {
            return Err(DropReason::Duplicate);
        }
        let left = &mut self.entries[number as usize].packets_left;
        *left -= 1;
        if *left > 0 {
            return Ok(Part::More(rpc));
        }
        self.remove(place);
        self.push_free(number);
        Ok(Part::Last(rpc))
    }

    /// Takes consecutive packets of an RPC, the first of them `header`'s. `false`, and nothing
    /// changes, if [`handle_packet`](Self::handle_packet) would refuse one of them, or if they
    /// would complete the RPC.
    #[must_use]
    pub fn take_packets(&mut self, header: &Header, packets: u32) -> bool {
        let Some(place) = self.find(header.rpc()) else { return false };
        let Entry { rpc, packets_left, .. } = &mut self.entries[self.index[place] as usize];
        let is_within = u64::from(header.pkt_idx) + u64::from(packets) <= u64::from(self.mtu.packets(rpc.bytes));
        if header.rpc_bytes != rpc.bytes || !is_within || *packets_left <= packets {
            return false;
        }
        let is_taken = self.arrived.set_run(rpc.slots, header.pkt_idx..header.pkt_idx + packets);
        *packets_left -= if is_taken { packets } else { 0 };
        is_taken
    }

    /// Creates an entry for an RPC of two packets or more, of which packet `pkt_idx` has arrived.
    ///
    /// # Panics
    ///
    /// If the table [is full](Self::is_full), the RPC has one packet, or none with that index.
    pub fn start(&mut self, now: Timestamp, rpc: Incomplete, pkt_idx: u32) {
        let packets = self.mtu.packets(rpc.bytes);
        assert!(packets > 1 && pkt_idx < packets, "an RPC of one packet needs no entry");
        assert!(!self.is_full(), "ask is_full before starting an RPC");
        let number = self.free;
        self.free = self.entries[number as usize].newer;
        self.entries[number as usize] =
            Entry { rpc, packets_left: packets - 1, since: now, older: self.by_age.back, newer: NONE };
        match self.by_age.back {
            NONE => self.by_age.front = number,
            back => self.entries[back as usize].newer = number,
        }
        self.by_age.back = number;
        self.live += 1;
        self.index_insert(number);
        self.shares.take(rpc.rpc.snid);
        self.arrived.clear(rpc.slots);
        self.arrived.set(rpc.slots, pkt_idx);
    }

    /// When the oldest entry was created.
    #[must_use]
    #[inline]
    pub fn oldest(&self) -> Option<Timestamp> {
        self.entries.get(self.by_age.front as usize).map(|entry| entry.since)
    }

    /// Abandons the RPCs that began at least `timeout` ago; passes their slots to `release`.
    pub fn abandon_expired(&mut self, now: Timestamp, timeout: Span, mut release: impl FnMut(SlotRange)) {
        while self.oldest().is_some_and(|since| since + timeout <= now) {
            release(self.abandon(self.by_age.front));
        }
    }

    /// Abandons the RPCs of a node that is gone; passes their slots to `release`. Cost: O(RPCs
    /// being reassembled).
    pub fn abandon_peer(&mut self, snid: NodeId, mut release: impl FnMut(SlotRange)) {
        let mut number = self.by_age.front;
        while number != NONE {
            let entry = self.entries[number as usize];
            if entry.rpc.rpc.snid == snid {
                release(self.abandon(number));
            }
            number = entry.newer;
        }
    }

    /// The next abandoned RPC, in the order they were abandoned; this frees its entry.
    pub fn poll_abandoned(&mut self) -> Option<Abandoned> {
        let number = self.abandoned.front;
        let Entry { rpc, newer, .. } = *self.entries.get(number as usize)?;
        self.abandoned.front = newer;
        self.push_free(number);
        Some(Abandoned { rpc: rpc.rpc, slots: rpc.slots })
    }

    fn abandon(&mut self, number: u32) -> SlotRange {
        let rpc = self.entries[number as usize].rpc;
        if let Some(place) = self.find(rpc.rpc) {
            self.remove(place);
        }
        match self.abandoned.front {
            NONE => self.abandoned.front = number,
            _ => self.entries[self.abandoned.back as usize].newer = number,
        }
        self.abandoned.back = number;
        rpc.slots
    }

    /// Removes the entry at `place` from index and list; the caller then owns its number.
    fn remove(&mut self, place: usize) {
        let number = self.index[place] as usize;
        self.index_remove(place);
        let Entry { rpc, older, newer, .. } = self.entries[number];
        self.shares.give_back(rpc.rpc.snid);
        match older {
            NONE => self.by_age.front = newer,
            _ => self.entries[older as usize].newer = newer,
        }
        match newer {
            NONE => self.by_age.back = older,
            _ => self.entries[newer as usize].older = older,
        }
        self.entries[number].newer = NONE;
        self.live -= 1;
    }

    fn push_free(&mut self, number: u32) {
        self.entries[number as usize].newer = self.free;
        self.free = number;
    }

    // The index: linear probing, deletion by moving later entries back.

    #[inline]
    fn home(&self, rpc: RpcKey) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "masked to the length of the index")]
        let hash = mix(rpc.to_bits() ^ self.seed) as usize;
        hash & (self.index.len() - 1)
    }

    fn find(&self, rpc: RpcKey) -> Option<usize> {
        let mask = self.index.len() - 1;
        let mut place = self.home(rpc);
        while let Some(entry) = self.entries.get(self.index[place] as usize) {
            if entry.rpc.rpc == rpc {
                return Some(place);
            }
            place = (place + 1) & mask;
        }
        None
    }

    fn index_insert(&mut self, number: u32) {
        let mask = self.index.len() - 1;
        let mut place = self.home(self.entries[number as usize].rpc.rpc);
        while self.index[place] != NONE {
            place = (place + 1) & mask;
        }
        self.index[place] = number;
    }

    fn index_remove(&mut self, mut hole: usize) {
        let mask = self.index.len() - 1;
        let mut place = hole;
        loop {
            place = (place + 1) & mask;
            let number = self.index[place];
            let Some(entry) = self.entries.get(number as usize) else { break };
            // An entry may move back into the hole unless that would put it before its home.
            let home = self.home(entry.rpc.rpc);
            if place.wrapping_sub(home) & mask >= place.wrapping_sub(hole) & mask {
                self.index[hole] = number;
                hole = place;
            }
        }
        self.index[hole] = NONE;
    }
}

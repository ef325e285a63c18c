//! Station 3, too: *whose RPC is refused when there is not room for all?*
//!
//! The sources that hold most of the queue are refused first, so that one that asks for less than its share is served whatever the others
//! send. It is max-min fairness over the places of a queue: in a queue that is served in order all RPCs wait equally long, so equal places
//! are equal throughput.
//!
//! ```text
//!   waiting    0 ─────────────────────────── open ───────── bound
//!              anyone is admitted            │ sources below │ nobody
//!                                            │ their share   │
//! ```
//!
//! The last eighth of the room is kept for sources that hold less than an equal share of the open room. It is kept only while several sources
//! have met a queue that is short of room, in the last second: one that is alone may fill the queue up to its bound.
//!
//! A source is what a range of bits in the client's number says ([`Sources`]): each client by itself, or the host of a client, if the
//! transport gives out numbers that say so. There is a counter for each value of those bits, so memory and time are the same for any
//! number of sources. Two sources with equal bits share a share.
//!
//! With about as many sources as places, even the least share, one RPC, is not there for all of them: then the first to come is admitted.

use crate::id::NodeId;
use crate::time::{Span, Timestamp};
use alloc::boxed::Box;
use alloc::vec;

/// The part of the room that is kept for those below their share: 1 / 8. It is what they may have waiting beyond the others' RPCs.
const KEPT_SHIFT: u32 = 3;
/// How long room is kept after another source was last seen: long against the time between two RPCs of a client that asks for few.
const KEPT_FOR: Span = Span::from_ms(1000);
/// No place.
const NOWHERE: u32 = u32::MAX;

/// Which bits of a client's number say whose it is.
///
/// # Examples
///
/// ```
/// use nebula_nic::{NodeId, Sources};
///
/// let hosts = Sources { shift: 8, bits: 4 };
/// assert_eq!((hosts.of(NodeId(0x1305)), hosts.of(NodeId(0x2307))), (3, 3));
/// assert_eq!(Sources::ONE.of(NodeId(7)), 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sources {
    /// How many bits lie below them.
    pub shift: u8,
    /// How many there are, at most [`SOURCE_BITS_MAX`]; 0: all clients are one source.
    pub bits: u8,
}

/// The most bits of a source: 65,536 counters of four bytes.
pub const SOURCE_BITS_MAX: u8 = 16;

impl Sources {
    /// All clients are one source: what is refused does not depend on who sends it.
    pub const ONE: Self = Self { shift: 0, bits: 0 };

    /// The source of a client.
    #[must_use]
    #[inline(always)]
    pub const fn of(self, snid: NodeId) -> u32 {
        snid.0.unbounded_shr(self.shift as u32) & ((1 << self.bits) - 1)
    }

    /// Whether there can be such bits.
    pub(crate) const fn is_possible(self) -> bool {
        self.bits <= SOURCE_BITS_MAX && self.shift as u32 + self.bits as u32 <= 32
    }
}

/// The RPCs that wait, by source.
///
/// # Cost
///
/// Every operation O(1), a burst as one RPC; no allocation after construction.
#[derive(Clone, Debug)]
pub struct FairShare {
    sources: Sources,
    waiting: Box<[u32]>,
    /// Sources with an RPC waiting.
    present: u32,
    /// The source that was the last to meet a queue short of room.
    last: u32,
    /// Until then room is kept.
    kept_until: Timestamp,
}

impl FairShare {
    /// Nothing waits.
    ///
    /// # Panics
    ///
    /// If `sources` has more than [`SOURCE_BITS_MAX`] bits, or bits beyond those of a number.
    #[must_use]
    pub fn new(sources: Sources) -> Self {
        assert!(sources.is_possible(), "{sources:?} are no bits of a number");
        let waiting = vec![0; 1 << sources.bits].into();
        Self { sources, waiting, present: 0, last: NOWHERE, kept_until: Timestamp::ZERO }
    }

    /// How many RPCs may wait before it depends on the source whether another is admitted: all but what is kept of `bound`.
    #[must_use]
    pub const fn open(bound: u32) -> u32 {
        let kept = bound >> KEPT_SHIFT;
        // Of few places one is kept; of one place none.
        if kept > 0 || bound < 2 { bound - kept } else { bound - 1 }
    }

    /// RPCs of the source of `snid` that wait.
    #[must_use]
    #[inline]
    pub fn waiting_of(&self, snid: NodeId) -> u32 {
        self.waiting[self.sources.of(snid) as usize]
    }

    /// Sources with an RPC waiting.
    #[must_use]
    #[inline]
    pub const fn present(&self) -> u32 {
        self.present
    }

    /// RPCs of `snid` have joined the queue.
    #[inline(always)]
    pub fn handle_queued(&mut self, snid: NodeId, rpcs: u32) {
        let waiting = &mut self.waiting[self.sources.of(snid) as usize];
        self.present += u32::from(*waiting == 0);
        *waiting += rpcs;
    }

    /// RPCs of `snid` have left the queue.
    #[inline(always)]
    pub fn handle_unqueued(&mut self, snid: NodeId, rpcs: u32) {
        let waiting = &mut self.waiting[self.sources.of(snid) as usize];
        *waiting -= rpcs;
        self.present -= u32::from(*waiting == 0);
    }

    /// How many RPCs of `snid` would be admitted, one after the other, to a queue of `bound` places in which `waiting` wait.
    #[must_use]
    #[inline(never)]
    pub fn room(&self, now: Timestamp, snid: NodeId, waiting: u32, bound: u32) -> u32 {
        let free = bound.saturating_sub(waiting);
        let source = self.sources.of(snid);
        let is_other = self.last != NOWHERE && self.last != source;
        if !is_other && now >= self.kept_until {
            return free;
        }
        let own = self.waiting[source as usize];
        let open = Self::open(bound);
        let share = (open / (self.present + u32::from(own == 0)).max(1)).max(1);
        let below_share = share.saturating_sub(own);
        open.saturating_sub(waiting).max(below_share).min(free)
    }

    /// An RPC of `snid` has met a queue with more waiting than is [open](Self::open) to anyone, whether or not it was admitted.
    #[inline(never)]
    pub fn note(&mut self, now: Timestamp, snid: NodeId) {
        let source = self.sources.of(snid);
        if self.last != source {
            if self.last != NOWHERE {
                self.kept_until = now + KEPT_FOR;
            }
            self.last = source;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: u32 = 64;
    const NOW: Timestamp = Timestamp::ZERO;
    const HEAVY: NodeId = NodeId(1);
    const LIGHT: NodeId = NodeId(2);

    fn sources() -> FairShare {
        FairShare::new(Sources { shift: 0, bits: 4 })
    }

    #[test]
    fn one_source_alone_fills_the_queue() {
        let mut share = sources();
        share.handle_queued(HEAVY, 60);
        share.note(NOW, HEAVY);
        assert_eq!(share.room(NOW, HEAVY, 60, BOUND), 4);
        assert_eq!(share.room(NOW, HEAVY, 64, BOUND), 0);
    }

    #[test]
    fn beside_another_the_heavy_one_stops_where_the_kept_room_begins() {
        let mut share = sources();
        share.handle_queued(HEAVY, 50);
        share.note(NOW, HEAVY);
        share.note(NOW, LIGHT);
        assert_eq!(share.room(NOW, HEAVY, 50, BOUND), FairShare::open(BOUND) - 50);
        share.handle_queued(HEAVY, 6);
        assert_eq!(share.room(NOW, HEAVY, 56, BOUND), 0);
        assert_eq!(share.room(NOW, LIGHT, 56, BOUND), 8);
        // With both waiting the share is half: below it, the heavy one may use the kept room too.
        share.handle_queued(LIGHT, 4);
        share.handle_unqueued(HEAVY, 30);
        assert_eq!(share.room(NOW, HEAVY, 63, BOUND), 1);
    }

    #[test]
    fn what_is_kept_is_given_out_again_when_the_others_stay_away() {
        let mut share = sources();
        share.handle_queued(HEAVY, 60);
        share.note(NOW, LIGHT);
        share.note(NOW, HEAVY);
        assert_eq!(share.room(NOW, HEAVY, 60, BOUND), 0);
        assert_eq!(share.room(NOW + KEPT_FOR, HEAVY, 60, BOUND), 4);
    }

    #[test]
    fn few_places_keep_one_and_one_place_keeps_none() {
        assert_eq!([1, 2, 7, 8, 64].map(FairShare::open), [1, 1, 6, 7, 56]);
        assert_eq!(FairShare::open(0), 0);
    }

    #[test]
    fn sources_are_present_as_long_as_something_of_theirs_waits() {
        let mut share = sources();
        share.handle_queued(HEAVY, 2);
        share.handle_queued(NodeId(17), 1);
        share.handle_queued(LIGHT, 1);
        assert_eq!((share.present(), share.waiting_of(HEAVY)), (2, 3), "17 and 1 have equal bits");
        share.handle_unqueued(HEAVY, 3);
        assert_eq!(share.present(), 1);
    }
}

//! Station 3, too: *whose RPC is refused when there is not room for all?*
//!
//! The sources that have recently taken most of the room are refused first. So a source that asks
//! for less than its share is served whatever the others send.
//!
//! ```text
//!   waiting    0 ─────────────────────────── open ─────────────────────────────── bound
//!              anyone is admitted            │ sources that have had less than the mean: │
//!                                            │ the fewer places are left, the less       │
//! ```
//!
//! The last eighth of the room, or the second half if there are tenants, is kept for sources that
//! have had fewer RPCs admitted than the mean source, among the last 1,024 to 2,048. It is kept
//! only while several sources have met a queue short of room within the last second: a single
//! source may fill the queue up to its bound.
//!
//! While room is kept, RPCs of a source that has had less than a quarter of the mean are also
//! served first. All such sources together have had less than a quarter, so the others wait at most
//! a third longer.
//!
//! RPCs count when they are admitted while others wait. Counting those in the queue would not do: a
//! queue that is filled and then served to its end would each time be all the first comer's. An RPC
//! that finds nothing waiting takes no room from any source and is not counted.
//!
//! A source is a range of bits in the client's number ([`Sources`]): one client, or a client's host
//! if the transport numbers clients so. Each value of those bits has a counter, so memory and time
//! do not depend on the number of sources. Sources of one tenant have equal shares;
//! [tenants](Tenants) have weights.

mod tenants;

pub use tenants::{TENANTS_MAX, Tenants};

use crate::id::NodeId;
use crate::time::{Span, Timestamp};
use alloc::boxed::Box;
use alloc::vec;
use tenants::Shares;

/// The kept part of the room, 1 / 8: light sources may have that many more RPCs waiting.
const KEPT_SHIFT: u32 = 3;
/// The same if there are several tenants: 1 / 2. The slots that a core frees in one turn would all
/// go to the first comer; with an eighth, a tenant of weight 3 of 5 that asks later gets 37 %
/// (`udp_tenants`).
const KEPT_FOR_TENANTS_SHIFT: u32 = 1;
/// How long room is kept after another source was last seen: long compared with the time between
/// two RPCs of a client that asks for few.
const KEPT_FOR: Span = Span::from_ms(1000);
/// A source that has had less than 1 / 4 of the mean source's RPCs is served first.
const FIRST_PART: u32 = 4;
/// RPCs admitted in a round. This round and the one before decide which sources are light: enough
/// RPCs to distinguish one in a hundred from one in ten.
const ROUND: u32 = 1024;
const NOWHERE: u32 = u32::MAX;

const _: () = assert!(ROUND <= u16::MAX as u32, "a source's RPCs of a round are counted in 16 bits");

/// The bits of a client's number that identify its source.
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
    /// The number of bits below them.
    pub shift: u8,
    /// Their number, at most [`SOURCE_BITS_MAX`]; 0: all clients are one source.
    pub bits: u8,
}

/// The most bits of a source: 65,536 counters of four bytes.
pub const SOURCE_BITS_MAX: u8 = 16;

impl Sources {
    /// All clients are one source: admission does not depend on the sender.
    pub const ONE: Self = Self { shift: 0, bits: 0 };

    /// The source of a client.
    #[must_use]
    #[inline(always)]
    pub const fn of(self, snid: NodeId) -> u32 {
        snid.0.unbounded_shr(self.shift as u32) & ((1 << self.bits) - 1)
    }

    pub(crate) const fn is_possible(self) -> bool {
        self.bits <= SOURCE_BITS_MAX && self.shift as u32 + self.bits as u32 <= 32
    }
}

/// The RPCs that a source has had.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    round: u32,
    /// RPCs admitted in `round`, and in the one before it.
    now: u16,
    before: u16,
}

impl Use {
    #[inline(always)]
    const fn at(self, round: u32) -> Self {
        let age = round.wrapping_sub(self.round);
        let now = if age == 0 { self.now } else { 0 };
        let before = if age == 1 { self.now } else { 0 };
        let before = if age == 0 { self.before } else { before };
        Self { round, now, before }
    }

    const fn rpcs(self) -> u32 {
        self.now as u32 + self.before as u32
    }
}

/// RPCs of a round, and the number of sources that sent them or were refused.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    rpcs: u32,
    sources: u32,
}

/// The RPCs that the sources of a queue have had, and which sources it therefore has room for.
/// Cost: every operation is O(1) except [`room`](Self::room); no allocation after construction.
#[derive(Clone, Debug)]
pub struct FairShare {
    shift: u32,
    mask: u32,
    /// A round of fewer RPCs is counted the quick way: all rounds, unless tenants are counted too.
    quick: u32,
    uses: Box<[Use]>,
    /// Starts at 2, so that an untouched counter is of no round.
    round: u32,
    now: Round,
    before: Round,
    /// The last source that met a queue short of room.
    last: u32,
    kept_until: Timestamp,
    /// The tenants' RPCs, if there are several tenants.
    shares: Option<Box<Shares>>,
}

impl FairShare {
    /// No source has had anything.
    ///
    /// # Panics
    ///
    /// If `sources` has more than [`SOURCE_BITS_MAX`] bits, or bits beyond those of a number.
    #[must_use]
    pub fn new(sources: Sources) -> Self {
        assert!(sources.is_possible(), "{sources:?} are no bits of a number");
        let uses = vec![Use::default(); 1 << sources.bits].into();
        let (now, before) = (Round::default(), Round::default());
        let (shift, mask) = (u32::from(sources.shift) % 32, (1 << sources.bits) - 1);
        let (last, kept_until) = (NOWHERE, Timestamp::ZERO);
        Self { shift, mask, quick: ROUND, uses, round: 2, now, before, last, kept_until, shares: None }
    }

    /// Shares among tenants by weight, if there are several, and evenly among the sources of each.
    ///
    /// # Panics
    ///
    /// If the tenants are invalid: see [`Tenants::new`].
    #[must_use]
    pub fn with_tenants(self, tenants: Tenants) -> Self {
        assert!(tenants.are_possible(), "{tenants:?} are no bits of a number and weights from 1");
        if !tenants.are_several() {
            return self;
        }
        Self { quick: 0, shares: Some(Box::new(Shares::new(tenants))), ..self }
    }

    /// RPCs that may wait before admission depends on the source: `bound` without the kept part.
    #[must_use]
    pub const fn open(bound: u32) -> u32 {
        Self::open_but(bound, KEPT_SHIFT)
    }

    /// The same with the part that is kept for this one's tenants.
    #[must_use]
    pub const fn open_here(&self, bound: u32) -> u32 {
        Self::open_but(bound, if self.shares.is_some() { KEPT_FOR_TENANTS_SHIFT } else { KEPT_SHIFT })
    }

    const fn open_but(bound: u32, kept_shift: u32) -> u32 {
        let kept = bound >> kept_shift;
        // At least one place of two or more is kept.
        if kept > 0 || bound < 2 { bound - kept } else { bound - 1 }
    }

    /// RPCs of the source of `snid` that were counted in this round and the one before.
    #[must_use]
    #[inline]
    pub fn used_by(&self, snid: NodeId) -> u32 {
        self.use_of(snid).at(self.round).rpcs()
    }

    /// The sources that were counted or [noted](Self::note) in this round or in the one before,
    /// whichever had more.
    #[must_use]
    #[inline(always)]
    pub const fn sources(&self) -> u32 {
        let (now, before) = (self.now.sources, self.before.sources);
        if now > before { now } else { before }
    }

    #[inline(always)]
    fn use_of(&self, snid: NodeId) -> Use {
        self.uses[self.source(snid) as usize]
    }

    #[inline(always)]
    const fn source(&self, snid: NodeId) -> u32 {
        snid.0.wrapping_shr(self.shift) & self.mask
    }

    /// Counts RPCs of `snid` that are admitted, fewer than two rounds of them.
    #[inline(always)]
    pub fn handle_admitted(&mut self, snid: NodeId, rpcs: u32) {
        if self.now.rpcs + rpcs < self.quick {
            return self.count(snid, rpcs);
        }
        self.count_over(snid, rpcs);
    }

    /// Where the round may end with these RPCs, or tenants are counted.
    #[inline(never)]
    fn count_over(&mut self, snid: NodeId, rpcs: u32) {
        let left = ROUND - self.now.rpcs;
        if rpcs < left {
            return self.count_with_tenant(snid, rpcs);
        }
        self.count_with_tenant(snid, left);
        self.before = core::mem::take(&mut self.now);
        self.round = self.round.wrapping_add(1);
        if let Some(shares) = &mut self.shares {
            shares.end_round();
        }
        if rpcs > left {
            self.count_with_tenant(snid, rpcs - left);
        }
    }

    fn count_with_tenant(&mut self, snid: NodeId, rpcs: u32) {
        let own = self.use_of(snid);
        let own = (own.at(self.round).rpcs(), own.round != self.round);
        self.count(snid, rpcs);
        if let Some(shares) = &mut self.shares {
            shares.count(snid, rpcs, own);
        }
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "at most a round")]
    fn count(&mut self, snid: NodeId, rpcs: u32) {
        let used = &mut self.uses[(snid.0.wrapping_shr(self.shift) & self.mask) as usize];
        // Without a branch, so that a source's first RPC in a round costs as much as others.
        let is_new = used.round != self.round;
        self.now.sources += u32::from(is_new);
        *used = used.at(self.round);
        used.now += rpcs as u16;
        self.now.rpcs += rpcs;
    }

    /// How many of `most` RPCs of `snid` would be admitted, one after the other, to a queue of
    /// `bound` places in which `waiting` wait. At most as many as end the round; at least one if
    /// there is room for it. Cost: O(RPCs that are admitted).
    #[must_use]
    #[inline(never)]
    pub fn room(&self, now: Timestamp, snid: NodeId, (waiting, bound): (u32, u32), most: u32) -> u32 {
        let free = bound.saturating_sub(waiting).min(most);
        let is_other = self.last != NOWHERE && self.last != self.source(snid);
        if !is_other && now >= self.kept_until {
            return free;
        }
        let free = free.min(ROUND - self.now.rpcs);
        let own = self.use_of(snid);
        let is_new = u32::from(own.round != self.round);
        let own = own.at(self.round).rpcs();
        if let Some(shares) = &self.shares {
            let kept = bound - self.open_here(bound);
            let is_light = |more: u32| shares.is_light(snid, own, more, (bound - waiting - more, kept));
            return (0..free).find(|&more| !is_light(more)).unwrap_or(free);
        }
        let sources = (self.now.sources + is_new).max(self.before.sources);
        let all = self.now.rpcs + self.before.rpcs;
        let is_light = |more: u32| is_light(own + more, (all + more, sources), (bound - waiting - more, bound));
        (0..free).find(|&more| !is_light(more)).unwrap_or(free)
    }

    /// Decides about an RPC of `snid` for a queue that is kept elsewhere, such as a scheduler's in
    /// software, and counts it. The queue has `bound` places, of which `waiting` are taken. Cost:
    /// that of [`room`](Self::room) for one RPC, when fewer places are left than are
    /// [open](Self::open).
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula_nic::fair_share::Judged;
    /// use nebula_nic::{FairShare, NodeId, Sources, Timestamp};
    ///
    /// let (mut share, now) = (FairShare::new(Sources { shift: 0, bits: 4 }), Timestamp::ZERO);
    /// // One that is alone has all of it.
    /// (0..16).for_each(|waiting| assert_eq!(share.judge(now, NodeId(1), (waiting, 16)), Judged::Last));
    /// assert_eq!(share.judge(now, NodeId(2), (16, 16)), Judged::Refused);
    /// // From here on places are kept for the other.
    /// assert_eq!(share.judge(now, NodeId(1), (15, 16)), Judged::Refused);
    /// assert_eq!(share.judge(now, NodeId(2), (15, 16)), Judged::First);
    /// ```
    pub fn judge(&mut self, now: Timestamp, snid: NodeId, (waiting, bound): (u32, u32)) -> Judged {
        if waiting >= self.open_here(bound) {
            self.note(now, snid);
            if self.room(now, snid, (waiting, bound), 1) == 0 {
                return Judged::Refused;
            }
        }
        let is_first = self.is_kept(now) && self.served_first(snid, waiting > 0, 1).0;
        // An RPC that finds nothing waiting takes no room from any source.
        if waiting > 0 {
            self.handle_admitted(snid, 1);
        }
        if is_first { Judged::First } else { Judged::Last }
    }

    #[inline(always)]
    pub(crate) fn is_kept(&self, now: Timestamp) -> bool {
        now < self.kept_until
    }

    /// Of `most` RPCs of `snid`, admitted one after the other behind others or not (`is_behind`):
    /// whether the first is served before other sources' RPCs, and how many are served like it.
    #[inline(never)]
    pub(crate) fn served_first(&self, snid: NodeId, is_behind: bool, most: u32) -> (bool, u32) {
        let most = most.min(ROUND - self.now.rpcs);
        let own = self.use_of(snid);
        let sources = (self.now.sources + u32::from(own.round != self.round)).max(self.before.sources);
        let (own, all) = (own.at(self.round).rpcs(), self.now.rpcs + self.before.rpcs);
        let is_first = |more: u32| {
            let counted = if is_behind { more } else { more.saturating_sub(1) };
            u64::from((own + counted + 1) * FIRST_PART) * u64::from(sources) < u64::from(all + counted)
        };
        // Each RPC admitted makes its source heavier.
        if is_first(0) { (true, (1..most).find(|&more| !is_first(more)).unwrap_or(most)) } else { (false, most) }
    }

    /// How many of `most` RPCs of `snid`, admitted behind `waiting` others, come before room begins
    /// to be kept because of them; up to `open` may wait before room is short.
    #[inline(never)]
    pub(crate) fn until_kept(&self, snid: NodeId, (waiting, open): (u32, u32), most: u32) -> u32 {
        let begins = self.last != NOWHERE && self.last != self.source(snid);
        if begins { most.min((open + 1).saturating_sub(waiting).max(1)) } else { most }
    }

    /// Whether the source of `snid` has had less than half of the mean source's RPCs.
    #[must_use]
    pub fn is_light(&self, snid: NodeId) -> bool {
        let sources = self.now.sources.max(self.before.sources);
        u64::from(self.used_by(snid)) * u64::from(2 * sources) < u64::from(self.now.rpcs + self.before.rpcs)
    }

    /// Whether [`note`](Self::note) can be skipped for another RPC of `snid` now: this source and
    /// that there are several are already noted.
    #[must_use]
    #[inline]
    pub fn is_noted(&self, now: Timestamp, snid: NodeId) -> bool {
        let is_counted = self.use_of(snid).round == self.round;
        is_counted && (self.last == self.source(snid) || now + KEPT_FOR / 2 < self.kept_until)
    }

    /// Notes that an RPC of `snid`, admitted or not, has met a queue with at least as many waiting
    /// as are [open](Self::open).
    #[inline(never)]
    pub fn note(&mut self, now: Timestamp, snid: NodeId) {
        let source = self.source(snid);
        if self.last != source {
            if self.last != NOWHERE {
                self.kept_until = now + KEPT_FOR;
            }
            self.last = source;
        }
        self.count_with_tenant(snid, 0);
    }
}

/// The decision of [`FairShare::judge`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// There is no room, or none for its source.
    Refused,
    /// Behind all that wait.
    Last,
    /// Before those that are admitted as [`Last`](Self::Last).
    First,
}

/// Whether a source with `own` of `all` RPCs may take one of `left` places of `bound`.
#[inline(always)]
fn is_light(own: u32, (all, sources): (u32, u32), (left, bound): (u32, u32)) -> bool {
    let kept = bound - FairShare::open(bound);
    // own / mean < left / kept
    left > kept || own == 0 || u64::from(own * sources) * u64::from(kept) < u64::from(all) * u64::from(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: u32 = 64;
    const OPEN: u32 = FairShare::open(BOUND);
    const NOW: Timestamp = Timestamp::ZERO;
    const HEAVY: NodeId = NodeId(1);
    const LIGHT: NodeId = NodeId(2);

    fn share() -> FairShare {
        FairShare::new(Sources { shift: 0, bits: 4 })
    }

    /// The heavy source has had 90 of 100 RPCs, and both have met a queue short of room.
    fn shared() -> FairShare {
        let mut share = share();
        share.handle_admitted(HEAVY, 90);
        share.handle_admitted(LIGHT, 10);
        share.note(NOW, HEAVY);
        share.note(NOW, LIGHT);
        share
    }

    #[test]
    fn one_source_alone_fills_the_queue() {
        let mut share = share();
        share.handle_admitted(HEAVY, 60);
        share.note(NOW, HEAVY);
        assert_eq!([60, 64].map(|waiting| share.room(NOW, HEAVY, (waiting, BOUND), 9)), [4, 0]);
    }

    #[test]
    fn beside_another_the_heavy_one_stops_where_the_kept_room_begins() {
        let share = shared();
        assert_eq!([40, OPEN, 63].map(|waiting| share.room(NOW, HEAVY, (waiting, BOUND), 64)), [OPEN - 40, 0, 0]);
        // A fifth of the mean: up to a fifth of the kept places is left.
        assert_eq!([OPEN, 62, 64].map(|waiting| share.room(NOW, LIGHT, (waiting, BOUND), 3)), [3, 1, 0]);
    }

    #[test]
    fn what_is_kept_is_given_out_again_when_the_others_stay_away() {
        let mut share = shared();
        share.note(NOW, HEAVY);
        assert_eq!(share.room(NOW, HEAVY, (60, BOUND), 9), 0);
        assert_eq!(share.room(NOW + KEPT_FOR, HEAVY, (60, BOUND), 9), 4);
        // Others are noted twice as often as they are forgotten.
        assert!(share.is_noted(NOW, LIGHT) && !share.is_noted(NOW + KEPT_FOR / 2, LIGHT));
    }

    #[test]
    fn what_was_had_two_rounds_ago_is_forgotten() {
        let mut share = shared();
        share.handle_admitted(LIGHT, ROUND);
        assert_eq!((share.used_by(HEAVY), share.used_by(LIGHT)), (90, ROUND + 10));
        share.handle_admitted(LIGHT, ROUND);
        assert_eq!(share.used_by(HEAVY), 0);
        assert!(share.room(NOW, HEAVY, (OPEN, BOUND), 1) > 0 && share.room(NOW, LIGHT, (OPEN, BOUND), 1) == 0);
    }

    #[test]
    fn light_is_who_has_had_less_than_half_the_mean() {
        let mut share = shared();
        assert_eq!([HEAVY, LIGHT].map(|snid| share.is_light(snid)), [false, true]);
        share.handle_admitted(LIGHT, 20);
        // 30 of 120 of two sources: half the mean.
        assert!(!share.is_light(LIGHT));
    }

    #[test]
    fn few_places_keep_one_and_one_place_keeps_none() {
        assert_eq!([0, 1, 2, 7, 8, 64].map(FairShare::open), [0, 1, 1, 6, 7, 56]);
    }

    #[test]
    fn sources_of_equal_bits_are_one() {
        let mut share = share();
        share.handle_admitted(HEAVY, 2);
        share.handle_admitted(NodeId(17), 1);
        assert_eq!(share.used_by(HEAVY), 3);
    }
}

//! Station 4: *where does the payload go?*
//!
//! One circular array of 64 B slots holds the payload of *every* peer; the SLO decides its size,
//! not the number of peers. This module chooses slots and never sees the bytes.
//!
//! ```text
//!   slot   0         8         16        24        32
//!          ##..###########.....................######..
//!                         ^head                ^tail       # used   . free
//! ```
//!
//! `head` advances towards `tail` through slots that are known to be free; `tail` is the next slot
//! that might be used. RPCs end in any order: freeing clears their bits, and `tail` skips clear
//! bits when `head` needs the room. A slow RPC stops `tail`. Then *scrubbing* searches the
//! bitvector for the next run that is long enough, and `head` continues there; `tail` meets the
//! slow RPC again a lap later.
//!
//! Besides the papers' bit per slot (`used`) there is a second one, `follows`, for every slot of an
//! RPC except its first, and for the first slot the holder of the RPC. So a freed range is checked
//! against exactly one RPC of exactly that holder.
//!
//! Departs: `tail` moves when `head` needs room, a word of bits at a time, and not at each free.
//! Which slots an RPC gets is the same in both cases, since the run of free slots after `head` is
//! the same.
//!
//! Next: station 5, [`reassembler`](crate::reassembler).

mod scan;

use crate::burst::Run;
use crate::core_set::CORES_MAX;
use crate::id::{CoreId, GroupId, Slot, SlotRange};
use alloc::boxed::Box;
use alloc::vec;
use scan::Scan;

/// When to search for a free run beyond a slow RPC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScrubMode {
    /// Before replying with a NACK, which is then sent only if no run is long enough.
    ///
    /// Departs: the paper replies with a NACK and scrubs off the critical path, where hardware has
    /// the time. Software pays for the scan either way, so it scans before it refuses.
    #[default]
    OnFull,
    /// After replying with a NACK, as in the paper: later RPCs use the room.
    AfterNack,
    /// Ahead of need, as in hardware, whose decisions wait for no search: each packet that begins
    /// an RPC and each free looks at three words of bits, and their runs count some inputs later. A
    /// NACK is sent if no look has found the room yet.
    Ahead,
    /// Never: a slow RPC blocks all slots from its own to the head until it ends. For measuring
    /// what scrubbing is worth.
    Off,
}

/// Which free slots are given out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlotOrder {
    /// Those after the ones given out last, round the buffer, as in the paper.
    #[default]
    Circular,
    /// The same, but from the first slot on whenever the buffer is empty.
    ///
    /// Departs: software serves as fast as RPCs come for most of its time, and then the first slots
    /// stay in the core's own cache. A circular buffer is walked through the whole of its size,
    /// which is that of the longest queue that the SLO allows.
    FirstWhenEmpty,
}

/// The holder of a live RPC's slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The NIC: the RPC is incomplete, or waits.
    Nic,
    /// The core that it was given to.
    Core(CoreId),
    /// Another group of cores, to which the RPC was handed over.
    Group(GroupId),
    /// The core that serves the run of RPCs that begins there, which is held and freed as a whole.
    Run(CoreId),
}

impl Holder {
    const NIC: u16 = u16::MAX;
    /// The code of holders that do not exist.
    const NOBODY: u16 = u16::MAX - 1;
    /// Codes from here on are groups.
    const GROUPS: u16 = 1 << 15;
    /// Codes from here on are runs; codes below are cores.
    const RUNS: u16 = 1 << 14;

    /// A distinct code for each holder that exists; one code for all others.
    #[inline]
    const fn code(self) -> u16 {
        match self {
            Self::Nic => Self::NIC,
            Self::Core(core) | Self::Run(core) if core.0 >= CORES_MAX => Self::NOBODY,
            Self::Core(core) => core.0,
            Self::Run(core) => Self::RUNS + core.0,
            Self::Group(group) if group.0 >= CORES_MAX => Self::NOBODY,
            Self::Group(group) => Self::GROUPS + group.0,
        }
    }
}

const _: () = assert!(CORES_MAX <= Holder::RUNS && CORES_MAX <= Holder::NOBODY - Holder::GROUPS);

/// The bits of 64 slots, adjacent: an RPC of up to 64 slots usually touches one cache line of them.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    used: u64,
    follows: u64,
}

impl Word {
    /// Whether the slots `mask` are used, and `rest` of them follow another slot of the same RPC.
    #[inline]
    const fn is_exactly(&self, mask: u64, rest: u64) -> bool {
        (!self.used & mask) | ((self.follows & mask) ^ rest) == 0
    }

    #[inline]
    const fn clear(&mut self, mask: u64) {
        self.used &= !mask;
        self.follows &= !mask;
    }
}

/// The most slots of one buffer: 64 GiB of payload.
pub const SLOTS_MAX: u32 = 1 << 30;

/// The free slots of the receive buffer, and where the next RPC goes.
///
/// # Invariants
///
/// Live ranges never overlap and never wrap the end; the slots from `head` to `tail` are free;
/// `slots_used <= slots_used_max <= slots`.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Holder, RecvBuffer, SlotRange};
///
/// let mut buffer = RecvBuffer::new(4);
/// let slow = buffer.alloc(1).unwrap();
/// let fast = buffer.alloc(3).unwrap();
/// assert!(buffer.free(fast, Holder::Nic));
/// assert_eq!(buffer.alloc(2), None, "head has gone round and stands before the slow RPC");
/// assert!(buffer.scrub(2));
/// assert_eq!(buffer.alloc(2), Some(SlotRange::new(1, 2)), "the room beyond it");
/// assert!(buffer.free(slow, Holder::Nic) && !buffer.free(slow, Holder::Nic));
/// ```
#[derive(Clone, Debug)]
pub struct RecvBuffer {
    words: Box<[Word]>,
    /// The holder of the RPC that begins at a slot; the NIC if none does.
    holders: Box<[u16]>,
    order: SlotOrder,
    /// The number of its first slot. All other fields count from 0.
    first: u32,
    slots: u32,
    head: u32,
    /// At most `slots`: `head` wraps only over an end that is free.
    tail: u32,
    used: u32,
    used_max: u32,
    wraps: u64,
    /// The last scrub found no run of this many slots; any free resets this.
    missing_run: u32,
    scan: Scan,
}

impl RecvBuffer {
    /// A buffer of `slots` free slots.
    ///
    /// # Panics
    ///
    /// If `slots` is 0 or more than [`SLOTS_MAX`].
    #[must_use]
    pub fn new(slots: u32) -> Self {
        assert!((1..=SLOTS_MAX).contains(&slots), "a receive buffer has 1 to {SLOTS_MAX} slots, not {slots}");
        // One more bit than slots, always set, where every search for a used slot ends.
        let mut words = vec![Word::default(); (slots / 64 + 1) as usize];
        words[(slots / 64) as usize].used = u64::MAX << (slots % 64);
        let (words, holders) = (words.into(), vec![Holder::NIC; slots as usize].into());
        let (head, tail, first) = (0, slots, 0);
        let order = SlotOrder::Circular;
        let (missing_run, scan) = (u32::MAX, Scan::new(slots));
        Self { words, holders, order, first, slots, head, tail, used: 0, used_max: 0, wraps: 0, missing_run, scan }
    }

    /// Gives slots out in another order.
    #[must_use]
    pub fn in_order(mut self, order: SlotOrder) -> Self {
        self.order = order;
        self
    }

    /// Numbers its slots from `first`, so that several buffers of one server share one numbering.
    #[must_use]
    pub fn numbered_from(mut self, first: u32) -> Self {
        self.first = first;
        self
    }

    /// The number of its first slot.
    #[must_use]
    #[inline]
    pub const fn first(&self) -> u32 {
        self.first
    }

    /// Whether `range` begins in this buffer.
    #[must_use]
    #[inline]
    pub const fn has(&self, range: SlotRange) -> bool {
        range.start.0.wrapping_sub(self.first) < self.slots
    }

    /// The range counted from 0: beyond all slots, if it begins outside this buffer.
    #[inline(always)]
    const fn counted(&self, range: SlotRange) -> SlotRange {
        SlotRange::new(range.start.0.wrapping_sub(self.first), range.slots)
    }

    /// Takes `slots` consecutive slots, at least 1, for one RPC; they belong to the NIC until
    /// [`give`](Self::give).
    ///
    /// `None` if the run of free slots after `head` is too short; [`scrub`](Self::scrub) finds free
    /// runs elsewhere. Cost: O(slots / 64) amortized over a lap of `head`, no allocation; usually
    /// one word. In RTL one cycle.
    #[inline(always)]
    pub fn alloc(&mut self, slots: u32) -> Option<SlotRange> {
        self.restart_if_empty();
        if self.tail - self.head < slots && !self.extend(slots) {
            return None;
        }
        let range = SlotRange::new(self.head, slots);
        self.head += slots;
        self.used += slots;
        self.used_max = self.used_max.max(self.used);
        self.mark(range);
        Some(SlotRange::new(self.first + range.start.0, slots))
    }

    /// Takes `slots_each` slots for each of at most `most` RPCs: exactly what as many calls of
    /// [`alloc`](Self::alloc) would return, up to the first that fails or does not continue where
    /// the one before ended.
    ///
    /// Returns the first slot and the number of RPCs; `None` if the run of free slots after `head`
    /// is too short for one. Cost: that of one `alloc` if each RPC takes one slot; otherwise
    /// O(RPCs).
    #[inline(always)]
    pub fn alloc_burst(&mut self, slots_each: u32, most: u32) -> Option<(Slot, u32)> {
        self.restart_if_empty();
        let wanted = slots_each.saturating_mul(most);
        let rpcs = if self.tail - self.head >= wanted { most } else { self.extend_for_burst(slots_each, most) };
        if rpcs == 0 {
            return None;
        }
        let (start, slots) = (self.head, slots_each * rpcs);
        self.head += slots;
        self.used += slots;
        self.used_max = self.used_max.max(self.used);
        match mask_in_word(SlotRange::new(start, slots)) {
            Some(mask) if slots_each == 1 => self.words[(start / 64) as usize].used |= mask,
            _ => self.mark_burst(start, slots_each, rpcs),
        }
        Some((Slot(self.first + start), rpcs))
    }

    /// The first of the `slots` slots that come next, if they are free. Takes none.
    #[must_use]
    #[inline(always)]
    pub fn next_for(&self, slots: u32) -> Option<Slot> {
        let next = self.free_ahead();
        (next.slots >= slots && slots > 0).then_some(next.start)
    }

    /// The free slots that come next, perhaps none. Takes none.
    #[must_use]
    #[inline(always)]
    pub fn free_ahead(&self) -> SlotRange {
        let (start, end) = if self.restarts() { (0, self.slots) } else { (self.head, self.tail) };
        SlotRange::new(self.first + start, end - start)
    }

    /// The `slots` slots from `first` on, [next in order](Self::next_for), were taken and are free.
    #[inline(always)]
    pub fn pass(&mut self, first: Slot, slots: u32) {
        self.restart_if_empty();
        debug_assert_eq!(first.0, self.first + self.head, "those that come next");
        self.head += slots;
        self.used_max = self.used_max.max(self.used + slots);
        self.missing_run = u32::MAX;
    }

    /// Notes that `core` serves a run, which [`alloc_burst`](Self::alloc_burst) returned; `false`
    /// if it is not in this buffer.
    #[inline(always)]
    pub fn give_run(&mut self, run: &Run, core: CoreId) -> bool {
        let holder = self.holders.get_mut(run.first_slot.0.wrapping_sub(self.first) as usize);
        holder.map(|holder| *holder = Holder::Run(core).code()).is_some()
    }

    /// Frees the slots of a run if it is exactly one that `core` serves; otherwise changes nothing
    /// and returns `false`. Cost: O(slots / 64) if each RPC takes one slot; otherwise O(RPCs).
    #[inline(always)]
    pub fn free_run(&mut self, run: &Run, core: CoreId) -> bool {
        let start = run.first_slot.0.wrapping_sub(self.first);
        let Some(holder) = self.holders.get_mut(start as usize) else { return false };
        if *holder != Holder::Run(core).code() {
            return false;
        }
        let slots = run.rpcs * run.burst.slots_each;
        let mask =
            mask_in_word(SlotRange::new(start, slots)).filter(|mask| mask >> 63 == 0 && run.burst.slots_each == 1);
        match mask {
            Some(mask) => {
                let word = &mut self.words[(start / 64) as usize];
                // Each slot is used; neither it nor the slot behind the last follows another.
                if !word.used & mask | word.follows & (mask | mask << 1) != 0 {
                    return false;
                }
                word.used &= !mask;
            }
            None if !self.clear_run(SlotRange::new(start, slots), run) => return false,
            None => {}
        }
        self.holders[start as usize] = Holder::NIC;
        self.used -= slots;
        self.missing_run = u32::MAX;
        true
    }

    /// Notes that `core` holds `range`; `false` if it is not in this buffer.
    #[inline(always)]
    pub fn give(&mut self, range: SlotRange, core: CoreId) -> bool {
        let holder = self.holders.get_mut(self.counted(range).start.0 as usize);
        holder.map(|holder| *holder = core.0).is_some()
    }

    /// Notes that `holder` holds `range`, which the NIC or another group held.
    ///
    /// # Panics
    ///
    /// If it is not in this buffer.
    pub fn hand_over(&mut self, range: SlotRange, holder: Holder) {
        let range = self.counted(range);
        self.holders[range.start.0 as usize] = holder.code();
    }

    /// Whether `range` is exactly one live RPC that `holder` holds. Cost: O(`range.slots` / 64).
    #[must_use]
    pub fn holds(&self, range: SlotRange, holder: Holder) -> bool {
        let range = self.counted(range);
        let is_held = self.holders.get(range.start.0 as usize).is_some_and(|held| *held == holder.code());
        is_held && self.is_one_rpc(range)
    }

    /// Frees `range` if it is exactly one live RPC that `holder` holds; otherwise changes nothing
    /// and returns `false`. Cost: O(`range.slots` / 64), no allocation.
    #[inline(always)]
    pub fn free(&mut self, range: SlotRange, holder: Holder) -> bool {
        let range = self.counted(range);
        let Some(held) = self.holders.get_mut(range.start.0 as usize) else { return false };
        if *held != holder.code() {
            return false;
        }
        // For one slot of a core, not the last of its word, it suffices that another RPC follows.
        let first = range.start.0 % 64;
        if range.slots == 1 && holder != Holder::Nic && first != 63 {
            let word = &mut self.words[(range.start.0 / 64) as usize];
            if word.follows >> first & 2 != 0 {
                return false;
            }
            word.used &= !(1 << first);
        } else if !self.clear_range(range) {
            return false;
        }
        self.holders[range.start.0 as usize] = Holder::NIC;
        self.used -= range.slots;
        self.missing_run = u32::MAX;
        true
    }

    /// Moves `head` to the next run of `slots` free slots, wrapping once; `false` if there is none.
    ///
    /// After `true` the next [`alloc`](Self::alloc) of at most `slots` succeeds. Cost: O(buffer /
    /// 64), no allocation; O(1) when the same search was made since the last free.
    pub fn scrub(&mut self, slots: u32) -> bool {
        if slots > self.slots_free() || slots >= self.missing_run {
            return false;
        }
        let run = self.find_run(self.head, self.slots, slots).or_else(|| self.find_run(0, self.head, slots));
        let Some(start) = run else {
            self.missing_run = slots;
            return false;
        };
        self.head = start;
        self.tail = start + slots;
        true
    }

    /// Slots of the buffer.
    #[must_use]
    pub const fn slots(&self) -> u32 {
        self.slots
    }

    /// Slots that live RPCs hold.
    #[must_use]
    #[inline]
    pub const fn slots_used(&self) -> u32 {
        self.used
    }

    /// Slots that no RPC holds, in one run or in many.
    #[must_use]
    #[inline]
    pub const fn slots_free(&self) -> u32 {
        self.slots - self.used
    }

    /// The most slots held at once since construction or
    /// [`reset_slots_used_max`](Self::reset_slots_used_max).
    #[must_use]
    pub const fn slots_used_max(&self) -> u32 {
        self.used_max
    }

    /// Restarts the high-water mark from the current use.
    pub const fn reset_slots_used_max(&mut self) {
        self.used_max = self.used;
    }

    /// How often `head` has wrapped.
    #[must_use]
    pub const fn wraps(&self) -> u64 {
        self.wraps
    }

    #[inline(always)]
    fn restarts(&self) -> bool {
        self.used == 0 && self.order == SlotOrder::FirstWhenEmpty
    }

    /// Begins at the first slot again, if the order asks for it and nothing is held.
    #[inline(always)]
    fn restart_if_empty(&mut self) {
        if self.restarts() {
            (self.head, self.tail) = (0, self.slots);
        }
    }

    /// How many of `most` RPCs have room behind the head or, if none has, at the first slot.
    #[cold]
    fn extend_for_burst(&mut self, slots_each: u32, most: u32) -> u32 {
        let wanted = slots_each.saturating_mul(most);
        self.tail = self.free_until(self.tail, self.head.saturating_add(wanted)).min(self.slots);
        if self.tail - self.head < slots_each && !self.extend(slots_each) {
            return 0;
        }
        most.min((self.tail - self.head) / slots_each)
    }

    #[inline(never)]
    fn mark_burst(&mut self, start: u32, slots_each: u32, rpcs: u32) {
        if slots_each == 1 {
            masks(SlotRange::new(start, rpcs)).for_each(|(index, mask, _)| self.words[index].used |= mask);
            return;
        }
        (0..rpcs).for_each(|rpc| self.mark(SlotRange::new(start + rpc * slots_each, slots_each)));
    }

    #[inline(never)]
    fn clear_run(&mut self, range: SlotRange, run: &Run) -> bool {
        if run.burst.slots_each == 1 { self.clear_singles(range) } else { self.clear_each(run) }
    }

    /// Clears the bits of a range, if each of its slots is an RPC.
    fn clear_singles(&mut self, range: SlotRange) -> bool {
        let end = range.start.0.checked_add(range.slots).filter(|&end| range.slots > 0 && end <= self.slots);
        let are_singles = end.is_some_and(|end| {
            !self.follows(end) && masks(range).all(|(index, mask, _)| self.words[index].is_exactly(mask, 0))
        });
        if are_singles {
            masks(range).for_each(|(index, mask, _)| self.words[index].used &= !mask);
        }
        are_singles
    }

    fn clear_each(&mut self, run: &Run) -> bool {
        let is_run = (0..run.rpcs).all(|rpc| self.is_one_rpc(self.counted(run.slots(rpc))));
        is_run && (0..run.rpcs).all(|rpc| self.clear_range(self.counted(run.slots(rpc))))
    }

    /// Advances `tail` over free slots until `slots` precede it, or wraps `head` if the rest is
    /// free.
    #[inline(never)]
    fn extend(&mut self, slots: u32) -> bool {
        self.tail = self.free_until(self.tail, self.head.saturating_add(slots));
        if self.tail - self.head >= slots {
            return true;
        }
        if self.tail < self.slots {
            return false;
        }
        let end = self.free_until(0, slots);
        if end < slots {
            return false;
        }
        (self.head, self.tail) = (0, end);
        self.wraps += 1;
        true
    }

    /// The first used slot from `from` on, or a slot from `enough` on up to which all are free.
    fn free_until(&self, from: u32, enough: u32) -> u32 {
        let mut at = from;
        loop {
            let used = self.words[(at / 64) as usize].used >> (at % 64);
            if used != 0 {
                return at + used.trailing_zeros();
            }
            at = (at | 63) + 1;
            if at >= enough {
                return at;
            }
        }
    }

    fn next_free(&self, from: u32, end: u32) -> Option<u32> {
        let mut at = from;
        while at < end {
            let free = !self.words[(at / 64) as usize].used >> (at % 64);
            if free != 0 {
                return Some(at + free.trailing_zeros()).filter(|&slot| slot < end);
            }
            at = (at | 63) + 1;
        }
        None
    }

    /// The first slot in `from..end` that begins a run of `slots` free slots, maybe past `end`.
    fn find_run(&self, from: u32, end: u32, slots: u32) -> Option<u32> {
        let mut at = from;
        loop {
            let start = self.next_free(at, end)?;
            at = self.free_until(start, start.saturating_add(slots));
            if at - start >= slots {
                return Some(start);
            }
        }
    }

    #[inline(always)]
    fn mark(&mut self, range: SlotRange) {
        if range.slots == 1 {
            self.words[(range.start.0 / 64) as usize].used |= 1 << (range.start.0 % 64);
        } else {
            self.mark_run(range);
        }
    }

    #[inline(never)]
    fn mark_run(&mut self, range: SlotRange) {
        if let Some(mask) = mask_in_word(range) {
            let word = &mut self.words[(range.start.0 / 64) as usize];
            word.used |= mask;
            word.follows |= mask & (mask - 1);
            return;
        }
        for (index, mask, rest) in masks(range) {
            self.words[index].used |= mask;
            self.words[index].follows |= rest;
        }
    }

    fn is_one_rpc(&self, range: SlotRange) -> bool {
        let end = range.start.0.checked_add(range.slots).filter(|&end| range.slots > 0 && end <= self.slots);
        end.is_some_and(|end| {
            !self.follows(end) && masks(range).all(|(index, mask, rest)| self.words[index].is_exactly(mask, rest))
        })
    }

    /// Clears the bits of a range, if it is one RPC.
    #[inline(never)]
    fn clear_range(&mut self, range: SlotRange) -> bool {
        let Some(end) = range.start.0.checked_add(range.slots).filter(|&end| range.slots > 0 && end <= self.slots)
        else {
            return false;
        };
        if self.follows(end) {
            return false;
        }
        match mask_in_word(range) {
            Some(mask) => self.clear_in_word(range, mask),
            None => self.clear_across_words(range),
        }
    }

    fn clear_in_word(&mut self, range: SlotRange, mask: u64) -> bool {
        let word = &mut self.words[(range.start.0 / 64) as usize];
        let is_one_rpc = word.is_exactly(mask, mask & (mask - 1));
        if is_one_rpc {
            word.clear(mask);
        }
        is_one_rpc
    }

    fn clear_across_words(&mut self, range: SlotRange) -> bool {
        let is_one_rpc = masks(range).all(|(index, mask, rest)| self.words[index].is_exactly(mask, rest));
        if is_one_rpc {
            masks(range).for_each(|(index, mask, _)| self.words[index].clear(mask));
        }
        is_one_rpc
    }

    /// Whether `slot`, maybe the one after the last, belongs to the RPC of the slot before it.
    fn follows(&self, slot: u32) -> bool {
        self.words[(slot / 64) as usize].follows >> (slot % 64) & 1 != 0
    }
}

/// The slots of a range as bits of one word, if one word holds them all.
fn mask_in_word(range: SlotRange) -> Option<u64> {
    let first = range.start.0 % 64;
    if range.slots.wrapping_sub(1) > 63 - first {
        return None;
    }
    Some((u64::MAX >> (64 - range.slots)) << first)
}

/// The words of a range: `(word, its slots in it, those of them that are not the range's first)`.
fn masks(range: SlotRange) -> impl Iterator<Item = (usize, u64, u64)> {
    let (start, end) = (range.start.0, range.start.0 + range.slots);
    (start / 64..end.div_ceil(64)).map(move |word| {
        let below_end = u64::MAX >> (64 - (end - word * 64).min(64));
        let first = start.saturating_sub(word * 64);
        let mask = below_end & (u64::MAX << first);
        let rest = if start >= word * 64 { mask & (mask - 1) } else { mask };
        (word as usize, mask, rest)
    })
}

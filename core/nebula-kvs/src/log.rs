//! The circular log: where items are stored, and how the next one gets its space.
//!
//! ```text
//!            head                tail
//!  lap L-1    |---- valid -----...        physical   0 | segment 0 | segment 1 | ... | segment n-1 |
//!  lap L      ...---- valid ----|
//! ```
//! A position counts granules of 32 bytes and only grows: `lap << lap_bits | granule`. Its low bits
//! are an address in the log, and every position from the head to the tail is valid. The log is
//! divided into segments; the tail enters a segment only after
//!
//! 1. the head has moved past the segment's items of the last lap: readers discard them; and
//! 2. every writer inside has left (its [pin](crate::stripe::Pins) is gone).
//!
//! So a writer, however long it stalls, never overwrites another writer's item. Writers do not wait
//! for readers either, since a reader checks the head *after* it has copied. MICA checks the
//! distance to the tail instead, which moves with each append; the head moves once per segment, so
//! its line stays in every reader's L1.
//!
//! In [`Mode::Store`](crate::Mode) the log is one segment, without recycling and pins. The space of
//! removed items is reused ([`runs`](crate::runs)).
//!
//! Departs: MICA wraps item by item; whole segments give up one segment's capacity (of at most 64)
//! for the guarantee above.

use crate::backoff::Backoff;
use crate::bucket::Bucket;
use crate::bucket::POSITION_BITS;
use crate::config::StoreError;
use crate::eviction::Pass;
use crate::given::{Given, SHARE};
use crate::index_of::index_of;
use crate::item::{self, GRANULE_BYTES, GRANULE_WORDS};
use crate::mode::Mode;
use crate::runs::Runs;
use crate::stripe::{Pin, Pins, SEGMENTS_MAX};
use crate::writers::Writers;
use nebula_sys::{
    mem::{Pages, WordRegion},
    sync::{AtomicU64, Ordering, fence},
};

/// A segment is at least twice the longest item (1 MiB and its key) if the log is large enough for
/// eight such segments.
const SEGMENT_BYTES_ROOMY: usize = 2 << 20;
const SEGMENT_BYTES_MIN: usize = 128;

/// The division of a log into segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// A power of two.
    segment_granules: u64,
    segments: u64,
}

impl Cut {
    /// At most 64 segments, at least two, of `SEGMENT_BYTES_ROOMY` if the log allows; rounds
    /// `log_bytes` up to whole segments.
    pub(crate) fn of(log_bytes: usize, mode: Mode) -> Self {
        let granules = |bytes: usize| bytes.div_ceil(GRANULE_BYTES) as u64;
        match mode {
            Mode::Store => Self { segment_granules: granules(log_bytes).max(1), segments: 1 },
            Mode::Cache => {
                let roomy = SEGMENT_BYTES_ROOMY.min(prev_power_of_two(log_bytes / 8));
                let bytes = log_bytes.div_ceil(SEGMENTS_MAX).next_power_of_two().max(roomy).max(SEGMENT_BYTES_MIN);
                Self { segment_granules: granules(bytes), segments: (log_bytes.div_ceil(bytes) as u64).max(2) }
            }
        }
    }

    pub(crate) fn log_bytes(self) -> usize {
        index_of(self.segment_granules * self.segments) * GRANULE_BYTES
    }

    #[cfg(not(any(loom, miri)))]
    pub(crate) fn segment_granules(self) -> u64 {
        self.segment_granules
    }

    /// The most bytes of whole segments, up to `log_bytes`.
    pub(crate) fn whole(log_bytes: usize, mode: Mode) -> usize {
        let cut = Self::of(log_bytes, mode);
        let segment_bytes = index_of(cut.segment_granules) * GRANULE_BYTES;
        match mode {
            Mode::Store => log_bytes / GRANULE_BYTES * GRANULE_BYTES,
            Mode::Cache => (log_bytes / segment_bytes).max(2) * segment_bytes,
        }
    }

    /// The most granules that an item may have.
    ///
    /// In a segment that is recycled, one granule stays free: on a segment boundary, the tail would
    /// not show whether the next segment is open. Items of more than one granule end on whole
    /// lines.
    fn item_granules_max(self, mode: Mode) -> u64 {
        match mode {
            Mode::Store => self.segment_granules,
            Mode::Cache => (self.segment_granules - 1) & !1,
        }
    }

    /// The least number of items of `granules` each that are valid at the same time.
    pub(crate) fn items_valid_min(self, granules: u64, mode: Mode) -> u64 {
        let in_one = |granules_free: u64| granules_free / granules;
        match mode {
            Mode::Store => in_one(self.segment_granules),
            Mode::Cache => in_one(self.segment_granules - 1) * (self.segments - 1),
        }
    }
}

pub(crate) fn prev_power_of_two(bytes: usize) -> usize {
    bytes.checked_ilog2().map_or(0, |bits| 1 << bits)
}

/// The log has no space for an item, and may not recycle.
#[derive(Debug)]
pub(crate) struct LogFull;

const LINE_WORDS: usize = 8;
const LINE_BYTES: u64 = 64;
/// Words of the line for a later process: the log's head, at or beyond this process's; and a bit
/// for each segment that the index has.
const HEAD: usize = 0;
const GIVEN: usize = 1;

#[repr(align(64))]
struct OwnLine(AtomicU64);

pub(crate) struct Log {
    region: WordRegion,
    mode: Mode,
    cut: Cut,
    lap_bits: u32,
    segment_bits: u32,
    /// The lowest valid position; the start of a segment. Moves once per segment.
    head: OwnLine,
    /// The position of the next item. On a segment boundary only after that segment was opened.
    tail: OwnLine,
    pins: Pins,
    pass: Pass,
    given: Given,
    /// Free runs of a [`Mode::Store`].
    runs: Runs,
    writers: Writers,
}

/// The valid positions, from a head on.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    head: u64,
}

impl From<u64> for Window {
    fn from(head: u64) -> Self {
        Self { head }
    }
}

impl Window {
    /// Whether the item at `position`, of which an entry stores 46 bits, is still there.
    #[inline]
    pub(crate) fn contains(self, position: u64) -> bool {
        self.age_order(position).cast_signed() >= 0
    }

    /// Orders the positions in the window, the oldest first.
    #[inline]
    pub(crate) fn age_order(self, position: u64) -> u64 {
        position.wrapping_sub(self.head) << (64 - POSITION_BITS)
    }
}

/// The segment that the tail enters next, with its items of a lap ago.
pub(crate) struct Victim {
    /// The position of its first item.
    pub(crate) start: u64,
    /// The end of its last item.
    pub(crate) end: u64,
    pub(crate) granules: u64,
}

pub(crate) struct Reserved<'a> {
    pub(crate) position: u64,
    _pin: Option<Pin<'a>>,
}

impl Log {
    /// Words of a log with this division, and a line for a later process.
    pub(crate) fn words_of(cut: Cut) -> usize {
        cut.log_bytes() / 8 + LINE_WORDS
    }

    pub(crate) fn try_new(log_bytes: usize, mode: Mode, pages: Pages) -> Result<WordRegion, StoreError> {
        let region = WordRegion::new(Self::words_of(Cut::of(log_bytes, mode)), pages);
        region.map_err(|cause| StoreError::Memory { what: "log", cause })
    }

    /// The log in `region`, with no valid item.
    pub(crate) fn of(region: WordRegion, log_bytes: usize, mode: Mode, writers: Writers) -> Self {
        let cut = Cut::of(log_bytes, mode);
        let lap_bits = (cut.segment_granules * cut.segments).next_power_of_two().trailing_zeros();
        let start = match mode {
            Mode::Store => 0,
            Mode::Cache => 1 << lap_bits,
        };
        Self {
            region,
            mode,
            cut,
            lap_bits,
            segment_bits: cut.segment_granules.next_power_of_two().trailing_zeros(),
            head: OwnLine(AtomicU64::new(start)),
            tail: OwnLine(AtomicU64::new(start)),
            pins: Pins::new(),
            pass: Pass::new(),
            given: Given::new(),
            runs: Runs::new(mode == Mode::Store),
            writers,
        }
    }

    /// A word for a later process: [`HEAD`], or [`GIVEN`].
    fn told(&self, word: usize) -> &AtomicU64 {
        &self.region.words()[self.cut.log_bytes() / 8 + word]
    }

    #[inline(always)]
    pub(crate) fn window(&self) -> Window {
        Window { head: self.head.0.load(Ordering::Relaxed) }
    }

    /// The words from `position` to the end of the log; empty if `position` lies outside the log.
    #[inline(always)]
    pub(crate) fn item(&self, position: u64) -> &[AtomicU64] {
        self.region.words().get(self.word(position)..).unwrap_or(&[])
    }

    pub(crate) fn words(&self) -> &[AtomicU64] {
        self.region.words()
    }

    #[inline(always)]
    pub(crate) fn word(&self, position: u64) -> usize {
        index_of(self.granule(position)) * GRANULE_WORDS
    }

    /// The bits of a position within a lap.
    #[cfg(not(any(loom, miri)))]
    pub(crate) fn lap_bits(&self) -> u32 {
        self.lap_bits
    }

    pub(crate) fn pages(&self) -> Pages {
        self.region.pages()
    }

    /// The maximum of header, key and value together, each padded to 8 bytes.
    pub(crate) fn item_bytes_max(&self) -> usize {
        index_of(self.cut.item_granules_max(self.mode)) * GRANULE_BYTES
    }

    /// Without the segments that the index has.
    pub(crate) fn bytes(&self) -> usize {
        let given = self.given.segments().count_ones() as usize;
        self.cut.log_bytes() - given * index_of(self.cut.segment_granules) * GRANULE_BYTES
    }

    /// Lines that are buckets.
    pub(crate) fn lines_used(&self) -> usize {
        self.given.lines_used(self.segment_lines())
    }

    /// Bytes that items have or had, without those free for reuse; all of a cache that has wrapped.
    pub(crate) fn bytes_used(&self) -> usize {
        let tail = self.tail.0.load(Ordering::Relaxed);
        let granules = match self.mode {
            Mode::Store => tail.saturating_sub(self.runs.granules()),
            Mode::Cache => self.granule(tail),
        };
        let has_wrapped = self.mode == Mode::Cache && self.wraps() > 0;
        if has_wrapped { self.bytes() } else { (index_of(granules) * GRANULE_BYTES).min(self.bytes()) }
    }

    pub(crate) fn wraps(&self) -> u64 {
        (self.tail.0.load(Ordering::Relaxed) >> self.lap_bits).saturating_sub(1)
    }

    /// Pins the item at `position` if it is still valid: it stays in place and its memory is not
    /// recycled. A single writer needs no pin, since it recycles nothing while it writes.
    #[inline]
    pub(crate) fn pin(&self, position: u64) -> Option<PinnedItem<'_>> {
        let is_recycled = self.mode == Mode::Cache && self.writers == Writers::Many;
        let pin = is_recycled.then(|| self.pins.pin(self.segment(position)));
        self.window().contains(position).then(|| PinnedItem { words: self.item(position), _pin: pin })
    }

    /// Reserves `granules` at the tail. The caller writes its item before it drops the result.
    #[inline]
    pub(crate) fn reserve(&self, granules: u64) -> Result<Reserved<'_>, LogFull> {
        match self.mode {
            Mode::Store => self.reserve_once(granules),
            Mode::Cache => Ok(self.reserve_circular(granules)),
        }
    }

    /// From the free runs first, then from the tail, at last from joined runs.
    fn reserve_once(&self, granules: u64) -> Result<Reserved<'_>, LogFull> {
        let reserved = |position| Reserved { position, _pin: None };
        if self.runs.granules() >= granules
            && let Some(position) = self.runs.hold(self.region.words()).take(granules)
        {
            return Ok(reserved(position));
        }
        if let Some(position) = self.reserve_at_end(granules) {
            return Ok(reserved(position));
        }
        self.reserve_joined(granules).map(reserved).ok_or(LogFull)
    }

    fn reserve_at_end(&self, granules: u64) -> Option<u64> {
        let room = |tail| {
            let position = item::align(tail, granules);
            (position + granules <= self.cut.segment_granules).then_some(position + granules)
        };
        let before = self.tail.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).ok()?;
        let position = item::align(before, granules);
        if position > before {
            self.runs.hold(self.region.words()).free(before, position - before);
        }
        Some(position)
    }

    /// Joins free neighbors, gives those before the tail back to it, and tries again.
    #[cold]
    fn reserve_joined(&self, granules: u64) -> Option<u64> {
        let held = self.runs.hold(self.region.words());
        if self.runs.granules() == 0 || !held.is_worth_joining() {
            return None;
        }
        let tail = self.tail.0.load(Ordering::Relaxed);
        if let Some(begin) = held.join(tail) {
            // Fails if another thread has moved the tail. Release: as for a run that is taken.
            if self.tail.0.compare_exchange(tail, begin, Ordering::Release, Ordering::Relaxed).is_err() {
                held.free(begin, tail - begin);
            }
        }
        if let Some(position) = held.take(granules) {
            return Some(position);
        }
        drop(held);
        self.reserve_at_end(granules)
    }

    /// Frees the space of an item whose entry the caller, holding its bucket, has removed. In a
    /// [`Mode::Cache`] its segment's recycling frees it.
    #[inline]
    pub(crate) fn free(&self, position: u64, granules: u64) {
        if self.mode == Mode::Store {
            self.runs.hold(self.region.words()).free(position, granules);
        }
    }

    fn reserve_circular(&self, granules: u64) -> Reserved<'_> {
        loop {
            match self.reserve_here(granules) {
                Ok(reserved) => return reserved,
                Err(tail) => self.open_segment_after(tail),
            }
        }
    }

    /// Reserves `granules` at the tail of a [`Mode::Cache`], if its segment has room for them.
    pub(crate) fn try_reserve(&self, granules: u64) -> Option<Reserved<'_>> {
        self.reserve_here(granules).ok()
    }

    /// Reserves in the tail's segment, or returns the tail that has no room.
    #[inline(always)]
    fn reserve_here(&self, granules: u64) -> Result<Reserved<'_>, u64> {
        loop {
            let tail = self.tail.0.load(Ordering::Relaxed);
            let position = item::align(tail, granules);
            // Pin before the tail moves, so that a thread that recycles this segment sees the pin.
            let pin = (self.writers == Writers::Many).then(|| self.pins.pin(self.segment(tail)));
            if position + granules >= self.segment_start(tail) + self.cut.segment_granules {
                return Err(tail);
            }
            // Relaxed: the order comes from the pin. The thread that opened this segment accessed
            // its pins before it moved the tail here; a thread that recycles it accesses them after
            // it has seen the tail elsewhere. So `pin` comes between the two.
            let next = position + granules;
            if self.move_tail(tail, next) {
                // Release fence: pairs with a reader's Acquire fence. A reader that sees any word
                // of the item about to be written also sees that the head has moved past the item's
                // predecessor.
                fence(Ordering::Release);
                if position != tail {
                    // A walk over the segment later finds an item in every granule.
                    item::write_gap(self.item(tail));
                }
                return Ok(Reserved { position, _pin: pin });
            }
        }
    }

    #[inline(always)]
    fn move_tail(&self, tail: u64, next: u64) -> bool {
        if self.writers == Writers::One {
            self.tail.0.store(next, Ordering::Relaxed);
            return true;
        }
        self.tail.0.compare_exchange_weak(tail, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    pub(crate) fn pass(&self) -> &Pass {
        &self.pass
    }

    /// The segment that the tail enters next, if it has valid items.
    pub(crate) fn victim(&self) -> Option<Victim> {
        let opened = self.segment_after(self.tail.0.load(Ordering::Relaxed));
        let start = opened - (1 << self.lap_bits);
        let end = self.pass.end(self.segment(start));
        let is_valid = self.segment_start(end) == start && self.window().contains(start);
        is_valid.then_some(Victim { start, end, granules: self.cut.segment_granules })
    }

    pub(crate) fn is_drained(&self, position: u64) -> bool {
        self.pins.is_drained(self.segment(position))
    }

    pub(crate) fn tail_granules(&self) -> u64 {
        let tail = self.tail.0.load(Ordering::Relaxed);
        tail - self.segment_start(tail)
    }

    /// Moves the tail from `tail`'s segment to the next, or over one that the index asked for.
    #[cold]
    fn open_segment_after(&self, tail: u64) {
        if !self.give_after(tail) {
            self.move_over(tail, None);
        }
    }

    /// Gives the segment after `tail`'s to the index, if it asked for one; whether it did.
    fn give_after(&self, tail: u64) -> bool {
        let Some(giving) = self.given.try_hold(self.cut.segments) else { return false };
        let segment = self.segment(self.segment_after(tail));
        let [lines, bytes] = [self.segment_lines(), self.cut.segment_granules * GRANULE_BYTES as u64];
        let first = segment as u64 * bytes / LINE_BYTES;
        giving.mark(segment);
        let is_given = first + lines < u64::from(u32::MAX) && self.move_over(tail, Some(segment));
        if is_given {
            self.told(GIVEN).fetch_or(1 << segment, Ordering::Release);
            giving.end(first, lines);
        } else {
            // Another thread was first: the tail may be in the segment.
            giving.unmark(segment);
        }
        is_given
    }

    /// Moves the tail from `tail`'s segment to the next that is not given, once that and the one
    /// that is `given` now are drained; whether this thread did. Every thread that finds the
    /// segment full performs all steps; each is idempotent.
    fn move_over(&self, tail: u64, given: Option<usize>) -> bool {
        let opened = self.segment_after(tail);
        let a_lap = 1 << self.lap_bits;
        // Relaxed: published by `is_drained` to every writer that pins the segment later.
        let head = self.segment_after(opened - a_lap);
        self.told(HEAD).fetch_max(head, Ordering::Relaxed);
        self.head.0.fetch_max(head, Ordering::Relaxed);
        let mut backoff = Backoff::default();
        let mut seen = self.tail.0.load(Ordering::Relaxed);
        let is_drained = || {
            let mut segments = [Some(self.segment(opened)), given].into_iter().flatten();
            segments.all(|segment| self.pins.is_drained(segment))
        };
        while self.segment_start(seen) == self.segment_start(tail) {
            if !is_drained() {
                backoff.wait();
                seen = self.tail.0.load(Ordering::Relaxed);
                continue;
            }
            // Relaxed: as in `reserve_circular`.
            match self.tail.0.compare_exchange(seen, opened, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    self.pass.close(self.segment(seen), seen);
                    return true;
                }
                Err(other) => seen = other,
            }
        }
        false
    }

    fn segment_lines(&self) -> u64 {
        self.cut.segment_granules * GRANULE_BYTES as u64 / LINE_BYTES
    }

    /// Takes a line of a given segment for a bucket, if one is left. If the next segments have
    /// never had items, one is given at once.
    pub(crate) fn take_line(&self) -> Option<usize> {
        let take = || self.given.take_line().map(index_of);
        take().or_else(|| {
            let tail = self.tail.0.load(Ordering::Relaxed);
            let two_further = self.segment_after(self.segment_after(tail));
            let is_given = two_further >> self.lap_bits == 1 && self.give_after(tail);
            if is_given { take() } else { None }
        })
    }

    /// Asks for a segment if soon no line is left, besides `others` elsewhere.
    pub(crate) fn ask_for_lines(&self, others: usize) {
        self.given.ask(self.segment_lines(), others as u64);
    }

    /// The line with this number.
    #[inline]
    pub(crate) fn line(&self, line: usize) -> Option<&Bucket> {
        self.region.words().as_chunks().0.get(line)
    }

    /// The lines of the segments that the index of a store before had.
    #[cfg(not(any(loom, miri)))]
    pub(crate) fn lines_left(&self) -> impl Fn(usize) -> Option<usize> {
        let (lines, segments) = (self.segment_lines(), self.cut.segments);
        let told = self.told(GIVEN).load(Ordering::Relaxed);
        // More are given only in damaged memory.
        let given = if u64::from(told.count_ones()) <= segments / SHARE { told } else { 0 };
        move |line| {
            let segment = (line as u64).checked_div(lines).filter(|&segment| segment < segments)?;
            (given >> segment & 1 == 1).then(|| index_of(segment))
        }
    }

    /// Counts line number `line` of its segment, and those before it, as used.
    #[cfg(not(any(loom, miri)))]
    pub(crate) fn note_line(&self, used: &mut u64, line: usize) {
        *used = (*used).max(line as u64 % self.segment_lines() + 1);
    }

    /// Takes over the segments that the index has, each with the number of lines in use.
    #[cfg(not(any(loom, miri)))]
    pub(crate) fn adopt_given(&self, used: &[u64; SEGMENTS_MAX]) {
        let lines = self.segment_lines();
        let given = used.iter().enumerate().filter(|&(_, &used)| used > 0);
        let segments = given.clone().fold(0, |segments, (segment, _)| segments | 1 << segment);
        let room = given.map(|(segment, &used)| (segment as u64 * lines + used, lines - used));
        self.told(GIVEN).store(segments, Ordering::Relaxed);
        self.given.adopt(segments, room.max_by_key(|&(_, left)| left).unwrap_or((0, 0)));
    }

    /// Takes over the head that a store has left in the region.
    #[cfg(not(any(loom, miri)))]
    pub(crate) fn adopt_head(&self) {
        let told = self.told(HEAD).load(Ordering::Relaxed);
        let mut head = self.segment_start(told.max(self.head.0.load(Ordering::Relaxed)));
        // Only in damaged memory.
        if self.given.has(self.segment(head)) {
            head = self.segment_after(head);
        }
        self.head.0.store(head, Ordering::Relaxed);
        self.tail.0.store(head, Ordering::Relaxed);
    }

    /// The position whose low bits an entry stores, if an item of `granules` there lies completely
    /// in the log and in the lap from the head on.
    #[cfg(not(any(loom, miri)))]
    pub(crate) fn position_of(&self, stored: u64, granules: u64) -> Option<u64> {
        let head = self.head.0.load(Ordering::Relaxed);
        let position = head + (self.window().age_order(stored) >> (64 - POSITION_BITS));
        let end = position.checked_add(granules)?;
        let is_inside = self.granule(position) < self.cut.segment_granules * self.cut.segments
            && end <= self.segment_start(position) + self.cut.segment_granules
            && position - head < 1 << self.lap_bits
            && !self.given.has(self.segment(position));
        (granules > 0 && (self.mode == Mode::Store && end <= self.cut.segment_granules || is_inside))
            .then_some(position)
    }

    /// Takes over the items that a store has left, given by positions and granules in order. The
    /// space between them is free.
    #[cfg(not(any(loom, miri)))]
    pub(crate) fn adopt_items(&self, items: impl Iterator<Item = (u64, u64)>) {
        let mut end = self.head.0.load(Ordering::Relaxed);
        for (position, granules) in items {
            match self.mode {
                Mode::Store if position > end => self.runs.hold(self.region.words()).free(end, position - end),
                Mode::Store => {}
                Mode::Cache => self.pass.close(self.segment(position), position + granules),
            }
            end = position + granules;
        }
        self.tail.0.store(end, Ordering::Relaxed);
    }

    fn granule(&self, position: u64) -> u64 {
        position & ((1 << self.lap_bits) - 1)
    }

    fn segment(&self, position: u64) -> usize {
        index_of(self.granule(position) >> self.segment_bits)
    }

    fn segment_start(&self, position: u64) -> u64 {
        position >> self.segment_bits << self.segment_bits
    }

    /// The start of the segment after `position`'s that the index has not taken.
    fn segment_after(&self, position: u64) -> u64 {
        let mut after = self.next_segment(position);
        while self.given.has(self.segment(after)) {
            after = self.next_segment(after);
        }
        after
    }

    /// The start of the segment after `position`'s; after the last, the first of the next lap.
    fn next_segment(&self, position: u64) -> u64 {
        let next = self.segment_start(position) + self.cut.segment_granules;
        let is_end = self.granule(next) == 0 || self.granule(next) >= self.cut.segment_granules * self.cut.segments;
        if is_end { ((position >> self.lap_bits) + 1) << self.lap_bits } else { next }
    }
}

pub(crate) struct PinnedItem<'a> {
    pub(crate) words: &'a [AtomicU64],
    _pin: Option<Pin<'a>>,
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::shape::{KEY_BYTES_MAX, Shape, VALUE_BYTES_MAX};

    fn log(log_bytes: usize, mode: Mode) -> Log {
        Log::of(Log::try_new(log_bytes, mode, Pages::Base).expect("a small log"), log_bytes, mode, Writers::Many)
    }

    #[test]
    fn a_cache_log_has_2_to_64_segments_and_is_hardly_larger_than_asked() {
        for bits in 0..33 {
            for log_bytes in [(1 << bits) - 1, 1 << bits, (1 << bits) + 1, 3 << bits] {
                let cut = Cut::of(log_bytes, Mode::Cache);
                assert!((2..=SEGMENTS_MAX as u64).contains(&cut.segments), "{log_bytes}: {cut:?}");
                assert!(cut.segment_granules.is_power_of_two(), "{log_bytes}: {cut:?}");
                assert!(cut.log_bytes() >= log_bytes, "{log_bytes}: {cut:?}");
                assert!(
                    log_bytes < 4096 || cut.log_bytes() <= log_bytes + log_bytes.div_ceil(4),
                    "{log_bytes}: {cut:?}"
                );
            }
        }
    }

    #[test]
    fn a_log_of_16_mib_takes_the_longest_item() {
        let longest = Shape { key_bytes: KEY_BYTES_MAX, value_bytes: VALUE_BYTES_MAX };
        assert!(Cut::of(16 << 20, Mode::Cache).item_granules_max(Mode::Cache) >= longest.granules());
    }

    #[test]
    fn positions_are_valid_from_reservation_until_their_segment_is_recycled() {
        // Three segments (not a power of two) of four granules: an item of two granules leaves
        // space for one more.
        let log = log(3 * 128, Mode::Cache);
        let positions: Vec<u64> = (0..30).map(|_| log.reserve(2).unwrap().position).collect();
        for (i, &position) in positions.iter().enumerate() {
            assert_eq!(log.window().contains(position), i + 3 >= positions.len(), "item {i} at {position}");
            assert_eq!(log.word(position), i % 3 * 16);
        }
        assert_eq!(log.wraps(), 9);
    }

    #[test]
    fn ages_are_right_when_positions_exceed_46_bits() {
        let window = Window { head: (1 << 46) - 4 };
        let [old, young, gone] = [(1 << 46) - 2, 5, (1 << 46) - 5];
        assert!(window.contains(old) && window.contains(young) && !window.contains(gone));
        assert!(window.age_order(old) < window.age_order(young));
    }

    #[test]
    fn a_log_in_store_mode_is_used_to_its_last_granule() {
        let log = log(5 * GRANULE_BYTES, Mode::Store);
        assert_eq!([1, 2, 1, 1].map(|granules| log.reserve(granules).unwrap().position), [0, 2, 1, 4]);
        assert!(log.reserve(1).is_err());
        assert!(log.window().contains(0));
    }

    #[test]
    fn a_pinned_segment_is_not_drained_until_the_pin_is_gone() {
        let log = log(256, Mode::Cache);
        let reserved = log.reserve(1).unwrap();
        assert!(!log.pins.is_drained(0) && log.pins.is_drained(1));
        drop(reserved);
        assert!(log.pins.is_drained(0));
    }
}

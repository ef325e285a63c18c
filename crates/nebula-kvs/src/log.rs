//! The circular log: where items live, and how room is found for the next one.
//!
//! ```text
//!            head                tail
//!  lap L-1    |---- valid -----...        physical   0 | segment 0 | segment 1 | ... | segment n-1 |
//!  lap L      ...---- valid ----|
//! ```
//! A position counts granules of 32 bytes and only grows: `lap << lap_bits | granule`. Its low bits are a place in memory, and every
//! position from the head to the tail is valid. The log is cut into segments; the tail enters a segment only after
//!
//! 1. the head has moved past what the segment held a lap ago, so that nobody takes it for valid any more, and
//! 2. every writer that was inside has left (its [pin](crate::stripe::Pins) is gone).
//!
//! So no writer, however long it stalls, ever writes over another's item; and a reader need not be waited for, as it looks at the head
//! *after* it has copied. MICA checks the distance to the tail instead, which moves with each append: the head moves once a
//! segment, and its line stays in every reader's L1.
//!
//! In [`Mode::Store`](crate::Mode) the log is one segment that is filled once: nothing is recycled, nothing pinned.
//!
//! Departs: MICA wraps item by item; whole segments give up one segment's capacity (of at most 64) for the guarantee above.

use crate::{
    Mode, StoreError,
    backoff::Backoff,
    bucket::POSITION_BITS,
    index_of,
    item::{self, GRANULE_BYTES, GRANULE_WORDS},
    stripe::{Pin, Pins, SEGMENTS_MAX},
};
use nebula_sys::{
    mem::{Pages, WordRegion},
    sync::{AtomicU64, Ordering, fence},
};

/// A segment holds the longest item (1 MiB and its key) with room to spare, where the log is big enough for eight such segments.
const SEGMENT_BYTES_ROOMY: usize = 2 << 20;
const SEGMENT_BYTES_MIN: usize = 128;

/// How a log of some size is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// A power of two.
    segment_granules: u64,
    segments: u64,
}

impl Cut {
    /// At most 64 segments, at least two, and roomy ones where the log allows; `log_bytes` is rounded up to whole segments.
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

    /// The most granules that an item may take.
    ///
    /// In a segment that is recycled one granule stays free, so that a tail never stands on a border, where it would be unclear
    /// whether the next segment is open; and items of more than one granule end on whole lines.
    fn item_granules_max(self, mode: Mode) -> u64 {
        match mode {
            Mode::Store => self.segment_granules,
            Mode::Cache => (self.segment_granules - 1) & !1,
        }
    }

    /// Items of `granules` each that are valid at the same time, at the least.
    pub(crate) fn items_valid_min(self, granules: u64, mode: Mode) -> u64 {
        let in_one = |granules_free: u64| granules_free / granules;
        match mode {
            Mode::Store => in_one(self.segment_granules),
            Mode::Cache => in_one(self.segment_granules - 1) * (self.segments - 1),
        }
    }
}

fn prev_power_of_two(bytes: usize) -> usize {
    bytes.checked_ilog2().map_or(0, |bits| 1 << bits)
}

/// The log has no room for an item, and may not recycle.
#[derive(Debug)]
pub(crate) struct LogFull;

#[repr(align(64))]
struct OwnLine(AtomicU64);

/// The circular log.
pub(crate) struct Log {
    region: WordRegion,
    mode: Mode,
    cut: Cut,
    lap_bits: u32,
    segment_bits: u32,
    /// The lowest valid position; the start of a segment. Moves once a segment.
    head: OwnLine,
    /// The position of the next item. Never on a segment's border but at its opening.
    tail: OwnLine,
    pins: Pins,
}

/// The positions from a head on.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    head: u64,
}

impl Window {
    /// Whether what was written at `position`, of which an entry keeps 48 bits, is still there.
    #[inline]
    pub(crate) fn contains(self, position: u64) -> bool {
        self.age_order(position).cast_signed() >= 0
    }

    /// Positions in the window, from the oldest on, in this order.
    #[inline]
    pub(crate) fn age_order(self, position: u64) -> u64 {
        position.wrapping_sub(self.head) << (64 - POSITION_BITS)
    }
}

/// Room for one item, and the right to write it.
pub(crate) struct Reserved<'a> {
    pub(crate) position: u64,
    /// Held until the item is written.
    _pin: Option<Pin<'a>>,
}

impl Log {
    pub(crate) fn try_new(log_bytes: usize, mode: Mode, pages: Pages) -> Result<Self, StoreError> {
        let cut = Cut::of(log_bytes, mode);
        let words = cut.log_bytes() / 8;
        let region = WordRegion::new(words, pages).map_err(|cause| StoreError::Memory { what: "log", cause })?;
        let lap_bits = (cut.segment_granules * cut.segments).next_power_of_two().trailing_zeros();
        let start = match mode {
            Mode::Store => 0,
            Mode::Cache => 1 << lap_bits,
        };
        Ok(Self {
            region,
            mode,
            cut,
            lap_bits,
            segment_bits: cut.segment_granules.next_power_of_two().trailing_zeros(),
            head: OwnLine(AtomicU64::new(start)),
            tail: OwnLine(AtomicU64::new(start)),
            pins: Pins::new(),
        })
    }

    /// What is valid at this moment.
    #[inline]
    pub(crate) fn window(&self) -> Window {
        Window { head: self.head.0.load(Ordering::Relaxed) }
    }

    /// The words from `position` on, to the end of the log; none where `position` is no place of the log.
    #[inline]
    pub(crate) fn item(&self, position: u64) -> &[AtomicU64] {
        self.region.words().get(self.word(position)..).unwrap_or(&[])
    }

    /// The words of the log.
    pub(crate) fn words(&self) -> &[AtomicU64] {
        self.region.words()
    }

    /// The word of the log at which `position` lies.
    #[inline]
    pub(crate) fn word(&self, position: u64) -> usize {
        index_of(self.granule(position)) * GRANULE_WORDS
    }

    /// The pages that the log got.
    pub(crate) fn pages(&self) -> Pages {
        self.region.pages()
    }

    /// The most bytes that header, key and value may take together, each padded to 8.
    pub(crate) fn item_bytes_max(&self) -> usize {
        index_of(self.cut.item_granules_max(self.mode)) * GRANULE_BYTES
    }

    /// How many times the tail has come round.
    pub(crate) fn wraps(&self) -> u64 {
        (self.tail.0.load(Ordering::Relaxed) >> self.lap_bits).saturating_sub(1)
    }

    /// Keeps the item at `position` in place and its memory from being recycled, if it is still there.
    #[inline]
    pub(crate) fn pin(&self, position: u64) -> Option<PinnedItem<'_>> {
        let pin = (self.mode == Mode::Cache).then(|| self.pins.pin(self.segment(position)));
        self.window().contains(position).then(|| PinnedItem { words: self.item(position), _pin: pin })
    }

    /// Takes `granules` at the tail. The caller writes its item before it drops the result.
    #[inline]
    pub(crate) fn reserve(&self, granules: u64) -> Result<Reserved<'_>, LogFull> {
        match self.mode {
            Mode::Store => self.reserve_once(granules),
            Mode::Cache => Ok(self.reserve_circular(granules)),
        }
    }

    fn reserve_once(&self, granules: u64) -> Result<Reserved<'_>, LogFull> {
        let room = |tail| {
            let position = item::align(tail, granules);
            (position + granules <= self.cut.segment_granules).then_some(position + granules)
        };
        let before = self.tail.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).map_err(|_| LogFull)?;
        Ok(Reserved { position: item::align(before, granules), _pin: None })
    }

    fn reserve_circular(&self, granules: u64) -> Reserved<'_> {
        loop {
            let tail = self.tail.0.load(Ordering::Relaxed);
            let position = item::align(tail, granules);
            // Pinned before it is taken: the next to recycle this segment reads a tail that comes after ours, and so sees the pin.
            let pin = self.pins.pin(self.segment(tail));
            if position + granules >= self.segment_start(tail) + self.cut.segment_granules {
                drop(pin);
                self.open_segment_after(tail);
                continue;
            }
            // AcqRel: Acquire pairs with the Release of the thread that opened this segment, whose move of the head is seen;
            // Release passes it, and the pin, on to whoever takes the tail next.
            let taken =
                self.tail.0.compare_exchange_weak(tail, position + granules, Ordering::AcqRel, Ordering::Relaxed);
            if taken.is_ok() {
                // Release fence: pairs with a reader's Acquire fence. A reader that sees any word of the item to be written
                // sees the head too, past what stood here.
                fence(Ordering::Release);
                return Reserved { position, _pin: Some(pin) };
            }
        }
    }

    /// Moves the tail from `tail`'s segment to the next. Every thread that finds no room does all of it; each step bears repeating.
    #[cold]
    fn open_segment_after(&self, tail: u64) {
        let opened = self.segment_after(tail);
        let a_lap = 1 << self.lap_bits;
        self.head.0.fetch_max(self.segment_after(opened - a_lap), Ordering::AcqRel);
        let mut backoff = Backoff::default();
        let mut seen = self.tail.0.load(Ordering::Relaxed);
        while self.segment_start(seen) == self.segment_start(tail) {
            if !self.pins.is_drained(self.segment(opened)) {
                backoff.wait();
                seen = self.tail.0.load(Ordering::Relaxed);
                continue;
            }
            // AcqRel: passes the move of the head on to those who append, and orders it after the moves before.
            match self.tail.0.compare_exchange(seen, opened, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return,
                Err(other) => seen = other,
            }
        }
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

    /// The start of the segment that follows `position`'s: of the next lap's first, after the last.
    fn segment_after(&self, position: u64) -> u64 {
        let next = self.segment_start(position) + self.cut.segment_granules;
        let is_end = self.granule(next) == 0 || self.granule(next) >= self.cut.segment_granules * self.cut.segments;
        if is_end { ((position >> self.lap_bits) + 1) << self.lap_bits } else { next }
    }
}

/// An item that stays where it is while this lives.
pub(crate) struct PinnedItem<'a> {
    pub(crate) words: &'a [AtomicU64],
    _pin: Option<Pin<'a>>,
}

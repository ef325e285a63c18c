//! A ring's memory as slots of whole cache lines, found by position without a check: the length
//! was checked when the memory was taken.
//!
//! The heads of all slots lie together, then the tails: short messages then use a compact part of
//! the memory, however long a slot is, and the processor fetches one head while another is read.

#[cfg(not(loom))]
use crate::shared::SharedMemory;
use crate::sync::AtomicU64;
use std::marker::PhantomData;

/// A cache line of words.
pub type Line = [AtomicU64; WORDS];

const WORDS: usize = 8;

/// Shared memory that begins with a ring: slots, a power of two, of equally many lines.
#[cfg(not(loom))]
#[derive(Debug)]
pub struct RingMemory {
    memory: SharedMemory,
    shape: Shape,
    /// Lines of the ring.
    lines: u32,
}

/// Lines of a slot's head, if it has so many.
pub const HEAD_LINES: u32 = 2;

#[derive(Clone, Copy, Debug)]
struct Shape {
    /// Slots less one.
    mask: u32,
    /// Lines of each head, and of each tail.
    head: u32,
    tail: u32,
}

impl Shape {
    /// # Panics
    ///
    /// Unless `words` words hold `slots` slots, a power of two, of `lines_each` lines.
    #[inline(always)]
    fn checked(slots: u32, lines_each: u32, words: usize) -> Self {
        assert!(slots.is_power_of_two(), "a ring has a power of two of slots");
        let lines = u64::from(slots) * u64::from(lines_each);
        assert!(lines <= (words / WORDS) as u64, "the memory holds the ring");
        let head = lines_each.min(HEAD_LINES);
        Self { mask: slots - 1, head, tail: lines_each - head }
    }

    /// All lines of the ring: they were checked to be in memory.
    #[cfg(not(loom))]
    const fn lines(self) -> u32 {
        (self.mask + 1) * (self.head + self.tail)
    }
}

#[cfg(not(loom))]
impl RingMemory {
    /// The memory of a ring of `slots` slots, each of `lines_each` lines, and of a line behind it.
    ///
    /// # Panics
    ///
    /// When `slots` is no power of two, or `memory` is too short.
    #[must_use]
    pub fn new(memory: SharedMemory, slots: u32, lines_each: u32) -> Self {
        let shape = Shape::checked(slots, lines_each, memory.words().len());
        let lines = shape.lines();
        assert!((lines as usize) < memory.words().len() / WORDS, "there is a line behind the ring");
        Self { memory, shape, lines }
    }

    /// All the memory, which may be longer than the ring.
    #[must_use]
    pub const fn memory(&self) -> &SharedMemory {
        &self.memory
    }

    /// The line behind the ring.
    #[inline(always)]
    #[must_use]
    pub fn behind(&self) -> &Line {
        // SAFETY: `new` has checked that the memory has this line, and it lives as long as `self`.
        // A line has the layout of its words.
        unsafe { &*self.lines().first.add(self.lines as usize) }
    }

    /// The ring's slots.
    #[inline(always)]
    #[must_use]
    pub fn lines(&self) -> Lines<'_> {
        Lines { first: self.memory.words().as_ptr().cast(), shape: self.shape, words: PhantomData }
    }
}

/// The slots of a ring.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a> {
    /// The first of as many lines as `shape` says, which live for `'a`.
    first: *const Line,
    shape: Shape,
    words: PhantomData<&'a [AtomicU64]>,
}

// SAFETY: it is a shared reference to atomics.
unsafe impl Send for Lines<'_> {}
// SAFETY: likewise.
unsafe impl Sync for Lines<'_> {}

impl<'a> Lines<'a> {
    /// The slots of a ring in `words`.
    ///
    /// # Panics
    ///
    /// As [`RingMemory::new`].
    #[inline(always)]
    #[must_use]
    pub fn new(words: &'a [AtomicU64], slots: u32, lines_each: u32) -> Self {
        let shape = Shape::checked(slots, lines_each, words.len());
        Self { first: words.as_ptr().cast(), shape, words: PhantomData }
    }

    /// The first line of the slot at `position`, which counts on over the laps of the ring.
    #[inline(always)]
    #[must_use]
    pub fn line(self, position: u32) -> &'a Line {
        // SAFETY: the masked position is a slot of the ring, all of whose lines were checked to lie
        // within the words, which live for `'a`. A line has the layout of its words.
        unsafe { &*self.first.add(self.head_at(position)) }
    }

    /// The words of the head of the slot at `position`.
    #[inline(always)]
    #[must_use]
    pub fn head(self, position: u32) -> &'a [AtomicU64] {
        // SAFETY: as in `line`, for all lines of the head.
        unsafe { words_at(self.first.add(self.head_at(position)), self.shape.head) }
    }

    /// The words of its tail, perhaps none.
    #[inline(always)]
    #[must_use]
    pub fn tail(self, position: u32) -> &'a [AtomicU64] {
        let Shape { mask, head, tail } = self.shape;
        let heads = (mask as usize + 1) * head as usize;
        let at = heads + (position & mask) as usize * tail as usize;
        // SAFETY: as in `line`, for all lines of the tail, which lies behind all heads.
        unsafe { words_at(self.first.add(at), tail) }
    }

    /// The words from the beginning of the slot at `position` on that lie in one piece: its head;
    /// of a ring of one slot, all.
    #[inline(always)]
    #[must_use]
    pub fn front(self, position: u32) -> &'a [AtomicU64] {
        let Shape { mask, head, tail } = self.shape;
        // SAFETY: as in `head`; the tail of the only slot follows its head.
        unsafe { words_at(self.first.add(self.head_at(position)), if mask == 0 { head + tail } else { head }) }
    }

    #[inline(always)]
    const fn head_at(self, position: u32) -> usize {
        (position & self.shape.mask) as usize * self.shape.head as usize
    }
}

/// The words of `lines` lines from `first` on.
///
/// # Safety
///
/// The lines exist, and live for `'a`.
#[inline(always)]
unsafe fn words_at<'a>(first: *const Line, lines: u32) -> &'a [AtomicU64] {
    // SAFETY: the caller's guarantee; a line has the layout of its words.
    unsafe { std::slice::from_raw_parts(first.cast(), lines as usize * WORDS) }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    fn values(words: &[AtomicU64]) -> Vec<u64> {
        words.iter().map(|word| word.load(Ordering::Relaxed)).collect()
    }

    #[test]
    fn heads_lie_together_and_tails_behind_them_in_every_lap() {
        for (slots, lines_each) in [(4, 1), (4, 2), (4, 3), (4, 10), (1, 10)] {
            let head = lines_each.min(HEAD_LINES);
            let words: Vec<AtomicU64> = (0..u64::from(slots * lines_each * 8)).map(AtomicU64::new).collect();
            let lines = Lines::new(&words, slots, lines_each);
            for position in (0..9).chain([u32::MAX - 1, u32::MAX]) {
                let slot = position % slots;
                let words_of = |first: u32, lines: u32| -> Vec<u64> {
                    (u64::from(first * 8)..u64::from((first + lines) * 8)).collect()
                };
                assert_eq!(lines.line(position)[0].load(Ordering::Relaxed), u64::from(slot * head * 8));
                assert_eq!(values(lines.head(position)), words_of(slot * head, head));
                let tail = lines_each - head;
                assert_eq!(values(lines.tail(position)), words_of(slots * head + slot * tail, tail));
                let front = if slots == 1 { lines_each } else { head };
                assert_eq!(values(lines.front(position)), words_of(slot * head, front));
            }
        }
    }

    #[test]
    #[should_panic(expected = "the memory holds the ring")]
    fn a_ring_longer_than_its_memory_is_refused() {
        let words: Vec<AtomicU64> = (0..95).map(AtomicU64::new).collect();
        let _ = Lines::new(&words, 4, 3);
    }

    #[test]
    #[should_panic(expected = "power of two")]
    fn a_ring_of_three_slots_is_refused() {
        let words: Vec<AtomicU64> = (0..96).map(AtomicU64::new).collect();
        let _ = Lines::new(&words, 3, 3);
    }
}

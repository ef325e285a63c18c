//! A ring's memory as slots of whole cache lines, found by position without a check: the length
//! was checked when the memory was taken.

use crate::shared::SharedMemory;
use crate::sync::AtomicU64;
use std::marker::PhantomData;

/// A cache line of words.
pub type Line = [AtomicU64; WORDS];

const WORDS: usize = 8;

/// Shared memory that begins with a ring: slots, a power of two, of equally many lines.
#[derive(Debug)]
pub struct RingMemory {
    memory: SharedMemory,
    shape: Shape,
}

#[derive(Clone, Copy, Debug)]
struct Shape {
    /// Slots less one.
    mask: u32,
    lines_each: u32,
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
        Self { mask: slots - 1, lines_each }
    }
}

impl RingMemory {
    /// The memory of a ring of `slots` slots, each of `lines_each` lines.
    ///
    /// # Panics
    ///
    /// When `slots` is no power of two, or `memory` is too short.
    #[must_use]
    pub fn new(memory: SharedMemory, slots: u32, lines_each: u32) -> Self {
        let shape = Shape::checked(slots, lines_each, memory.words().len());
        Self { memory, shape }
    }

    /// All the memory, which may be longer than the ring.
    #[must_use]
    pub const fn memory(&self) -> &SharedMemory {
        &self.memory
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
        unsafe { &*self.first.add(self.index(position)) }
    }

    /// The words of the slot at `position`.
    #[inline(always)]
    #[must_use]
    pub fn slot(self, position: u32) -> &'a [AtomicU64] {
        let words = self.shape.lines_each as usize * WORDS;
        // SAFETY: as in `line`, for all lines of the slot.
        unsafe { std::slice::from_raw_parts(self.first.add(self.index(position)).cast(), words) }
    }

    #[inline(always)]
    const fn index(self, position: u32) -> usize {
        (position & self.shape.mask) as usize * self.shape.lines_each as usize
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn each_slot_is_its_lines_in_every_lap() {
        let words: Vec<AtomicU64> = (0..4 * 3 * 8).map(AtomicU64::new).collect();
        let lines = Lines::new(&words, 4, 3);
        for position in (0..9).chain([u32::MAX - 1, u32::MAX]) {
            let first = u64::from(position % 4) * 24;
            assert_eq!(lines.line(position)[0].load(Ordering::Relaxed), first);
            let slot: Vec<u64> = lines.slot(position).iter().map(|word| word.load(Ordering::Relaxed)).collect();
            assert_eq!(slot, (first..first + 24).collect::<Vec<_>>());
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

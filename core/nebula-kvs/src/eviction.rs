//! The eviction of a full cache, and the pass over the oldest segment that keeps read items.

use crate::stripe::SEGMENTS_MAX;
use nebula_sys::sync::{AtomicBool, AtomicU64, Ordering};

/// The items that go when a [`Mode::Cache`](crate::Mode::Cache) is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eviction {
    /// The oldest items, read or not. Readers write nothing.
    #[default]
    Oldest,
    /// The oldest items that were not read. A reader notes the first and the second read of an item
    /// in its entry; a SET carries some of the oldest read items over to the log's tail, and takes
    /// one read off each.
    Unread,
}

/// The eighths of a segment's granules that carried items may take: the rest is for new ones.
const CARRIED_EIGHTHS: u64 = 7;

/// How far a pass runs ahead of the tail: it ends when half of the tail's segment is written.
const AHEAD: u64 = 2;
/// Granules that a pass looks at for a SET of the smallest item, and for each granule of a SET.
/// With `CARRIED_EIGHTHS` eight would do.
const STEP_GRANULES: u64 = 64;
const STEP_FACTOR: u64 = 10;

/// The pass over the items of the segment that the tail will enter next. One thread at a time
/// advances it; the others continue without it.
pub(crate) struct Pass {
    is_held: AtomicBool,
    /// The start of its segment.
    began: AtomicU64,
    cursor: AtomicU64,
    carried: AtomicU64,
    /// For each segment, the end of its last item when the tail left it.
    ends: [AtomicU64; SEGMENTS_MAX],
}

impl Pass {
    pub(crate) fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            is_held: AtomicBool::new(false),
            began: zero(),
            cursor: zero(),
            carried: zero(),
            ends: std::array::from_fn(|_| zero()),
        }
    }

    pub(crate) fn close(&self, segment: usize, end: u64) {
        self.ends[segment % SEGMENTS_MAX].store(end, Ordering::Relaxed);
    }

    pub(crate) fn end(&self, segment: usize) -> u64 {
        self.ends[segment % SEGMENTS_MAX].load(Ordering::Relaxed)
    }

    /// The right to advance the pass, unless another thread has it.
    pub(crate) fn try_hold(&self) -> Option<HeldPass<'_>> {
        // Acquire: pairs with the Release of `HeldPass::drop`; the last holder's notes are visible.
        let is_taken = self.is_held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok();
        // Lazily: dropping an unused one would give the right back.
        is_taken.then(|| HeldPass { pass: self })
    }
}

pub(crate) struct HeldPass<'a> {
    pass: &'a Pass,
}

impl HeldPass<'_> {
    /// Whether this is the pass over the segment that begins at `start`.
    pub(crate) fn is_over(&self, start: u64) -> bool {
        self.pass.began.load(Ordering::Relaxed) == start
    }

    pub(crate) fn begin(&self, start: u64) {
        self.pass.began.store(start, Ordering::Relaxed);
        self.pass.cursor.store(start, Ordering::Relaxed);
        self.pass.carried.store(0, Ordering::Relaxed);
    }

    pub(crate) fn cursor(&self) -> u64 {
        self.pass.cursor.load(Ordering::Relaxed)
    }

    pub(crate) fn move_to(&self, cursor: u64) {
        self.pass.cursor.store(cursor, Ordering::Relaxed);
    }

    pub(crate) fn has_room_for(&self, granules: u64, segment_granules: u64) -> bool {
        self.pass.carried.load(Ordering::Relaxed) + granules <= segment_granules * CARRIED_EIGHTHS / 8
    }

    pub(crate) fn note_carried(&self, granules: u64) {
        let carried = self.pass.carried.load(Ordering::Relaxed);
        self.pass.carried.store(carried + granules, Ordering::Relaxed);
    }
}

impl Drop for HeldPass<'_> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire of `try_hold`.
        self.pass.is_held.store(false, Ordering::Release);
    }
}

/// How far into its segment a pass should be when the tail is `tail_granules` into its own.
pub(crate) fn due(tail_granules: u64) -> u64 {
    tail_granules * AHEAD + STEP_GRANULES
}

/// How many granules a pass may look at for an append of `granules`.
pub(crate) fn budget(granules: u64) -> u64 {
    STEP_GRANULES + granules * STEP_FACTOR
}

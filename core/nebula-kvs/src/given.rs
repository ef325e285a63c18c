//! Segments of a cache's log that the index has taken over: their lines are extra buckets.
//!
//! A cache's index begins small, since nobody knows how long its items will be. Where items are
//! short and buckets overflow, it asks for a segment; the next thread that moves the log's tail
//! passes over one instead of entering it, once its items are gone and its writers have left. The
//! index keeps it for good.

use crate::index_of::index_of;
use nebula_sys::sync::{AtomicBool, AtomicU64, Ordering, fence};

/// The index gets one segment of this many at most.
pub(crate) const SHARE: u64 = 4;
/// It asks for the next segment when this share of the lines of one is left.
const LEFT: u64 = 4;

pub(crate) struct Given {
    /// A bit for each segment.
    segments: AtomicU64,
    /// The next unused line 32 | unused lines behind it 32.
    room: AtomicU64,
    is_asked: AtomicBool,
    is_held: AtomicBool,
}

impl Given {
    pub(crate) fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self { segments: zero(), room: zero(), is_asked: AtomicBool::new(false), is_held: AtomicBool::new(false) }
    }

    pub(crate) fn has(&self, segment: usize) -> bool {
        // Relaxed: a thread that misses the newest bit finds the tail moved.
        self.segments.load(Ordering::Relaxed) >> segment & 1 == 1
    }

    pub(crate) fn segments(&self) -> u64 {
        self.segments.load(Ordering::Relaxed)
    }

    fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Relaxed)
    }

    /// Asks for a segment if few of the lines of one are left, and `others` elsewhere.
    pub(crate) fn ask(&self, segment_lines: u64, others: u64) {
        let left = self.room.load(Ordering::Relaxed) & u64::from(u32::MAX);
        if left + others <= segment_lines / LEFT && !self.is_asked() {
            self.is_asked.store(true, Ordering::Relaxed);
        }
    }

    /// Takes a line that no bucket has.
    pub(crate) fn take_line(&self) -> Option<u64> {
        let next = |room: u64| (room << 32 > 0).then(|| room + (1 << 32) - 1);
        // Acquire: pairs with the Release of `open`.
        let room = self.room.fetch_update(Ordering::Acquire, Ordering::Relaxed, next);
        // Release fence: pairs with a reader's Acquire fence, as in `Log::reserve`: a reader that
        // sees a word of the new bucket sees that the head has moved past the item before.
        fence(Ordering::Release);
        room.ok().map(|room| room >> 32)
    }

    pub(crate) fn lines_used(&self, segment_lines: u64) -> usize {
        let left = self.room.load(Ordering::Relaxed) & u64::from(u32::MAX);
        index_of((u64::from(self.segments().count_ones()) * segment_lines).saturating_sub(left))
    }

    /// Adds the lines of a segment that is the index's now.
    fn open(&self, first: u64, lines: u64) {
        // Release: the head has moved past the segment's items.
        self.room.store(first << 32 | lines, Ordering::Release);
    }

    /// The right to give, of one of `segments`, unless another thread has it, no segment is asked
    /// for, or none is left to give.
    pub(crate) fn try_hold(&self, segments: u64) -> Option<Giving<'_>> {
        if !self.is_asked() || self.is_held.swap(true, Ordering::Acquire) {
            return None;
        }
        let giving = Giving(self);
        let is_left = u64::from(self.segments().count_ones()) < segments / SHARE;
        (self.is_asked() && is_left).then_some(giving)
    }

    /// Takes over what another process has left: segments, and one of them with unused lines.
    #[cfg(not(any(loom, miri)))]
    pub(crate) fn adopt(&self, segments: u64, (first, lines): (u64, u64)) {
        self.segments.store(segments, Ordering::Relaxed);
        self.open(first, lines);
    }
}

/// One thread at a time gives.
pub(crate) struct Giving<'a>(&'a Given);

impl Giving<'_> {
    /// Lets the tail pass over a segment from now on.
    pub(crate) fn mark(&self, segment: usize) {
        self.0.segments.fetch_or(1 << segment, Ordering::Relaxed);
    }

    /// Lets the tail enter it again.
    pub(crate) fn unmark(&self, segment: usize) {
        self.0.segments.fetch_and(!(1 << segment), Ordering::Relaxed);
    }

    pub(crate) fn end(self, first: u64, lines: u64) {
        self.0.open(first, lines);
        self.0.is_asked.store(false, Ordering::Relaxed);
    }
}

impl Drop for Giving<'_> {
    fn drop(&mut self) {
        self.0.is_held.store(false, Ordering::Release);
    }
}

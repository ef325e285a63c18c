//! How many GETs found a value, and how many did not: counted by each thread in its own line.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;

/// Threads that count apart. With more of them some share a place, and counts that meet there are
/// lost.
const PLACES: usize = 64;

/// The counts.
pub(super) struct Lookups([CachePadded<[AtomicU64; 2]>; PLACES]);

impl Lookups {
    pub(super) fn new() -> Self {
        Self(std::array::from_fn(|_| CachePadded::default()))
    }

    /// Counts a GET. Without an atomic addition, which would take longer than what it counts.
    #[inline(always)]
    pub(super) fn count(&self, is_found: bool) {
        let count = &self.0[place()][usize::from(is_found)];
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// GETs that found a value, and those that did not.
    pub(super) fn totals(&self) -> (u64, u64) {
        let total = |kind: usize| self.0.iter().map(|counts| counts[kind].load(Ordering::Relaxed)).sum();
        (total(1), total(0))
    }
}

/// The place of this thread.
#[inline]
fn place() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static PLACE: usize = NEXT.fetch_add(1, Ordering::Relaxed) % PLACES;
    }
    PLACE.with(|place| *place)
}

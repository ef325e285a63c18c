//! Counts GETs that found a value, and GETs that did not, in a cache line for each thread.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;

/// With more threads some share a place, and may lose counts.
const PLACES: usize = 64;

pub(super) struct Lookups([CachePadded<[AtomicU64; 2]>; PLACES]);

impl Lookups {
    pub(super) fn new() -> Self {
        Self(std::array::from_fn(|_| CachePadded::default()))
    }

    /// Counts a GET, without an atomic addition: that would take longer than the GET's lookup.
    #[inline(always)]
    pub(super) fn count(&self, is_found: bool) {
        let count = &self.0[place()][usize::from(is_found)];
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    pub(super) fn totals(&self) -> (u64, u64) {
        let total = |kind: usize| self.0.iter().map(|counts| counts[kind].load(Ordering::Relaxed)).sum();
        (total(1), total(0))
    }
}

#[inline]
fn place() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static PLACE: usize = NEXT.fetch_add(1, Ordering::Relaxed) % PLACES;
    }
    PLACE.with(|place| *place)
}

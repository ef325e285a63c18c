//! Shared counters striped by thread, so that threads do not contend for a cache line.

use nebula_sys::sync::{AtomicU32, AtomicU64, Ordering, fence};

/// Stripes per counter. With more threads than stripes, threads share; every counter stays exact,
/// since each change is one atomic addition.
#[cfg(not(loom))]
pub(crate) const STRIPES: usize = 16;
#[cfg(loom)]
pub(crate) const STRIPES: usize = 1;

#[cfg(not(loom))]
#[inline]
pub(crate) fn stripe() -> usize {
    static NEXT: nebula_sys::sync::AtomicUsize = nebula_sys::sync::AtomicUsize::new(0);
    thread_local! {
        static STRIPE: usize = NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES;
    }
    STRIPE.with(|stripe| *stripe)
}

/// Loom supports few threads, and each stripe multiplies the interleavings.
#[cfg(loom)]
#[inline]
pub(crate) fn stripe() -> usize {
    0
}

#[derive(Clone, Copy)]
pub(crate) enum Event {
    Inserted,
    UpdatedInPlace,
    Appended,
    Deleted,
    Evicted,
    Carried,
    Expired,
    /// An item with metadata was written.
    Extended,
}
const EVENTS: usize = 8;

#[derive(Default)]
#[repr(align(64))]
struct CountersOfStripe([AtomicU64; EVENTS]);

#[derive(Default)]
pub(crate) struct Counters([CountersOfStripe; STRIPES]);

impl Counters {
    #[inline]
    pub(crate) fn count(&self, event: Event) {
        self.0[stripe()].0[event as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Like [`count`](Self::count), if one thread at a time counts.
    #[inline]
    pub(crate) fn count_alone(&self, event: Event) {
        let count = &self.0[0].0[event as usize];
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Like [`count`](Self::count), ordered after this thread's earlier counts.
    pub(crate) fn count_after(&self, event: Event) {
        // Release fence: pairs with the Acquire fence of `total_before`.
        fence(Ordering::Release);
        self.count(event);
    }

    /// Like [`total`](Self::total), ordered before this thread's later reads.
    pub(crate) fn total_before(&self, event: Event) -> u64 {
        let total = self.total(event);
        fence(Ordering::Acquire);
        total
    }

    #[cfg(not(any(loom, miri)))]
    pub(crate) fn add(&self, event: Event, count: u64) {
        self.0[stripe()].0[event as usize].fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn total(&self, event: Event) -> u64 {
        self.0.iter().map(|stripe| stripe.0[event as usize].load(Ordering::Relaxed)).sum()
    }
}

#[cfg(not(loom))]
pub(crate) const SEGMENTS_MAX: usize = 64;
#[cfg(loom)]
pub(crate) const SEGMENTS_MAX: usize = 4;

#[repr(align(64))]
struct PinsOfStripe([AtomicU32; SEGMENTS_MAX]);

/// For each segment of the log, the number of writers inside.
///
/// A writer pins a segment, then reads the log's head; the thread that recycles the segment moves
/// the head, then checks that the pins have drained. Both access the pin with a read-modify-write,
/// and those on one word have a total order. Either the recycler comes later and sees the pin, or
/// the writer comes later and, through Acquire and Release on the word, sees the head.
pub(crate) struct Pins(Box<[PinsOfStripe]>);

impl Pins {
    pub(crate) fn new() -> Self {
        let stripe = || PinsOfStripe(std::array::from_fn(|_| AtomicU32::new(0)));
        Self((0..STRIPES).map(|_| stripe()).collect())
    }

    #[inline]
    pub(crate) fn pin(&self, segment: usize) -> Pin<'_> {
        let count = &self.0[stripe()].0[segment % SEGMENTS_MAX];
        // Acquire: pairs with the Release of `is_drained`; an earlier move of the head is visible.
        // Release: a thread that later recycles the segment, and accesses this word, comes after
        // this thread's reads of the tail.
        count.fetch_add(1, Ordering::AcqRel);
        Pin { count }
    }

    pub(crate) fn is_drained(&self, segment: usize) -> bool {
        // AcqRel on a read-modify-write that changes nothing: Acquire pairs with the Release of
        // `Pin::drop`, Release with the Acquire of `pin`.
        self.0.iter().all(|stripe| stripe.0[segment % SEGMENTS_MAX].fetch_add(0, Ordering::AcqRel) == 0)
    }
}

/// Keeps one segment of the log from being recycled.
pub(crate) struct Pin<'a> {
    count: &'a AtomicU32,
}

impl Drop for Pin<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release: the holder's writes come before the recycler's, which reads this with Acquire.
        self.count.fetch_sub(1, Ordering::Release);
    }
}

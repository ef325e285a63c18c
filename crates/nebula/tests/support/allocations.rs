//! What this thread has allocated and not given back, for suites that make [`Counting`] their allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static BYTES: Cell<i64> = const { Cell::new(0) };
    static BYTES_MAX: Cell<i64> = const { Cell::new(0) };
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Bytes that this thread holds: 0 at first, and negative where it frees what others have allocated.
pub(crate) fn bytes() -> i64 {
    BYTES.get()
}

/// The most bytes held since the last [`reset_bytes_max`].
pub(crate) fn bytes_max() -> i64 {
    BYTES_MAX.get()
}

pub(crate) fn reset_bytes_max() {
    BYTES_MAX.set(BYTES.get());
}

/// Allocations of this thread.
pub(crate) fn allocations() -> u64 {
    ALLOCATIONS.get()
}

fn count(bytes: usize, sign: i64) {
    // A thread that ends may allocate after its counters are gone: nobody counts there.
    let _ = BYTES.try_with(|held| {
        held.set(held.get() + sign * i64::try_from(bytes).unwrap_or(i64::MAX));
        let _ = BYTES_MAX.try_with(|most| most.set(most.get().max(held.get())));
    });
    if sign > 0 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
    }
}

/// The system's allocator, counted.
pub(crate) struct Counting;

// SAFETY: every call is handed to the system's allocator unchanged; counting touches plain integers of the thread only.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: the caller keeps `alloc`'s contract, which is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(layout.size(), -1);
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

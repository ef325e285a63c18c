//! A global allocator for tests: the system's allocator, with a count of what each thread
//! allocates.
//!
//! A test program makes [`Counting`] its global allocator. [`made_by`], [`allocations`] and
//! [`bytes`] then tell what the calling thread did: tests run in parallel, so a count of the whole
//! process would include other tests.
//!
//! `GlobalAlloc` is an unsafe trait, so this module alone may be unsafe. Other crates have this
//! crate as a dev-dependency only, which `cargo xtask tidy` checks.
//!
//! # Examples
//!
//! ```
//! use nebula_testing::allocations;
//!
//! #[global_allocator]
//! static ALLOCATOR: allocations::Counting = allocations::Counting::new();
//!
//! assert_eq!(allocations::made_by(|| drop(std::hint::black_box(Box::new(1)))), 1);
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

// Constant cells without a destructor: accessing them neither allocates nor fails, not even while a
// thread ends.
thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<i64> = const { Cell::new(0) };
    static BYTES_MAX: Cell<i64> = const { Cell::new(0) };
}

/// Allocations of this thread. One that grows or shrinks counts as another.
pub fn allocations() -> u64 {
    ALLOCATIONS.get()
}

/// Allocations that `work` makes on this thread.
pub fn made_by(work: impl FnOnce()) -> u64 {
    let before = allocations();
    work();
    allocations() - before
}

/// Bytes that this thread has allocated, less those that it has freed. Negative where it frees what
/// other threads have allocated.
pub fn bytes() -> i64 {
    BYTES.get()
}

/// The highest value of [`bytes`] since this thread began, or since its last [`reset_bytes_max`].
///
/// While an allocation grows or shrinks, both its old and its new bytes count.
pub fn bytes_max() -> i64 {
    BYTES_MAX.get()
}

/// Makes [`bytes_max`] begin again, at the present value of [`bytes`].
pub fn reset_bytes_max() {
    BYTES_MAX.set(BYTES.get());
}

/// The system's allocator, counted.
#[derive(Debug)]
pub struct Counting {
    on_allocation: fn(),
}

impl Counting {
    /// Counts for the functions of this module.
    pub const fn new() -> Self {
        Self::calling(|| ())
    }

    /// Also calls `on_allocation` before each allocation, on the thread that allocates.
    ///
    /// For a test that counts what other threads allocate. The function must not allocate: it would
    /// be called again, without end.
    pub const fn calling(on_allocation: fn()) -> Self {
        Self { on_allocation }
    }

    fn count_allocation(&self, layout: Layout) {
        (self.on_allocation)();
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        BYTES.set(BYTES.get() + bytes_of(layout));
        BYTES_MAX.set(BYTES_MAX.get().max(BYTES.get()));
    }
}

impl Default for Counting {
    fn default() -> Self {
        Self::new()
    }
}

fn bytes_of(layout: Layout) -> i64 {
    // A layout has at most `isize::MAX` bytes.
    layout.size().cast_signed() as i64
}

// SAFETY: every call is passed to the system's allocator unchanged. The counters are plain integers
// of the thread, so counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.count_allocation(layout);
        // SAFETY: the caller keeps the contract of `alloc`, which is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.count_allocation(layout);
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is the system allocator's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        BYTES.set(BYTES.get() - bytes_of(layout));
        // SAFETY: the caller keeps the contract of `dealloc`; every block is the system
        // allocator's.
        unsafe { System.dealloc(block, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    static CALLS: AtomicU64 = AtomicU64::new(0);

    fn count_call() {
        CALLS.fetch_add(1, Relaxed);
    }

    #[global_allocator]
    static ALLOCATOR: Counting = Counting::calling(count_call);

    #[test]
    fn an_allocation_is_counted_and_calls_the_function() {
        let calls = CALLS.load(Relaxed);
        assert_eq!(made_by(|| drop(black_box(Box::new(1)))), 1);
        assert!(CALLS.load(Relaxed) > calls);
        assert_eq!(made_by(|| _ = black_box(7)), 0);
    }

    #[test]
    fn zeroed_and_grown_memory_is_counted() {
        assert_eq!(made_by(|| drop(black_box(vec![0_u8; 1000]))), 1);
        let mut grown = Vec::<u8>::with_capacity(8);
        assert_eq!(made_by(|| black_box(&mut grown).reserve_exact(1000)), 1);
    }

    #[test]
    fn bytes_are_held_until_they_are_freed() {
        let before = bytes();
        reset_bytes_max();
        let held = black_box(vec![1_u8; 1000]);
        assert_eq!(bytes() - before, 1000);
        drop(held);
        assert_eq!((bytes() - before, bytes_max() - before), (0, 1000));
        reset_bytes_max();
        assert_eq!(bytes_max(), bytes());
    }

    #[test]
    fn another_threads_allocations_are_its_own() {
        let (here, there) = std::thread::scope(|scope| {
            let other = scope.spawn(|| made_by(|| drop(black_box(vec![1_u8; 1000]))));
            // Waits without `join`, which frees what the thread has allocated.
            while !other.is_finished() {
                std::hint::spin_loop();
            }
            let here = made_by(|| _ = black_box(7));
            (here, other.join().expect("the thread ends"))
        });
        assert_eq!((here, there), (0, 1));
    }
}

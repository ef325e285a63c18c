//! Construction is the last allocation.

use machines::paper;
use nebula_memsys::{Block, Label, MemorySystem};
use nebula_workload::Seed;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

mod machines;

thread_local! {
    /// Allocations of this thread, because tests run in parallel.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed to the system allocator unchanged; the count is a thread-local cell without a
// destructor, so accessing it neither allocates nor finds a half-built value.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `dealloc`; all blocks are the system allocator's.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller upholds the contract of `realloc`; all blocks are the system allocator's.
        unsafe { System.realloc(pointer, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations that `work` makes.
fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

#[test]
fn a_million_accesses_allocate_nothing() {
    let mut memory = MemorySystem::try_new(&paper()).expect("a valid machine");
    let mut rng = Seed(1).stream("ops");
    let count = allocations(|| {
        for step in 0..1_000_000_u32 {
            let (now_ps, core) = (u64::from(step) * 1_000, u16::try_from(step % 16).expect("a core"));
            let block = Block(u32::try_from(rng.below(1 << 22)).expect("22 bits"));
            match step % 6 {
                0 => memory.store(now_ps, core, block, Label(0)),
                1 => memory.overwrite(now_ps, core, block, Label(0)),
                2 => memory.nic_write(now_ps, block, Label(0)),
                3 => memory.nic_read(now_ps, block, Label(0)),
                4 => memory.stream(now_ps, block, Label(0), step % 12 == 4),
                _ => memory.load(now_ps, core, block, Label(0)),
            };
        }
    });
    assert_eq!(count, 0);
    assert!(memory.counters().dram.full_batches > 100, "the run must fill write queues");
}

#[test]
fn the_count_sees_an_allocation() {
    assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(1)))), 1);
}

//! After construction, a million RPCs allocate nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use nebula_nic::{Span, Timestamp};
use nebula_workload::{GapDetector, Generator, GeneratorConfig, Keys, Length, Rate, Seed, Workload};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on to the system's allocator as it came; counting touches no memory of its own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, and the block came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Sends everything due, every third operation blocked once; answers, refuses and loses in turn.
fn drive(generator: &mut Generator, detector: &mut GapDetector) {
    let mut now = Timestamp::ZERO;
    let mut turns = 0u64;
    while !generator.is_finished() {
        turns += 1;
        now += Span::from_ns(if turns.is_multiple_of(1000) { 12_000 } else { 700 });
        detector.observe(now);
        while let Some((token, _)) = generator.poll_send(now) {
            if turns.is_multiple_of(3) {
                generator.handle_blocked(token);
                break;
            }
            match turns % 5 {
                0 => generator.handle_nack(now, token),
                1 => generator.handle_lost(now, token),
                _ => generator.handle_reply(now, token, true),
            };
        }
        if turns.is_multiple_of(100) {
            generator.latency_mut().settle(detector.log(), now);
        }
    }
}

#[test]
fn a_million_operations_allocate_nothing() {
    let workload = Workload {
        rate: Rate::try_new(2e6).unwrap(),
        keys: Keys::Zipf { theta: 0.99 },
        length: Length::Operations(1_000_000),
        ..Workload::default()
    };
    let schedule = workload.schedule(Seed(1), Timestamp::ZERO).unwrap();
    let mut generator = Generator::new(schedule, GeneratorConfig { pending_max: 1000, ..GeneratorConfig::default() });
    // A small log: forgetting must not allocate either.
    let mut detector = GapDetector::new(GapDetector::THRESHOLD, 16);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    drive(&mut generator, &mut detector);
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed), before);
    assert!(before > 0 && generator.counts().settled() == 1_000_000 && detector.log().forgotten() > 100);
}

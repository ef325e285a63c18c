//! Ten times the RPCs take the same memory.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "tests may panic")]

use nebula_nic::{Policy, Span};
use nebula_requester::RetryPolicy;
use nebula_sim::{Length, Load, System, run};
use nebula_testing::allocations::Counting;
use nebula_workload::Seed;

#[global_allocator]
static ALLOCATOR: Counting = Counting::new();

/// The most bytes that a run of so many RPCs held at once.
fn bytes_max(system: &System, load: &Load, rpcs: u64) -> i64 {
    nebula_testing::allocations::reset_bytes_max();
    let before = nebula_testing::allocations::bytes();
    let tally = run(system, load, Length { warmup: 50_000, rpcs }, Seed(1)).unwrap();
    assert_eq!(tally.ended(), rpcs);
    nebula_testing::allocations::bytes_max() - before
}

#[test]
fn memory_does_not_grow_with_the_rpcs() {
    let service = || "exp:1us".parse().unwrap();
    let back_off = RetryPolicy::BackOff { first: Span::from_us(3), factor: 2, attempts: 5, seed: 7 };
    let cases = [
        (System::new(Policy::SingleQueue, 64), Load::open(service(), 0.9)),
        (System::new(Policy::Rss, 16), Load::open(service(), 0.6)),
        (System::new(Policy::Jbsq(2), 16).queue_bound(40), Load::open(service(), 1.5)),
        (System::new(Policy::Jbsq(2), 4).servers(4).queue_bound(4).reaction(back_off), Load::open(service(), 0.9)),
        (System::new(Policy::Jbsq(2), 16), Load::closed(service(), 40, None)),
    ];
    for (system, load) in cases {
        let (few, many) = (bytes_max(&system, &load, 50_000), bytes_max(&system, &load, 500_000));
        // Where a queue was longest decides, which a longer run sees more of.
        assert!(many <= few + few / 8, "{system:?}: {few} bytes for 50,000 RPCs, {many} for 500,000");
        assert!(few > 0 && many < 8 << 20, "{system:?}: {few} and {many} bytes");
    }
}

//! Random streams: repeatable, mutually independent, uniform.

use nebula_workload::{Rng, Seed};

fn draws(mut rng: Rng, count: usize) -> Vec<u64> {
    (0..count).map(|_| rng.next_u64()).collect()
}

/// Pearson's correlation of two streams of `unit` draws.
fn correlation(mut left: Rng, mut right: Rng) -> f64 {
    const PAIRS: u32 = 100_000;
    let products: f64 = (0..PAIRS).map(|_| (left.unit() - 0.5) * (right.unit() - 0.5)).sum();
    products / f64::from(PAIRS) * 12.0
}

#[test]
fn one_seed_gives_one_sequence() {
    assert_eq!(draws(Seed(7).stream("keys"), 100), draws(Seed(7).stream("keys"), 100));
    assert_ne!(draws(Seed(7).stream("keys"), 4), draws(Seed(8).stream("keys"), 4));
}

#[test]
fn the_sequence_is_the_same_on_every_machine() {
    assert_eq!(draws(Seed(1).stream("arrivals"), 2), GOLDEN);
}

/// A change of these numbers changes every recorded result.
const GOLDEN: [u64; 2] = [15_595_026_820_656_964_909, 1_299_514_745_327_482_271];

#[test]
fn drawing_from_one_stream_does_not_shift_the_others() {
    let seed = Seed(3);
    let alone = draws(seed.stream("keys"), 10);
    let mut other = seed.stream("arrivals");
    draws(other.clone(), 1000);
    other.next_u64();
    assert_eq!(draws(seed.stream("keys"), 10), alone);
}

#[test]
fn streams_replicas_and_neighboring_seeds_do_not_correlate() {
    let seed = Seed(5);
    let stream = |seed: Seed| seed.stream("keys");
    let pairs = [
        (stream(seed), seed.stream("arrivals")),
        (stream(seed.replica(0)), stream(seed.replica(1))),
        (stream(seed), stream(seed.replica(0))),
        (stream(seed), stream(Seed(6))),
    ];
    for (left, right) in pairs {
        // One standard deviation is 0.0032; equal streams have 1.
        assert!(correlation(left, right).abs() < 0.013);
    }
}

#[test]
fn unit_draws_are_above_zero_and_even() {
    let mut rng = Seed(9).stream("unit");
    let units: Vec<f64> = (0..100_000).map(|_| rng.unit()).collect();
    assert!(units.iter().all(|&unit| unit > 0.0 && unit <= 1.0));
    let mean = units.iter().sum::<f64>() / 1e5;
    assert!((mean - 0.5).abs() < 0.004, "mean {mean}");
}

#[test]
fn numbers_below_a_bound_are_equally_likely() {
    // Three quarters of 2^64: without rejection, every third number would be twice as likely.
    let bound = 3 << 62;
    let mut rng = Seed(2).stream("below");
    let mut thirds = [0u32; 3];
    for _ in 0..300_000 {
        let drawn = rng.below(bound);
        assert!(drawn < bound);
        thirds[usize::try_from(drawn % 3).unwrap()] += 1;
    }
    // One standard deviation is 258.
    assert!(thirds.iter().all(|&count| count.abs_diff(100_000) < 1100), "{thirds:?}");
}

#[test]
fn a_bound_of_zero_or_one_gives_zero() {
    let mut rng = Seed(2).stream("below");
    assert_eq!((rng.below(0), rng.below(1)), (0, 0));
}

#[test]
fn exponential_draws_in_a_block_are_those_one_by_one() {
    let (mut block, mut singles) = (Seed(3).stream("block"), Seed(3).stream("block"));
    let mut draws = [0.0; 1000];
    block.fill_exponential(&mut draws);
    assert!(draws.iter().all(|&draw| draw == singles.exponential()));
}

//! The recorder compared with a sorted vector, and the effect of refusals and warm-up on quantiles.

use nebula_nic::{Span, Timestamp};
use nebula_workload::{Latency, LatencyRecorder, Rng, Seed};

/// In millionths.
const QUANTILES: [u64; 11] = [0, 1, 10_000, 250_000, 500_000, 900_000, 950_000, 990_000, 999_000, 999_900, 1_000_000];

fn recorded(latencies: &[Latency]) -> LatencyRecorder {
    let mut recorder = LatencyRecorder::new();
    latencies.iter().for_each(|&latency| recorder.record(Timestamp::ZERO, latency));
    recorder
}

fn finite_us(us: impl IntoIterator<Item = u64>) -> Vec<Latency> {
    us.into_iter().map(|us| Latency::Finite(Span::from_us(us))).collect()
}

/// The definition: the latency of rank ⌈q·count⌉.
fn exact_quantile(latencies: &[Latency], millionths: u64) -> Latency {
    let mut sorted = latencies.to_vec();
    sorted.sort();
    let rank = (millionths * sorted.len() as u64).div_ceil(1_000_000).max(1);
    sorted[usize::try_from(rank).expect("an index") - 1]
}

fn assert_close(recorder: &LatencyRecorder, latencies: &[Latency], what: &str) {
    for q in QUANTILES {
        let (got, exact) = (recorder.quantile(q as f64 / 1e6).expect("some latency"), exact_quantile(latencies, q));
        let is_close = match (got, exact) {
            (Latency::Finite(got), Latency::Finite(exact)) => {
                let above = got.as_ns_f64() - exact.as_ns() as f64;
                (0.0..=exact.as_ns_f64() * LatencyRecorder::RELATIVE_ERROR).contains(&above)
            }
            (got, exact) => got == exact,
        };
        assert!(is_close, "{what}: quantile {q}e-6 is {got:?}, not {exact:?}");
    }
}

/// Latencies of every magnitude up to 70 s, some refused.
fn random_latency(rng: &mut Rng, refused_percent: u64) -> Latency {
    let bits = 10 + rng.below(37);
    let ps = rng.below(1 << bits);
    if rng.below(100) < refused_percent { Latency::Infinite } else { Latency::Finite(Span::from_ps(ps)) }
}

#[test]
fn quantiles_match_a_sorted_vector() {
    let mut rng = Seed(1).stream("latency");
    for count in [1usize, 2, 3, 10, 99, 100, 101, 1000, 33_333] {
        for refused_percent in [0, 1, 50, 100] {
            let latencies: Vec<_> = (0..count).map(|_| random_latency(&mut rng, refused_percent)).collect();
            assert_close(&recorded(&latencies), &latencies, &format!("{count} at {refused_percent} % refused"));
        }
    }
}

#[test]
fn merged_recorders_are_one_recorder() {
    let mut rng = Seed(2).stream("latency");
    let latencies: Vec<_> = (0..5000).map(|_| random_latency(&mut rng, 1)).collect();
    let (left, right) = latencies.split_at(1234);
    let mut merged = recorded(left);
    merged.merge(&recorded(right));
    let whole = recorded(&latencies);
    assert_close(&merged, &latencies, "merged");
    assert_eq!(merged.summary(), whole.summary());
    assert!(merged.cells().eq(whole.cells()));
    assert_eq!((merged.min(), merged.max_finite()), (whole.min(), whole.max_finite()));
    merged.merge(&LatencyRecorder::new());
    assert_eq!(merged.summary(), whole.summary());
}

#[test]
fn merging_keeps_extremes_and_counts_of_either_side() {
    let side = |ns: [u64; 2]| {
        let mut recorder = LatencyRecorder::with_warm_up_until(Timestamp::from_ps(1));
        recorder.record(Timestamp::ZERO, Latency::Infinite);
        for ns in ns {
            recorder.record(Timestamp::from_ps(1), Latency::Finite(Span::from_ns(ns)));
        }
        recorder
    };
    let (inner, outer) = (side([20, 30]), side([10, 200_000_000_000]));
    for (left, right) in [(&inner, &outer), (&outer, &inner)] {
        let mut merged = left.clone();
        merged.merge(right);
        assert_eq!(merged.min(), Some(Latency::Finite(Span::from_ns(10))));
        assert_eq!(merged.max_finite(), Some(LatencyRecorder::MAX));
        assert_eq!((merged.ignored(), merged.saturated(), merged.count()), (2, 1, 4));
    }
}

#[test]
fn refusals_can_only_worsen_a_quantile() {
    let mut latencies = finite_us(1..=99);
    latencies.push(Latency::Infinite);
    // With one in a hundred, the 99th is the last finite one.
    assert!(matches!(recorded(&latencies).quantile(0.99), Some(Latency::Finite(_))));
    latencies.push(Latency::Infinite);
    assert_eq!(recorded(&latencies).quantile(0.99), Some(Latency::Infinite));
    assert!(!recorded(&latencies).meets(Span::MAX));
}

#[test]
fn rounding_errors_do_not_raise_a_quantile_by_a_rank() {
    // 0.07 · 100 is slightly above 7 in floating point.
    let seventh = recorded(&finite_us(1..=100)).quantile(0.07);
    assert!(seventh < Some(Latency::Finite(Span::from_us(8))), "{seventh:?}");
}

#[test]
fn mean_minimum_and_maximum_are_exact() {
    let mut recorder = recorded(&[1, 3, 123_456_789].map(|ns| Latency::Finite(Span::from_ns(ns))));
    assert_eq!(recorder.mean(), Some(Span::from_ps(123_456_793 * 1000 / 3)));
    assert_eq!(recorder.min(), Some(Latency::Finite(Span::from_ns(1))));
    assert_eq!(recorder.max(), Some(Latency::Finite(Span::from_ns(123_456_789))));
    recorder.record(Timestamp::ZERO, Latency::Infinite);
    assert_eq!(recorder.max(), Some(Latency::Infinite));
    assert_eq!(recorder.max_finite(), Some(Span::from_ns(123_456_789)));
    assert_eq!(recorder.mean(), Some(Span::from_ps(123_456_793 * 1000 / 3)));
}

#[test]
fn an_empty_recorder_has_no_figures() {
    let empty = LatencyRecorder::new();
    assert_eq!((empty.quantile(0.5), empty.mean(), empty.max(), empty.min()), (None, None, None, None));
    assert_eq!(empty.summary(), None);
    assert!(!empty.meets(Span::MAX));
    assert_eq!(empty.share_above(Span::ZERO), 0.0);
}

#[test]
fn with_refusals_only_every_figure_is_infinite() {
    let refused = recorded(&[Latency::Infinite; 3]);
    assert_eq!((refused.quantile(0.0), refused.min()), (Some(Latency::Infinite), Some(Latency::Infinite)));
    assert_eq!(refused.mean(), None);
}

#[test]
fn warm_up_is_counted_and_not_recorded() {
    let at = |us| Timestamp::ZERO + Span::from_us(us);
    let mut recorder = LatencyRecorder::with_warm_up_until(at(10));
    for us in 0..20 {
        recorder.record(at(us), if us < 10 { Latency::Infinite } else { Latency::Finite(Span::from_us(1)) });
    }
    assert_eq!((recorder.count(), recorder.ignored(), recorder.infinite()), (10, 10, 0));
}

#[test]
fn latencies_beyond_the_range_saturate_and_are_counted() {
    let recorder = recorded(&[Latency::Finite(Span::from_secs(1000)), Latency::Finite(LatencyRecorder::MAX)]);
    assert_eq!(recorder.saturated(), 1);
    assert_eq!(recorder.max_finite(), Some(LatencyRecorder::MAX));
    assert_eq!(recorder.quantile(1.0), Some(Latency::Finite(LatencyRecorder::MAX)));
}

#[test]
fn an_slo_is_met_at_its_own_value() {
    let recorder = recorded(&finite_us([10; 100]));
    assert!(recorder.meets(Span::from_us(10)));
    assert!(!recorder.meets(Span::from_us(10) - Span::from_ns(1)));
}

#[test]
fn the_share_above_a_bound_counts_refusals() {
    let mut latencies = finite_us(1..=9);
    latencies.push(Latency::Infinite);
    let recorder = recorded(&latencies);
    assert_eq!(recorder.share_above(Span::from_us(7)), 0.3);
    assert_eq!(recorder.share_above(Span::ZERO), 1.0);
    assert_eq!(recorder.share_above(Span::from_secs(10_000)), 0.1);
}

#[test]
fn cells_ascend_and_hold_every_finite_latency() {
    let mut rng = Seed(3).stream("latency");
    let latencies: Vec<_> = (0..1000).map(|_| random_latency(&mut rng, 10)).collect();
    let recorder = recorded(&latencies);
    let cells: Vec<_> = recorder.cells().collect();
    assert!(cells.is_sorted_by(|left, right| left.0 < right.0));
    assert_eq!(cells.iter().map(|cell| cell.1).sum::<u64>() + recorder.infinite(), 1000);
    let below =
        |bound: Span| latencies.iter().filter_map(|latency| latency.finite()).filter(|&span| span < bound).count();
    let mut total = 0;
    for (upper, count) in cells {
        total += count;
        // Latencies are truncated to whole nanoseconds, so a cell ends with its last nanosecond.
        assert_eq!(total, below(upper + Span::from_ns(1)) as u64);
    }
}

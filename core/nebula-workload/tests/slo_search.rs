//! The search against servers of known capacity: exact, noisy, and with exactly one wrong verdict.

use nebula_nic::{Span, Timestamp};
use nebula_workload::{Latency, LatencyRecorder, Rate, SearchResult, Seed, SloSearch};

const PRECISION: f64 = 0.02;

fn rate(rps: f64) -> Rate {
    Rate::try_new(rps).expect("a rate")
}

fn search_from(first: f64) -> SloSearch {
    SloSearch::new(Span::from_us(100), rate(first), rate(1e3)..=rate(1e8), PRECISION)
}

/// Runs a search against `meets(rate, probe number)`.
fn run(mut search: SloSearch, mut meets: impl FnMut(f64, usize) -> bool) -> SearchResult {
    for probe in 0.. {
        assert!(probe <= SloSearch::PROBES_MAX, "the search does not end");
        let Some(rate) = search.next_rate() else { break };
        search.handle_result(rate, meets(rate.as_rps(), probe));
    }
    search.result()
}

fn assert_finds(result: &SearchResult, capacity: f64, what: &str) {
    let found = result.throughput_under_slo_rps.expect("some rate meets the SLO");
    let missed = result.lowest_missed_rps.expect("some rate misses it");
    assert!(result.is_complete, "{what}: {result:?}");
    assert!(found <= capacity && capacity < missed, "{what}: {result:?} brackets not {capacity}");
    assert!(missed <= found * (1.0 + PRECISION), "{what}: {result:?} is wide");
}

#[test]
fn any_capacity_is_bracketed_from_any_first_rate() {
    for first in [1e3, 1e5, 1e8] {
        for capacity in [1_001.0, 33_333.0, 1e5, 123_456.0, 7_777_777.0, 99_999_999.0] {
            let result = run(search_from(first), |rps, _| rps <= capacity);
            assert_finds(&result, capacity, &format!("from {first}"));
        }
    }
}

#[test]
fn a_good_first_guess_takes_few_probes() {
    // 1 met, 1 missed twice, six bisections whose misses are confirmed, 1 to confirm the end.
    let result = run(search_from(100e3), |rps, _| rps <= 130e3);
    assert!(result.probes <= 16, "{result:?}");
}

#[test]
fn one_wrong_verdict_anywhere_changes_nothing() {
    for capacity in [33_333.0, 130e3, 1.9e6] {
        let probes = run(search_from(100e3), |rps, _| rps <= capacity).probes;
        for lie in 0..probes {
            let result = run(search_from(100e3), |rps, probe| (rps <= capacity) != (probe == lie));
            assert_finds(&result, capacity, &format!("capacity {capacity}, wrong verdict at probe {lie}"));
        }
    }
}

#[test]
fn random_misses_leave_the_answer_near() {
    // A tenth of the probes below capacity miss, as on a machine with stalls.
    let capacity = 730e3;
    let mut near = 0;
    for seed in 0..200 {
        let mut rng = Seed(seed).stream("misfortune");
        let result = run(search_from(100e3), |rps, _| rps <= capacity && rng.below(10) > 0);
        let found = result.throughput_under_slo_rps.expect("some rate meets the SLO");
        assert!(found <= capacity);
        near += u32::from(found > capacity * 0.95);
    }
    // Two misses in a row at one of some eight decisive points: 0.99^8 = 0.92.
    assert!(near > 170, "{near} of 200");
}

#[test]
fn a_server_that_meets_everything_is_met_at_the_limit() {
    let result = run(search_from(1e5), |_, _| true);
    assert_eq!((result.throughput_under_slo_rps, result.lowest_missed_rps), (Some(1e8), None));
    assert!(result.is_complete);
}

#[test]
fn a_server_that_meets_nothing_is_given_up_at_the_limit() {
    let result = run(search_from(1e5), |_, _| false);
    assert_eq!((result.throughput_under_slo_rps, result.lowest_missed_rps), (None, Some(1e3)));
    assert!(result.is_complete);
}

#[test]
fn a_search_with_random_verdicts_terminates() {
    for seed in 0..500 {
        let mut rng = Seed(seed).stream("verdicts");
        let result = run(search_from(1e5), |_, _| rng.below(2) == 0);
        assert!(result.probes <= SloSearch::PROBES_MAX);
    }
}

#[test]
fn the_bound_on_probes_holds_and_leaves_the_search_incomplete() {
    let result = run(search_from(1e5).probes_max(5), |rps, _| rps <= 730e3);
    assert_eq!((result.probes, result.is_complete), (5, false));
}

#[test]
fn a_miss_is_confirmed_at_once() {
    let mut search = search_from(1e5);
    search.handle_result(rate(1e5), false);
    assert_eq!((search.next_rate(), search.result().lowest_missed_rps), (Some(rate(1e5)), None));
    search.handle_result(rate(1e5), false);
    assert_eq!((search.next_rate(), search.result().lowest_missed_rps), (Some(rate(5e4)), Some(1e5)));
}

#[test]
fn what_meets_above_a_rate_that_misses_is_luck() {
    let mut search = search_from(1e5);
    for (rps, is_met) in [(1e5, true), (1e5, true), (5e4, false), (5e4, false)] {
        search.handle_result(rate(rps), is_met);
    }
    assert_eq!((search.next_rate(), search.result().throughput_under_slo_rps), (Some(rate(2.5e4)), None));
}

#[test]
fn limits_and_first_rate_are_put_in_order() {
    let search = SloSearch::new(Span::from_us(100), rate(5.0), rate(1e6)..=rate(1e4), 0.0);
    assert_eq!(search.next_rate(), Some(rate(1e6)));
}

#[test]
fn a_probe_is_judged_by_its_p99_with_refusals_at_infinity() {
    let search = search_from(1e5);
    let mut latency = LatencyRecorder::new();
    for _ in 0..99 {
        latency.record(Timestamp::ZERO, Latency::Finite(search.slo()));
    }
    latency.record(Timestamp::ZERO, Latency::Infinite);
    assert!(search.is_met_by(&latency));
    latency.record(Timestamp::ZERO, Latency::Infinite);
    assert!(!search.is_met_by(&latency));
}

//! Gaps: found, logged, summarized and excluded, each compared with a slow, simple algorithm.

use nebula_nic::{Span, Timestamp};
use nebula_workload::{Gap, GapDetector, GapLog, GapTally, Latency, Rng, Seed, Tails};

fn at_us(us: u64) -> Timestamp {
    Timestamp::ZERO + Span::from_us(us)
}

fn gap_us(start: u64, end: u64) -> Gap {
    Gap { start: at_us(start), end: at_us(end) }
}

fn detected(readings_us: &[u64]) -> GapDetector {
    let mut detector = GapDetector::new(GapDetector::THRESHOLD, 100);
    for &us in readings_us {
        detector.observe(at_us(us));
    }
    detector
}

#[test]
fn a_step_longer_than_the_threshold_is_a_gap() {
    let mut detector = detected(&[0, 1, 3]);
    assert_eq!(detector.observe(at_us(5)), None, "exactly the threshold");
    let longer = at_us(7) + Span::from_ps(1);
    assert_eq!(detector.observe(longer), Some(Gap { start: at_us(5), end: longer }));
    assert_eq!(detector.log().len(), 1);
}

#[test]
fn a_threshold_below_what_the_summary_counts_is_kept() {
    let mut detector = GapDetector::new(Span::from_ns(100), 10);
    for ns in [0, 100, 600] {
        detector.observe(Timestamp::ZERO + Span::from_ns(ns));
    }
    assert_eq!((detector.log().len(), detector.summary().longest), (1, Span::ZERO));
}

#[test]
fn the_first_reading_and_a_pause_are_no_gaps() {
    let mut detector = detected(&[500, 501]);
    detector.resume(at_us(900));
    detector.observe(at_us(901));
    assert!(detector.log().is_empty());
    assert_eq!(detector.summary().observed, Span::from_us(2));
}

#[test]
fn a_clock_that_goes_back_gives_no_gap() {
    assert!(detected(&[10, 9, 10]).log().is_empty());
}

#[test]
fn a_summary_counts_gaps_by_length() {
    let mut now = 0;
    let mut readings = vec![0];
    for step in [1, 2, 4, 4, 20, 50, 200, 719] {
        now += step;
        readings.push(now);
    }
    let summary = detected(&readings).summary();
    let per_ms = |count: f64| count * 1000.0;
    assert_eq!(summary.observed, Span::from_ms(1));
    assert_eq!(summary.per_second_above.map(|(class, _)| class.as_ns() / 1000), [1, 3, 10, 30, 100]);
    for ((_, rate), count) in summary.per_second_above.into_iter().zip([7.0, 6.0, 4.0, 3.0, 2.0]) {
        assert!((rate - per_ms(count)).abs() < 1e-6, "{rate} per second, not {}", per_ms(count));
    }
    assert_eq!((summary.share_lost, summary.longest), (1.0, Span::from_us(719)));
    // The median of eight gaps is the fourth, within the two digits of precision.
    let p50 = summary.length_p50.unwrap().as_ns();
    assert!((4000..=4040).contains(&p50), "{p50}");
    assert_eq!(summary.length_p99, Some(Span::from_us(719)));
}

#[test]
fn tallies_of_two_cores_add_up() {
    let (mut left, right) = (detected(&[0, 1, 11]).tally().clone(), detected(&[0, 29]));
    left.merge(right.tally());
    let summary = left.summary();
    assert_eq!((summary.observed, summary.longest), (Span::from_us(40), Span::from_us(29)));
    assert!((summary.per_second_above[2].1 - 25_000.0).abs() < 1e-6);
}

#[test]
fn no_observation_gives_an_empty_summary() {
    let summary = GapTally::new().summary();
    assert_eq!((summary.share_lost, summary.length_p50, summary.length_p99), (0.0, None, None));
}

#[test]
fn gaps_are_half_open_and_requests_are_not() {
    let log = GapLog::from_gaps([gap_us(10, 20)]);
    let overlaps = |from, to| log.overlaps(at_us(from), at_us(to), Span::ZERO);
    assert_eq!([overlaps(0, 9), overlaps(0, 10), overlaps(19, 30), overlaps(20, 30)], [false, true, true, false]);
    assert!(overlaps(12, 13) && overlaps(0, 100));
    let guarded = |from| log.overlaps(at_us(from), at_us(from + 1), Span::from_us(5));
    assert_eq!([guarded(24), guarded(25)], [true, false]);
}

#[test]
fn a_full_log_drops_its_oldest_gap_and_says_so() {
    let mut log = GapLog::with_capacity(2);
    [gap_us(0, 1), gap_us(10, 11), gap_us(20, 21)].into_iter().for_each(|gap| log.push(gap));
    assert_eq!((log.len(), log.forgotten()), (2, 1));
    assert!(!log.is_complete_from(at_us(5), Span::from_us(5)));
    assert!(log.is_complete_from(at_us(6), Span::from_us(5)));
    let merged = GapLog::merged([&log, &GapLog::with_capacity(1)]);
    assert_eq!((merged.len(), merged.forgotten()), (2, 1));
    assert!(!merged.is_complete_from(at_us(5), Span::from_us(5)));
}

#[test]
fn gaps_cross_processes_as_whole_nanoseconds_that_cover_them() {
    let gap = Gap { start: Timestamp::from_ps(1_999), end: Timestamp::from_ps(5_001) };
    let (start_ns, end_ns) = gap.to_ns();
    assert_eq!((start_ns, end_ns), (1, 6));
    assert_eq!(
        Gap::from_ns(start_ns, end_ns),
        Gap { start: Timestamp::from_ps(1_000), end: Timestamp::from_ps(6_000) }
    );
}

fn random_gaps(rng: &mut Rng, count: u64) -> Vec<Gap> {
    (0..count)
        .map(|_| {
            let start = rng.below(2000);
            gap_us(start, start + 1 + rng.below(30))
        })
        .collect()
}

fn met_naively(gaps: &[Gap], from: Timestamp, to: Timestamp, guard: Span) -> bool {
    gaps.iter().any(|gap| gap.start <= to && from < gap.end + guard)
}

#[test]
fn overlap_agrees_with_comparing_every_gap() {
    for seed in 0..200 {
        let mut rng = Seed(seed).stream("gaps");
        let gaps = random_gaps(&mut rng, seed % 40);
        let (left, right) = gaps.split_at(gaps.len() / 2);
        let logs = [left, right].map(|gaps| GapLog::from_gaps(gaps.iter().copied()));
        let log = GapLog::merged(&logs);
        let listed: Vec<Gap> = log.iter().collect();
        assert!(listed.windows(2).all(|pair| pair[0].end < pair[1].start), "seed {seed}: {listed:?}");
        for _ in 0..200 {
            let (from, length, guard) = (rng.below(2100), rng.below(50), Span::from_us(rng.below(30)));
            let (from, to) = (at_us(from), at_us(from + length));
            let expected = met_naively(&gaps, from, to, guard);
            assert_eq!(log.overlaps(from, to, guard), expected, "seed {seed}: {from} to {to}, guard {guard}, {gaps:?}");
        }
    }
}

/// A request: due, done, whether it was answered.
type Request = (Timestamp, Timestamp, bool);

fn random_requests(rng: &mut Rng) -> Vec<Request> {
    let mut requests: Vec<Request> = (0..500)
        .map(|_| {
            let intended = rng.below(2000);
            (at_us(intended), at_us(intended + 1 + rng.below(20)), rng.below(10) > 0)
        })
        .collect();
    requests.sort_by_key(|request| request.1);
    requests
}

fn record(tails: &mut Tails, &(intended, done, is_answered): &Request) {
    if is_answered { tails.record_reply(intended, done) } else { tails.record_infinite(intended, done) }
}

/// The latencies that the naive model keeps, sorted.
fn kept_naively(requests: &[Request], gaps: &[Gap]) -> Vec<Latency> {
    let kept = requests.iter().filter(|request| !met_naively(gaps, request.0, request.1, Tails::GUARD));
    let latency =
        |&(from, to, is_answered): &Request| if is_answered { Latency::Finite(to - from) } else { Latency::Infinite };
    let mut latencies: Vec<Latency> = kept.map(latency).collect();
    latencies.sort();
    latencies
}

fn assert_keeps(tails: &Tails, expected: &[Latency], seed: u64) {
    let excluded = tails.gaps_excluded();
    assert_eq!((excluded.count(), tails.pending()), (expected.len() as u64, 0), "seed {seed}");
    assert_eq!(excluded.max(), expected.last().copied(), "seed {seed}");
    let finite = expected.iter().filter_map(|latency| latency.finite());
    let (count, sum) = finite.fold((0, Span::ZERO), |(count, sum), span| (count + 1, sum + span));
    assert_eq!(excluded.mean(), (count > 0).then(|| sum / count.max(1)), "seed {seed}");
}

#[test]
fn excluded_tails_agree_with_comparing_every_pair() {
    for seed in 0..100 {
        let mut rng = Seed(seed).stream("tails");
        let gaps = random_gaps(&mut rng, seed % 30);
        let requests = random_requests(&mut rng);
        let mut tails = Tails::new(Timestamp::ZERO, Tails::GUARD, requests.len());
        requests.iter().for_each(|request| record(&mut tails, request));
        tails.settle_all(&GapLog::from_gaps(gaps.iter().copied()));
        let expected = kept_naively(&requests, &gaps);
        assert_keeps(&tails, &expected, seed);
        assert_eq!(tails.raw().count(), 500);
        assert_eq!(tails.share_kept(), Some(expected.len() as f64 / 500.0));
    }
}

#[test]
fn settling_while_gaps_arrive_gives_the_same_result() {
    for seed in 0..100 {
        let mut rng = Seed(seed).stream("tails");
        let mut gaps = random_gaps(&mut rng, seed % 30);
        gaps.sort();
        let requests = random_requests(&mut rng);
        let mut tails = Tails::new(Timestamp::ZERO, Tails::GUARD, requests.len());
        for (index, request) in requests.iter().enumerate() {
            record(&mut tails, request);
            if index % 50 == 49 {
                // The peer lags by up to 100 µs: it has reported the gaps that began before then.
                let complete_until = request.1 - Span::from_us(rng.below(100));
                let known = gaps.iter().copied().filter(|gap| gap.start < complete_until);
                tails.settle(&GapLog::from_gaps(known), complete_until);
            }
        }
        tails.settle_all(&GapLog::from_gaps(gaps.iter().copied()));
        assert_keeps(&tails, &kept_naively(&requests, &gaps), seed);
    }
}

#[test]
fn requests_that_do_not_fit_are_unjudged_and_never_kept() {
    let mut tails = Tails::new(Timestamp::ZERO, Tails::GUARD, 3);
    for us in 0..5 {
        tails.record_reply(at_us(us), at_us(us + 1));
    }
    assert_eq!((tails.pending(), tails.unjudged()), (3, 2));
    tails.settle_all(&GapLog::with_capacity(1));
    assert_eq!((tails.gaps_excluded().count(), tails.raw().count(), tails.share_kept()), (3, 5, Some(1.0)));
}

#[test]
fn requests_older_than_the_log_are_unjudged() {
    let mut log = GapLog::with_capacity(1);
    log.push(gap_us(10, 12));
    log.push(gap_us(100, 102));
    let mut tails = Tails::new(Timestamp::ZERO, Span::from_us(20), 10);
    for us in [5, 31, 32, 90] {
        tails.record_reply(at_us(us), at_us(us + 1));
    }
    tails.settle_all(&log);
    assert_eq!((tails.unjudged(), tails.gaps_excluded().count()), (2, 2));
}

#[test]
fn merged_tails_are_one() {
    let gaps = GapLog::from_gaps([gap_us(50, 60)]);
    let mut settled = Tails::new(at_us(1), Tails::GUARD, 10);
    [0, 1, 55].into_iter().for_each(|us| settled.record_reply(at_us(us), at_us(us + 1)));
    settled.settle_all(&gaps);
    let mut waiting = Tails::new(at_us(1), Tails::GUARD, 10);
    [2, 56].into_iter().for_each(|us| waiting.record_reply(at_us(us), at_us(us + 2)));
    settled.merge(waiting);
    assert_eq!((settled.pending(), settled.share_kept()), (2, Some(0.5)));
    settled.settle_all(&gaps);
    assert_eq!((settled.share_kept(), settled.raw().count(), settled.raw().ignored()), (Some(0.5), 4, 1));
}

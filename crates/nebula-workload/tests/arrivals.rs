//! Arrivals: one suite for every kind, and the law of each.

use nebula_nic::Span;
use nebula_workload::{ArrivalProcess, Arrivals, Rate, Seed};

fn gaps(arrivals: &Arrivals, rps: f64, seed: u64, count: usize) -> Vec<Span> {
    let mut rng = Seed(seed).stream("arrivals");
    let mut process: ArrivalProcess = arrivals.at(Rate::try_new(rps).expect("a rate"));
    (0..count).map(|_| process.next_gap(&mut rng)).collect()
}

fn mean_ps(gaps: &[Span]) -> f64 {
    gaps.iter().map(|gap| gap.as_ps() as f64).sum::<f64>() / gaps.len() as f64
}

/// Squared coefficient of variation: 1 for Poisson arrivals, 0 for equal gaps.
fn cv2(gaps: &[Span]) -> f64 {
    let mean = mean_ps(gaps);
    gaps.iter().map(|gap| (gap.as_ps() as f64 / mean - 1.0).powi(2)).sum::<f64>() / gaps.len() as f64
}

mod suite {
    use super::*;

    pub(crate) fn is_repeatable(arrivals: &Arrivals) {
        assert_eq!(gaps(arrivals, 1e6, 4, 1000), gaps(arrivals, 1e6, 4, 1000));
    }

    pub(crate) fn keeps_its_rate(arrivals: &Arrivals) {
        for rps in [0.5, 1e3, 1e6 / 3.0, 22e6] {
            let ratio = mean_ps(&gaps(arrivals, rps, 1, 1_000_000)) * rps / 1e12;
            // Four standard deviations of a Poisson mean.
            assert!((ratio - 1.0).abs() < 0.004, "{arrivals} at {rps}: {ratio}");
        }
    }

    pub(crate) fn keeps_its_spelling(arrivals: &Arrivals) {
        assert_eq!(arrivals.to_string().parse(), Ok(arrivals.clone()));
    }
}

macro_rules! conforms {
    ($($kind:ident => $arrivals:expr),*) => {$(
        mod $kind {
            use super::*;

            #[test]
            fn is_repeatable() {
                suite::is_repeatable(&$arrivals);
            }

            #[test]
            fn keeps_its_rate() {
                suite::keeps_its_rate(&$arrivals);
            }

            #[test]
            fn keeps_its_spelling() {
                suite::keeps_its_spelling(&$arrivals);
            }
        }
    )*};
}

conforms!(poisson => Arrivals::Poisson, paced => Arrivals::Paced);

#[test]
fn poisson_gaps_are_exponential() {
    let gaps = gaps(&Arrivals::Poisson, 1e6, 2, 1_000_000);
    // The standard deviation of CV² is √(8/n) = 0.0028 for exponential gaps.
    assert!((cv2(&gaps) - 1.0).abs() < 0.012, "CV² {}", cv2(&gaps));
    for (ns, expected) in [(100, 0.904_84), (1000, 0.367_88), (3000, 0.049_79), (7000, 0.000_912)] {
        let bound = Span::from_ns(ns);
        let longer = gaps.iter().filter(|&&gap| gap > bound).count() as f64 / 1e6;
        assert!((longer - expected).abs() < 4.5 * (expected / 1e6f64).sqrt(), "P(gap > {ns} ns) = {longer}");
    }
}

#[test]
fn poisson_gaps_do_not_depend_on_the_gap_before() {
    let gaps = gaps(&Arrivals::Poisson, 1e6, 3, 1_000_000);
    let centered: Vec<f64> = gaps.iter().map(|gap| gap.as_ps() as f64 / 1e6 - 1.0).collect();
    let lag1 = centered.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / 1e6;
    assert!(lag1.abs() < 0.005, "autocorrelation {lag1}");
}

#[test]
fn poisson_gaps_lose_nothing_to_whole_picoseconds() {
    // At a mean of 2 ps, cutting each gap to a whole number would lose a quarter of the time.
    let mean = mean_ps(&gaps(&Arrivals::Poisson, 5e11, 1, 1_000_000));
    assert!((mean - 2.0).abs() < 0.009, "mean {mean} ps");
}

#[test]
fn paced_gaps_do_not_drift() {
    for rps in [3u64, 7, 999_983, 22_000_000] {
        // After exactly `rps` gaps a whole second has passed, to the picosecond, ten times over.
        let mut rng = Seed(1).stream("unused");
        let mut process = Arrivals::Paced.at(Rate::try_new(rps as f64).unwrap());
        let sent = if rps > 1_000_000 { rps } else { 10 * rps };
        let total: Span = (0..sent).map(|_| process.next_gap(&mut rng)).sum();
        assert_eq!(total, Span::from_secs(sent / rps), "{rps} RPC/s");
    }
}

#[test]
fn paced_gaps_differ_by_a_picosecond_at_most() {
    let gaps = gaps(&Arrivals::Paced, 3e6, 1, 3000);
    assert!(gaps.iter().all(|gap| [333_333, 333_334].contains(&gap.as_ps())));
}

#[test]
fn unknown_arrivals_are_refused_in_one_line() {
    let error = "poison".parse::<Arrivals>().unwrap_err().to_string();
    assert_eq!(
        error,
        "arrivals \"poison\" is not understood: write poisson, paced, packets:N, mmpp2:RATIO,SHARE,SOJOURN, on-off:ON,OFF or trace:FILE"
    );
}

//! Bursty arrivals are burstier than Poisson, by as much as the closed forms say.

use nebula_nic::Span;
use nebula_workload::{Arrivals, Mmpp2, OnOff, Rate, Seed};

/// A Markov-modulated Poisson process with two states, per microsecond: arrivals, and changes to
/// the other state.
#[derive(Copy, Clone)]
struct Law {
    arrivals: [f64; 2],
    leaves: [f64; 2],
}

impl Law {
    /// `weights` of the rates, mean times in the states in microseconds; one arrival per
    /// microsecond on average.
    fn new(weights: [f64; 2], us: [f64; 2]) -> Self {
        let mean = (weights[0] * us[0] + weights[1] * us[1]) / (us[0] + us[1]);
        Self { arrivals: weights.map(|weight| weight / mean), leaves: us.map(f64::recip) }
    }

    /// The common factor of all closed forms: changes of state, and the difference of the rates.
    fn contrast(&self) -> f64 {
        let ([a, b], [r, s]) = (self.arrivals, self.leaves);
        2.0 * (a - b).powi(2) * r * s / (r + s).powi(2)
    }

    /// Variance over mean of the counts in windows of `us`.
    fn dispersion(&self, us: f64) -> f64 {
        let ([a, b], [r, s]) = (self.arrivals, self.leaves);
        let changes = (r + s) * us;
        1.0 + self.contrast() / (a * s + b * r) * (1.0 + ((-changes).exp() - 1.0) / changes)
    }

    fn gap_scv(&self) -> f64 {
        let ([a, b], [r, s]) = (self.arrivals, self.leaves);
        1.0 + self.contrast() / (a * b + a * s + b * r)
    }
}

fn gaps_us(arrivals: &Arrivals, count: usize) -> Vec<f64> {
    let mut rng = Seed(5).stream("arrivals");
    let mut process = arrivals.at(Rate::try_new(1e6).expect("a rate"));
    (0..count).map(|_| process.next_gap(&mut rng).as_ns_f64() / 1000.0).collect()
}

fn mean_and_variance(samples: &[f64]) -> (f64, f64) {
    let mean = samples.iter().sum::<f64>() / samples.len() as f64;
    (mean, samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / samples.len() as f64)
}

/// Variance over mean of the arrivals in each window, and the number of windows.
fn dispersion(gaps_us: &[f64], window_us: f64) -> (f64, f64) {
    let (mut counts, mut count, mut at, mut end) = (Vec::new(), 0.0, 0.0, window_us);
    for gap in gaps_us {
        at += gap;
        while at >= end {
            counts.push(std::mem::take(&mut count));
            end += window_us;
        }
        count += 1.0;
    }
    let (mean, variance) = mean_and_variance(&counts);
    (variance / mean, counts.len() as f64)
}

fn cases() -> [(Arrivals, Law); 4] {
    let mmpp2 = |ratio, share, us| Arrivals::Mmpp2(Mmpp2::try_new(ratio, share, Span::from_us(us)).expect("a law"));
    let on_off = |on, off| Arrivals::OnOff(OnOff::try_new(Span::from_us(on), Span::from_us(off)).expect("a law"));
    [
        (mmpp2(5.0, 0.1, 100), Law::new([1.0, 5.0], [900.0, 100.0])),
        (mmpp2(20.0, 0.5, 10), Law::new([1.0, 20.0], [10.0, 10.0])),
        (on_off(100, 300), Law::new([0.0, 1.0], [300.0, 100.0])),
        (on_off(1, 1), Law::new([0.0, 1.0], [1.0, 1.0])),
    ]
}

#[test]
fn counts_are_dispersed_by_the_closed_form() {
    for (arrivals, law) in cases() {
        let gaps = gaps_us(&arrivals, 4_000_000);
        for window_us in [1.0, 20.0, 500.0] {
            let (seen, windows) = dispersion(&gaps, window_us);
            let expected = law.dispersion(window_us);
            // Windows within a cycle of at most 1 ms are correlated; the kurtosis of their counts
            // is at most about 9.
            let independent = windows.min(4e6 / 1000.0 * 2.0);
            let bound = 4.5 * (8.0 / independent).sqrt() * (expected - 1.0) + 4.5 * (2.0 / windows).sqrt();
            assert!((seen - expected).abs() < bound, "{arrivals} in {window_us} us: {seen}, not {expected} ± {bound}");
        }
    }
}

#[test]
fn gaps_vary_by_the_closed_form() {
    for (arrivals, law) in cases() {
        let gaps = gaps_us(&arrivals, 4_000_000);
        let (mean, variance) = mean_and_variance(&gaps);
        let (seen, expected) = (variance / (mean * mean), law.gap_scv());
        assert!((seen / expected - 1.0).abs() < 0.15, "{arrivals}: {seen}, not {expected}");
    }
}

#[test]
fn bursty_arrivals_are_burstier_than_poisson_and_poisson_than_paced() {
    let seen = |arrivals: &Arrivals| dispersion(&gaps_us(arrivals, 1_000_000), 100.0).0;
    let paced = seen(&Arrivals::Paced);
    let packets = seen(&"packets:8".parse().unwrap());
    let poisson = seen(&Arrivals::Poisson);
    assert!(paced < 0.001 && paced < packets && packets < 0.1, "{paced} {packets}");
    assert!((poisson - 1.0).abs() < 0.065, "{poisson}");
    for (arrivals, law) in cases() {
        assert!(law.dispersion(100.0) > 1.4 && seen(&arrivals) > 1.3, "{arrivals}: {}", seen(&arrivals));
    }
}

#[test]
fn a_ratio_of_one_is_poisson() {
    let mmpp2 = gaps_us(&"mmpp2:1x,0.3,10us".parse().unwrap(), 1_000_000);
    let (mean, variance) = mean_and_variance(&mmpp2);
    assert!((mean - 1.0).abs() < 0.0045 && (variance / mean.powi(2) - 1.0).abs() < 0.0127, "{mean} {variance}");
}

#[test]
fn bursts_take_their_share_of_the_time() {
    // An on-period of 1 ms has 4 arrivals per microsecond and thus no gap above 10 us.
    let gaps = gaps_us(&"on-off:1ms,3ms".parse().unwrap(), 4_000_000);
    let off: f64 = gaps.iter().filter(|&&gap| gap > 10.0).sum();
    // A thousand cycles, each with an exponential on- and off-period.
    let share = off / gaps.iter().sum::<f64>();
    assert!((share - 0.75).abs() < 4.5 * 0.75 * 0.25 * (2.0f64 / 1000.0).sqrt(), "{share}");
}

#[test]
fn runs_begin_in_either_state() {
    let silent = (0..2000).filter(|&seed| {
        let mut process = "on-off:1s,3s".parse::<Arrivals>().unwrap().at(Rate::try_new(1e6).unwrap());
        process.next_gap(&mut Seed(seed).stream("arrivals")) > Span::from_us(10)
    });
    let share = silent.count() as f64 / 2000.0;
    assert!((share - 0.75).abs() < 4.5 * (0.75f64 * 0.25 / 2000.0).sqrt(), "{share}");
}

#[test]
fn cycles_far_shorter_than_a_gap_come_out_as_poisson() {
    let mut rng = Seed(6).stream("arrivals");
    let mut process = "on-off:1ps,1ps".parse::<Arrivals>().unwrap().at(Rate::MIN);
    let gaps: Vec<f64> = (0..20_000).map(|_| process.next_gap(&mut rng).as_ps() as f64 / 1e15).collect();
    let (mean, variance) = mean_and_variance(&gaps);
    assert!((mean - 1.0).abs() < 4.5 / 141.0 && (variance / mean.powi(2) - 1.0).abs() < 0.09, "{mean} {variance}");
}

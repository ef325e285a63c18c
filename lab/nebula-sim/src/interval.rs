//! Confidence intervals over parts of a simulation that are independent, or nearly so.
//!
//! The latencies of one run are correlated, so single RPCs would give too narrow an interval.
//! Replications with different seeds are independent, and parts of a long run are nearly so.
//!
//! | figure | interval | where |
//! |---|---|---|
//! | a mean of figures, one for each replication | Student's t | here |
//! | a sum over a sum: mean latency, throughput, accepted | on the logarithmic scale, with the correction for skewness | [`ratio`] |
//! | a quantile | the latencies at which the share of later RPCs may be the wanted one | [`quantile`] |

pub(crate) mod cells;
pub(crate) mod quantile;
pub(crate) mod ratio;

use ratio::Ratio;

/// A figure with its 95 % confidence interval.
///
/// # Examples
///
/// ```
/// use nebula_sim::Interval;
///
/// let p99_us = Interval::of(&[4.9, 5.0, 5.1, 5.0, 5.0]);
/// assert_eq!(p99_us.value, 5.0);
/// assert!(p99_us.lo > 4.9 && p99_us.hi < 5.1 && p99_us.contains(5.03));
/// assert!(p99_us.relative() < 0.02);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The figure: the mean over replications.
    pub value: f64,
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

impl Interval {
    /// The 95 % interval of a mean of independent figures; infinite if one is, or there is only
    /// one.
    #[must_use]
    pub fn of(figures: &[f64]) -> Self {
        let count = figures.len() as f64;
        let value = figures.iter().sum::<f64>() / count;
        if !value.is_finite() {
            let finite = figures.iter().copied().filter(|figure| figure.is_finite());
            return Self { value, lo: finite.fold(f64::INFINITY, f64::min), hi: f64::INFINITY };
        }
        if figures.len() < 2 {
            return Self { value, lo: f64::NEG_INFINITY, hi: f64::INFINITY };
        }
        let variance = figures.iter().map(|figure| (figure - value) * (figure - value)).sum::<f64>() / (count - 1.0);
        let half = student_t(figures.len() - 1) * libm::sqrt(variance / count);
        Self { value, lo: value - half, hi: value + half }
    }

    /// As [`of`](Self::of), for figures that are not negative; the ends are not negative, either.
    #[must_use]
    pub fn of_positive(figures: &[f64]) -> Self {
        Ratio::of(&figures.iter().map(|&figure| (figure, 1.0)).collect::<Vec<_>>()).interval()
    }

    /// An exact figure, from a formula: its interval has width zero.
    #[must_use]
    pub const fn exact(value: f64) -> Self {
        Self { value, lo: value, hi: value }
    }

    pub(crate) const fn unknown(value: f64) -> Self {
        Self { value, lo: 0.0, hi: f64::INFINITY }
    }

    /// Half the interval's width as a share of the figure; infinite if there is no interval.
    #[must_use]
    pub fn relative(&self) -> f64 {
        let half = (self.hi - self.lo) / 2.0;
        if half == 0.0 { 0.0 } else { (half / self.value).abs() }
    }

    /// Whether `value` is within the interval.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.lo <= value && value <= self.hi
    }

    /// Cuts off ends that the figure cannot have: the rest holds the true one as often.
    #[must_use]
    pub(crate) const fn within(self, lowest: f64, highest: f64) -> Self {
        Self { value: self.value, lo: self.lo.max(lowest), hi: self.hi.min(highest) }
    }

    #[must_use]
    pub(crate) const fn not_negative(self) -> Self {
        self.within(0.0, f64::INFINITY)
    }

    /// The same figure in another unit.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        Self { value: self.value * factor, lo: self.lo * factor, hi: self.hi * factor }
    }
}

/// The 97.5 % quantile of Student's t, for an interval of 95 %.
fn student_t(freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
        2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
    ];
    match freedom {
        0 => f64::INFINITY,
        1..=30 => TABLE[freedom - 1],
        // Its expansion about the normal quantile, right to 3 digits from here on.
        _ => 1.95996 + 2.3722 / freedom as f64 + 2.8225 / (freedom * freedom) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_workload::Seed;

    #[test]
    fn the_quantile_goes_on_smoothly_beyond_the_table() {
        assert!((student_t(30) - student_t(31)).abs() < 0.004);
        assert!((student_t(60) - 2.000).abs() < 0.001 && (student_t(120) - 1.980).abs() < 0.001);
    }

    #[test]
    fn the_true_mean_lies_within_about_19_times_of_20() {
        let mut rng = Seed(3).stream("interval");
        let trials = 4000;
        for count in [2, 5, 10, 40] {
            let mut hits = 0;
            for _ in 0..trials {
                let figures: Vec<f64> = (0..count).map(|_| (0..12).map(|_| rng.unit()).sum::<f64>()).collect();
                hits += u32::from(Interval::of(&figures).contains(6.0));
            }
            let share = f64::from(hits) / f64::from(trials);
            assert!((share - 0.95).abs() < 0.015, "{count} replications: {share}");
        }
    }

    #[test]
    fn an_infinite_figure_makes_the_mean_infinite() {
        let interval = Interval::of(&[3.0, f64::INFINITY, 5.0]);
        assert_eq!((interval.value, interval.lo, interval.hi), (f64::INFINITY, 3.0, f64::INFINITY));
        assert_eq!(Interval::of(&[3.0]).relative(), f64::INFINITY);
    }
}

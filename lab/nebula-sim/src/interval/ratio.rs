//! A sum over a sum, of parts of a run: its interval allows for parts that are skewed.
//!
//! Near saturation a few parts have most of the waiting. Their figures are skewed to the right, and
//! Student's interval misses on one side far more often than on the other, so its statistic is
//! transformed to cancel the skewness. The logarithmic scale has removed most of it before, so 40
//! parts that estimate the rest badly do little harm.
//!
//! The more of the error comes from a few parts, the less precisely it is known; the kurtosis of
//! the parts measures this. Such a variance is as precise as that of fewer normal parts, whose
//! degrees of freedom Student's law gets.
//!
//! # Sources
//!
//! P. Hall, "On the removal of skewness by transformation", J. R. Statist. Soc. B 54, 1992: the
//! cubic transformation. F. E. Satterthwaite, "An approximate distribution of estimates of variance
//! components", Biometrics Bulletin 2, 1946: degrees of freedom by the variance of a variance.

use super::{Interval, student_t};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Ratio {
    pub(crate) value: f64,
    /// Standard error over the figure.
    pub(crate) error: f64,
    /// Skewness of the figure, as estimated from the parts, within [`SKEW_MAX`].
    skew: f64,
    freedom: usize,
}

/// The most skewness of a figure, in its errors, that is believed: a gamma law's. 40 parts that
/// show more had one stretch of bad luck, and believing them makes the interval far too wide.
const SKEW_MAX: f64 = 2.0;

/// The fewest degrees of freedom by kurtosis, which 40 parts estimate badly.
const FREEDOM_MIN: f64 = 8.0;

/// The skewness that the logarithm removes, in errors.
const SKEW_OF_LOG: f64 = 1.5;

impl Ratio {
    pub(crate) fn of(parts: &[(f64, f64)]) -> Self {
        let count = parts.len() as f64;
        let (above, below) = parts.iter().fold((0.0, 0.0), |(above, below), part| (above + part.0, below + part.1));
        let value = if below > 0.0 { above / below } else { 0.0 };
        let each = parts.iter().map(|part| part.0 - value * part.1);
        let (squares, cubes) =
            each.fold((0.0, 0.0), |(squares, cubes), rest| (squares + rest * rest, cubes + rest * rest * rest));
        let fourth = parts.iter().map(|part| libm::pow(part.0 - value * part.1, 4.0)).sum::<f64>();
        let freedom = freedom(parts.len(), squares, fourth);
        let variance = squares / (count - 1.0);
        let error = libm::sqrt(variance * count) / above;
        let skew = match parts.len() > 2 && squares > 0.0 {
            true => count * cubes / ((count - 1.0) * (count - 2.0)) / (variance * libm::sqrt(variance * count)),
            false => 0.0,
        };
        // An error that is NaN limits nothing.
        let skew = skew.max(-SKEW_MAX * error).min(SKEW_MAX * error);
        Self { value, error, skew, freedom }
    }

    /// The interval, on the logarithmic scale: its ends are not negative.
    pub(crate) fn interval(&self) -> Interval {
        let Self { value, error, skew, .. } = *self;
        if value == 0.0 || error == 0.0 {
            return Interval::exact(value);
        }
        if !error.is_finite() || self.freedom == 0 {
            return Interval { value, lo: 0.0, hi: f64::INFINITY };
        }
        let ends = self.ends(skew - SKEW_OF_LOG * error);
        Interval { value, lo: value * libm::exp(-error * ends[1]), hi: value * libm::exp(-error * ends[0]) }
    }

    /// -1 if the figure is certainly lower than `at`, 1 if it is certainly higher, 0 otherwise.
    pub(crate) fn against(&self, at: f64) -> i8 {
        let Interval { lo, hi, .. } = self.interval();
        if hi <= at { -1 } else { i8::from(lo > at) }
    }

    /// The values of the statistic whose transforms with this skewness end Student's interval.
    fn ends(&self, skew: f64) -> [f64; 2] {
        let bound = student_t(self.freedom);
        [-bound, bound].map(|end| {
            let moved = end - self.skew / 6.0;
            if skew.abs() < 1e-6 { moved } else { 3.0 / skew * (libm::cbrt(1.0 + skew * moved) - 1.0) }
        })
    }
}

/// Degrees of freedom of a variance, from the squares and fourth powers of the deviations.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the number of parts")]
fn freedom(count: usize, squares: f64, fourth: f64) -> usize {
    let parts = count as f64;
    // Unbiased for normal parts, whose excess kurtosis is 0.
    let kurtosis = (parts + 1.0) * parts * fourth / (squares * squares) - 3.0 * (parts - 1.0);
    let excess = kurtosis * (parts - 1.0) / ((parts - 2.0) * (parts - 3.0));
    if count < 4 || excess.is_nan() || excess <= 0.0 {
        return count.saturating_sub(1);
    }
    let by_kurtosis = 2.0 / (excess / parts + 2.0 / (parts - 1.0));
    by_kurtosis.max(FREEDOM_MIN.min(parts - 1.0)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_workload::Seed;

    #[test]
    fn a_skewed_figure_is_within_its_interval_as_often_as_is_said() {
        let mut rng = Seed(4).stream("ratio");
        // Squares of exponentials: skewness 6.6.
        let mut draw = || libm::pow(libm::log(1.0 - rng.unit()), 2.0);
        let trials = 2_000;
        let (mut ours, mut students) = (0, 0);
        for _ in 0..trials {
            let parts: Vec<(f64, f64)> = (0..80).map(|_| (draw(), 1.0)).collect();
            let ratio = Ratio::of(&parts);
            ours += u32::from(ratio.interval().contains(2.0) && ratio.against(2.0) == 0);
            let figures: Vec<f64> = parts.iter().map(|part| part.0).collect();
            students += u32::from(Interval::of(&figures).contains(2.0));
        }
        let [ours, students] = [ours, students].map(|hits| f64::from(hits) / f64::from(trials));
        assert!(ours > 0.91 && ours > students + 0.02, "{ours}, by Student's alone {students}");
    }

    #[test]
    fn a_variance_that_comes_from_a_few_parts_has_fewer_degrees_of_freedom() {
        let of = |differences: &[f64]| {
            let powers = |power| differences.iter().map(|&difference| libm::pow(difference, power)).sum::<f64>();
            freedom(differences.len(), powers(2.0), powers(4.0))
        };
        let even: Vec<f64> = (0..40).map(|part| if part % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert_eq!((of(&even), of(&[0.0; 40]), of(&[1.0, -1.0, 0.0]), of(&[])), (39, 39, 2, 0));
        let mut one_far = even.clone();
        one_far[7] = 5.0;
        assert!((9..30).contains(&of(&one_far)), "{}", of(&one_far));
        one_far[7] = 30.0;
        assert_eq!((of(&one_far), of(&one_far[6..11])), (8, 4));
    }

    #[test]
    fn parts_count_by_their_size_and_ends_are_not_negative() {
        let ratio = Ratio::of(&[(10.0, 10.0), (0.0, 30.0)]);
        assert_eq!(ratio.value, 0.25);
        let Interval { lo, hi, .. } = ratio.interval();
        assert!((0.0..0.25).contains(&lo) && hi > 0.25, "{lo} {hi}");
        assert_eq!(Ratio::of(&[(3.0, 1.0), (3.0, 1.0)]).interval(), Interval::exact(3.0));
        assert_eq!(Ratio::of(&[(0.0, 1.0), (0.0, 1.0)]).interval(), Interval::exact(0.0));
        assert_eq!(Ratio::of(&[(3.0, 1.0)]).interval().hi, f64::INFINITY);
    }

    #[test]
    fn one_stretch_of_bad_luck_does_not_stretch_the_interval() {
        for (many, late) in [(2, 10.0), (3, 20.0), (1, 20.0)] {
            let parts: Vec<(f64, f64)> = (0..40).map(|part| (if part < many { late } else { 1.0 }, 1.0)).collect();
            let ratio = Ratio::of(&parts);
            let Interval { value, lo, hi } = ratio.interval();
            // Student's with eight degrees of freedom is as wide as 2.3 times the error.
            assert!(
                hi < value * (1.0 + 4.7 * ratio.error) && lo > value * (1.0 - 2.0 * ratio.error),
                "{lo} {value} {hi}"
            );
            assert_eq!([lo * 0.99, value, hi * 1.01].map(|at| ratio.against(at)), [1, 0, -1]);
        }
    }

    #[test]
    fn a_figure_is_told_from_others_outside_its_interval() {
        let ratio = Ratio::of(&[(9.0, 1.0), (10.0, 1.0), (11.0, 1.0), (10.0, 1.0)]);
        assert_eq!([5.0, 10.2, 20.0].map(|at| ratio.against(at)), [1, 0, -1]);
    }
}

//! Mean and variance, also of sums and mixtures.

use std::iter::Sum;

#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Moments {
    pub(super) mean_ps: f64,
    /// In ps²; infinite if the distribution has no variance.
    pub(super) variance: f64,
}

impl Moments {
    pub(super) fn scv(self) -> Option<f64> {
        let scv = self.variance / (self.mean_ps * self.mean_ps);
        scv.is_finite().then_some(scv)
    }

    /// The moments of one of several distributions, chosen by its share.
    pub(super) fn of_mixture(parts: impl Iterator<Item = (f64, Self)> + Clone) -> Self {
        // A distribution that is never chosen does not count, even if its variance is infinite.
        let parts = parts.filter(|&(share, _)| share > 0.0);
        let shares: f64 = parts.clone().map(|(share, _)| share).sum();
        let mean_ps = parts.clone().map(|(share, part)| share * part.mean_ps).sum::<f64>() / shares;
        let around_mean = |part: Self| part.variance + (part.mean_ps - mean_ps).powi(2);
        let variance = parts.map(|(share, part)| share * around_mean(part)).sum::<f64>() / shares;
        Self { mean_ps, variance }
    }
}

impl Sum for Moments {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self { mean_ps: 0.0, variance: 0.0 }, |sum, part| Self {
            mean_ps: sum.mean_ps + part.mean_ps,
            variance: sum.variance + part.variance,
        })
    }
}

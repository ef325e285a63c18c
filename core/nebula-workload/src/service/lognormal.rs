//! `lognormal:mean=1us,sigma=1.5`: the logarithm is normal, with standard deviation `sigma`.
//!
//! `scv` may replace `sigma`: scv = e^(sigma²) - 1.

use std::fmt;

use nebula_nic::Span;

use super::law::{Kind, Law};
use super::moments::Moments;
use crate::error::WorkloadError;
use crate::rng::Rng;
use crate::spelling::{Spelled, Time};
use crate::whole::rounded;

pub(super) const KIND: Kind<Lognormal> = Kind {
    word: "lognormal",
    expected: "lognormal:mean=TIME,sigma=NUMBER or scv=NUMBER, such as lognormal:mean=1us,sigma=1.5",
    parse,
};

fn parse(spelled: &Spelled<'_>, text: &str) -> Result<Lognormal, WorkloadError> {
    match spelled.fields(text, ["mean", "sigma", "scv"])? {
        [Some(mean), Some(sigma), None] => {
            Lognormal::new(spelled.time_above_0(mean)?, Width::Sigma(spelled.number(sigma)?))
        }
        [Some(mean), None, Some(scv)] => Lognormal::new(spelled.time_above_0(mean)?, Width::Scv(spelled.number(scv)?)),
        _ => Err(spelled.wrong()),
    }
}

#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Lognormal {
    mean: Span,
    width: Width,
    /// Mean and standard deviation of the logarithm of picoseconds.
    mu: f64,
    sigma: f64,
}

#[derive(Copy, Clone, Debug, PartialEq)]
enum Width {
    Sigma(f64),
    Scv(f64),
}

/// At a sigma of 10, half of the work is in one RPC of 10²³: no run reaches the mean.
const SIGMA_MAX: f64 = 10.0;

impl Lognormal {
    fn new(mean: Span, width: Width) -> Result<Self, WorkloadError> {
        let (sigma, what, got) = match width {
            Width::Sigma(sigma) => (sigma, "lognormal sigma", sigma),
            Width::Scv(scv) => (libm::sqrt(libm::log1p(scv)), "lognormal scv", scv),
        };
        if !(0.0..=SIGMA_MAX).contains(&sigma) {
            return Err(WorkloadError::out_of_range(what, got, "use 0 or more, up to a sigma of 10"));
        }
        let mu = libm::log(mean.as_ps() as f64) - sigma * sigma / 2.0;
        Ok(Self { mean, width, mu, sigma })
    }
}

impl Law for Lognormal {
    fn sample(&self, rng: &mut Rng) -> Span {
        rounded(libm::exp(self.mu + self.sigma * standard_normal(rng)))
    }

    fn moments(&self) -> Moments {
        let mean_ps = self.mean.as_ps() as f64;
        let scv = match self.width {
            Width::Sigma(sigma) => libm::expm1(sigma * sigma),
            Width::Scv(scv) => scv,
        };
        Moments { mean_ps, variance: scv * mean_ps * mean_ps }
    }
}

impl fmt::Display for Lognormal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lognormal:mean={},", Time(self.mean))?;
        match self.width {
            Width::Sigma(sigma) => write!(f, "sigma={sigma}"),
            Width::Scv(scv) => write!(f, "scv={scv}"),
        }
    }
}

/// Draws a normal number of mean 0 and deviation 1, by a point in the unit disk. The disk's second
/// number is discarded: keeping it would give the distribution state.
//
// Source: G. Marsaglia, T. A. Bray, "A convenient method for generating normal variables", SIAM
// Review 6(3), 1964.
fn standard_normal(rng: &mut Rng) -> f64 {
    loop {
        let (x, y) = (2.0 * rng.unit() - 1.0, 2.0 * rng.unit() - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * libm::sqrt(-2.0 * libm::log(square) / square);
        }
    }
}

//! `gev:loc=181.5ns,scale=50ns,shape=0.65`: the generalized extreme value distribution, the
//! heaviest-tailed in RPCValet.
//!
//! With s = -ln(-ln u) for u uniform in 0..1, a time is `loc` + `scale` (e^(`shape` s) - 1) /
//! `shape`, and `loc` + `scale` s if `shape` is 0 (Gumbel's law). The mean is infinite from a shape
//! of 1 on, the variance from a shape of ½ on.
//!
//! Negative times are replaced by 0. RPCValet's shape, 0.65 with `loc` = 3.63 `scale`, has none:
//! its minimum is `loc` - `scale` / `shape`, 104.6 ns in the spelling above. Shapes of 0 and below
//! have a tail on that side: at shape 0 the share below 0 is exp(-exp(`loc` / `scale`)), which is
//! 6.2e-4 if `loc` = 2 `scale`, 1.9e-9 at 3 and 2e-24 at 4. Mean and variance are those of the
//! times as drawn, including this share.

use std::f64::consts::PI;
use std::fmt;

use nebula_nic::Span;

use super::law::{Kind, Law};
use super::moments::Moments;
use crate::error::WorkloadError;
use crate::rng::Rng;
use crate::smooth::{expm1_ratio, log1p_ratio};
use crate::spelling::{Spelled, Time};
use crate::whole::rounded;

pub(super) const KIND: Kind<Gev> = Kind {
    word: "gev",
    expected: "gev:loc=TIME,scale=TIME,shape=NUMBER such as gev:loc=181.5ns,scale=50ns,shape=0.65",
    parse,
};

fn parse(spelled: &Spelled<'_>, text: &str) -> Result<Gev, WorkloadError> {
    let fields = spelled.fields(text, ["loc", "scale", "shape"])?;
    let [Some(loc), Some(scale), Some(shape)] = fields else { return Err(spelled.wrong()) };
    let (loc, scale, shape) = (spelled.time(loc)?, spelled.time_above_0(scale)?, spelled.number(shape)?);
    if shape >= 1.0 {
        let expected = "use a shape below 1";
        return Err(WorkloadError::NoMean { what: spelled.what, text: spelled.text.to_owned(), expected });
    }
    if shape < SHAPE_MIN {
        return Err(WorkloadError::out_of_range("gev shape", shape, "use -1 or more, below 1"));
    }
    Ok(Gev { loc, scale, shape, loc_ps: loc.as_ps() as f64, scale_ps: scale.as_ps() as f64 })
}

/// Below this, the density grows towards the longest time and ends there: no service does so.
const SHAPE_MIN: f64 = -1.0;

#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Gev {
    loc: Span,
    scale: Span,
    shape: f64,
    loc_ps: f64,
    scale_ps: f64,
}

/// Half the smallest exponential number above 0 that [`Rng::exponential`] draws. It replaces 0,
/// whose time is infinite.
const EXPONENTIAL_MIN: f64 = 1.0 / (1u64 << 54) as f64;

/// Euler's constant: the mean of the Gumbel distribution.
const EULER: f64 = 0.577_215_664_901_532_9;

/// For a shape closer to 0 than this, the limit at 0 is more accurate than the differences of
/// moments in `f64`.
const SHAPE_TINY: f64 = 1e-8;

/// The share of s below it is e^-1096, which is 0 in an `f64`.
const S_MIN: f64 = -7.0;

impl Gev {
    fn at(&self, s: f64) -> f64 {
        self.loc_ps + self.scale_ps * s * expm1_ratio(self.shape * s)
    }

    /// The time that is exceeded with probability 1 - e^-`drawn`.
    #[inline]
    fn of_exponential(&self, drawn: f64) -> f64 {
        self.at(-libm::log(drawn.max(EXPONENTIAL_MIN)))
    }

    /// The s at which the time is 0; `None` if all times are above 0.
    fn s_of_0(&self) -> Option<f64> {
        let height = self.loc_ps / self.scale_ps;
        let t = -self.shape * height;
        (t > -1.0).then(|| -height * log1p_ratio(t))
    }

    /// The moments including negative times.
    fn uncut(&self) -> Moments {
        let log_gamma = |k: f64| libm::lgamma(1.0 - k * self.shape);
        let is_gumbel = self.shape.abs() < SHAPE_TINY;
        let mean = if is_gumbel { EULER } else { libm::expm1(log_gamma(1.0)) / self.shape };
        let variance = if self.shape >= 0.5 {
            f64::INFINITY
        } else if is_gumbel {
            PI * PI / 6.0
        } else {
            let log_square = 2.0 * log_gamma(1.0);
            libm::exp(log_square) * libm::expm1(log_gamma(2.0) - log_square) / (self.shape * self.shape)
        };
        Moments { mean_ps: self.loc_ps + self.scale_ps * mean, variance: variance * self.scale_ps * self.scale_ps }
    }

    /// The contribution of negative times to the mean of X^`power`.
    fn below_0(&self, power: i32, s_of_0: f64) -> f64 {
        simpson(S_MIN, s_of_0, |s| self.at(s).powi(power) * libm::exp(-s - libm::exp(-s)))
    }
}

impl Law for Gev {
    fn sample(&self, rng: &mut Rng) -> Span {
        rounded(self.of_exponential(rng.exponential()))
    }

    fn moments(&self) -> Moments {
        let uncut = self.uncut();
        let Some(s_of_0) = self.s_of_0().filter(|&s| s > S_MIN) else { return uncut };
        let mean_ps = uncut.mean_ps - self.below_0(1, s_of_0);
        let square = uncut.variance + uncut.mean_ps * uncut.mean_ps - self.below_0(2, s_of_0);
        Moments { mean_ps, variance: square - mean_ps * mean_ps }
    }
}

impl fmt::Display for Gev {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gev:loc={},scale={},shape={}", Time(self.loc), Time(self.scale), self.shape)
    }
}

/// ∫ `f` by Simpson's rule, in steps so small that its error is below 1e-9 of the negative part.
fn simpson(from: f64, to: f64, f: impl Fn(f64) -> f64) -> f64 {
    const STEPS: u32 = 2000;
    let step = (to - from) / f64::from(STEPS);
    let weight = |index| if index == 0 || index == STEPS { 1.0 } else { f64::from(2 + index % 2 * 2) };
    (0..=STEPS).map(|index| weight(index) * f(from + f64::from(index) * step)).sum::<f64>() * step / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rarest_draw_is_long_but_finite() {
        let scale = Span::from_ns(50);
        let gev = Gev { loc: scale, scale, shape: 0.65, loc_ps: 50e3, scale_ps: 50e3 };
        let longest_ps = gev.of_exponential(0.0);
        assert!((gev.of_exponential(2.0 * EXPONENTIAL_MIN)..1e16).contains(&longest_ps), "{longest_ps}");
    }
}

//! `fixed:1us` and `exp:1us`: the two standard distributions of queueing theory.

use std::fmt;

use nebula_nic::Span;

use super::law::{Kind, Law};
use super::moments::Moments;
use crate::rng::Rng;
use crate::spelling::Time;
use crate::streams::Streams;
use crate::whole::{MEAN_PS_SHORT, rounded, rounded_in_vectors, span};

pub(super) const FIXED: Kind<Fixed> = Kind {
    word: "fixed",
    expected: "fixed:TIME such as fixed:1us",
    parse: |spelled, text| Ok(Fixed(spelled.time(text)?)),
};

pub(super) const EXPONENTIAL: Kind<Exponential> = Kind {
    word: "exp",
    expected: "exp:TIME such as exp:1us",
    parse: |spelled, text| Ok(Exponential::new(spelled.time_above_0(text)?)),
};

#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Fixed(Span);

impl Law for Fixed {
    #[inline]
    fn sample(&self, _: &mut Rng) -> Span {
        self.0
    }

    fn moments(&self) -> Moments {
        Moments { mean_ps: self.0.as_ps() as f64, variance: 0.0 }
    }
}

impl fmt::Display for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fixed:{}", Time(self.0))
    }
}

#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Exponential {
    mean: Span,
    mean_ps: f64,
}

impl Exponential {
    fn new(mean: Span) -> Self {
        Self { mean, mean_ps: mean.as_ps() as f64 }
    }

    pub(super) fn fill(&self, rng: &mut Rng, times: &mut [Span]) {
        if self.mean_ps < MEAN_PS_SHORT {
            rng.fill_by_exponential(times, |draw| span(rounded_in_vectors(draw * self.mean_ps)));
        } else {
            rng.fill_by_exponential(times, |draw| rounded(draw * self.mean_ps));
        }
    }

    #[inline(always)]
    pub(super) fn fill_side_by_side<const N: usize>(&self, streams: &mut Streams<N>, rows: &mut [[f64; N]]) {
        streams.fill_exponential(rows);
        for time in rows.as_flattened_mut() {
            *time = rounded_in_vectors(*time * self.mean_ps);
        }
    }
}

impl Law for Exponential {
    #[inline]
    fn sample(&self, rng: &mut Rng) -> Span {
        rounded(rng.exponential() * self.mean_ps)
    }

    fn moments(&self) -> Moments {
        Moments { mean_ps: self.mean_ps, variance: self.mean_ps * self.mean_ps }
    }
}

impl fmt::Display for Exponential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exp:{}", Time(self.mean))
    }
}

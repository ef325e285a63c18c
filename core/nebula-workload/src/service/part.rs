//! One distribution that is neither a sum nor a mix.

use std::fmt;

use nebula_nic::Span;

use super::empirical::Empirical;
use super::gev::Gev;
use super::law::Law;
use super::lognormal::Lognormal;
use super::moments::Moments;
use super::pareto::Pareto;
use super::points::Points;
use super::steady::{Exponential, Fixed};
use super::uniform::Uniform;
use crate::rng::Rng;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Fixed(Fixed),
    Exponential(Exponential),
    Uniform(Uniform),
    Points(Points),
    Lognormal(Lognormal),
    Gev(Gev),
    Pareto(Pareto),
    Empirical(Empirical),
}

impl Part {
    /// Draws. The most common laws, whose few instructions cost less than a call, are drawn inline.
    #[inline]
    pub(super) fn sample(&self, rng: &mut Rng) -> Span {
        match self {
            Self::Exponential(law) => law.sample(rng),
            Self::Fixed(law) => law.sample(rng),
            other => other.law().sample(rng),
        }
    }

    pub(super) fn fill(&self, rng: &mut Rng, times: &mut [Span]) {
        match self {
            Self::Exponential(law) => law.fill(rng, times),
            Self::Fixed(law) => times.fill(law.sample(rng)),
            Self::Points(law) => times.fill_with(|| law.sample(rng)),
            other => {
                let law = other.law();
                times.fill_with(|| law.sample(rng));
            }
        }
    }

    pub(super) fn moments(&self) -> Moments {
        self.law().moments()
    }

    fn law(&self) -> &dyn Law {
        match self {
            Self::Fixed(law) => law,
            Self::Exponential(law) => law,
            Self::Uniform(law) => law,
            Self::Points(law) => law,
            Self::Lognormal(law) => law,
            Self::Gev(law) => law,
            Self::Pareto(law) => law,
            Self::Empirical(law) => law,
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.law(), f)
    }
}

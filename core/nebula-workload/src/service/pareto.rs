//! `pareto:min=500ns,alpha=1.5`: a power law; with `max`, the same law given that it stays below.
//!
//! With L = `min`, H = `max` (infinite unless given) and α = `alpha`, the share of times above x is
//! ((L/x)^α - (L/H)^α) / (1 - (L/H)^α).

use std::fmt;

use nebula_nic::Span;

use super::law::{Kind, Law};
use super::moments::Moments;
use crate::error::WorkloadError;
use crate::rng::Rng;
use crate::smooth::expm1_ratio;
use crate::spelling::{Spelled, Time};
use crate::whole::rounded;

pub(super) const KIND: Kind<Pareto> = Kind {
    word: "pareto",
    expected: "pareto:min=TIME,alpha=NUMBER, optionally with a longer max=TIME, such as pareto:min=500ns,alpha=1.5",
    parse,
};

fn parse(spelled: &Spelled<'_>, text: &str) -> Result<Pareto, WorkloadError> {
    let fields = spelled.fields(text, ["min", "alpha", "max"])?;
    let [Some(min), Some(alpha), max] = fields else { return Err(spelled.wrong()) };
    let (min, alpha) = (spelled.time_above_0(min)?, spelled.number(alpha)?);
    let max = max.map(|max| spelled.time(max)).transpose()?;
    if max.is_some_and(|max| max <= min) {
        return Err(spelled.wrong());
    }
    if !(ALPHA_MIN..=ALPHA_MAX).contains(&alpha) {
        return Err(WorkloadError::out_of_range("pareto alpha", alpha, "use 0.01 to 1000"));
    }
    if max.is_none() && alpha <= 1.0 {
        return Err(no_mean(spelled));
    }
    Ok(Pareto::new(min, alpha, max))
}

fn no_mean(spelled: &Spelled<'_>) -> WorkloadError {
    let expected = "use an alpha above 1, or give a max";
    WorkloadError::NoMean { what: spelled.what, text: spelled.text.to_owned(), expected }
}

/// Within these bounds no moment leaves the range of an `f64`.
const ALPHA_MIN: f64 = 0.01;
const ALPHA_MAX: f64 = 1000.0;

#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Pareto {
    min: Span,
    alpha: f64,
    max: Option<Span>,
    min_ps: f64,
    /// (L/H)^α, the share of the unbounded law above `max`.
    beyond: f64,
}

impl Pareto {
    fn new(min: Span, alpha: f64, max: Option<Span>) -> Self {
        let mut pareto = Self { min, alpha, max, min_ps: min.as_ps() as f64, beyond: 0.0 };
        pareto.beyond = pareto.log_ratio().map_or(0.0, |log_ratio| libm::exp(-alpha * log_ratio));
        pareto
    }

    /// ln(H/L).
    fn log_ratio(&self) -> Option<f64> {
        self.max.map(|max| libm::log(max.as_ps() as f64 / self.min_ps))
    }

    /// The mean of (X/L)^k.
    fn raw_moment(&self, k: f64) -> f64 {
        match self.log_ratio() {
            // ∫ x^(k-α-1) over ∫ x^(-α-1), both from 1 to H/L; the logarithm's factor cancels.
            Some(log) => expm1_ratio((k - self.alpha) * log) / expm1_ratio(-self.alpha * log),
            None if self.alpha > k => self.alpha / (self.alpha - k),
            None => f64::INFINITY,
        }
    }
}

impl Law for Pareto {
    fn sample(&self, rng: &mut Rng) -> Span {
        let above = self.beyond + rng.unit() * (1.0 - self.beyond);
        rounded(self.min_ps * libm::exp(-libm::log(above) / self.alpha))
    }

    fn moments(&self) -> Moments {
        let (first, second) = (self.raw_moment(1.0), self.raw_moment(2.0));
        let variance = (second - first * first).max(0.0) * self.min_ps * self.min_ps;
        Moments { mean_ps: first * self.min_ps, variance }
    }
}

impl fmt::Display for Pareto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pareto:min={},alpha={}", Time(self.min), self.alpha)?;
        self.max.map_or(Ok(()), |max| write!(f, ",max={}", Time(max)))
    }
}

//! `uniform:0ns-2us`: each picosecond from the first to the last, inclusive, is equally likely.

use std::fmt;

use nebula_nic::Span;

use super::law::{Kind, Law};
use super::moments::Moments;
use crate::rng::Rng;
use crate::spelling::Time;

pub(super) const KIND: Kind<Uniform> = Kind {
    word: "uniform",
    expected: "uniform:FIRST-LAST, the shorter time first, such as uniform:0ns-2us",
    parse: |spelled, text| {
        let (first, last) = spelled.pair(text, '-')?;
        let (first, last) = (spelled.time(first)?, spelled.time(last)?);
        if first > last { Err(spelled.wrong()) } else { Ok(Uniform::new(first, last)) }
    },
};

#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Uniform {
    first: Span,
    last: Span,
    /// The number of possible times; if all spans are possible, the last is left out.
    choices: u64,
}

impl Uniform {
    fn new(first: Span, last: Span) -> Self {
        Self { first, last, choices: (last - first).as_ps().saturating_add(1) }
    }
}

impl Law for Uniform {
    fn sample(&self, rng: &mut Rng) -> Span {
        self.first + Span::from_ps(rng.below(self.choices))
    }

    fn moments(&self) -> Moments {
        let (first, last, choices) = (self.first.as_ps() as f64, self.last.as_ps() as f64, self.choices as f64);
        Moments { mean_ps: f64::midpoint(first, last), variance: (choices * choices - 1.0) / 12.0 }
    }
}

impl fmt::Display for Uniform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "uniform:{}-{}", Time(self.first), Time(self.last))
    }
}

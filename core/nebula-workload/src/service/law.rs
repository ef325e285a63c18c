//! The interface and the spelling of a distribution.

use std::fmt;

use nebula_nic::Span;

use super::moments::Moments;
use crate::error::WorkloadError;
use crate::rng::Rng;
use crate::spelling::Spelled;

/// The interface of a distribution; [`Display`](fmt::Display) shows its spelling.
pub(super) trait Law: fmt::Display {
    fn sample(&self, rng: &mut Rng) -> Span;

    fn moments(&self) -> Moments;
}

pub(super) struct Kind<L> {
    /// The word before the colon.
    pub(super) word: &'static str,
    /// The expected syntax, shown when the rest cannot be parsed.
    pub(super) expected: &'static str,
    /// Parses the text after the colon.
    pub(super) parse: fn(&Spelled<'_>, &str) -> Result<L, WorkloadError>,
}

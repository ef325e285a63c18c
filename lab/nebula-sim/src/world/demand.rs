//! The input and the result of a run.

use crate::load::Load;
use crate::tally::Tally;
use crate::tally::sections::Sections;
use crate::world::length::Length;
use nebula_workload::Seed;

/// A run's input; `parts` is the number of parts of the measured window, 0 for none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand<'a> {
    pub(crate) load: &'a Load,
    pub(crate) length: Length,
    pub(crate) seed: Seed,
    pub(crate) parts: u32,
}

pub(crate) type InParts = (Tally, Option<Sections>);

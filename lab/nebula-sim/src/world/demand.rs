//! What a run serves, and what it gives.

use crate::load::Load;
use crate::tally::Tally;
use crate::tally::sections::Sections;
use crate::world::length::Length;
use nebula_workload::Seed;

/// What a run serves, and in how many parts its measured window is noted; 0 for no notes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand<'a> {
    pub(crate) load: &'a Load,
    pub(crate) length: Length,
    pub(crate) seed: Seed,
    pub(crate) parts: u32,
}

/// The tally of a run, and the parts of its measured window where they were asked for.
pub(crate) type InParts = (Tally, Option<Sections>);

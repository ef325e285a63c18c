//! Observes the memory that the store touches, for the test of [`touch`](crate::touch).

use crate::touch::{Access, Structure};
use std::ops::RangeInclusive;

/// Called on each access to the store's memory. [`NoProbe`], the default, costs nothing.
pub trait Probe {
    /// Blocks `blocks` of `what` are read or written.
    fn touch(&self, what: Structure, blocks: RangeInclusive<u32>, access: Access);
}

/// The probe that ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProbe;

impl Probe for NoProbe {
    #[inline(always)]
    fn touch(&self, _: Structure, _: RangeInclusive<u32>, _: Access) {}
}

//! `round-robin`: each RPC goes to the core after the previous RPC's. A refused RPC counts as well.

use super::per_core::Choose;
use crate::id::CoreId;
use crate::wire::Header;

/// The next core.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    cores: u16,
    turn: u16,
}

impl RoundRobin {
    /// Begins with core 0 of the cores below `cores`.
    #[must_use]
    pub fn new(cores: u16) -> Self {
        Self { cores, turn: 0 }
    }
}

impl Choose for RoundRobin {
    #[inline]
    fn choose(&mut self, _: &Header) -> CoreId {
        let core = CoreId(self.turn);
        self.turn = if self.turn + 1 == self.cores { 0 } else { self.turn + 1 };
        core
    }
}

//! The interface of a recursion, and the costs of an RPC in addition to its service.

use crate::recursion::block::Block;

/// A run under first come, first served, block by block.
pub(super) trait Recursion {
    fn block_rpcs(&self) -> usize;

    /// Fills in the begin and end of a block's RPCs, and how many wait at each arrival.
    fn serve(&mut self, block: &mut Block) -> Result<(), Stop>;
}

/// Latencies and core time of an RPC in addition to its service, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    /// From its dispatch until its core can begin it.
    pub(super) dispatch: u64,
    /// Core time before its service.
    pub(super) receive: u64,
    /// From its end until the NIC knows it.
    pub(super) notify: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// More RPCs wait than a run can hold.
    Outgrown,
    /// An RPC arrives after the end of the machines' clock.
    NoTime,
}

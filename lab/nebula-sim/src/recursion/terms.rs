//! What a recursion is, and what an RPC costs in addition to its service.

use crate::recursion::block::Block;

/// What a run under first come, first served needs: [`serve`](Self::serve) says when each RPC of a
/// block begins and ends.
pub(super) trait Recursion {
    /// RPCs of a block, at most.
    fn block_rpcs(&self) -> usize;

    /// Fills in when the RPCs of a block begin and end, and how many wait when each arrives.
    fn serve(&mut self, block: &mut Block) -> Result<(), Stop>;
}

/// The latencies and the core time that an RPC takes in addition to its service, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    /// From its dispatch until its core can begin it.
    pub(super) dispatch: u64,
    /// Core time before its service.
    pub(super) receive: u64,
    /// From its end until the NIC knows it.
    pub(super) notify: u64,
}

/// Why a run ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// More RPCs wait than a run can hold.
    Outgrown,
    /// An RPC arrives after the end of the machines' clock.
    NoTime,
}

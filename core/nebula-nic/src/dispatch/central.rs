//! The interface of a policy that decides in one place.

use super::placement::{Placement, Queues};
use crate::arrival_queue::ArrivalQueue;
use crate::id::CoreId;
use crate::wire::Header;

/// A dispatch policy that decides in one place.
///
/// # Invariants
///
/// A conforming policy never picks a core that has [`bound`](Self::bound) outstanding, picks some
/// core whenever one has fewer, and decides the same for the same calls.
/// `tests/dispatch_conformance.rs` checks this for every policy.
pub trait CentralDispatch {
    /// Which queues [`place`](Self::place) uses; an RPC placed elsewhere is refused.
    fn queues(&self) -> Queues;

    /// Where the RPC that begins with this packet will wait, behind those of `waiting`. It may
    /// still be refused, so do not count it here.
    fn place(&mut self, header: &Header, waiting: &ArrivalQueue) -> Placement;

    /// The core that takes the head of the shared queue, if one has credit;
    /// [`handle_dispatched`](Self::handle_dispatched) follows.
    fn pick(&mut self) -> Option<CoreId>;

    /// `core` has been given an RPC.
    fn handle_dispatched(&mut self, core: CoreId);

    /// `core`, which has an RPC outstanding, has finished one.
    fn handle_freed(&mut self, core: CoreId);

    /// `core`, which had no RPC outstanding, was given one and has finished it.
    #[inline]
    fn handle_served(&mut self, core: CoreId) {
        self.handle_dispatched(core);
        self.handle_freed(core);
    }

    /// RPCs given to `core` and not freed; 0 for a core that does not exist.
    fn outstanding(&self, core: CoreId) -> u32;

    /// The most RPCs that a core may have outstanding.
    fn bound(&self) -> u32;
}

//! `static`: each sender has a fixed core; cores are assigned to new senders in turn. This is
//! Dagger's static load balancing, by which the flow of a connection goes to one core (Dagger's
//! load balancer 0).
//!
//! The connection is the sender here. `rss` keeps a sender at one core too, but by a hash: with few
//! senders some cores get several and others none, where `static` differs by one at most as long as
//! senders are numbered one after the other, as the runtime numbers them. `round-robin` turns with
//! each RPC and not with each sender, so that the RPCs of one sender meet at no core.

use super::per_core::Choose;
use crate::id::CoreId;
use crate::wire::Header;

/// The sender's number modulo the number of cores: nothing is kept of a sender.
#[derive(Clone, Debug)]
pub struct StaticFlow {
    cores: u32,
}

impl StaticFlow {
    /// Deals out the cores below `cores`.
    #[must_use]
    pub fn new(cores: u16) -> Self {
        Self { cores: u32::from(cores) }
    }
}

impl Choose for StaticFlow {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "below a number of cores that is a u16")]
    fn choose(&mut self, header: &Header) -> CoreId {
        CoreId((header.snid.0 % self.cores) as u16)
    }
}

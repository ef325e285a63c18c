//! `static`: each sender has a fixed core; new senders get the cores in turn. This is Dagger's
//! static load balancing (load balancer 0), where a connection's flow goes to one core; here the
//! connection is the sender.
//!
//! `rss` keeps a sender at one core too, but by a hash: with few senders some cores get several and
//! others none. Under `static` cores differ by at most one sender if senders are numbered
//! consecutively, as in the runtime. `round-robin` takes the next core for each RPC instead of each
//! sender.

use super::per_core::Choose;
use crate::id::CoreId;
use crate::wire::Header;

/// The sender's number modulo the number of cores, without state for each sender.
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

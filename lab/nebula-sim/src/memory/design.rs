//! The designs, which differ in the choice of the core and in the memory of the buffers.

use nebula_nic::Policy;
use serde::{Deserialize, Deserializer, de};

/// A design of NIC and RPC stack, reduced to what this model needs.
///
/// # Examples
///
/// ```
/// use nebula_nic::Policy;
/// use nebula_sim::memory::Design;
///
/// assert_eq!(Design::nebula().policy, Policy::SingleQueue);
/// assert!(Design::rpcvalet().buffer_bytes > 100_000_000_000, "send and receive slots of every pair of nodes");
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// The dispatch policy: which core serves which RPC.
    #[serde(deserialize_with = "policy")]
    pub policy: Policy,
    /// Memory of the network buffers; the LLC holds as much of it as fits.
    pub buffer_bytes: u64,
    /// The probability that a buffer is in the LLC, if it should not follow from the sizes.
    #[serde(default)]
    pub llc_hit: Option<f64>,
}

impl Design {
    /// Buffers for each connection, and a random core for each RPC, as NEBULA §III models RSS.
    #[must_use]
    pub const fn rss() -> Self {
        Self::of(Policy::Random, CONNECTED_BYTES)
    }

    /// Buffers for each connection, and one queue for all cores (NEBULA §III).
    #[must_use]
    pub const fn rpcvalet() -> Self {
        Self::of(Policy::SingleQueue, CONNECTED_BYTES)
    }

    /// One shared receive buffer, and a random core that the RPC's sender chooses (NEBULA §III).
    #[must_use]
    pub const fn srq() -> Self {
        Self::of(Policy::Random, SHARED_BYTES)
    }

    /// One shared receive buffer, and one queue for all cores (NEBULA §III).
    #[must_use]
    pub const fn nebula() -> Self {
        Self::of(Policy::SingleQueue, SHARED_BYTES)
    }

    /// A design whose LLC hits follow from the size of its buffers.
    #[must_use]
    pub const fn of(policy: Policy, buffer_bytes: u64) -> Self {
        Self { policy, buffer_bytes, llc_hit: None }
    }

    /// Sets the probability that a buffer is in the LLC, independent of its size.
    #[must_use]
    pub const fn llc_hit(mut self, share: f64) -> Self {
        self.llc_hit = Some(share);
        self
    }
}

/// 1,024 nodes with 256 messages of 512 B for each other: one receive buffer, and a send buffer for
/// each node, as in the published simulator. The paper's text counts the 134 MB of receive buffers
/// alone, with which a third of the accesses would hit.
const CONNECTED_BYTES: u64 = 1024 * 256 * 512 * (1 + 1024);

/// One buffer for all peers, as in the published simulator.
const SHARED_BYTES: u64 = 327_000;

fn policy<'de, D: Deserializer<'de>>(text: D) -> Result<Policy, D::Error> {
    String::deserialize(text)?.parse().map_err(de::Error::custom)
}

//! The designs that are compared: each a small file over the same mechanisms.

use super::BlocksError;
use super::spelled;
use crate::shipped::{Shipped, shipped};
use nebula_nic::Policy;
use serde::Deserialize;
use std::fmt;

/// One design of NIC and RPC stack.
///
/// A design selects mechanisms and has no other parameters. The costs of the mechanisms are in the
/// [`Machine`](super::Machine), for all designs.
///
/// # Examples
///
/// ```
/// use nebula_sim::blocks::{Buffers, Design};
///
/// let design = Design::named("rpcvalet").expect("it ships with Nebula");
/// assert_eq!(design.buffers, Buffers::PerConnection);
/// let own = "name = 'mine'\npolicy = 'jbsq:4'\nbuffers = 'shared'\nsteering = true";
/// assert!(Design::parse(own)?.steering);
/// # Ok::<(), nebula_sim::blocks::BlocksError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// Name.
    pub name: String,
    /// The dispatch policy: which core serves which RPC.
    #[serde(deserialize_with = "spelled")]
    pub policy: Policy,
    /// Where messages are stored.
    pub buffers: Buffers,
    /// Whether the NIC prefetches the payload of an RPC into the L1 of its core (NIC-to-core steering).
    #[serde(default)]
    pub steering: bool,
    /// Whether software prefetches the first block of the next RPC in the completion queue.
    #[serde(default)]
    pub software_prefetch: bool,
}

/// Where messages are stored in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Buffers {
    /// Per connection: receive and send slots for each client node, so memory grows with the number of nodes.
    PerConnection,
    /// Shared: one receive buffer and one pool of send buffers for all nodes.
    Shared,
}

impl fmt::Display for Buffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::PerConnection => "per-connection",
            Self::Shared => "shared",
        })
    }
}

/// The shipped designs, by file name.
const SHIPPED: Shipped = shipped!("designs":
    "rss", "rpcvalet", "srq-emu", "nebula-base", "nebula-swpref", "nebula",
);

impl Design {
    /// The names of the shipped designs.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.names()
    }

    /// The shipped design of this name; `None` if there is none.
    ///
    /// # Panics
    ///
    /// If the shipped file is invalid; a test checks every shipped file.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        SHIPPED.parsed(name, Self::parse)
    }

    /// Reads a design from TOML.
    ///
    /// # Errors
    ///
    /// [`BlocksError::Toml`] with the line and the reason.
    pub fn parse(text: &str) -> Result<Self, BlocksError> {
        toml::from_str(text).map_err(|error| BlocksError::toml("a design", text, &error))
    }
}

//! The designs that are compared: each a small file over the same mechanisms.

use super::BlocksError;
use super::spelled;
use crate::shipped::{Shipped, shipped};
use nebula_nic::Policy;
use serde::Deserialize;
use std::fmt;

/// One design of NIC and RPC stack.
///
/// A design chooses among mechanisms; it has no parameter of its own. What a mechanism costs stands in the
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
    /// Its name.
    pub name: String,
    /// Which core serves which RPC.
    #[serde(deserialize_with = "spelled")]
    pub policy: Policy,
    /// Where messages lie.
    pub buffers: Buffers,
    /// Whether the NIC fetches the payload of an RPC into the L1 of the core it is given to.
    #[serde(default)]
    pub steering: bool,
    /// Whether software fetches the first block of the RPC behind the one it serves.
    #[serde(default)]
    pub software_prefetch: bool,
}

/// Where messages lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Buffers {
    /// Receive and send slots for each node that may call: memory grows with the number of nodes.
    PerConnection,
    /// One receive buffer and one pool of send buffers for all nodes.
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

/// The designs that ship with Nebula, by the names of their files.
const SHIPPED: Shipped = shipped!("designs":
    "rss", "rpcvalet", "srq-emu", "nebula-base", "nebula-swpref", "nebula",
);

impl Design {
    /// The names of those that ship with Nebula.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.names()
    }

    /// The one of this name that ships with Nebula.
    ///
    /// # Panics
    ///
    /// If its file is no design, which a test rules out.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        SHIPPED.parsed(name, Self::parse)
    }

    /// Reads a design from TOML.
    ///
    /// # Errors
    ///
    /// [`BlocksError::Toml`] with line and reason.
    pub fn parse(text: &str) -> Result<Self, BlocksError> {
        toml::from_str(text).map_err(|error| BlocksError::toml("a design", text, &error))
    }
}

//! The designs that are compared: each a small file over the same mechanisms.

use super::error::BlocksError;
use super::machine::{Machine, merge};
use crate::shipped::shipped;
use nebula_nic::Policy;
use nebula_workload::from_toml::spelled;
use serde::Deserialize;
use std::fmt;

/// A design of NIC and RPC stack: it selects mechanisms, and the part of the cache that network
/// buffers may have. The [`Machine`](super::Machine) has the mechanisms' costs, for all designs.
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
    /// Whether the NIC prefetches the payload of an RPC into the L1 of its core (NIC-to-core
    /// steering).
    #[serde(default)]
    pub steering: bool,
    /// Whether software prefetches the first block of the next RPC in the completion queue.
    #[serde(default)]
    pub software_prefetch: bool,
    /// Ways of a set of the LLC in which a NIC write that misses is allocated, as DDIO limits it;
    /// the machine's unless set.
    #[serde(default)]
    pub nic_ways: Option<u32>,
    /// Size of the shared receive buffer and the shared pool of send buffers together, as a share
    /// of the LLC, half of it for each; the machine's unless set.
    #[serde(default)]
    pub buffers_llc_share: Option<f64>,
    /// Whether cores find RPCs by polling the slots of all nodes, instead of a notification by the
    /// NIC: messaging over one-sided writes.
    #[serde(default)]
    pub polls: bool,
    /// Whether the NIC moves each message within its slot, so that its first block is in the bank
    /// of the LLC next to its core, as CacheDirector does.
    #[serde(default)]
    pub header_near_core: bool,
}

/// Where messages are stored in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Buffers {
    /// Per connection: receive and send slots for each client node, so memory grows with the number
    /// of nodes.
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

shipped!(Design in "designs":
    "rss", "rpcvalet", "srq-emu", "nebula-base", "nebula-swpref", "nebula", "rpcvalet-ddio", "resq", "one-sided",
    "cachedirector",
);

/// The first designs of [`SHIPPED`] are those of NEBULA's evaluation.
const OF_EVALUATION: usize = 6;

impl Design {
    /// The names of the designs of NEBULA's evaluation.
    pub fn of_evaluation() -> impl Iterator<Item = &'static str> {
        Self::shipped().take(OF_EVALUATION)
    }

    /// The machine as this design uses it.
    pub(crate) fn on(&self, machine: &Machine) -> Machine {
        let mut machine = machine.clone();
        machine.memory.llc.nic_ways = self.nic_ways.or(machine.memory.llc.nic_ways);
        if let Some(share) = self.buffers_llc_share {
            let half = machine.memory.llc.bytes as f64 * share / 2.0;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a part of a cache; `as` saturates"
            )]
            let (receive, send) = (half as u32, half as u64);
            machine.deployment.receive_buffer_bytes = receive;
            machine.deployment.send_pool_bytes = send;
        }
        if self.header_near_core {
            // As many consecutive blocks as there are banks include one of each bank.
            machine.deployment.headroom_blocks = machine.memory.tiles() - 1;
        }
        if self.polls {
            (machine.nic.notify_ns, machine.nic.dispatch_ns) = (0.0, 0.0);
        }
        machine
    }

    pub(super) fn validate(&self) -> Result<(), BlocksError> {
        let is_shared = self.buffers == Buffers::Shared;
        match self.buffers_llc_share {
            Some(_) if !is_shared => {
                Err(BlocksError::Design { reason: "buffers_llc_share sizes shared buffers: give buffers = 'shared'" })
            }
            Some(share) if !(0.001..=1.0).contains(&share) => {
                Err(BlocksError::Design { reason: "buffers_llc_share is a share of the LLC: give 0.001 to 1" })
            }
            _ if self.header_near_core && is_shared => Err(BlocksError::Design {
                reason: "header_near_core moves messages within their slots: give buffers = 'per-connection'",
            }),
            _ if self.header_near_core && self.policy != Policy::Rss => Err(BlocksError::Design {
                reason: "header_near_core needs to know the core before the message is written: give policy = 'rss'",
            }),
            _ if self.polls && is_shared => {
                Err(BlocksError::Design { reason: "cores poll slots of nodes: give buffers = 'per-connection'" })
            }
            _ if self.polls && (self.steering || self.software_prefetch) => Err(BlocksError::Design {
                reason: "a core that polls is told of no next RPC: leave out steering and prefetching",
            }),
            _ if self.polls
                && !matches!(self.policy, Policy::Random | Policy::Rss | Policy::Static | Policy::RoundRobin) =>
            {
                Err(BlocksError::Design {
                    reason: "a sender chooses the core whose slots it writes to: give random, rss, static or round-robin",
                })
            }
            _ => Ok(()),
        }
    }

    /// Reads a design from TOML.
    ///
    /// # Errors
    ///
    /// [`BlocksError::Toml`] with the line and the reason.
    pub fn parse(text: &str) -> Result<Self, BlocksError> {
        toml::from_str(text).map_err(|error| BlocksError::toml("a design", text, &error))
    }

    /// Reads a design from TOML and replaces or adds the values of `changes`.
    ///
    /// # Errors
    ///
    /// Those of [`parse`](Self::parse).
    pub fn parse_over(text: &str, changes: &toml::Table) -> Result<Self, BlocksError> {
        let wrong = |error: toml::de::Error| BlocksError::toml("a design", text, &error);
        let mut table: toml::Table = toml::from_str(text).map_err(wrong)?;
        merge(&mut table, changes);
        table.try_into().map_err(wrong)
    }
}

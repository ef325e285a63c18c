//! A chain in a user's words:
//! `firewall:rules.txt,nat:192.0.2.1,lb:10.9.0.1:53=10.2.0.2:53+10.2.0.3:53,counter`.
//!
//! For several threads a chain is divided into shards, each a chain with its own flows. An end
//! inside and the answers to it belong to one shard.

use crate::chain::{Chain, Direction, Function};
use crate::counter::{Counter, FLOWS_MAX};
use crate::firewall::{Firewall, RuleError, Rules};
use crate::flow::{Endpoint, Flow};
use crate::lb::{BACKENDS_MAX, Backends, Balancer, CLIENTS_MAX};
use crate::nat::{Nat, Ports, hash_of_inside};
use crate::packet::Packet;
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{Ipv4Addr, SocketAddrV4};

/// A chain that can be built.
#[derive(Clone, Debug, Default)]
pub struct ChainConfig {
    functions: Vec<FunctionConfig>,
}

#[derive(Clone, Debug)]
enum FunctionConfig {
    Firewall(Arc<Rules>),
    Nat(Ipv4Addr),
    Balancer(Arc<Backends>),
    Counter,
}

/// An invalid chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// Unknown function.
    #[error(
        "unknown function {0:?}: expected firewall:FILE, nat:ADDRESS, lb:ADDRESS:PORT=ADDRESS:PORT+… or counter, with commas between them"
    )]
    Function(String),
    /// The file of rules cannot be read.
    #[error("firewall: cannot read {file}: {why}")]
    File {
        /// The file.
        file: String,
        /// The reason.
        why: String,
    },
    /// The file has an invalid rule.
    #[error("firewall: {file}, {error}")]
    Rules {
        /// The file.
        file: String,
        /// The invalid rule.
        error: RuleError,
    },
    /// NAT without an address.
    #[error("nat: expected the address that hosts inside appear under, such as nat:192.0.2.1, not {0:?}")]
    Nat(String),
    /// Two NATs.
    #[error("a chain has one nat: the shards of flows follow its ports")]
    NatTwice,
    /// A balancer without backends, or with too many.
    #[error(
        "lb: expected ADDRESS:PORT=ADDRESS:PORT+…, such as 10.9.0.1:53=10.2.0.2:53+10.2.0.3:53, with 1 to 256 backends, each once, not {0:?}"
    )]
    Balancer(String),
}

impl ChainConfig {
    /// Reads a chain. `read` returns the text of a file, or says why it cannot.
    ///
    /// # Errors
    ///
    /// [`ChainError`].
    pub fn parse(text: &str, read: impl Fn(&str) -> Result<String, String>) -> Result<Self, ChainError> {
        let functions = text.split(',').map(|word| FunctionConfig::parse(word.trim(), &read));
        let functions = functions.collect::<Result<Vec<_>, _>>()?;
        let config = Self { functions };
        if config.nats().count() > 1 {
            return Err(ChainError::NatTwice);
        }
        Ok(config)
    }

    fn nats(&self) -> impl Iterator<Item = Ipv4Addr> {
        self.functions.iter().filter_map(|function| match function {
            FunctionConfig::Nat(address) => Some(*address),
            _ => None,
        })
    }

    /// The addresses that its functions answer for: a NAT's, and the virtual ones of balancers.
    #[must_use]
    pub fn addresses(&self) -> Vec<Ipv4Addr> {
        let balancers = self.functions.iter().filter_map(|function| match function {
            FunctionConfig::Balancer(backends) => Some(backends.virtual_end().ip),
            _ => None,
        });
        self.nats().chain(balancers).collect()
    }

    /// Whether a function needs the order of flows kept.
    #[must_use]
    pub fn keeps_order(&self) -> bool {
        self.shard(0, 1).keeps_order()
    }

    /// Whether it has a counter.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.functions.iter().any(|function| matches!(function, FunctionConfig::Counter))
    }

    /// The chain of shard `shard` of `shards`, of which there is at least one.
    #[must_use]
    pub fn shard(&self, shard: u32, shards: u32) -> Chain {
        Chain::new(self.functions.iter().map(|function| function.build(shard, shards)).collect())
    }

    /// The shard of a packet, of `shards`, of which there is at least one.
    #[must_use]
    pub fn shard_of(&self, direction: Direction, packet: &Packet<'_>, shards: u32) -> u32 {
        let Flow { protocol, from, to } = *packet.flow();
        let inside = match direction {
            Direction::Outward => from,
            Direction::Inward if self.nats().any(|nat| nat == to.ip) => return Ports::shard_of(to.port, shards),
            Direction::Inward => to,
        };
        hash_of_inside(protocol, inside) % shards.max(1)
    }
}

impl FunctionConfig {
    fn parse(word: &str, read: &impl Fn(&str) -> Result<String, String>) -> Result<Self, ChainError> {
        match word.split_once(':') {
            None if word == "counter" => Ok(Self::Counter),
            Some(("firewall", file)) => {
                let text = read(file).map_err(|why| ChainError::File { file: file.to_owned(), why })?;
                let rules = text.parse().map_err(|error| ChainError::Rules { file: file.to_owned(), error })?;
                Ok(Self::Firewall(Arc::new(rules)))
            }
            Some(("nat", address)) => address.parse().map(Self::Nat).map_err(|_| ChainError::Nat(address.to_owned())),
            Some(("lb", text)) => {
                let backends = backends(text).ok_or_else(|| ChainError::Balancer(text.to_owned()))?;
                Ok(Self::Balancer(Arc::new(backends)))
            }
            _ => Err(ChainError::Function(word.to_owned())),
        }
    }

    fn build(&self, shard: u32, shards: u32) -> Box<dyn Function> {
        let share = |all: u32| (all / shards.max(1)).max(1);
        match self {
            Self::Firewall(rules) => Box::new(Firewall::new(rules.clone())),
            Self::Nat(address) => Box::new(Nat::new(*address, Ports::of_shard(shard, shards))),
            Self::Balancer(backends) => Box::new(Balancer::new(backends.clone(), share(CLIENTS_MAX))),
            Self::Counter => Box::new(Counter::new(share(FLOWS_MAX))),
        }
    }
}

fn backends(text: &str) -> Option<Backends> {
    let (virtual_end, backends) = text.split_once('=')?;
    let backends = backends.split('+').map(endpoint).collect::<Option<Vec<_>>>()?;
    let mut sorted = backends.clone();
    sorted.sort_unstable();
    sorted.dedup();
    let is_possible = sorted.len() == backends.len() && backends.len() <= BACKENDS_MAX;
    is_possible.then_some(Backends::new(endpoint(virtual_end)?, backends))
}

fn endpoint(text: &str) -> Option<Endpoint> {
    let address: SocketAddrV4 = text.parse().ok()?;
    (address.port() > 0).then_some(Endpoint { ip: *address.ip(), port: address.port() })
}

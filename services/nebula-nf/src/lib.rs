//! Network functions, as state machines: packets go in, verdicts come out.
//!
//! Time is an argument, and there is no I/O. A packet is an IPv4 packet in an Ethernet frame,
//! rewritten in place.
//!
//! | module | question |
//! |---|---|
//! | [`packet`] | what does this frame hold, and how is it rewritten? |
//! | [`flow`] | which packets belong together? |
//! | [`table`] | what is known of a flow, until it is idle? |
//! | [`firewall`] | does a rule let it pass? |
//! | [`nat`] | under which port do hosts inside appear outside? |
//! | [`lb`] | which backend serves this client? |
//! | [`counter`] | how many packets and bytes has a flow? |
//! | [`chain`] | which functions, in which order, and with what result? |
//! | [`config`] | the chain as a user writes it, and its shards |
//!
//! ```
//! use nebula_nf::{ChainConfig, Direction, DropReason};
//! use nebula_nic::Timestamp;
//!
//! let rules = |_: &str| Ok("allow udp 10.0.0.0/8 any -> any 53\ndefault deny".to_owned());
//! let config = ChainConfig::parse("firewall:rules.txt,nat:192.0.2.1,counter", rules)?;
//! assert!(config.keeps_order());
//! let mut chain = config.shard(0, 1);
//! let mut frame = [0; 60];
//! assert_eq!(chain.handle(Timestamp::ZERO, Direction::Outward, &mut frame), Err(DropReason::NotIpv4));
//! assert_eq!(chain.dropped(DropReason::NotIpv4), 1);
//! # Ok::<(), nebula_nf::ChainError>(())
//! ```
//!
//! # Invariants
//!
//! - No bytes make it panic, and a rewritten packet's checksums are right if they were. *Enforced
//!   by* the fuzz target `nf_chain`.
//! - The memory of flows has a bound. *Enforced by* [`table`], which holds all of it.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod packet;
pub mod flow;
pub mod table;
pub mod firewall;
pub mod nat;
pub mod lb;
pub mod counter;
pub mod chain;
pub mod config;

pub use chain::{Chain, Direction, DropReason, Function};
pub use config::{ChainConfig, ChainError};
pub use flow::{Endpoint, Flow, Protocol, flow_hash};
pub use packet::{BadPacket, Packet};

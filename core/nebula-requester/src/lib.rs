//! Every decision of a client of microsecond-scale RPC, as plain state machines.
//!
//! No I/O, clock, threads or payload bytes, and no randomness except from a seed: time and packet
//! headers are arguments, decisions are results. Nothing is allocated after construction.
//! [`nebula_nic`] has the server's decisions; this crate takes time, identifiers and headers from
//! it.
//!
//! | question | module |
//! |---|---|
//! | which RPC does this reply belong to, and what follows a NACK? | [`Requester`] |
//! | which server gets the RPC? | [`Servers`] |
//! | what does a failed try mean for the next server? | [`Failover`] |
//! | when does a second server get it? | [`Hedging`] |
//! | how long is a round trip? | [`Rtt`] |
//! | how much may be in flight? | [`FlowControl`]: [`Window`] or [`Homa`] |
//! | what is sent again, and when? | [`Retransmit`] |
//! | which RPCs wait at the client for room? | [`Backlog`] |
//! | which packets of it? | [`Upload`], [`Download`] |
//!
//! # The life of an RPC
//!
//! The numbers are the stations of [`nebula_nic`].
//!
//! ```
//! use nebula_nic::*;
//! use nebula_requester::{Outcome, Requester, RequesterConfig};
//!
//! let at = Timestamp::from_ps; // a call that decides by the time is told it
//! let mut client = Requester::try_new(RequesterConfig::new(NodeId(3), 64))?;
//! let mut nic = Backend::try_new(BackendConfig::new(1, Policy::Jbsq(2))).unwrap();
//! let mut core = Frontend::new(CoreId(0), 2);
//!
//! // 1: 100 bytes are two packets of at most 64, and the network turns them round.
//! let mut packets: Vec<Header> = client.begin(at(0), 100, 42).unwrap().collect();
//! packets.reverse();
//!
//! // 2 to 7: the NIC takes both in, and gives the RPC to a core.
//! for packet in packets {
//!     assert!(matches!(nic.handle_packet(at(1_000), packet), Verdict::Write { .. }));
//! }
//! core.handle_dispatch(nic.poll_dispatch().unwrap());
//!
//! // 8 to 10: the core serves it.
//! let begin = core.poll_completion().unwrap();
//! let release = core.handle_release(begin.arrival.slots);
//! assert_eq!(nic.handle_free(release.core, release.slots), Freed::Taken);
//!
//! // 11: the reply meets its request.
//! let reply = Header::reply(begin.arrival.rpc, 8, 0);
//! assert!(matches!(client.handle_packet(at(640_000), reply), Outcome::Reply { token: 42, bytes: 8, .. }));
//! # Ok::<(), nebula_requester::RequesterConfigError>(())
//! ```

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod requester;
mod config;
mod outcome;
mod retry;
mod table;
mod timers;
mod backlog;

// -- for services that several servers have --
mod servers;
mod failover;
mod hedging;

// -- for networks that lose packets: when to send again, and how much --
mod rtt;
mod window;
mod flow;
mod retransmit;
mod transfer;

pub use backlog::Backlog;
pub use config::{OUTSTANDING_MAX, RequesterConfig, RequesterConfigError};
pub use failover::{After, Attempts, CopyEnd, Failover, another, backup_after, spare};
pub use flow::{Flow, FlowControl, FlowKind, FlowKindError, Homa, Progress, Unbounded};
pub use hedging::{HedgeConfig, HedgeConfigError, Hedging};
pub use outcome::{Call, Expired, Outcome, Resend, TableFull};
pub use requester::Requester;
pub use retransmit::{Overdue, Retransmit, RetransmitConfig};
pub use retry::RetryPolicy;
pub use rtt::{Rtt, RttConfig};
pub use servers::{Balance, BalanceNameError, SERVERS_MAX, ServerEnd, ServerSet, Servers, Standing};
pub use transfer::{BurstPacket, Download, Pull, Upload};
pub use window::{Window, WindowConfig};

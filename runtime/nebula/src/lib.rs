//! Microsecond-scale RPC that keeps its tail latency under overload.
//!
//! A server has a latency target, its SLO, that 99 % of the RPCs must keep. The target sizes the
//! receive buffer and the queue. The server refuses at once, with a NACK, an RPC that would miss it
//! (NEBULA, ISCA 2020). One queue feeds all workers: JBSQ(2) by default. While a worker serves an
//! RPC, the payload of its next one is fetched into its cache.
//!
//! ```
//! use nebula::{CallError, Client, Reply, Server};
//! use std::time::Duration;
//!
//! let endpoint = "shm://hello";
//! # let endpoint = &*format!("shm://doc-hello-{}", std::process::id());
//! let server = Server::bind(endpoint)
//!     .slo(Duration::from_micros(100))
//!     .serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
//! let mut client = Client::connect(endpoint)?;
//! match client.call(b"hello") {
//!     Ok(reply) => assert_eq!(reply, b"hello"),
//!     Err(CallError::Nack { reason }) => println!("overloaded, try later or elsewhere: {reason}"),
//!     Err(error) => return Err(error.into()),
//! }
//! server.stop();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What to read next
//!
//! | to | read | example |
//! |---|---|---|
//! | write a service | [`Service`], [`Server`], [`ServerConfig`] | `echo` |
//! | say more of a service: long RPCs, types, bounds, counters | [`Service::describe`], [`Description`] | `threads` |
//! | have many RPCs outstanding | [`Client::submit`], [`Client::poll`] | `open_loop_client` |
//! | connect two hosts | [`Endpoint`], [`Key`], [`ClientConfig`] | `two_hosts_udp` |
//! | drive the workers yourself | [`Worker`] | `three_calls` |
//! | be server and client of messaging domains, by the papers' calls | [`Node`] | `node` |
//! | handle every failure | the table below | `failure_handling` |
//! | call several servers that have one service | [`Client`], [`Endpoints`], [`ClientConfig::balance`] | |
//! | call servers from tasks, with any executor | [`AsyncClient`] | `reply_later` |
//! | put `tower`'s layers around a client | [`AsyncClient`], with the feature `tower` | |
//! | reply after the handler has returned | [`Reply::later`], [`LaterReply`] | `reply_later` |
//! | interrupt long handlers | [`yield_if_due`], policy `preemptive:Q` | |
//! | watch a server | [`RunningServer::status`], [`Status`] | |
//! | read and write memory of the server's without its workers | [`Server::register`], [`Client::read`], [`Region`] | `one_sided` |
//! | dispatch by your own policy | [`Server::policy_with`], [`CustomPolicy`] | `own_policy` |
//! | serve packets that go through | [`Server::serve_packets`], [`net::XdpRouter`] | |
//! | replace network and clock | [`net`] | |
//! | declare methods and messages in a `.proto` | the crate `nebula-typed` | `services/shop` |
//!
//! The examples are in the folder `examples` of this crate:
//! `cargo run --release -p nebula --example echo`.
//!
//! # Transports
//!
//! `shm://NAME` is memory that processes of one machine share. A client owns a ring of slots that
//! holds requests and replies, and nothing is lost. `udp://ADDRESS:PORT` works between machines: a
//! client sends an RPC again until it is answered, the server executes it at most once and keeps no
//! state for its clients. `tcp://ADDRESS:PORT` is the same in connections, for networks that block
//! UDP. `xdp://INTERFACE:PORT` is UDP past the kernel's network stack.
//!
//! # Errors
//!
//! | an RPC ended with | was it executed? | what to do |
//! |---|---|---|
//! | [`CallError::Nack`] | no | try again later, or at another server; [`RetryPolicy`] does either |
//! | [`CallError::Expired`] | no | nothing |
//! | [`CallError::Cancelled`] | unknown | nothing |
//! | [`CallError::TimedOut`], [`CallError::Stale`] | unknown | repeat it only if that does no harm |
//! | [`CallError::ServerGone`] | unknown | connect again, then as after a timeout |
//! | [`Fault::ReplyTooLarge`] | yes | connect with more room ([`ClientConfig::reply_bytes_max`]); see [`ServerConfig::reply_bytes_max`] |
//! | [`Fault::HandlerPanicked`], [`Fault::Unanswered`] | yes, perhaps not to the end | fix the service |
//! | [`CallError::NotSent`], [`CallError::Outstanding`] | no | fix the client; [`SubmitError`] says what is wrong |
//! | [`CallError::Protocol`] | unknown | build client and server from one release |
//!
//! [`CallError::was_executed`] returns the second column. [`ConnectError`] and [`ServeError`] say
//! in one line why a client cannot connect or a server cannot start, and what to change.
//!
//! # Times
//!
//! A time is a [`std::time::Duration`] or a [`Span`], which counts picoseconds. A duration longer
//! than some 213 days becomes [`Span::MAX`].
//!
//! # The path of one RPC
//!
//! | station | module |
//! |---|---|
//! | 1 numbered, cut into packets, sent | [`client`](Client) |
//! | 2–6 read, admitted, copied, complete | `nic/ingress`, called by `transport` |
//! | 7 dispatched to a core | `engine/cpu` |
//! | 8–10 steered, begun, freed; suspended at [safe points](yield_if_due) | [`worker`](Worker) |
//! | 11 reply or NACK | `rpc/reply`, then [`client`](Client) |
//!
//! # Invariants
//!
//! - `nebula-nic` makes every decision about an RPC; this crate makes none of them again. *Enforced
//!   by* replaying the decision logs of runs through fresh deciders: under every policy that is
//!   served (`tests/parity.rs`), with deadlines, cancels, crowding, refusals and a pool
//!   (`tests/udp_parity.rs`, `tests/cancel.rs`), and over simulated networks (`tests/udp_network`).
//!   `cargo xtask tidy` finds a reason for a NACK that is constructed here.
//! - Bytes of a client are read once, and checked in the copy. *Enforced by* the types of
//!   `rpc/slot.rs` and `tests/hostile.rs`.
//! - Each ticket of a client ends exactly once. *Enforced by* the table of `Requester` and, end to
//!   end, by `tests/answers.rs`.
//! - A client that leaves holds no client slot and no receive slot afterwards. *Enforced by*
//!   `tests/peers.rs` and `tests/kill.rs`.
//! - A killed server is an error at its clients in bounded time. *Enforced by* `tests/kill.rs`.
//! - No task sleeps while its answer waits, and no thread makes a system call for a client that is
//!   awake. *Enforced by* loom in `nebula-sys`, and by `tests/async_calls.rs`.
//! - An idle asynchronous client costs no time. *Enforced by* `tests/async_idle.rs`.
//! - Over UDP no RPC is executed twice, a refused RPC is not executed, an unvalidated address is
//!   never sent more bytes than it sent, and no state is kept per client. *Enforced by*
//!   `tests/udp_network`, `tests/udp_hostile.rs` and fuzz targets.
//! - No lock, system call or allocation is on the path of an RPC. The exceptions are the lock of
//!   `mcs-lock`, that of an asynchronous client, later replies, decision logs, kept requests of a
//!   retry policy, and the rest of an idle thread.

#![forbid(unsafe_code)]

pub mod net;
mod endpoint;
mod rpc;
mod config;
mod status;
mod nic;
mod transport;
mod engine;
mod ways;
mod yielding;
mod worker;
mod server;
mod domains;
mod client;
mod node;
#[doc(hidden)]
pub mod hooks;

pub use client::{
    AsyncClient, Awaited, Call, CallError, Client, Completion, ConnectError, Connecting, Executed, Hint, Observer,
    SubmitError, Ticket,
};
pub use config::client::{ClientConfig, HealthCheck, Options, Wait};
pub use config::error::{LogError, ServeError};
pub use config::key::{Key, KeyError, KeyFileError, Keys, KeysError};
pub use config::migration::MigrationConfig;
pub use config::server::{IdlePolicy, Queueing, ServerConfig};
pub use config::tenant::{Tenant, TenantError};
pub use config::threads::{Cores, Threads};
pub use domains::{Domains, RunningDomains};
#[cfg(feature = "dns")]
pub use endpoint::Dns;
pub use endpoint::{Endpoint, EndpointError, EndpointFile, Endpoints, IntoEndpoint, IntoEndpoints, Listed};
pub use endpoint::{Resolve, ResolveError, Resolved, XdpAddress};
pub use nebula_nic::schedule::{RpcType, TYPES_MAX};
pub use nebula_nic::{
    AccessRefusal, Arrival, CoreId, NackReason, Policy, RegionError, RegionId, Rights, ScrubMode, Span, Steering,
};
pub use nebula_requester::{Balance, FlowKind, HedgeConfig, RetryPolicy};
// For custom policies.
pub use nebula_nic::{
    ArrivalQueue, CentralDispatch, Choose, CustomPolicy, Header, KeyHash, PerCore, Placement, PolicyNameError, Queues,
};
pub use node::{Node, NodeError, Peer, Received, Target};
pub use rpc::description::{Class, Description};
pub use rpc::fault::Fault;
pub use rpc::later::{LaterError, LaterReply};
pub use rpc::region::{Region, Registered};
pub use rpc::reply::Reply;
pub use rpc::requests::Requests;
pub use rpc::rpc_types::RpcTypes;
pub use rpc::safe_point::yield_if_due;
pub use rpc::service::{Service, Stage};
pub use rpc::store_counters::StoreCounters;
pub use server::{RunningServer, Server, Stopper};
pub use status::{CoreStatus, Gap, Histogram, PoolStatus, RpcSample, Status, StatusReader};
pub use transport::packets::counters::{PacketCounters, PacketStatus};
pub use transport::shm::handshake::Refusal;
pub use transport::stream::framing::{Frame, Framing};
pub use worker::{Rpc, Worker};

/// The examples of README and of the guide, as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../../../docs/GUIDE.md")]
struct Pages;

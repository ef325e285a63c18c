//! Microsecond-scale RPC that keeps its tail-latency promise.
//!
//! A server says which latency 99 % of its RPCs are to keep; its receive buffer and its queue are sized from that, and what would
//! miss it is answered with a NACK at once instead of being queued (NEBULA, ISCA 2020). A software NIC balances one queue over the
//! workers, JBSQ(2) by default, and has the payload of a worker's next RPC fetched while it serves the one before.
//!
//! An endpoint is `shm://NAME`, memory that processes of one machine share, or `udp://ADDRESS:PORT`, between machines: there RPCs are sent
//! again until they are answered, run at most once, and the server keeps nothing of its clients. Over a network or a clock of your own:
//! [`net`].
//!
//! ```
//! use nebula::{CallError, Client, Policy, Reply, Server, Span};
//!
//! let name = format!("shm://doc-{}", std::process::id());
//! let server = Server::bind(&name)
//!     .policy(Policy::Jbsq(2))
//!     .slo(Span::from_us(100))
//!     .workers(1)
//!     .serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
//!
//! let mut client = Client::connect(&name)?;
//! match client.call(b"hello") {
//!     Ok(reply) => assert_eq!(reply, b"hello"),
//!     Err(CallError::Nack { reason }) => println!("try later or elsewhere: {reason}"),
//!     Err(error) => return Err(error.into()),
//! }
//! server.stop();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The path of one RPC
//!
//! | station | module |
//! |---|---|
//! | 1 numbered, cut, sent | [`client`](Client) |
//! | 2–6 read, admitted, copied, complete | `engine/ingress` |
//! | 7 given to a core | `engine/cpu` |
//! | 8–10 steered, begun, freed; suspended at [safe points](yield_if_due) | [`worker`](Worker) |
//! | 11 reply or NACK | `engine/egress`, then [`client`](Client) |
//!
//! **Invariant:** no code of this crate decides anything about an RPC that `nebula-nic` decides. *Enforced by* replaying the decision
//! log of a run through a fresh back end (`tests/parity.rs`).

#![forbid(unsafe_code)]

mod client;
mod endpoint;
#[cfg(test)]
mod rebuilt;
pub mod net;
mod transport;
mod engine;
mod worker;
mod service;
mod server;
mod status;

pub use client::{CallError, Client, ClientConfig, Completion, ConnectError, Hint, Options, SubmitError, Ticket, Wait};
pub use endpoint::{Endpoint, EndpointError, IntoEndpoint};
pub use engine::egress::{Fault, Reply};
pub use nebula_nic::{Arrival, CoreId, NackReason, Policy, RetryPolicy, Span, Steering};
// What a policy of one's own is written with.
pub use nebula_nic::{
    ArrivalQueue, CentralDispatch, Choose, CustomPolicy, Header, PerCore, Placement, PolicyNameError, Queues,
};
pub use server::{IdlePolicy, MigrationConfig, Queueing, RunningServer, ServeError, Server, ServerConfig};
pub use service::{Service, Stage};
pub use status::{Gap, Status, StatusReader};
pub use transport::shm::handshake::Refusal;
pub use transport::udp::seal::{Key, KeyError};
pub use worker::{Rpc, Worker, yield_if_due};

/// The examples of README and of the guide, as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../../../docs/GUIDE.md")]
struct Pages;

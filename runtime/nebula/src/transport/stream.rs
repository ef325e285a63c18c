//! Protocols of others, over TCP and over datagrams: what clients that exist speak.
//!
//! ```text
//!   bytes ─▶ framing: where does a request end? ─▶ the NIC's stations 2–6 ─▶ a core: the service's answer
//!         ◀─ answers of one connection in the order of its requests, those of a turn by one system call ◀─┘
//! ```
//!
//! - **A request is an RPC**: its bytes lie in the receive buffer, it is admitted or refused as any
//!   other, and a refusal is said in the protocol's words
//!   ([`Framing::refused`](framing::Framing::refused)) at once.
//! - **Order.** Answers leave in the order in which the requests came. Where the server might serve
//!   two RPCs of a connection in another order, it has one of them at a time.
//! - **A connection that nothing comes from costs nothing**: the kernel names those that something
//!   came from.
//! - **Bounded.** A connection has at most [`PENDING_MAX`](connection::PENDING_MAX) RPCs in the
//!   server, and is not read while its answers are not; what is kept of all incomplete requests,
//!   and of all answers that nobody takes, has a bound for all connections together.

pub(crate) mod framing;
pub(crate) mod connection;
mod connections;
mod requests;
pub(crate) mod port;

//! Existing protocols of other clients, over TCP and over datagrams.
//!
//! ```text
//!   bytes ─▶ framing: where does a request end? ─▶ the NIC's stations 2–6 ─▶ a core: the service's answer
//!         ◀─ answers of one connection in the order of its requests, those of a turn by one system call ◀─┘
//! ```
//!
//! - **A request is an RPC**: its bytes lie in the receive buffer, and it is admitted or refused as
//!   any other. A refusal is answered at once in the protocol's words
//!   ([`Framing::refused`](framing::Framing::refused)).
//! - **Order.** Answers leave in the order of the requests. If the server might reorder RPCs of a
//!   connection, it has one of them at a time.
//! - **A silent connection costs nothing**: the kernel lists the others.
//! - **Bounded.** A connection has at most [`PENDING_MAX`](connection::PENDING_MAX) RPCs in the
//!   server, and is not read while its client does not read answers. All incomplete requests
//!   together have a bound, and so have all unread answers.

pub(crate) mod framing;
pub(crate) mod connection;
mod connections;
mod requests;
pub(crate) mod port;

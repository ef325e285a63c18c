//! UDP between processes and hosts, on links that lose, duplicate, reorder, delay and corrupt.
//!
//! ```text
//!   client                                                   server
//!   ──────                                                   ──────
//!   Hello, padded ─────────────────────────────────────────▶ nothing is kept: a token for the address
//!         ◀──────────────────────────── Welcome {snid, token}
//!   frame {token | request, request, …} ───────────────────▶ token, then: seen before? then the NIC's stations
//!         ◀─────────────────────────── frame {reply, NACK, …}
//! ```
//!
//! - **The server's state does not grow with its clients.** What it remembers is the last RPCs, in
//!   one ring for all.
//! - **At most once.** An RPC keeps its number and its stamp however often it is sent; the ring
//!   says what became of it. What is older than the ring is refused and never run.
//! - **The client does the work**: it sends again, asks again, backs off.
//! - **Several messages share a datagram**, and several datagrams a system call.

pub(crate) mod frame;
pub(crate) mod message;
pub(crate) mod seal;
pub(crate) mod source;
pub(crate) mod train;
pub(crate) mod handshake;
pub(crate) mod port;
pub(crate) mod numbers;
pub(crate) mod key_box;
mod early_drop;
mod requests;
mod at_once;
mod outcomes;
mod granting;
mod incomplete;
mod outbox;

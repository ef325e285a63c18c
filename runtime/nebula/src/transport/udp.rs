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
//! - **The server's state does not grow with its clients**: one ring remembers the last RPCs.
//! - **At most once.** An RPC keeps its number and its stamp in every retransmission; the ring has
//!   its fate. An RPC older than the ring is refused and never run.
//! - **The client does the work**: it retransmits, asks for answers, backs off.
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
mod requests;
mod at_once;
mod outcomes;
mod granting;
mod incomplete;
mod outbox;
mod logged_early_drop;

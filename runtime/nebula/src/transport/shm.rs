//! Shared memory between processes: a ring per client, and a socket that shows when one leaves.
//!
//! ```text
//!   client                                            server
//!   ──────                                            ──────
//!   connect ──────── Hello {version, slots} ────────▶ check version, sizes, user id
//!           ◀─ Welcome {snid, slots, mtu} + memfd ──  create and seal the ring
//!
//!           ┌──────┬──────┬──────┬──────┬──────┐
//!   write ▶ │ slot │ slot │ slot │ slot │ slot │ ◀ copy into the receive buffer, reply INTO THE SAME SLOT
//!           └──────┴──────┴──────┴──────┴──────┘
//! ```
//!
//! - **A reply overwrites its request's slot.** One line carries both directions: a round trip
//!   moves it there and back, and no index is shared. A slot's first word names its position, so
//!   the reply itself is the credit to send again.
//! - **The client provisions the room for its reply** (NEBULA §IV-B): an RPC spans as many slots as
//!   the larger of request and reply needs.
//! - **The ring belongs to its client**; it is no receive buffer. The server copies a packet into
//!   the domain's one receive buffer, checks the copy and reads the slot no more, so a client
//!   cannot change a packet later.
//! - **The socket lives as long as the ring.** The kernel closes it however a process ends.
//! - **A client may sleep**, if it asks for that as it connects: a word behind its ring says when
//!   it sleeps, and the server then sends a byte over the socket with its next answer.
//!   [`nebula_sys::wake`] orders the two sides' accesses.
//! - **A client that says nothing costs nothing.** The server [leaves its ring](hot), the client
//!   rings a doorbell, and the server [sleeps](sleep) when all rings are quiet.

pub(crate) mod handshake;
pub(crate) mod channel;
mod ring_list;
mod hot;
mod sleep;
pub(crate) mod rings;
pub(crate) mod registry;
pub(crate) mod listener;

//! Shared memory between processes: a ring of slots per client, and a Unix socket that says when a
//! side is gone.
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
//!   moves it there and back, and no index is shared. A slot's first word names the position it is
//!   for, so the credit to send again is the reply itself.
//! - **The client provisions the room for its reply** (NEBULA §IV-B): an RPC spans as many slots as
//!   the larger of request and reply needs.
//! - **The ring belongs to its client**; it is no receive buffer. The server copies a packet into
//!   the domain's one receive buffer, checks the copy and looks at the slot no more: what a client
//!   changes afterwards changes nothing here.
//! - **The socket lives as long as the ring.** The kernel closes it when a process ends, however it
//!   ends.
//! - **A client may sleep**, if it says so as it connects: a word behind its ring says when it
//!   does, and the server then sends a byte over the socket with its next answer. Which of the two
//!   looks when is in [`nebula_sys::wake`].

pub(crate) mod handshake;
pub(crate) mod channel;
pub(crate) mod rings;
pub(crate) mod registry;
pub(crate) mod listener;

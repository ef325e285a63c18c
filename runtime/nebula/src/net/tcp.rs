//! Datagrams over TCP, for networks that pass nothing else: each follows its length in the stream.
//!
//! ```text
//!   wire.send(datagram) ─▶ link: length 4 | datagram, length 4 | datagram, … ─▶ kernel ═▶ kernel ─▶ frames ─▶ wire.recv(datagram)
//! ```
//!
//! They are [wires](super::Wire) like the others. A stream loses nothing, but a connection may
//! break, and datagrams beyond a bound to a peer that does not read are dropped. So datagrams can
//! be lost here too, and their senders retransmit.
//!
//! - **Bounded.** A connection keeps one incomplete frame, and a bounded number of bytes that its
//!   peer has not read. Beyond it frames are dropped; beyond half of it the connection is not read.
//!   All connections of a server have a bound together as well.
//! - **A bad frame closes its connection** and is counted. Other connections are not affected.

mod frames;
mod link;
mod clients;
mod server;
mod client;

pub use client::TcpClientWire;
pub use frames::{BadFrame, FRAME_BYTES_MAX, Frames, PREFIX_BYTES};
pub use server::TcpServerWire;

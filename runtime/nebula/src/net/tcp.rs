//! Datagrams over TCP, for networks that pass nothing else: each stands behind its length in a
//! stream of bytes.
//!
//! ```text
//!   wire.send(datagram) ─▶ link: length 4 | datagram, length 4 | datagram, … ─▶ kernel ═▶ kernel ─▶ frames ─▶ wire.recv(datagram)
//! ```
//!
//! Whatever speaks over a [`Wire`](super::Wire) speaks over these. A stream loses nothing, but a
//! connection may break, and who does not read is sent no more than fits a bound: so datagrams can
//! be lost here too, and who sends them sends again.
//!
//! - **Bounded.** A connection keeps one incomplete frame, and what its peer has not read up to a
//!   bound; behind that frames are dropped, and the connection is not read. All connections of a
//!   server together have a bound as well.
//! - **A bad frame closes its connection**, and is counted. No other connection notices.

mod frames;
mod link;
mod clients;
mod server;
mod client;

pub use client::TcpClientWire;
pub use frames::{BadFrame, FRAME_BYTES_MAX, Frames, PREFIX_BYTES};
pub use server::TcpServerWire;

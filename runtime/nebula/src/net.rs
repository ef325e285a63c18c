//! The environment of a `udp://` or `tcp://` transport: a network, a clock, and random bytes.
//!
//! The kernel's UDP sockets are one [`Wire`], its [TCP connections](TcpServerWire) another, a
//! simulated network a third; server and client are the same on all. A [`PacketDevice`] carries
//! packets that a server forwards. On a simulated network with [`Time::Manual`] every run can be
//! repeated exactly.

mod wire;
mod kernel;
pub(crate) mod xdp;
mod place;
mod sockets;
mod tcp;
mod packets;
mod time;
mod environment;

pub use environment::Environment;
pub(crate) use environment::random_bytes;
pub use kernel::{KernelWire, SAFE_DATAGRAM_BYTES};
pub use nebula_sys::udp::DropRule;
pub(crate) use packets::PACKET_PREFIX_BYTES;
pub use packets::{Forwarding, PacketDevice, Side, Unsent, packet_of};
pub(crate) use sockets::{News, Sockets};
pub use tcp::{BadFrame, FRAME_BYTES_MAX, Frames, PREFIX_BYTES, TcpClientWire, TcpServerWire};
pub use time::Time;
pub(crate) use time::Watch;
pub use wire::{Route, Wire};
pub use xdp::{XdpRouter, XdpWire, datagram_in};

//! The bounds of datagrams, and the addresses of one.

use std::net::{IpAddr, SocketAddr};

/// The longest datagram, in bytes: IPv4's 16-bit length less the headers of IP, 20, and UDP, 8.
pub const DATAGRAM_BYTES_MAX: usize = 65_507;
/// Datagrams per segmented send: the limit of the oldest kernels with segmentation.
pub const SEGMENTS_MAX: usize = 64;

/// Source and destination of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its sender, as the IP and UDP headers claim.
    pub from: SocketAddr,
    /// The local address it was sent to, if the socket is bound to the unspecified address: for a
    /// reply [from that address](crate::udp::UdpSocket::queue).
    pub to: Option<IpAddr>,
}

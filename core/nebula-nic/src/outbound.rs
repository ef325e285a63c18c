//! Station 1: *which packets carry this RPC?*
//!
//! The client numbers the RPC and splits it into packets of one MTU. Each header has the size of
//! the whole RPC, so whichever packet arrives first tells the receiver how many slots to take. The
//! caller handles the payload: packet `i` has the bytes from `i * MTU` on.
//!
//! Next: station 2, [`wire`](crate::wire).

use crate::id::TransferId;
use crate::wire::{Header, Mtu};

/// Packets that an acknowledgment or a pull can name, and therefore the longest burst.
pub const BURST_PACKETS: u32 = 64;
/// Packets of a reply that the server sends without a request.
pub const UNASKED_PACKETS: u32 = 32;

/// The packets of one RPC, as an iterator over their headers.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Header, Mtu, Outbound};
///
/// let packets = Outbound::new(Header { rpc_bytes: 130, ..Header::default() }, Mtu::MIN);
/// let cut: Vec<_> = packets.map(|header| (header.pkt_idx, Mtu::MIN.packet_bytes(130, header.pkt_idx))).collect();
/// assert_eq!(cut, [(0, 64), (1, 64), (2, 2)]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outbound {
    header: Header,
    packets: u32,
}

impl Outbound {
    /// Splits the RPC that `header` describes, whatever its `pkt_idx`.
    #[must_use]
    #[inline]
    pub const fn new(header: Header, mtu: Mtu) -> Self {
        Self { header: Header { pkt_idx: 0, ..header }, packets: mtu.packets(header.rpc_bytes) }
    }

    /// The number of the transfer.
    #[must_use]
    #[inline]
    pub const fn tid(&self) -> TransferId {
        self.header.tid
    }

    /// Payload of the RPC in bytes.
    #[must_use]
    #[inline]
    pub const fn rpc_bytes(&self) -> u32 {
        self.header.rpc_bytes
    }
}

impl Iterator for Outbound {
    type Item = Header;

    #[inline]
    fn next(&mut self) -> Option<Header> {
        if self.header.pkt_idx == self.packets {
            return None;
        }
        let header = self.header;
        self.header.pkt_idx += 1;
        Some(header)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.packets - self.header.pkt_idx) as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Outbound {}

//! A device that receives and sends packets, and the service's view of one packet.

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// A side of a server that forwards packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The first interface.
    Inside,
    /// The second interface.
    Outside,
}

impl Side {
    /// Both sides, by number.
    pub const ALL: [Self; 2] = [Self::Inside, Self::Outside];

    /// The opposite side.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Inside => Self::Outside,
            Self::Outside => Self::Inside,
        }
    }

    /// The side's number.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The side with this number.
    #[must_use]
    pub const fn from_index(index: usize) -> Option<Self> {
        match index {
            0 => Some(Self::Inside),
            1 => Some(Self::Outside),
            _ => None,
        }
    }
}

/// Why a packet did not leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsent {
    /// The Ethernet address of the next hop is not known yet.
    NoNeighbor,
    /// All frames of the device are in use.
    NoRoom,
    /// The packet is longer than the device can send.
    TooLong,
}

/// Two sides that receive and send packets, each packet in an Ethernet frame.
///
/// Only [`wait`](Self::wait) blocks.
pub trait PacketDevice: Send + fmt::Debug {
    /// The names of the sides.
    fn sides(&self) -> [String; 2];

    /// The longest frame, in bytes.
    fn frame_bytes_max(&self) -> usize;

    /// Visits frames that have arrived, at most some dozens of each side. Returns their number.
    fn recv(&mut self, visit: &mut dyn FnMut(Side, &mut [u8])) -> usize;

    /// Queues a frame for `side`. The device fills in the Ethernet addresses.
    ///
    /// # Errors
    ///
    /// [`Unsent`]: the frame is dropped.
    fn send(&mut self, side: Side, frame: &mut [u8]) -> Result<(), Unsent>;

    /// Sends the queued frames.
    fn flush(&mut self);

    /// Frames dropped so far because there was no room for them or they were too long.
    fn lost(&self) -> u64 {
        0
    }

    /// Sleeps until a frame arrives, the eventfd `parker` is readable, or `timeout` has passed.
    ///
    /// # Errors
    ///
    /// When the system call fails.
    fn wait(&mut self, timeout: Option<Duration>, parker: BorrowedFd<'_>) -> io::Result<()>;
}

/// The bytes before a packet in its request: its side, and one that aligns the IP header.
pub(crate) const PACKET_PREFIX_BYTES: usize = 2;

/// The side that a packet came from and its Ethernet frame, from a request to a [packet
/// service](crate::Server::serve_packets).
///
/// # Examples
///
/// ```
/// use nebula::net::{Side, packet_of};
///
/// assert_eq!(packet_of(&[1, 0, 0xaa, 0xbb]), Some((Side::Outside, &[0xaa, 0xbb][..])));
/// assert_eq!(packet_of(&[2, 0, 0xaa]), None);
/// ```
#[must_use]
#[inline]
pub fn packet_of(request: &[u8]) -> Option<(Side, &[u8])> {
    let (&[side, _], frame) = request.split_first_chunk()?;
    Some((Side::from_index(side.into())?, frame))
}

/// How a server forwards packets.
pub struct Forwarding {
    /// The device that receives and sends them.
    pub device: Box<dyn PacketDevice>,
    /// The hash of a frame's flow: `rss`, `key-hash` and `static` choose a core by it, and order is
    /// kept within a flow.
    pub flow_hash: fn(&[u8]) -> u32,
    /// Whether the packets of a flow leave in the order of their arrival.
    pub keeps_order: bool,
}

impl fmt::Debug for Forwarding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forwarding").field("device", &self.device).field("keeps_order", &self.keeps_order).finish()
    }
}

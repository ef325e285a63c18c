//! A device that packets go through, and the service's view of one packet.

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// A side of a server that packets go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The first interface.
    Inside,
    /// The second interface.
    Outside,
}

impl Side {
    /// Both, by number.
    pub const ALL: [Self; 2] = [Self::Inside, Self::Outside];

    /// The side that a packet from here leaves at.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Inside => Self::Outside,
            Self::Outside => Self::Inside,
        }
    }

    /// Its number.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The side of this number.
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
    /// Where the next hop is reached is not known, or not yet.
    NoNeighbor,
    /// All frames of the device are on their way.
    NoRoom,
    /// It is longer than the device sends.
    TooLong,
}

/// Two sides that packets come from and leave at, each in an Ethernet frame.
///
/// Only [`wait`](Self::wait) blocks.
pub trait PacketDevice: Send + fmt::Debug {
    /// The names of its sides.
    fn sides(&self) -> [String; 2];

    /// The longest frame, in bytes.
    fn frame_bytes_max(&self) -> usize;

    /// Visits frames that have come, at most some dozens of each side. Returns how many.
    fn recv(&mut self, visit: &mut dyn FnMut(Side, &mut [u8])) -> usize;

    /// Queues a frame that leaves at `side`. The device writes the addresses of its Ethernet
    /// header.
    ///
    /// # Errors
    ///
    /// [`Unsent`]: the frame is dropped.
    fn send(&mut self, side: Side, frame: &mut [u8]) -> Result<(), Unsent>;

    /// Sends what is queued.
    fn flush(&mut self);

    /// Frames that came while there was no room for them, or that were too long, so far.
    fn lost(&self) -> u64 {
        0
    }

    /// Sleeps until a frame has come, the eventfd `parker` is readable, or `timeout` is over.
    ///
    /// # Errors
    ///
    /// When the system call fails.
    fn wait(&mut self, timeout: Option<Duration>, parker: BorrowedFd<'_>) -> io::Result<()>;
}

/// What a packet is preceded by in its request: the side, and a byte so that what follows the
/// Ethernet header is aligned.
pub(crate) const PACKET_PREFIX_BYTES: usize = 2;

/// The packet of a request to a [packet service](crate::Server::serve_packets): where it came from,
/// and its Ethernet frame.
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

/// How packets go through a server.
pub struct Forwarding {
    /// Where they come from and leave at.
    pub device: Box<dyn PacketDevice>,
    /// The hash of a frame's flow: what `rss`, `key-hash` and `static` choose a core by, and whose
    /// order is kept.
    pub flow_hash: fn(&[u8]) -> u32,
    /// Whether the packets of a flow leave in the order in which they came.
    pub keeps_order: bool,
}

impl fmt::Debug for Forwarding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forwarding").field("device", &self.device).field("keeps_order", &self.keeps_order).finish()
    }
}

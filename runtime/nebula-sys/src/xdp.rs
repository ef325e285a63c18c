//! Ethernet frames that bypass the kernel's network stack (AF_XDP): a program in the kernel gives
//! this process those of one UDP port, or forwarded packets. All others go their usual way.
//!
//! The kernel copies each frame into and out of this process's memory, which every network
//! interface supports. Sending is one system call for all queued frames; receiving takes none.
//!
//! | file | purpose |
//! |---|---|
//! | `xdp/interface` | a network interface: its number, addresses and queues |
//! | `xdp/program` | the program that picks the frames, and its attachment |
//! | `xdp/queue` | the frames of one queue of an interface |

mod interface;
mod program;
mod queue;

pub use interface::Interface;
pub use program::{Picked, Place};
pub use queue::{FRAME_BYTES_MAX, Queue};

use program::Attached;
use std::io;

/// The picked frames of an interface, of all its queues.
#[derive(Debug)]
pub struct Frames {
    // Dropped first, so that no frames come while the queues are dropped.
    attached: Attached,
    queues: Vec<Queue>,
}

impl Frames {
    /// Takes the `picked` frames that `interface` receives.
    ///
    /// # Errors
    ///
    /// The kernel's, among them `PermissionDenied` without the capabilities `CAP_NET_ADMIN`,
    /// `CAP_NET_RAW` and `CAP_BPF`, and `ResourceBusy` if another program is attached to the
    /// interface.
    pub fn take(interface: &Interface, picked: Picked) -> io::Result<Self> {
        let queues = (0..interface.queues).map(|number| Queue::open(interface, number));
        let queues = queues.collect::<io::Result<Vec<_>>>()?;
        Ok(Self { attached: Attached::new(interface, picked, &queues)?, queues })
    }

    /// Picked frames that went to the kernel's sockets because they are longer than
    /// [`FRAME_BYTES_MAX`] or than a [datagram](Picked::Datagrams) may be: a sender on this machine
    /// leaves cutting its data to a device. Counted before the sockets have them.
    #[inline]
    #[must_use]
    pub fn too_long(&self) -> u64 {
        self.attached.too_long()
    }

    /// Picked frames that were lost: too long, or while the kernel had no frame to fill.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.too_long() + self.queues.iter().map(Queue::lost).sum::<u64>()
    }

    /// Where the program runs.
    #[must_use]
    pub fn place(&self) -> Place {
        self.attached.place()
    }

    /// The queues, by number.
    pub fn queues(&mut self) -> &mut [Queue] {
        &mut self.queues
    }
}

//! Ethernet frames past the kernel's network stack (AF_XDP): a program in the kernel gives those of
//! one UDP port, or the packets that go through this machine, to this process; all others go where
//! they went before.
//!
//! The kernel copies each frame into memory of this process, and sends from there: that is what
//! every network interface can do. Sending is one system call for all that is queued; receiving
//! takes none.
//!
//! | file | what it does |
//! |---|---|
//! | `xdp/interface` | what a network interface is: its number, addresses and queues |
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

/// The frames of an interface that were asked for, of all its queues.
#[derive(Debug)]
pub struct Frames {
    // First, so that no more frames come while the queues go.
    attached: Attached,
    queues: Vec<Queue>,
}

impl Frames {
    /// Takes the frames that are `picked` out of those that `interface` receives.
    ///
    /// # Errors
    ///
    /// The kernel's, among them `PermissionDenied` without the capabilities `CAP_NET_ADMIN`,
    /// `CAP_NET_RAW` and `CAP_BPF`, and `ResourceBusy` where another program is attached to the
    /// interface.
    pub fn take(interface: &Interface, picked: Picked) -> io::Result<Self> {
        let queues = (0..interface.queues).map(|number| Queue::open(interface, number));
        let queues = queues.collect::<io::Result<Vec<_>>>()?;
        Ok(Self { attached: Attached::new(interface, picked, &queues)?, queues })
    }

    /// Picked frames that went their usual way, to the kernel's sockets, because they are longer
    /// than [`FRAME_BYTES_MAX`]: from a sender on this machine, which leaves it to a device to cut
    /// what it sends. Counted before they are there.
    #[inline]
    #[must_use]
    pub fn too_long(&self) -> u64 {
        self.attached.too_long()
    }

    /// Picked frames that did not come: too long, or while the kernel had none to fill.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.too_long() + self.queues.iter().map(Queue::lost).sum::<u64>()
    }

    /// Where the frames are looked at.
    #[must_use]
    pub fn place(&self) -> Place {
        self.attached.place()
    }

    /// The queues, by number.
    pub fn queues(&mut self) -> &mut [Queue] {
        &mut self.queues
    }
}

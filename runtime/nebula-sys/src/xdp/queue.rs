//! The frames of one queue of an interface.

use super::interface::Interface;
use ::xdp::nic::NicIndex;
use ::xdp::slab::{HeapSlab, Slab};
use ::xdp::socket::{SocketError, XdpSocket, XdpSocketBuilder};
use ::xdp::umem::{FrameSize, UmemCfgBuilder};
use ::xdp::{RingConfigBuilder, Umem, WakableRings};
use rustix::net::{SendFlags, send};
use std::os::fd::{AsFd, BorrowedFd};
use std::{fmt, io};

/// Bytes of the longest frame: a frame's room less the kernel's own part.
pub const FRAME_BYTES_MAX: usize = 2048 - 256;

/// Frames for receiving, and as many for sending.
const FRAMES: u32 = 2048;
const BATCH: usize = 64;
/// The most system calls of a flush: the kernel sends some dozens of frames in one.
const KICKS_MAX: usize = 64;

/// The received frames of one queue of an interface, and those to send.
pub struct Queue {
    // The socket is dropped first: until then the kernel may write into the frames.
    socket: XdpSocket,
    rings: WakableRings,
    frames: Umem,
    received: HeapSlab,
    to_send: HeapSlab,
    dropped: u64,
}

// SAFETY: a packet points into `frames`, which moves with the packets, and no other code has a
// pointer to either.
unsafe impl Send for Queue {}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("socket", &self.socket.raw_fd()).field("dropped", &self.dropped).finish()
    }
}

impl Queue {
    pub(super) fn open(interface: &Interface, number: u32) -> io::Result<Self> {
        let config = UmemCfgBuilder { frame_size: FrameSize::TwoK, frame_count: 2 * FRAMES, ..Default::default() };
        let mut frames = Umem::map(config.build().map_err(io::Error::other)?)?;
        let rings =
            RingConfigBuilder { rx_count: FRAMES, tx_count: FRAMES, fill_count: FRAMES, completion_count: FRAMES };
        let mut socket = XdpSocketBuilder::new().map_err(reason)?;
        let rings = rings.build().map_err(io::Error::other)?;
        let (mut rings, mut flags) = socket.build_wakable_rings(&frames, rings).map_err(reason)?;
        flags.force_copy();
        // SAFETY: `frames` outlives the socket: it is dropped behind it.
        unsafe { rings.fill_ring.enqueue(&mut frames, FRAMES as usize, false) }?;
        let socket = socket.bind(NicIndex::new(interface.index), number, flags).map_err(reason)?;
        let [received, to_send] = [(); 2].map(|()| HeapSlab::with_capacity(BATCH));
        Ok(Self { socket, rings, frames, received, to_send, dropped: 0 })
    }

    /// Queues a frame of `bytes`, which `write` fills. If all frames are in use, drops and counts
    /// it without calling `write`.
    ///
    /// # Panics
    ///
    /// If it is longer than [`FRAME_BYTES_MAX`].
    #[inline]
    pub fn queue(&mut self, bytes: usize, write: impl FnOnce(&mut [u8])) {
        assert!(bytes <= FRAME_BYTES_MAX, "a frame of {bytes} bytes");
        if self.to_send.available() == 0 {
            self.flush();
        }
        // SAFETY: the packet goes into `to_send` and the ring, neither of which outlives `frames`.
        let frame = unsafe { self.frames.alloc() };
        let is_room = self.to_send.available() > 0;
        match frame {
            Some(mut frame) if is_room => {
                let bytes = i32::try_from(bytes).expect("a frame is short");
                frame.adjust_tail(bytes).expect("it fits, as was asserted");
                write(&mut frame);
                let refused = self.to_send.push_front(frame);
                debug_assert!(refused.is_none(), "there is room");
            }
            Some(frame) => {
                self.frames.free_packet(frame);
                self.dropped += 1;
            }
            None => self.dropped += 1,
        }
    }

    /// Sends queued frames. Those that the kernel does not take now stay queued.
    #[inline]
    pub fn flush(&mut self) {
        if self.to_send.is_empty() {
            return;
        }
        // Reads which frames were sent once for many frames, because the kernel writes that line.
        self.rings.completion_ring.dequeue(&mut self.frames, FRAMES as usize);
        let Some(ring) = &mut self.rings.tx_ring else { return };
        // SAFETY: `frames`, which the packets belong to, outlives the socket.
        let Ok(_) = (unsafe { ring.send(&mut self.to_send, false) }) else { return };
        for _ in 0..KICKS_MAX {
            match send(&*self, &[], SendFlags::DONTWAIT) {
                // More frames than the kernel sends in one call.
                Err(rustix::io::Errno::AGAIN) => {}
                // Sent, or a device that is busy or down: the rest goes with the next call.
                _ => return,
            }
        }
    }

    /// Passes arrived frames to `visit`, at most some dozens. Returns their number.
    #[inline]
    pub fn recv(&mut self, visit: &mut dyn FnMut(&mut [u8])) -> usize {
        let Some(ring) = &mut self.rings.rx_ring else { return 0 };
        // SAFETY: the packets are given back below, before `frames` can be dropped.
        let count = unsafe { ring.recv(&self.frames, &mut self.received) };
        while let Some(mut frame) = self.received.pop_back() {
            visit(&mut frame);
            self.frames.free_packet(frame);
        }
        if count > 0 {
            // As many as came, so that frames for sending are left. In this mode the kernel needs
            // no call to use them, and reports no error.
            // SAFETY: `frames` outlives the socket.
            let _ = unsafe { self.rings.fill_ring.enqueue(&mut self.frames, count, false) };
        }
        count
    }

    /// Frames that were dropped because all were in use, when sending or receiving.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped + self.lost()
    }

    /// Frames that came while the kernel had none to fill.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.socket.statistics().map_or(0, |kernel| kernel.rx_dropped + kernel.rx_ring_full)
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the socket is open as long as this lives.
        unsafe { BorrowedFd::borrow_raw(self.socket.raw_fd()) }
    }
}

fn reason(error: SocketError) -> io::Error {
    match error {
        SocketError::SocketCreation(error)
        | SocketError::Bind(error)
        | SocketError::SetSockOpt { inner: error, .. }
        | SocketError::GetSockOpt { inner: error, .. }
        | SocketError::RingMap { inner: error, .. } => error,
    }
}

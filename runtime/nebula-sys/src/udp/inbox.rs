//! Receives with one `recvmmsg` into buffers allocated once, and splits coalesced datagrams.

use super::control::{self, Beside, CONTROL_BYTES, Control};
use super::datagram::Received;
use super::name::{NAME_BYTES, Name};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

const BATCH: usize = 16;
/// The longest message: coalesced datagrams still form one IP packet.
const BUFFER_BYTES: usize = 64 << 10;

/// The memory that the kernel reads and writes. It never moves and is accessed only through raw
/// pointers, so the pointers in its headers stay valid.
#[repr(C)]
struct Frame {
    headers: [libc::mmsghdr; BATCH],
    slices: [libc::iovec; BATCH],
    names: [Name; BATCH],
    controls: [Control; BATCH],
    buffers: [[u8; BUFFER_BYTES]; BATCH],
}

struct Message {
    buffer: NonNull<u8>,
    bytes: usize,
    from: Option<SocketAddr>,
    beside: Beside,
    is_whole: bool,
}

pub(super) struct Inbox {
    frame: NonNull<Frame>,
    /// A connected socket's peer, which the kernel need not report.
    peer: Option<SocketAddr>,
    /// Messages that the next call asks for: one after a call without any, because asking for more
    /// costs a lone message a tenth of a microsecond.
    asks: libc::c_uint,
    dropped: u64,
}

/// [`Inbox::asks`] after a poll that found nothing, and after one that found something.
const ASKS_AFTER: [libc::c_uint; 2] = [1, 16];
const _: () = assert!(ASKS_AFTER[1] as usize == BATCH);

// SAFETY: the inbox alone owns the frame, whose pointers lead into the frame itself.
unsafe impl Send for Inbox {}
// SAFETY: no method accesses the frame through a shared reference.
unsafe impl Sync for Inbox {}

impl Inbox {
    pub(super) fn new(peer: Option<SocketAddr>) -> Self {
        let layout = Layout::new::<Frame>();
        // SAFETY: the layout does not have zero size. Zeros are a valid frame: integers, byte
        // arrays and null pointers.
        let frame = unsafe { alloc_zeroed(layout) }.cast::<Frame>();
        let Some(frame) = NonNull::new(frame) else { handle_alloc_error(layout) };
        let mut inbox = Self { frame, peer, asks: 1, dropped: 0 };
        (0..BATCH).for_each(|at| inbox.arm(at));
        inbox
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    #[inline]
    pub(super) fn recv(
        &mut self,
        socket: &std::net::UdpSocket,
        visit: &mut dyn FnMut(Received, &mut [u8]),
    ) -> io::Result<usize> {
        let messages = self.take_in(socket)?;
        let mut datagrams = 0;
        for at in 0..messages {
            let message = self.message(at);
            // Before the caller's code runs, because it may panic.
            self.arm(at);
            datagrams += self.split(message, visit);
        }
        Ok(datagrams)
    }

    #[inline]
    fn take_in(&mut self, socket: &std::net::UdpSocket) -> io::Result<usize> {
        // SAFETY: `asks` is at most `BATCH`, and every header is armed: its pointers lead to a
        // name, a slice and control bytes of this frame, with their lengths, and the slice to a
        // buffer. The frame outlives the call, and nothing else accesses it.
        let got = unsafe {
            let headers = (&raw mut (*self.frame.as_ptr()).headers).cast::<libc::mmsghdr>();
            let no_timeout = std::ptr::null_mut::<libc::timespec>();
            // Directly, as in `outbox::batch`.
            libc::syscall(libc::SYS_recvmmsg, socket.as_raw_fd(), headers, self.asks, libc::MSG_DONTWAIT, no_timeout)
        };
        self.asks = ASKS_AFTER[usize::from(got > 0)];
        if let Ok(got) = usize::try_from(got) {
            return Ok(got.min(BATCH));
        }
        match io::Error::last_os_error() {
            error if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
            error => Err(error),
        }
    }

    #[inline]
    fn message(&mut self, at: usize) -> Message {
        debug_assert!(at < BATCH);
        let frame = self.frame.as_ptr();
        // SAFETY: `at` is below `BATCH`, the frame is alive and initialised, and the kernel has
        // returned.
        let (header, name) =
            unsafe { ((&raw const (*frame).headers[at]).read(), (&raw const (*frame).names[at]).read()) };
        // SAFETY: within the frame.
        let buffer = unsafe { NonNull::new_unchecked((&raw mut (*frame).buffers[at]).cast()) };
        let lost = header.msg_hdr.msg_flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC);
        Message {
            buffer,
            bytes: (header.msg_len as usize).min(BUFFER_BYTES),
            from: self.peer.or_else(|| name.decode()),
            // SAFETY: the header is as `recvmmsg` left it.
            beside: unsafe { control::read(&header.msg_hdr) },
            is_whole: lost == 0,
        }
    }

    #[inline]
    fn split(&mut self, message: Message, visit: &mut dyn FnMut(Received, &mut [u8])) -> usize {
        let (Some(from), true) = (message.from, message.is_whole) else {
            self.dropped += 1;
            return 0;
        };
        let received = Received { from, to: message.beside.to };
        // SAFETY: the bytes lie in one buffer of the frame, which is mutably borrowed with `self`;
        // the buffer is initialized (zeros at first), and no other reference to it exists.
        let bytes = unsafe { std::slice::from_raw_parts_mut(message.buffer.as_ptr(), message.bytes) };
        let segment = message.beside.segment.unwrap_or(usize::MAX);
        if bytes.len() <= segment {
            visit(received, bytes);
            return 1;
        }
        bytes.chunks_mut(segment).map(|datagram| visit(received, datagram)).count()
    }

    #[inline]
    fn arm(&mut self, at: usize) {
        assert!(at < BATCH);
        let frame = self.frame.as_ptr();
        // SAFETY: `at` is below `BATCH`, so all places lie within the frame, which is alive and not
        // in use by the kernel.
        unsafe {
            (&raw mut (*frame).slices[at])
                .write(libc::iovec { iov_base: (&raw mut (*frame).buffers[at]).cast(), iov_len: BUFFER_BYTES });
            let header = &raw mut (*frame).headers[at].msg_hdr;
            let is_connected = self.peer.is_some();
            let name: *mut Name = if is_connected { std::ptr::null_mut() } else { &raw mut (*frame).names[at] };
            (*header).msg_name = name.cast();
            (*header).msg_namelen = if is_connected { 0 } else { NAME_BYTES };
            (*header).msg_iov = &raw mut (*frame).slices[at];
            (*header).msg_iovlen = 1;
            (*header).msg_control = (&raw mut (*frame).controls[at]).cast();
            (*header).msg_controllen = CONTROL_BYTES as _;
            (*header).msg_flags = 0;
        }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and freed once; nothing in a frame needs
        // dropping.
        unsafe { dealloc(self.frame.as_ptr().cast(), Layout::new::<Frame>()) };
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("peer", &self.peer).field("dropped", &self.dropped).finish_non_exhaustive()
    }
}

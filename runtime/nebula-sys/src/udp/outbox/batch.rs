//! The structures of one `sendmmsg`, allocated once and refilled for each call.
//!
//! The system calls are direct: the C library's functions are cancellation points, which cost
//! atomic operations with several threads, and some libraries split a `sendmmsg`.

use super::{Parcel, Socket};
use crate::udp::control::Control;
use crate::udp::name::Name;
use std::fmt;
use std::io;
use std::os::fd::AsRawFd;

pub(super) const BATCH: usize = 64;
const FLAGS: libc::c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;

pub(super) struct Batch {
    headers: Vec<libc::mmsghdr>,
    slices: Vec<libc::iovec>,
    names: Vec<Name>,
    controls: Vec<Control>,
}

// SAFETY: only the kernel reads the pointers in the headers, within the call for which they were
// written.
unsafe impl Send for Batch {}
// SAFETY: as above; no method accesses them through a shared reference.
unsafe impl Sync for Batch {}

impl Batch {
    pub(super) fn new() -> Self {
        // SAFETY: zeros are a valid header: integers and null pointers.
        let header: libc::mmsghdr = unsafe { std::mem::zeroed() };
        let slice = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        Self {
            headers: vec![header; BATCH],
            slices: vec![slice; BATCH],
            names: vec![Name::EMPTY; BATCH],
            controls: vec![Control::EMPTY; BATCH],
        }
    }

    /// Sends as many of `messages` as the kernel accepts in one call: at least one, or an error.
    #[inline]
    pub(super) fn send(&mut self, socket: &Socket, arena: &[u8], messages: &[Parcel]) -> io::Result<usize> {
        match messages {
            [one] if one.bytes <= one.segment && one.route.from.is_none() => {
                send_plain(socket, arena, *one).map(|()| 1)
            }
            _ => self.send_many(socket, arena, &messages[..messages.len().min(BATCH)]),
        }
    }

    fn send_many(&mut self, socket: &Socket, arena: &[u8], messages: &[Parcel]) -> io::Result<usize> {
        for (at, message) in messages.iter().enumerate() {
            self.fill(at, arena, *message);
        }
        let (names, slices) = (self.names.as_mut_ptr(), self.slices.as_mut_ptr());
        let controls = self.controls.as_mut_ptr();
        for (at, header) in self.headers[..messages.len()].iter_mut().enumerate() {
            let header = &mut header.msg_hdr;
            // A length of zero goes with a null pointer: no address, no ancillary data.
            header.msg_name =
                if header.msg_namelen == 0 { std::ptr::null_mut() } else { names.wrapping_add(at).cast() };
            header.msg_iov = slices.wrapping_add(at);
            header.msg_iovlen = 1;
            let has_control = header.msg_controllen != 0;
            header.msg_control = if has_control { controls.wrapping_add(at).cast() } else { std::ptr::null_mut() };
        }
        let (headers, count) = (self.headers.as_mut_ptr(), libc::c_uint::try_from(messages.len()).unwrap_or(0));
        // SAFETY: the first `count` headers have just been filled: their pointers lead to names,
        // slices and control bytes of this batch, which do not move during the call, with lengths
        // within them; the slices lead into the arena, which is borrowed for the call and which the
        // kernel only reads.
        let sent = unsafe { libc::syscall(libc::SYS_sendmmsg, socket.as_raw_fd(), headers, count, FLAGS) };
        usize::try_from(sent).ok().filter(|&sent| sent > 0).ok_or_else(io::Error::last_os_error)
    }

    /// Writes message `at`, except for the pointers in its header.
    #[inline]
    fn fill(&mut self, at: usize, arena: &[u8], Parcel { at: from, bytes, segment, route }: Parcel) {
        let data = &arena[from..from + bytes];
        self.slices[at] = libc::iovec { iov_base: data.as_ptr().cast_mut().cast(), iov_len: bytes };
        let header = &mut self.headers[at].msg_hdr;
        header.msg_namelen = 0;
        if let Some(to) = route.to {
            (self.names[at], header.msg_namelen) = Name::encode(to);
        }
        let segment = u16::try_from(segment).ok().filter(|_| bytes > segment);
        header.msg_controllen = self.controls[at].fill(segment, route.from) as _;
    }
}

#[inline]
fn send_plain(socket: &Socket, arena: &[u8], message: Parcel) -> io::Result<()> {
    let data = &arena[message.at..message.at + message.bytes];
    let name = message.route.to.map(Name::encode);
    let (to, to_bytes) =
        name.as_ref().map_or((std::ptr::null(), 0), |(name, bytes)| (std::ptr::from_ref(name), *bytes));
    // SAFETY: the kernel reads the data and the name, whose lengths these are and which both
    // outlive the call.
    let sent =
        unsafe { libc::syscall(libc::SYS_sendto, socket.as_raw_fd(), data.as_ptr(), data.len(), FLAGS, to, to_bytes) };
    if sent >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").finish_non_exhaustive()
    }
}

//! Steps of a program in classic BPF, which the kernel runs for each datagram.

use std::io;
use std::mem::size_of;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

pub(super) const LOAD_BYTE: u32 = libc::BPF_LD | libc::BPF_B | libc::BPF_ABS;
pub(super) const LOAD_HALF: u32 = libc::BPF_LD | libc::BPF_H | libc::BPF_ABS;
pub(super) const LOAD_WORD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
pub(super) const JUMP_IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
/// The offset of the kernel's random numbers: `SKF_AD_OFF + SKF_AD_RANDOM` of `linux/filter.h`.
pub(super) const RANDOM_AT: u32 = (-0x1000_i32 + 56).cast_unsigned();

/// One step. A test that fails skips `otherwise` steps.
pub(super) fn step(code: u32, k: u32, otherwise: u8) -> libc::sock_filter {
    libc::sock_filter { code: u16::try_from(code).unwrap_or(u16::MAX), jt: 0, jf: otherwise, k }
}

/// Gives the kernel a program as the socket's option `name`.
pub(super) fn attach(socket: &UdpSocket, name: libc::c_int, steps: &[libc::sock_filter]) -> io::Result<()> {
    let len = u16::try_from(steps.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let program = libc::sock_fprog { len, filter: steps.as_ptr().cast_mut() };
    #[expect(clippy::cast_possible_truncation, reason = "16 bytes")]
    let bytes = size_of::<libc::sock_fprog>() as libc::socklen_t;
    let (level, program) = (libc::SOL_SOCKET, (&raw const program).cast());
    // SAFETY: the kernel reads a `sock_fprog` through the pointer, as the length says, and `len`
    // steps through the pointer in it, which is valid as long as the caller's borrow; it writes
    // through neither.
    let rc = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, program, bytes) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

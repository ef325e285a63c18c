//! Options of a UDP socket.

use std::io;
use std::mem::size_of;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

type Socket = std::net::UdpSocket;
type Setting = (libc::c_int, libc::c_int);

const GRO: Setting = (libc::SOL_UDP, libc::UDP_GRO);
const GSO: Setting = (libc::SOL_UDP, libc::UDP_SEGMENT);

#[expect(clippy::cast_possible_truncation, reason = "4 bytes")]
const INT_BYTES: libc::socklen_t = size_of::<libc::c_int>() as libc::socklen_t;

fn set(socket: &Socket, (level, name): Setting, value: libc::c_int) -> io::Result<()> {
    // SAFETY: the kernel reads an int through the pointer, as the length says.
    let rc = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), INT_BYTES) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn get(socket: &Socket, (level, name): Setting) -> io::Result<libc::c_int> {
    let (mut value, mut bytes): (libc::c_int, _) = (0, INT_BYTES);
    // SAFETY: the kernel writes at most an int through the pointer, as the length says.
    let rc = unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut bytes) };
    if rc == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}

/// Asks for buffers of `bytes` in both directions: beyond the system's limit if this process may,
/// otherwise up to it.
pub(super) fn ask_for_buffers(socket: &Socket, bytes: usize) {
    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    for (by_right, by_limit) in [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)] {
        // Smaller buffers only lose datagrams earlier.
        let _ = set(socket, (libc::SOL_SOCKET, by_right), bytes)
            .or_else(|_| set(socket, (libc::SOL_SOCKET, by_limit), bytes));
    }
}

/// Never fragments datagrams, and ignores ICMP messages about the path MTU, which can be forged.
pub(super) fn never_fragment(socket: &Socket, local: SocketAddr) {
    // A kernel without this option does not fragment either.
    let _ = set(socket, (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER), libc::IP_PMTUDISC_PROBE);
    if local.is_ipv6() {
        let _ = set(socket, (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER), libc::IPV6_PMTUDISC_PROBE);
    }
}

/// Requests the destination address of every received datagram.
pub(super) fn tell_local_address(socket: &Socket, local: SocketAddr) -> io::Result<()> {
    let option = match local {
        SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_PKTINFO),
        SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO),
    };
    set(socket, option, 1)
}

pub(super) fn has_gso(socket: &Socket) -> bool {
    get(socket, GSO).is_ok()
}

/// Switches coalescing on receive on or off.
pub(super) fn set_gro(socket: &Socket, on: bool) -> io::Result<()> {
    set(socket, GRO, on.into())
}

/// The MTU of the route to the peer of a connected socket.
pub(super) fn route_mtu(socket: &Socket, peer: SocketAddr) -> Option<usize> {
    let option = match peer {
        SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_MTU),
        SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_MTU),
    };
    get(socket, option).ok().and_then(|mtu| usize::try_from(mtu).ok()).filter(|&mtu| mtu > 0)
}

/// Removes the program that [drops](super::early_drop) datagrams.
pub(super) fn detach_filter(socket: &Socket) -> io::Result<()> {
    set(socket, (libc::SOL_SOCKET, libc::SO_DETACH_FILTER), 0)
}

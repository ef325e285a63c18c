//! Several sockets at one address: the kernel chooses by a byte of each datagram (`SO_REUSEPORT`
//! with a program in classic BPF).
//!
//! The kernel's own choice is a hash of both addresses: a peer whose address changes would reach
//! another socket, and so a thread that does not know it.

use super::program::{JUMP_IF_EQUAL, LOAD_BYTE, LOAD_WORD, RANDOM_AT, attach, step};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, ipproto, socket_with, sockopt};
use std::io;
use std::net::{SocketAddr, UdpSocket};

/// Which socket of a group gets a datagram: the one numbered by the byte at `owner_at`, modulo the
/// number of sockets. If the byte at `kind_at` is `for_anyone`, a random one gets it. A datagram
/// too short for the byte goes to the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupKey {
    /// The offset of the byte that numbers the socket.
    pub owner_at: u16,
    /// The offset of the byte that may say that any socket will do.
    pub kind_at: u16,
    /// The value of that byte for any socket.
    pub for_anyone: u8,
}

/// The most sockets of a group: the values of a byte.
pub const GROUP_MAX: u16 = 256;

/// `sockets` sockets at `local`, in order of their numbers; without a key the kernel chooses.
pub(super) fn bind_all(local: SocketAddr, sockets: u16, key: Option<GroupKey>) -> io::Result<Vec<UdpSocket>> {
    if sockets == 0 || sockets > GROUP_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a group has 1 to 256 sockets"));
    }
    // Other processes could join the group. Binding the address unshared first finds them.
    let local = UdpSocket::bind(local)?.local_addr()?;
    let group = (0..sockets).map(|_| bind_shared(local)).collect::<io::Result<Vec<_>>>()?;
    key.map(|key| attach(&group[0], libc::SO_ATTACH_REUSEPORT_CBPF, &program(sockets, key))).transpose()?;
    Ok(group)
}

fn bind_shared(local: SocketAddr) -> io::Result<UdpSocket> {
    let family = if local.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, Some(ipproto::UDP))?;
    sockopt::set_socket_reuseport(&socket, true)?;
    bind(&socket, &local)?;
    Ok(socket.into())
}

const JUMP: u32 = libc::BPF_JMP | libc::BPF_JA;
const MODULO: u32 = libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K;
const RETURN_A: u32 = libc::BPF_RET | libc::BPF_A;

/// Chooses the socket. A load beyond the datagram's end returns 0, the first socket.
fn program(sockets: u16, key: GroupKey) -> [libc::sock_filter; 7] {
    [
        step(LOAD_BYTE, key.kind_at.into(), 0),
        step(JUMP_IF_EQUAL, key.for_anyone.into(), 2),
        step(LOAD_WORD, RANDOM_AT, 0),
        step(JUMP, 1, 0),
        step(LOAD_BYTE, key.owner_at.into(), 0),
        step(MODULO, sockets.into(), 0),
        step(RETURN_A, 0, 0),
    ]
}

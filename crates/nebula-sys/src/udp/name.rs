//! Socket addresses as the kernel has them.

use std::mem::size_of;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// Room for an address of either family.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) union Name {
    family: libc::sa_family_t,
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

/// Bytes of the room.
#[expect(clippy::cast_possible_truncation, reason = "28 bytes")]
pub(super) const NAME_BYTES: libc::socklen_t = size_of::<Name>() as libc::socklen_t;

#[expect(clippy::cast_possible_truncation, reason = "a family's number is small")]
const V4: libc::sa_family_t = libc::AF_INET as libc::sa_family_t;
#[expect(clippy::cast_possible_truncation, reason = "a family's number is small")]
const V6: libc::sa_family_t = libc::AF_INET6 as libc::sa_family_t;

impl Name {
    /// No address: zeros, which are of no family.
    pub(super) const EMPTY: Self = Self {
        v6: libc::sockaddr_in6 {
            sin6_family: 0,
            sin6_port: 0,
            sin6_flowinfo: 0,
            sin6_addr: libc::in6_addr { s6_addr: [0; 16] },
            sin6_scope_id: 0,
        },
    };

    /// The address, and how many bytes of it count.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "16 and 28 bytes")]
    pub(super) fn encode(address: SocketAddr) -> (Self, libc::socklen_t) {
        let mut name = Self::EMPTY;
        match address {
            SocketAddr::V4(address) => {
                name.v4 = libc::sockaddr_in {
                    sin_family: V4,
                    sin_port: address.port().to_be(),
                    sin_addr: v4_addr(*address.ip()),
                    sin_zero: [0; 8],
                };
                (name, size_of::<libc::sockaddr_in>() as libc::socklen_t)
            }
            SocketAddr::V6(address) => {
                name.v6 = libc::sockaddr_in6 {
                    sin6_family: V6,
                    sin6_port: address.port().to_be(),
                    sin6_flowinfo: address.flowinfo(),
                    sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
                    sin6_scope_id: address.scope_id(),
                };
                (name, size_of::<libc::sockaddr_in6>() as libc::socklen_t)
            }
        }
    }

    /// The address, if it is of a family that is known.
    #[inline]
    pub(super) fn decode(&self) -> Option<SocketAddr> {
        // SAFETY: every value of the union is initialised in whole (it begins as `EMPTY` or zeros, the kernel writes over it),
        // all fields are plain integers, and the family lies at the same place in each.
        unsafe {
            match self.family {
                V4 => {
                    let ip = Ipv4Addr::from(u32::from_be(self.v4.sin_addr.s_addr));
                    Some(SocketAddrV4::new(ip, u16::from_be(self.v4.sin_port)).into())
                }
                V6 => {
                    let ip = Ipv6Addr::from(self.v6.sin6_addr.s6_addr);
                    let (flow, scope) = (self.v6.sin6_flowinfo, self.v6.sin6_scope_id);
                    Some(SocketAddrV6::new(ip, u16::from_be(self.v6.sin6_port), flow, scope).into())
                }
                _ => None,
            }
        }
    }
}

/// An IPv4 address in network order.
#[inline]
pub(super) fn v4_addr(ip: Ipv4Addr) -> libc::in_addr {
    libc::in_addr { s_addr: u32::from(ip).to_be() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_the_same_after_the_way_there_and_back() {
        for text in ["127.0.0.1:7400", "255.1.2.3:65535", "[::1]:1", "[fe80::1:2:3:4%7]:9", "[::ffff:10.0.0.1]:80"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(Name::encode(address).0.decode(), Some(address));
        }
        assert_eq!(Name::EMPTY.decode(), None);
    }
}

//! Socket addresses in the kernel's format.

use std::mem::size_of;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// Space for an address of either family.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) union Name {
    family: libc::sa_family_t,
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

#[expect(clippy::cast_possible_truncation, reason = "28 bytes")]
pub(super) const NAME_BYTES: libc::socklen_t = size_of::<Name>() as libc::socklen_t;

#[expect(clippy::cast_possible_truncation, reason = "a family's number is small")]
const V4: libc::sa_family_t = libc::AF_INET as libc::sa_family_t;
#[expect(clippy::cast_possible_truncation, reason = "a family's number is small")]
const V6: libc::sa_family_t = libc::AF_INET6 as libc::sa_family_t;

impl Name {
    /// No address: zeros, which belong to no family.
    pub(super) const EMPTY: Self = Self {
        v6: libc::sockaddr_in6 {
            sin6_family: 0,
            sin6_port: 0,
            sin6_flowinfo: 0,
            sin6_addr: libc::in6_addr { s6_addr: [0; 16] },
            sin6_scope_id: 0,
        },
    };

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

    #[inline]
    pub(super) fn decode(&self) -> Option<SocketAddr> {
        // SAFETY: all of the union is initialized (it begins as `EMPTY` or zeros, and the kernel
        // overwrites it), all fields are plain integers, and the family has the same offset in each
        // variant.
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

#[inline]
pub(super) fn v4_addr(ip: Ipv4Addr) -> libc::in_addr {
    libc::in_addr { s_addr: u32::from(ip).to_be() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_conversion_both_ways() {
        for text in ["127.0.0.1:7400", "255.1.2.3:65535", "[::1]:1", "[fe80::1:2:3:4%7]:9", "[::ffff:10.0.0.1]:80"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(Name::encode(address).0.decode(), Some(address));
        }
        assert_eq!(Name::EMPTY.decode(), None);
    }
}

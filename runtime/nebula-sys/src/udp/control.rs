//! Ancillary data of a datagram (`cmsg`): the segment length, and the local address.

use super::name::v4_addr;
use std::mem::size_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Space for all ancillary data: a local address of either family, and a segment length.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(super) struct Control([u8; CONTROL_BYTES]);

pub(super) const CONTROL_BYTES: usize =
    space::<libc::in6_pktinfo>() + space::<libc::in_pktinfo>() + space::<libc::c_int>();

/// Bytes that a `T` occupies with its header and padding.
const fn space<T>() -> usize {
    // SAFETY: plain arithmetic on its argument.
    unsafe { libc::CMSG_SPACE(bytes_of::<T>()) as usize }
}

#[expect(clippy::cast_possible_truncation, reason = "structures of at most 20 bytes")]
const fn bytes_of<T>() -> u32 {
    size_of::<T>() as u32
}

impl Control {
    pub(super) const EMPTY: Self = Self([0; CONTROL_BYTES]);

    /// Writes the ancillary data of a send; returns the number of bytes used.
    #[inline]
    pub(super) fn fill(&mut self, segment: Option<u16>, from: Option<IpAddr>) -> usize {
        let mut used = 0;
        match from {
            None => {}
            Some(IpAddr::V4(ip)) => {
                let info = libc::in_pktinfo {
                    ipi_ifindex: 0,
                    ipi_spec_dst: v4_addr(ip),
                    ipi_addr: v4_addr(Ipv4Addr::UNSPECIFIED),
                };
                used = self.push(used, (libc::IPPROTO_IP, libc::IP_PKTINFO), info);
            }
            Some(IpAddr::V6(ip)) => {
                let info = libc::in6_pktinfo { ipi6_addr: libc::in6_addr { s6_addr: ip.octets() }, ipi6_ifindex: 0 };
                used = self.push(used, (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO), info);
            }
        }
        match segment {
            None => used,
            Some(bytes) => self.push(used, (libc::SOL_UDP, libc::UDP_SEGMENT), bytes),
        }
    }

    fn push<T: Copy>(&mut self, used: usize, (level, kind): (libc::c_int, libc::c_int), value: T) -> usize {
        let end = used + space::<T>();
        let room = &mut self.0[used..end];
        // SAFETY: plain arithmetic on its argument.
        let bytes = unsafe { libc::CMSG_LEN(bytes_of::<T>()) };
        // SAFETY: numbers, for which zeros are valid. musl's header has padding, which is a
        // separate field there.
        let mut header: libc::cmsghdr = unsafe { std::mem::zeroed() };
        (header.cmsg_len, header.cmsg_level, header.cmsg_type) = (bytes as _, level, kind);
        let at = room.as_mut_ptr().cast::<libc::cmsghdr>();
        // SAFETY: the buffer has `CMSG_SPACE` bytes left, which hold a header and, at `CMSG_DATA`,
        // a `T`; unaligned writes need no alignment.
        unsafe {
            at.write_unaligned(header);
            libc::CMSG_DATA(at).cast::<T>().write_unaligned(value);
        }
        end
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Beside {
    /// The length of the datagrams in the buffer, the last of which may be shorter.
    pub(super) segment: Option<usize>,
    /// The local address at which it arrived.
    pub(super) to: Option<IpAddr>,
}

/// Reads the ancillary data that the kernel wrote for a message.
///
/// # Safety
///
/// `header` has the control pointer and length as `recvmsg` left them: all items within the length
/// are initialized.
#[inline]
pub(super) unsafe fn read(header: &libc::msghdr) -> Beside {
    let mut beside = Beside::default();
    // SAFETY: the caller guarantees a valid header.
    let mut at = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !at.is_null() {
        // SAFETY: `at` is an item within the control bytes, as the two iterating functions check;
        // its header is initialized.
        let item = unsafe { at.read_unaligned() };
        // SAFETY: the item's value follows its header, and has the type that its level and type
        // say, which the kernel set.
        unsafe { beside.take((item.cmsg_level, item.cmsg_type), libc::CMSG_DATA(at)) };
        // SAFETY: as for the first.
        at = unsafe { libc::CMSG_NXTHDR(header, at) };
    }
    beside
}

impl Beside {
    /// Stores one item, if it is one of those requested.
    ///
    /// # Safety
    ///
    /// `value` points to the value of an item of that level and type.
    unsafe fn take(&mut self, what: (libc::c_int, libc::c_int), value: *const u8) {
        match what {
            (libc::SOL_UDP, libc::UDP_GRO) => {
                // SAFETY: this item's value is an int.
                let bytes = unsafe { value.cast::<libc::c_int>().read_unaligned() };
                self.segment = usize::try_from(bytes).ok().filter(|&bytes| bytes > 0);
            }
            (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                // SAFETY: this item's value is an `in_pktinfo`.
                let info = unsafe { value.cast::<libc::in_pktinfo>().read_unaligned() };
                self.to = Some(Ipv4Addr::from(u32::from_be(info.ipi_spec_dst.s_addr)).into());
            }
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                // SAFETY: this item's value is an `in6_pktinfo`.
                let info = unsafe { value.cast::<libc::in6_pktinfo>().read_unaligned() };
                self.to = Some(Ipv6Addr::from(info.ipi6_addr.s6_addr).into());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_back(control: &mut Control, bytes: usize) -> Beside {
        // SAFETY: a zeroed header is valid: it contains no pointers.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_control = control.0.as_mut_ptr().cast();
        header.msg_controllen = bytes as _;
        // SAFETY: the control bytes were written by `fill`.
        unsafe { read(&header) }
    }

    #[test]
    fn a_local_address_is_read_as_it_was_written() {
        for text in ["127.0.0.2", "::1"] {
            let mut control = Control::EMPTY;
            let from = Some(text.parse().unwrap());
            let used = control.fill(Some(64), from);
            assert!(used <= CONTROL_BYTES);
            // The segment length of a send is another item than that of a receive.
            assert_eq!(read_back(&mut control, used), Beside { segment: None, to: from });
        }
    }

    #[test]
    fn nothing_beside_takes_no_bytes() {
        let mut control = Control::EMPTY;
        assert_eq!(control.fill(None, None), 0);
        assert_eq!(read_back(&mut control, 0), Beside::default());
    }

    #[test]
    fn a_segment_length_on_its_way_in_is_an_int() {
        let mut control = Control::EMPTY;
        let used = control.push(0, (libc::SOL_UDP, libc::UDP_GRO), 1200 as libc::c_int);
        assert_eq!(read_back(&mut control, used), Beside { segment: Some(1200), to: None });
    }
}

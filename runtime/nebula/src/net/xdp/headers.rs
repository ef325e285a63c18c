//! Reads and writes the Ethernet, IPv4 and UDP headers of a frame (IEEE 802.3, RFC 791, RFC 768).

use std::net::{Ipv4Addr, SocketAddrV4};

/// Bytes of the headers of Ethernet, IPv4 and UDP.
pub(super) const HEADER_BYTES: usize = 14 + 20 + 8;

pub(super) const ETHERNET_BYTES: usize = 14;

const IP_AT: usize = ETHERNET_BYTES;
const UDP_AT: usize = 34;

pub(super) type Mac = [u8; 6];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) from_mac: Mac,
    pub(super) to_mac: Mac,
    pub(super) from: SocketAddrV4,
    pub(super) to: SocketAddrV4,
}

/// Writes the headers into the first [`HEADER_BYTES`] of `frame`, around its payload. Panics if the
/// frame is shorter than them or longer than an IP packet.
pub(super) fn write(frame: &mut [u8], ends: &Ends) {
    let ip_bytes = u16::try_from(frame.len() - IP_AT).expect("a frame is shorter than an IP packet may be");
    let udp_bytes = ip_bytes - 20;
    frame[..6].copy_from_slice(&ends.to_mac);
    frame[6..12].copy_from_slice(&ends.from_mac);
    frame[12..14].copy_from_slice(&[0x08, 0x00]);
    let ip = &mut frame[IP_AT..UDP_AT];
    ip.copy_from_slice(&[0x45, 0, 0, 0, 0, 0, DO_NOT_FRAGMENT, 0, HOPS, UDP, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    ip[2..4].copy_from_slice(&ip_bytes.to_be_bytes());
    ip[12..16].copy_from_slice(&ends.from.ip().octets());
    ip[16..20].copy_from_slice(&ends.to.ip().octets());
    let checksum = !fold(sum(ip));
    ip[10..12].copy_from_slice(&checksum.to_ne_bytes());
    let pseudo = pseudo_header(*ends.from.ip(), *ends.to.ip(), udp_bytes);
    let udp = &mut frame[UDP_AT..];
    udp[0..2].copy_from_slice(&ends.from.port().to_be_bytes());
    udp[2..4].copy_from_slice(&ends.to.port().to_be_bytes());
    udp[4..6].copy_from_slice(&udp_bytes.to_be_bytes());
    udp[6..8].copy_from_slice(&[0, 0]);
    let checksum = !fold(pseudo + sum(udp));
    // 0 means "no checksum".
    let checksum = if checksum == 0 { u16::MAX } else { checksum };
    udp[6..8].copy_from_slice(&checksum.to_ne_bytes());
}

const DO_NOT_FRAGMENT: u8 = 0x40;
const HOPS: u8 = 64;
const UDP: u8 = 17;

/// The ends of a datagram, and its bytes. `None` if it is incomplete or its checksum is wrong.
pub(super) fn read(frame: &mut [u8]) -> Option<(Ends, &mut [u8])> {
    let header: &[u8; HEADER_BYTES] = frame.first_chunk()?;
    let half = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let ip = |at: usize| Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]);
    let is_udp =
        half(12) == 0x0800 && header[IP_AT] == 0x45 && half(IP_AT + 6) & 0x3fff == 0 && header[IP_AT + 9] == UDP;
    let (ip_bytes, udp_bytes) = (usize::from(half(IP_AT + 2)), usize::from(half(UDP_AT + 4)));
    let is_whole = IP_AT + ip_bytes <= frame.len() && udp_bytes >= 8 && 20 + udp_bytes == ip_bytes;
    if !is_udp || !is_whole || fold(sum(&header[IP_AT..UDP_AT])) != u16::MAX {
        return None;
    }
    let ends = Ends {
        to_mac: header[0..6].try_into().ok()?,
        from_mac: header[6..12].try_into().ok()?,
        from: SocketAddrV4::new(ip(IP_AT + 12), half(UDP_AT)),
        to: SocketAddrV4::new(ip(IP_AT + 16), half(UDP_AT + 2)),
    };
    let written = u16::from_ne_bytes([header[UDP_AT + 6], header[UDP_AT + 7]]);
    let pseudo = pseudo_header(*ends.from.ip(), *ends.to.ip(), half(UDP_AT + 4));
    let datagram = &mut frame[UDP_AT..UDP_AT + udp_bytes];
    // A sender on the same machine leaves the data's sum to a device that the frame never meets.
    let is_right = written == 0 || fold(pseudo + sum(datagram)) == u16::MAX || written == fold(pseudo);
    is_right.then_some((ends, &mut datagram[8..]))
}

/// The sum over the pseudo header, which the UDP checksum covers too.
fn pseudo_header(from: Ipv4Addr, to: Ipv4Addr, udp_bytes: u16) -> u64 {
    let bytes = udp_bytes.to_be_bytes();
    sum(&from.octets()) + sum(&to.octets()) + sum(&[0, UDP]) + sum(&bytes)
}

/// The sum of pairs of bytes in the machine's byte order, which does not matter (RFC 1071 §2).
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let mut end = [0; 4];
    end[..rest.len()].copy_from_slice(rest);
    // No overflow: 2^32 words of 32 bits would fit.
    words.iter().map(|&word| u64::from(u32::from_ne_bytes(word))).sum::<u64>() + u64::from(u32::from_ne_bytes(end))
}

fn fold(mut sum: u64) -> u16 {
    for _ in 0..4 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::try_from(sum).expect("four carries are all")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends() -> Ends {
        Ends {
            from_mac: [2, 1, 1, 1, 1, 1],
            to_mac: [2, 2, 2, 2, 2, 2],
            from: "10.0.0.1:40000".parse().unwrap(),
            to: "10.0.0.2:7400".parse().unwrap(),
        }
    }

    fn frame(payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; HEADER_BYTES];
        frame.extend(payload);
        write(&mut frame, &ends());
        frame
    }

    fn checksum(parts: &[&[u8]]) -> u16 {
        let mut sum = 0_u32;
        for pair in parts.concat().chunks(2) {
            sum += u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| low.into());
        }
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !u16::try_from(sum).unwrap()
    }

    #[test]
    fn what_is_written_is_read_and_what_is_changed_is_not() {
        nebula_testing::seeded(|u| {
            let payload = &u.arbitrary::<Vec<u8>>()?;
            let payload = &payload[..payload.len().min(1400)];
            let mut bytes = frame(payload);
            let length = (payload.len() + 8).to_be_bytes();
            assert_eq!(checksum(&[&bytes[14..34]]), 0);
            assert_eq!(checksum(&[&bytes[26..34], &[0, 17], &length[6..], &bytes[34..]]), 0);

            let at = u.int_in_range(14..=bytes.len() - 1)?;
            let mut changed = bytes.clone();
            changed[at] ^= u.int_in_range(1..=255)?;
            assert!((40..42).contains(&at) || read(&mut changed).is_none(), "byte {at}");
            assert_eq!(read(&mut bytes[..at].to_vec()), None);

            bytes.resize(bytes.len() + u.int_in_range(0..=40)?, 0xee);
            let (found, datagram) = read(&mut bytes).unwrap();
            assert_eq!((found, &*datagram), (ends(), payload));
            Ok(())
        });
    }

    #[test]
    fn no_bytes_make_it_panic() {
        nebula_testing::seeded(|u| {
            let mut bytes = frame(b"some");
            for _ in 0..u.int_in_range(0..=8)? {
                let at = u.choose_index(bytes.len())?;
                bytes[at] = u.arbitrary()?;
            }
            bytes.truncate(u.int_in_range(0..=bytes.len())?);
            if let Some((_, datagram)) = read(&mut bytes) {
                assert!(datagram.len() <= 4);
            }
            Ok(())
        });
    }

    #[test]
    fn a_checksum_that_a_device_was_to_make_is_taken() {
        let mut bytes = frame(b"sent on this machine");
        let length = u16::try_from(8 + 20).unwrap();
        let partial = fold(pseudo_header(*ends().from.ip(), *ends().to.ip(), length));
        bytes[40..42].copy_from_slice(&partial.to_ne_bytes());
        assert_eq!(read(&mut bytes).unwrap().1, b"sent on this machine");
        bytes[40..42].copy_from_slice(&[0, 0]);
        assert!(read(&mut bytes).is_some());
        bytes[40..42].copy_from_slice(&(partial ^ 1).to_ne_bytes());
        assert!(read(&mut bytes).is_none());
    }
}

//! Frames that the tests send, made and checked byte by byte.

use nebula_nf::{Endpoint, Protocol};

pub(crate) fn end(text: &str) -> Endpoint {
    let address: std::net::SocketAddrV4 = text.parse().unwrap();
    Endpoint { ip: *address.ip(), port: address.port() }
}

/// A frame with right checksums.
pub(crate) fn frame(protocol: Protocol, from: Endpoint, to: Endpoint, payload: &[u8]) -> Vec<u8> {
    let mut carried = match protocol {
        Protocol::Udp => {
            let bytes = u16::try_from(8 + payload.len()).unwrap();
            [from.port.to_be_bytes(), to.port.to_be_bytes(), bytes.to_be_bytes(), [0, 0]].concat()
        }
        Protocol::Tcp => {
            let ports = [from.port.to_be_bytes(), to.port.to_be_bytes()].concat();
            [&ports[..], &[0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 1, 0, 0, 0, 0, 0]].concat()
        }
        _ => Vec::new(),
    };
    carried.extend(payload);
    let bytes = u16::try_from(20 + carried.len()).unwrap().to_be_bytes();
    let mut frame = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0].to_vec();
    frame.extend([0x45, 0, bytes[0], bytes[1], 0, 7, 0x40, 0, 64, protocol.number(), 0, 0]);
    frame.extend(from.ip.octets().into_iter().chain(to.ip.octets()));
    frame.extend(carried);
    set_ip_checksum(&mut frame);
    if let Some(at) = checksum_at(protocol) {
        let checksum = match !carried_sum(&frame) {
            0 if protocol == Protocol::Udp => u16::MAX,
            checksum => checksum,
        };
        frame[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    }
    frame
}

/// Makes the checksum of the IP header right.
pub(crate) fn set_ip_checksum(frame: &mut [u8]) {
    frame[24..26].fill(0);
    let checksum = !sum(&[&frame[14..34]]);
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
}

/// Where the checksum of UDP or TCP stands.
pub(crate) fn checksum_at(protocol: Protocol) -> Option<usize> {
    match protocol {
        Protocol::Udp => Some(40),
        Protocol::Tcp => Some(50),
        _ => None,
    }
}

/// The sum over what the checksum of UDP or TCP covers, itself included; for a frame without IP
/// options and padding.
pub(crate) fn carried_sum(frame: &[u8]) -> u16 {
    let bytes = u16::try_from(frame.len() - 34).unwrap().to_be_bytes();
    sum(&[&frame[26..34], &[0, frame[23]], &bytes, &frame[34..]])
}

/// Whether both checksums are right: a sum of all ones.
pub(crate) fn is_right(frame: &[u8]) -> bool {
    let is_carried_right = match Protocol::from_number(frame[23]) {
        Protocol::Udp if frame[40..42] == [0, 0] => true,
        Protocol::Udp | Protocol::Tcp => carried_sum(frame) == u16::MAX,
        _ => true,
    };
    sum(&[&frame[14..34]]) == u16::MAX && is_carried_right
}

/// The ones' complement sum (RFC 1071), a byte at a time. All parts but the last have an even
/// length.
fn sum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u64;
    for part in parts {
        for (at, &byte) in part.iter().enumerate() {
            sum += u64::from(byte) << if at % 2 == 0 { 8 } else { 0 };
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::try_from(sum).unwrap()
}

//! Packets are read as they are, and what is rewritten has right checksums.

use crate::frames::{carried_sum, checksum_at, end, frame, is_right};
use nebula_nf::{BadPacket, Endpoint, Packet, Protocol, flow_hash};

fn drawn_end(u: &mut nebula_testing::arbitrary::Unstructured<'_>) -> nebula_testing::arbitrary::Result<Endpoint> {
    Ok(Endpoint { ip: u.arbitrary::<u32>()?.into(), port: u.arbitrary()? })
}

#[test]
fn what_is_rewritten_is_what_it_would_have_been_made_as() {
    nebula_testing::seeded(|u| {
        let protocol = *u.choose(&[Protocol::Udp, Protocol::Tcp, Protocol::Icmp, Protocol::Other(47)])?;
        let [from, to, new_from, new_to] = [drawn_end(u)?, drawn_end(u)?, drawn_end(u)?, drawn_end(u)?];
        let payload: Vec<u8> = u.arbitrary()?;
        let payload = &payload[..payload.len().min(1400)];
        let mut bytes = frame(protocol, from, to, payload);
        bytes.extend([0xee; 7]);
        let mut packet = Packet::parse(&mut bytes).unwrap();
        let portless = |end: Endpoint| if packet.has_ports() { end } else { Endpoint { port: 0, ..end } };
        let expected = [portless(from), portless(to)];
        assert_eq!([packet.flow().from, packet.flow().to], expected);
        packet.set_source(new_from);
        packet.set_destination(new_to);
        assert!(packet.hop());
        let left = packet.bytes();
        bytes.truncate(left);
        assert!(is_right(&bytes), "{protocol}");
        let mut made = frame(protocol, new_from, new_to, payload);
        assert_eq!(made[22], 64);
        let mut packet = Packet::parse(&mut made).unwrap();
        assert!(packet.hop());
        // A sum of zero can be written in two ways, which mean the same.
        let bare = |bytes: &[u8]| {
            let mut bare = bytes.to_vec();
            bare[24..26].fill(0);
            if let Some(at) = checksum_at(protocol) {
                bare[at..at + 2].fill(0);
            }
            bare
        };
        assert_eq!(bare(&bytes), bare(&made), "{protocol}");
        Ok(())
    });
}

#[test]
fn no_bytes_make_it_panic_and_damage_stays_recognizable() {
    nebula_testing::seeded(|u| {
        let protocol = *u.choose(&[Protocol::Udp, Protocol::Tcp])?;
        let mut bytes = frame(protocol, drawn_end(u)?, drawn_end(u)?, b"some payload");
        let at = u.int_in_range(14..=bytes.len() - 1)?;
        bytes[at] ^= u.int_in_range(1..=255)?;
        let was_right = is_right(&bytes);
        let is_udp_without = protocol == Protocol::Udp && bytes[40..42] == [0, 0];
        let mut rewritten = bytes.clone();
        if let Ok(mut packet) = Packet::parse(&mut rewritten) {
            let is_same = packet.flow().protocol == protocol && packet.has_ports();
            packet.set_source(end("192.0.2.1:4000"));
            let bytes = packet.bytes();
            if is_same && rewritten[14] == 0x45 && !is_udp_without {
                assert_eq!(is_right(&rewritten[..bytes]), was_right, "byte {at}");
            }
        }
        bytes.truncate(u.int_in_range(0..=bytes.len())?);
        let _ = flow_hash(&bytes);
        let _ = Packet::parse(&mut bytes);
        Ok(())
    });
}

#[test]
fn a_checksum_that_a_device_was_to_make_is_completed() {
    for protocol in [Protocol::Udp, Protocol::Tcp] {
        let right = frame(protocol, end("10.1.0.2:4000"), end("10.2.0.2:53"), b"sent on this machine");
        let at = if protocol == Protocol::Udp { 40 } else { 50 };
        let mut partial = right.clone();
        // What is left where everything but the addresses, the protocol and the length is zero.
        let mut bare = right.clone();
        bare[34..].fill(0);
        partial[at..at + 2].copy_from_slice(&carried_sum(&bare).to_be_bytes());
        assert!(!is_right(&partial));
        Packet::parse(&mut partial).unwrap();
        assert_eq!(partial, right);
    }
}

#[test]
fn udp_without_a_checksum_gets_none() {
    let mut bytes = frame(Protocol::Udp, end("10.1.0.2:4000"), end("10.2.0.2:53"), b"?");
    bytes[40..42].fill(0);
    let mut packet = Packet::parse(&mut bytes).unwrap();
    packet.set_source(end("192.0.2.1:5000"));
    assert!(bytes[40..42] == [0, 0] && is_right(&bytes));
}

#[test]
fn what_contradicts_itself_is_no_packet() {
    let good = frame(Protocol::Udp, end("10.1.0.2:4000"), end("10.2.0.2:53"), b"?");
    let parsed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        Packet::parse(&mut bytes).map(drop)
    };
    assert_eq!(parsed(&|_| ()), Ok(()));
    assert_eq!(parsed(&|bytes| bytes[13] = 6), Err(BadPacket::NotIpv4));
    for bytes_left in [13, 33, 40] {
        assert_eq!(parsed(&|bytes| bytes.truncate(bytes_left)), Err(BadPacket::Malformed));
    }
    // The version, a hop that the checksum has not seen, the length of the datagram.
    for at in [14, 22, 39] {
        assert_eq!(parsed(&|bytes| bytes[at] ^= 0x20), Err(BadPacket::Malformed));
    }
}

#[test]
fn flows_have_hashes_and_packets_of_one_have_the_same() {
    let hash = |from: &str, to: &str, payload: &[u8]| flow_hash(&frame(Protocol::Udp, end(from), end(to), payload));
    let first = hash("10.1.0.2:4000", "10.2.0.2:53", b"a");
    assert_eq!(first, hash("10.1.0.2:4000", "10.2.0.2:53", b"another"));
    let others = [("10.1.0.2:4001", "10.2.0.2:53"), ("10.1.0.3:4000", "10.2.0.2:53"), ("10.2.0.2:53", "10.1.0.2:4000")];
    assert!(others.iter().all(|(from, to)| hash(from, to, b"a") != first));
    let mut bytes = frame(Protocol::Udp, end("10.1.0.2:4000"), end("10.2.0.2:53"), b"a");
    assert_eq!(Packet::parse(&mut bytes).unwrap().flow().hash(), first);
}

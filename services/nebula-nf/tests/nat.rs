//! A NAT gives each end inside a port of its shard, and that end what comes to the port, as a map
//! says in which nothing is forgotten.

use crate::frames::{end, frame, is_right};
use nebula_nf::nat::{FIRST_PORT, Nat, Ports};
use nebula_nf::{Direction, DropReason, Endpoint, Function, Packet, Protocol};
use nebula_nic::{Span, Timestamp};
use std::collections::BTreeMap;

const ADDRESS: &str = "192.0.2.1:0";
const REMOTE: &str = "198.51.100.7:53";

/// Sends a packet through; where it comes from and goes to then.
fn through(
    nat: &mut Nat,
    now: Timestamp,
    direction: Direction,
    bytes: &mut [u8],
) -> Result<(Endpoint, Endpoint), DropReason> {
    let mut packet = Packet::parse(bytes).unwrap();
    nat.handle(now, direction, &mut packet)?;
    let flow = *packet.flow();
    assert!(is_right(bytes));
    Ok((flow.from, flow.to))
}

fn out(nat: &mut Nat, now: Timestamp, protocol: Protocol, from: Endpoint) -> Result<Endpoint, DropReason> {
    let mut bytes = frame(protocol, from, end(REMOTE), b"out");
    through(nat, now, Direction::Outward, &mut bytes).map(|(from, to)| {
        assert_eq!(to, end(REMOTE));
        from
    })
}

fn back(nat: &mut Nat, now: Timestamp, protocol: Protocol, to: Endpoint) -> Result<Endpoint, DropReason> {
    let mut bytes = frame(protocol, end(REMOTE), to, b"back");
    through(nat, now, Direction::Inward, &mut bytes).map(|(_, to)| to)
}

#[test]
fn ends_have_ports_and_answers_find_them() {
    nebula_testing::seeded(|u| {
        // The last shard of many, whose ports are few: 64,512 over 16,128.
        let shards = 16_128;
        let mut nat = Nat::new(end(ADDRESS).ip, Ports::of_shard(shards - 1, shards));
        let mut model: BTreeMap<(Protocol, Endpoint), (u16, Timestamp)> = BTreeMap::new();
        let mut now = Timestamp::ZERO;
        while !u.is_empty() {
            now += Span::from_secs(u.int_in_range(0..=100)?);
            model.retain(|_, entry| entry.1 > now);
            let protocol = *u.choose(&[Protocol::Udp, Protocol::Tcp])?;
            let idle = Span::from_secs(if protocol == Protocol::Udp { 300 } else { 7440 });
            let inside = Endpoint { ip: [10, 0, 0, u.int_in_range(0..=1)?].into(), port: u.int_in_range(1..=4)? };
            if u.arbitrary()? {
                let of_protocol = model.keys().filter(|key| key.0 == protocol).count();
                match out(&mut nat, now, protocol, inside) {
                    Ok(outside) => {
                        assert_eq!(outside.ip, end(ADDRESS).ip);
                        assert_eq!(Ports::shard_of(outside.port, shards), shards - 1);
                        let known = model.insert((protocol, inside), (outside.port, now + idle));
                        assert!(known.is_none_or(|known| known.0 == outside.port), "it keeps its port");
                    }
                    Err(reason) => {
                        assert_eq!((reason, of_protocol), (DropReason::NatExhausted, 4));
                        assert!(!model.contains_key(&(protocol, inside)));
                    }
                }
            } else {
                let port = u16::MAX - u.int_in_range(0..=5)?;
                let owner =
                    model.iter().find(|(key, entry)| key.0 == protocol && entry.0 == port).map(|(key, _)| key.1);
                let answer = back(&mut nat, now, protocol, Endpoint { ip: end(ADDRESS).ip, port });
                assert_eq!(answer, owner.ok_or(DropReason::NatUnknown));
            }
        }
        Ok(())
    });
}

#[test]
fn shards_divide_the_ports_among_them() {
    for shards in [1, 2, 3, 16, 64] {
        let mut last = 0;
        for port in FIRST_PORT..=u16::MAX {
            let shard = Ports::shard_of(port, shards);
            assert!(shard == last || shard == last + 1, "port {port}");
            last = shard;
        }
        assert_eq!(last, shards - 1);
    }
}

#[test]
fn what_has_no_ports_is_dropped_and_what_is_for_others_passes() {
    let mut nat = Nat::new(end(ADDRESS).ip, Ports::of_shard(0, 1));
    let now = Timestamp::ZERO;
    assert_eq!(out(&mut nat, now, Protocol::Icmp, end("10.0.0.1:0")), Err(DropReason::NatProtocol));
    assert_eq!(back(&mut nat, now, Protocol::Icmp, end(ADDRESS)), Err(DropReason::NatProtocol));
    assert_eq!(back(&mut nat, now, Protocol::Udp, end("192.0.2.1:80")), Err(DropReason::NatUnknown));
    assert_eq!(back(&mut nat, now, Protocol::Udp, end("10.0.0.1:80")), Ok(end("10.0.0.1:80")));
}

#[test]
fn a_connection_that_ends_gives_its_port_up_soon() {
    let mut nat = Nat::new(end(ADDRESS).ip, Ports::of_shard(0, 1));
    let at = |secs| Timestamp::ZERO + Span::from_secs(secs);
    let outside = out(&mut nat, at(0), Protocol::Tcp, end("10.0.0.1:4000")).unwrap();
    assert!(back(&mut nat, at(7000), Protocol::Tcp, outside).is_ok());
    let mut fin = frame(Protocol::Tcp, end(REMOTE), outside, b"");
    // The flag, and what it takes from the checksum.
    fin[47] |= 1;
    let checksum = u16::from_be_bytes([fin[50], fin[51]]).wrapping_sub(1);
    fin[50..52].copy_from_slice(&checksum.to_be_bytes());
    through(&mut nat, at(7000), Direction::Inward, &mut fin).unwrap();
    assert!(back(&mut nat, at(7239), Protocol::Tcp, outside).is_ok());
    assert_eq!(back(&mut nat, at(7240), Protocol::Tcp, outside), Err(DropReason::NatUnknown));
}

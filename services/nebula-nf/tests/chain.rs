//! Chains: what a user writes, in which order functions are met, and that every packet is counted
//! once.

use crate::frames::{end, frame, is_right, set_ip_checksum};
use nebula_nf::{Chain, ChainConfig, Direction, DropReason, Endpoint, Packet, Protocol};
use nebula_nic::Timestamp;

const RULES: &str = "deny udp 10.1.0.9 -> any\nallow udp 10.0.0.0/8 -> any 53\nallow udp any 53 -> 10.0.0.0/8\n";
const ALL: &str = "firewall:rules, nat:192.0.2.1, lb:10.9.0.1:53=10.2.0.2:53+10.2.0.3:53, counter";

fn config(text: &str) -> ChainConfig {
    ChainConfig::parse(text, |file| if file == "rules" { Ok(RULES.to_owned()) } else { Err("not there".to_owned()) })
        .unwrap()
}

fn through(chain: &mut Chain, direction: Direction, from: &str, to: &str) -> Result<(Endpoint, Endpoint), DropReason> {
    let mut bytes = frame(Protocol::Udp, end(from), end(to), b"?");
    let length = bytes.len();
    bytes.extend([0; 18]);
    let left = chain.handle(Timestamp::ZERO, direction, &mut bytes)?;
    bytes.truncate(left);
    assert!(left == length && is_right(&bytes) && bytes[22] == 63, "padding goes, and a hop");
    let flow = *Packet::parse(&mut bytes).unwrap().flow();
    Ok((flow.from, flow.to))
}

#[test]
fn an_answer_is_undone_what_was_done_to_its_question() {
    let mut chain = config(ALL).shard(0, 1);
    let (outside, backend) = through(&mut chain, Direction::Outward, "10.1.0.2:4000", "10.9.0.1:53").unwrap();
    assert_eq!((outside.ip, backend.ip.octets()[..3].to_vec()), ([192, 0, 2, 1].into(), vec![10, 2, 0]));
    let answer = through(&mut chain, Direction::Inward, &backend.to_string(), &outside.to_string());
    assert_eq!(answer, Ok((end("10.9.0.1:53"), end("10.1.0.2:4000"))));
    let (total, flows) = chain.counter().map(|counter| (counter.total(), counter.flows())).unwrap();
    assert_eq!((total.packets, total.bytes, flows.len()), (2, 2 * 43, 2));
}

#[test]
fn every_packet_passes_or_is_dropped_for_one_reason() {
    let mut chain = config(ALL).shard(0, 1);
    let bad = |chain: &mut Chain, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = frame(Protocol::Udp, end("10.1.0.2:4000"), end("10.9.0.1:53"), b"?");
        change(&mut bytes);
        set_ip_checksum(&mut bytes);
        chain.handle(Timestamp::ZERO, Direction::Outward, &mut bytes).unwrap_err()
    };
    assert!(through(&mut chain, Direction::Outward, "10.1.0.2:4000", "8.8.8.8:53").is_ok());
    let reasons = [
        bad(&mut chain, &|bytes| bytes[12] = 0x86),
        bad(&mut chain, &|bytes| bytes[39] = 200),
        bad(&mut chain, &|bytes| bytes[20] = 0x20),
        bad(&mut chain, &|bytes| bytes[22] = 1),
        through(&mut chain, Direction::Outward, "10.1.0.9:4000", "8.8.8.8:53").unwrap_err(),
        through(&mut chain, Direction::Inward, "8.8.8.8:53", "192.0.2.1:9").unwrap_err(),
    ];
    use DropReason::{Firewall, Fragment, HopLimit, Malformed, NatUnknown, NotIpv4};
    assert_eq!(reasons, [NotIpv4, Malformed, Fragment, HopLimit, Firewall, NatUnknown]);
    let dropped: u64 = DropReason::ALL.iter().map(|&reason| chain.dropped(reason)).sum();
    assert_eq!((chain.passed(), dropped), (1, 6));
    assert!(reasons.iter().all(|&reason| chain.dropped(reason) == 1));
}

#[test]
fn a_packet_from_nobody_is_dropped_in_both_directions() {
    for direction in [Direction::Outward, Direction::Inward] {
        let mut chain = config("counter").shard(0, 1);
        for from in ["127.0.0.1", "127.9.9.9", "224.0.0.1", "239.255.255.255", "255.255.255.255", "0.0.0.0", "8.8.8.8"]
        {
            let dropped = through(&mut chain, direction, &format!("{from}:53"), "8.8.8.8:53");
            assert_eq!(dropped, Err(DropReason::BadSource), "{from}");
        }
        for from in ["126.255.255.255", "128.0.0.1", "223.255.255.255", "8.8.8.9", "1.0.0.0"] {
            assert!(through(&mut chain, direction, &format!("{from}:53"), "8.8.8.8:53").is_ok(), "{from}");
        }
        assert_eq!((chain.passed(), chain.dropped(DropReason::BadSource)), (5, 7));
    }
}

#[test]
fn a_flow_and_what_answers_it_are_of_one_shard() {
    for text in [ALL, "lb:10.9.0.1:53=10.2.0.2:53+10.2.0.3:53,nat:192.0.2.1", "counter"] {
        let (config, shards) = (config(text), 8);
        let mut chains: Vec<_> = (0..shards).map(|shard| config.shard(shard, shards)).collect();
        for port in 4000..4200 {
            let from = Endpoint { ip: [10, 1, 0, 2].into(), port };
            let mut bytes = frame(Protocol::Udp, from, end("10.9.0.1:53"), b"?");
            let packet = Packet::parse(&mut bytes).unwrap();
            let shard = config.shard_of(Direction::Outward, &packet, shards);
            chains[shard as usize].handle(Timestamp::ZERO, Direction::Outward, &mut bytes).unwrap();
            let flow = *Packet::parse(&mut bytes).unwrap().flow();
            let mut answer = frame(Protocol::Udp, flow.to, flow.from, b"!");
            let packet = Packet::parse(&mut answer).unwrap();
            assert_eq!(config.shard_of(Direction::Inward, &packet, shards), shard);
            chains[shard as usize].handle(Timestamp::ZERO, Direction::Inward, &mut answer).unwrap();
            assert_eq!(Packet::parse(&mut answer).unwrap().flow().to, from);
        }
    }
}

#[test]
fn the_order_of_flows_is_kept_for_those_that_need_it() {
    for (text, keeps) in [("counter", false), ("firewall:rules", false), ("nat:1.2.3.4", true), (ALL, true)] {
        assert_eq!(config(text).keeps_order(), keeps, "{text}");
    }
    let addresses = config(ALL).addresses();
    assert_eq!(addresses, [[192, 0, 2, 1], [10, 9, 0, 1]].map(std::net::Ipv4Addr::from));
}

#[test]
fn what_is_no_chain_is_said_in_one_line() {
    for (text, why) in [
        ("", "unknown function"),
        ("counter,", "unknown function"),
        ("proxy:1", "unknown function \"proxy:1\""),
        ("firewall:gone", "cannot read gone: not there"),
        ("firewall:bad", "bad, line 2: expected allow"),
        ("nat:outside", "nat: expected the address"),
        ("nat:1.2.3.4,nat:1.2.3.5", "a chain has one nat"),
        ("lb:10.9.0.1:53", "lb: expected ADDRESS:PORT=ADDRESS:PORT"),
        ("lb:10.9.0.1:53=", "lb: expected ADDRESS:PORT=ADDRESS:PORT"),
        ("lb:10.9.0.1:53=10.2.0.2:0", "lb: expected ADDRESS:PORT=ADDRESS:PORT"),
        ("lb:10.9.0.1:53=10.2.0.2:53+10.2.0.2:53", "each once"),
    ] {
        let read = |file: &str| if file == "bad" { Ok("\npermit".to_owned()) } else { Err("not there".to_owned()) };
        let said = ChainConfig::parse(text, read).unwrap_err().to_string();
        assert!(said.contains(why) && !said.contains('\n'), "{text}: {said}");
    }
}

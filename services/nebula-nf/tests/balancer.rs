//! A balancer gives every backend an even share, clients keep theirs, and few change where backends
//! do.

use crate::frames::{end, frame, is_right};
use nebula_nf::lb::{BACKENDS_MAX, Backends, Balancer, Maglev};
use nebula_nf::{Direction, Endpoint, Function, Packet, Protocol};
use nebula_nic::{Span, Timestamp};
use std::sync::Arc;

const VIRTUAL: &str = "10.9.0.1:53";

fn backends(numbers: std::ops::Range<u16>) -> Vec<Endpoint> {
    let ip = |number: u16| std::net::Ipv4Addr::from(0x0a02_0000 | u32::from(number));
    numbers.map(|number| Endpoint { ip: ip(number), port: 53 }).collect()
}

fn balancer(backends: Vec<Endpoint>, clients_max: u32) -> Balancer {
    Balancer::new(Arc::new(Backends::new(end(VIRTUAL), backends)), clients_max)
}

fn client(number: u16) -> Endpoint {
    Endpoint { ip: [10, 1, 0, 2].into(), port: number }
}

fn through(
    balancer: &mut Balancer,
    now: u64,
    direction: Direction,
    from: Endpoint,
    to: Endpoint,
) -> (Endpoint, Endpoint) {
    let mut bytes = frame(Protocol::Udp, from, to, b"question");
    let mut packet = Packet::parse(&mut bytes).unwrap();
    balancer.handle(Timestamp::ZERO + Span::from_secs(now), direction, &mut packet).unwrap();
    let flow = *packet.flow();
    assert!(is_right(&bytes));
    (flow.from, flow.to)
}

fn ask(balancer: &mut Balancer, now: u64, number: u16) -> Endpoint {
    let (from, backend) = through(balancer, now, Direction::Outward, client(number), end(VIRTUAL));
    assert_eq!(from, client(number));
    let (answered_by, to) = through(balancer, now, Direction::Inward, backend, client(number));
    assert_eq!((answered_by, to), (end(VIRTUAL), client(number)), "an answer comes from where the question went");
    backend
}

#[test]
fn backends_have_even_shares_and_few_places_change() {
    for count in [1, 2, 7, BACKENDS_MAX] {
        let all = backends(0..u16::try_from(count).unwrap());
        let places = |maglev: &Maglev| (0..65_537).map(|hash| maglev.backend(hash)).collect::<Vec<_>>();
        let table = places(&Maglev::new(&all));
        let shares: Vec<_> =
            (0..count).map(|backend| table.iter().filter(|&&place| place == backend).count()).collect();
        assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1, "{shares:?}");
        let mut reversed = all.clone();
        reversed.reverse();
        assert!(table == places(&Maglev::new(&reversed)).iter().map(|place| count - 1 - place).collect::<Vec<_>>());
        if count > 1 {
            let fewer = places(&Maglev::new(&all[..count - 1]));
            let moved = table.iter().zip(&fewer).filter(|&(before, after)| before != after && *before != count - 1);
            assert!(moved.count() < 65_537 / 8, "of {count} backends one goes");
        }
    }
}

#[test]
fn a_client_keeps_its_backend_while_others_come() {
    let mut balancer = balancer(backends(0..3), 1000);
    let before: Vec<_> = (1..500).map(|number| ask(&mut balancer, 0, number)).collect();
    balancer.set_backends(Arc::new(Backends::new(end(VIRTUAL), backends(0..6))));
    let after: Vec<_> = (1..500).map(|number| ask(&mut balancer, 200, number)).collect();
    assert_eq!(before, after);
    // Silence of 300 s after that: they are new clients.
    let later: Vec<_> = (1..500).map(|number| ask(&mut balancer, 501, number)).collect();
    let moved = before.iter().zip(&later).filter(|(before, later)| before != later).count();
    assert!((150..350).contains(&moved), "half of the backends are new, and {moved} of 499 clients moved");
}

#[test]
fn a_client_whose_backend_has_gone_gets_another() {
    let mut balancer = balancer(backends(0..3), 1000);
    let before: Vec<_> = (1..500).map(|number| ask(&mut balancer, 0, number)).collect();
    balancer.set_backends(Arc::new(Backends::new(end(VIRTUAL), backends(1..3))));
    for (number, before) in (1..500).zip(before) {
        let after = ask(&mut balancer, 1, number);
        assert!(if backends(0..1).contains(&before) { backends(1..3).contains(&after) } else { after == before });
    }
}

#[test]
fn with_more_clients_than_it_knows_the_hash_decides() {
    let (mut one, mut many) = (balancer(backends(0..5), 1), balancer(backends(0..5), 1000));
    for number in 1..200 {
        assert_eq!(ask(&mut one, 0, number), ask(&mut many, 0, number));
    }
}

#[test]
fn what_is_not_for_the_virtual_address_is_left_alone() {
    let mut balancer = balancer(backends(0..2), 10);
    for (direction, from, to) in [
        (Direction::Outward, client(1), end("10.9.0.1:54")),
        (Direction::Outward, client(1), end("10.2.0.0:53")),
        (Direction::Inward, end("10.7.0.7:53"), client(1)),
    ] {
        assert_eq!(through(&mut balancer, 0, direction, from, to), (from, to));
    }
}

//! One-sided operations over UDP, datagram by datagram: repetitions, invalid operations, and a link
//! that loses and doubles.

use crate::support::by_hand::ByHand;
use crate::support::patient_client;
use crate::support::relay::{Link, Relay};
use crate::support::udp_raw::{Answer, Packet, RawClient};
use nebula::{Client, Endpoint, Region, RegionId, Registered, Reply, Rights, Server, Status};
use nebula_nic::{Access, AccessKind, AccessRefusal};
use nebula_testing::wait::{Limit, Watchdog};

const REGION: RegionId = RegionId(0);
const ALL: Rights = Rights::from_bits(3);

/// A server of a 128-byte region on the test's thread.
fn scene() -> (ByHand, RawClient, Region) {
    let region = Region::create(128).expect("memory");
    let mut scene = ByHand::open(|config| config.regions = vec![Registered::new(region.clone(), ALL)]);
    let client = scene.client();
    (scene, client, region)
}

/// An operation on the wire: a request of another kind.
fn operation(tid: u32, stamp_ns: u64, access: &Access, data: &[u8]) -> Vec<u8> {
    message(tid, stamp_ns, &[&access.encode()[..], data].concat())
}

fn message(tid: u32, stamp_ns: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Packet::whole(tid, stamp_ns, payload).bytes();
    bytes[0] = 8;
    bytes
}

fn access(kind: AccessKind, at: u64, bytes: u32) -> Access {
    Access { kind, region: REGION, at, bytes }
}

const READ: AccessKind = AccessKind::Read { version_at: None };

fn answer(tid: u32, payload: &[u8]) -> Answer {
    let rpc_bytes = u32::try_from(payload.len()).expect("short");
    Answer::Reply { tid, rpc_bytes, pkt_idx: 0, payload: payload.to_vec() }
}

fn refused(tid: u32, refusal: AccessRefusal) -> Answer {
    answer(tid, &[refusal.code(), 0, 0, 0, 0, 0, 0, 0])
}

const DONE: [u8; 8] = [0; 8];

#[test]
fn a_write_that_comes_again_is_answered_and_not_written_again() {
    let (mut scene, mut client, region) = scene();
    let write = operation(1, scene.now_ns(), &access(AccessKind::Write, 8, 3), b"one");
    assert_eq!(scene.ask(&mut client, &write), [answer(1, &DONE)]);
    region.write(8, b"two").unwrap();
    for _ in 0..3 {
        assert_eq!(scene.ask(&mut client, &write), [answer(1, &DONE)]);
    }
    let mut there = [0; 3];
    region.read(8, &mut there).unwrap();
    assert_eq!(&there, b"two");
    assert_eq!((scene.executions(), scene.status().repeated), (0, 3), "no worker had any of it");
}

#[test]
fn a_swap_that_comes_again_shows_what_it_found_the_first_time() {
    let (mut scene, mut client, region) = scene();
    let kind = AccessKind::CompareSwap { expected: 0, desired: 7 };
    let swap = operation(1, scene.now_ns(), &access(kind, 16, 8), &[]);
    assert_eq!(scene.ask(&mut client, &swap), [answer(1, &[0; 16])]);
    assert_eq!(region.compare_swap(16, 7, 0), Ok(7));
    assert_eq!(scene.ask(&mut client, &swap), [answer(1, &[0; 16])]);
    assert_eq!(region.compare_swap(16, 9, 9), Ok(0), "it was not made again");
}

#[test]
fn a_write_that_is_forgotten_is_refused_and_never_written() {
    let (mut scene, mut client, region) = scene();
    let stamp = scene.now_ns();
    let write = |tid: u32, stamp_ns: u64| operation(tid, stamp_ns, &access(AccessKind::Write, 0, 1), b"x");
    assert_eq!(scene.ask(&mut client, &write(0, stamp)), [answer(0, &DONE)]);
    // The server remembers this many RPCs and changing operations.
    let remembered = 4096;
    for tid in 1..=remembered {
        scene.advance_us(1);
        let now = scene.now_ns();
        assert_eq!(scene.ask(&mut client, &write(tid, now)), [answer(tid, &DONE)]);
    }
    region.write(0, b"y").unwrap();
    let stale = Answer::Nack { tid: 0, reason: 5 };
    assert_eq!(scene.ask(&mut client, &write(0, stamp)), [stale]);
    let mut there = [0];
    region.read(0, &mut there).unwrap();
    assert_eq!(&there, b"y");
}

#[test]
fn reads_are_not_remembered_and_those_of_long_ago_are_not_answered() {
    let (mut scene, mut client, region) = scene();
    let read = operation(1, scene.now_ns(), &access(READ, 0, 8), &[]);
    assert_eq!(scene.ask(&mut client, &read), [answer(1, &[0; 16])]);
    region.write(0, &[1; 8]).unwrap();
    let now = [&DONE[..], &[1; 8]].concat();
    assert_eq!(scene.ask(&mut client, &read), [answer(1, &now)], "as it is by now");
    scene.advance_us(10_000_000);
    assert_eq!(scene.ask(&mut client, &read), []);
    let ahead = operation(2, scene.now_ns() + 3_000_000, &access(READ, 0, 8), &[]);
    assert_eq!(scene.ask(&mut client, &ahead), [], "of the future");
    assert_eq!(scene.status().violations, 1);
}

#[test]
fn what_is_no_operation_is_refused_or_counted_and_changes_nothing() {
    let (mut scene, mut client, region) = scene();
    let now = scene.now_ns();
    for (tid, at, bytes) in [(1, 65, 64), (2, u64::MAX, 8), (3, 128, 1)] {
        let answers = scene.ask(&mut client, &operation(tid, now, &access(READ, at, bytes), &[]));
        assert_eq!(answers, [refused(tid, AccessRefusal::Bounds)], "{bytes} at {at}");
    }
    let long = operation(4, now, &access(READ, 0, 65), &[]);
    assert_eq!(scene.ask(&mut client, &long), [refused(4, AccessRefusal::TooLong)]);
    let other = Access { region: RegionId(7), ..access(READ, 0, 8) };
    assert_eq!(scene.ask(&mut client, &operation(5, now, &other, &[])), [refused(5, AccessRefusal::Unknown)]);
    let short = operation(6, now, &access(AccessKind::Write, 0, 8), &[1; 7]);
    assert_eq!(scene.ask(&mut client, &short), [refused(6, AccessRefusal::Malformed)]);
    assert_eq!(scene.ask(&mut client, &message(7, now, b"no operation")), [refused(7, AccessRefusal::Malformed)]);

    // Several packets, too long, or a wrong length.
    let whole = operation(8, now, &access(AccessKind::Write, 0, 8), &[1; 8]);
    let changed = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        bytes
    };
    let too_long = message(9, now, &[2; 97]);
    for wrong in [changed(12, 1), changed(8, 41), too_long] {
        assert_eq!(scene.ask(&mut client, &wrong), []);
    }
    for cut in 1..whole.len() {
        assert_eq!(scene.ask(&mut client, &whole[..cut]), [], "cut to {cut}");
    }
    let status = scene.status();
    assert_eq!(status.violations, 3 + whole.len() as u64 - 1);
    assert_eq!((status.operations, status.operations_refused, status.offered()), (0, 7, 0));
    let mut there = [1; 128];
    region.read(0, &mut there).unwrap();
    assert_eq!(there, [0; 128]);
}

#[test]
fn operations_of_a_datagram_are_carried_out_in_their_order_beside_rpcs() {
    let (mut scene, mut client, _region) = scene();
    let now = scene.now_ns();
    let mut messages = Vec::new();
    for tid in 0..20 {
        let write = access(AccessKind::Write, 0, 8);
        messages.extend(operation(2 * tid, now, &write, &u64::from(tid).to_le_bytes()));
        messages.extend(operation(2 * tid + 1, now, &access(READ, 0, 8), &[]));
    }
    let answers = scene.ask(&mut client, &messages);
    let expected = (0..20).flat_map(|tid| {
        let read = [DONE, u64::from(tid).to_le_bytes()].concat();
        [answer(2 * tid, &DONE), answer(2 * tid + 1, &read)]
    });
    assert_eq!(answers, expected.collect::<Vec<_>>());
    scene.is_served(&mut client, 1000, 5);
}

#[test]
fn over_a_link_that_loses_doubles_and_reorders_every_change_is_made_once() {
    let _watchdog = Watchdog::new("over_a_link_that_loses_doubles_and_reorders_every_change_is_made_once");
    let region = Region::create(4096).expect("memory");
    let echo = |request: &[u8], reply: &mut Reply<'_>| reply.write(request);
    let server = Server::bind("udp://127.0.0.1:0").inline(true).register(&region, ALL).serve(echo).expect("a server");
    let &Endpoint::Udp(address) = server.endpoint() else { panic!("a udp endpoint") };
    let link = Link { lost: 80, doubled: 100, held_back: 100, changed: 20, ..Link::default() };
    let relay = Relay::start(address, link, 7);
    let config = patient_client().one_sided(true);
    let mut client = Client::connect_with(&format!("udp://{}", relay.address), config).expect("a client");
    let limit = Limit::new("a link that is bad");
    let is_bad = |status: Status| status.repeated > 0 && status.violations > 0;
    // Until the link has lost and changed some.
    let rounds = (0_u64..).take_while(|&round| round < 60 || !is_bad(server.status().read()));
    for round in rounds.inspect(|_| limit.check()) {
        // A second swap would see the result of the first, and a late copy of a write would restore
        // old bytes.
        let swap = client.compare_swap(REGION, 0, round, round + 1).expect("room");
        assert_eq!(client.finish(swap), Ok(&round.to_le_bytes()[..]));
        let data = [u8::try_from(round % 251).expect("a byte"); 200];
        let write = client.write(REGION, 100, &data).expect("room");
        assert_eq!(client.finish(write), Ok(&[][..]));
        let read = client.read(REGION, 100, 200).expect("room");
        assert_eq!(client.finish(read), Ok(&data[..]));
    }
    server.stop();
}

//! Flow controls of a client: which packets it sends, and when, with a scripted server and with
//! real ones.

use crate::support::draw::Draw;
use crate::support::message::{ACK, CANCEL, Message, REQUEST};
use crate::support::scene::Scene;
use crate::support::udp_raw::MTU;
use crate::support::{PATIENCE, echo, echo_sizes, roomy};
use nebula::{CallError, Client, ClientConfig, FlowKind, IdlePolicy, Server, SubmitError, Wait};
use nebula_testing::wait::Watchdog;
use std::collections::BTreeSet;

fn homa() -> ClientConfig {
    ClientConfig::default().flow(FlowKind::Homa)
}

/// The scripted server's side of one long request.
struct Receiver {
    packets: u16,
    arrived: BTreeSet<u16>,
    bytes: Vec<u8>,
    granted: u32,
}

impl Receiver {
    fn new(bytes: usize, granted: u32) -> Self {
        let packets = u16::try_from(bytes.div_ceil(MTU)).expect("few");
        Self { packets, arrived: BTreeSet::new(), bytes: vec![0; bytes], granted }
    }

    fn take(&mut self, packet: &Message) {
        assert!(packet.wants_grants && u32::from(packet.pkt_idx) < self.granted, "{packet:?} was not granted");
        let at = usize::from(packet.pkt_idx) * MTU;
        self.bytes[at..at + packet.payload.len()].copy_from_slice(&packet.payload);
        self.arrived.insert(packet.pkt_idx);
    }

    fn is_whole(&self) -> bool {
        self.arrived.len() == usize::from(self.packets)
    }

    fn acknowledge(&self, tid: u32) -> Message {
        let first = (0..self.packets).find(|packet| !self.arrived.contains(packet)).expect("one is missing");
        let is_here = |bit: &u16| self.arrived.contains(&(first + bit));
        let bitmap = (0..64).filter(is_here).fold(0, |bits, bit| bits | 1 << bit);
        Message { kind: ACK, tid, pkt_idx: first, bitmap, ..Message::default() }
    }
}

#[test]
fn under_homa_no_packet_goes_out_that_is_not_granted_and_a_grant_waits_for_nothing() {
    let mut scene = Scene::new(homa());
    let request = Draw::new(1).bytes(20 * MTU);
    let ticket = scene.client.submit(&request).expect("room");
    let sent = scene.on_their_way();
    let tid = sent[0].tid;
    let indices = |sent: &[Message]| sent.iter().map(|packet| packet.pkt_idx).collect::<Vec<_>>();
    assert_eq!(indices(&sent), [0, 1, 2, 3], "as many as the server takes unasked");
    assert!(sent[3].flag && sent.iter().all(|packet| packet.wants_grants));
    // Grants: without an acknowledgment, older, and repeated.
    scene.answer(&[Message::grant(tid, 6), Message::grant(tid, 5), Message::grant(tid, 6)]);
    assert_eq!(indices(&scene.sent()), [4, 5]);
    // The server grants more than the request has.
    scene.answer(&[Message::grant(tid, u32::MAX)]);
    assert_eq!(indices(&scene.sent()), (6..20).collect::<Vec<_>>());
    scene.answer(&[Message::reply(tid, b"thanks", 0, MTU)]);
    assert_eq!(scene.end(), Some((ticket, Ok(b"thanks".to_vec()))));
    // A short request needs no grant.
    scene.client.submit(b"short").expect("room");
    let sent = scene.on_their_way();
    assert!(sent.len() == 1 && !sent[0].wants_grants);
}

#[test]
fn who_is_granted_nothing_asks_ever_more_rarely_and_ends_when_the_server_is_silent() {
    let mut scene = Scene::new(homa());
    let ticket = scene.client.submit(&vec![1; 20 * MTU]).expect("room");
    let mut receiver = Receiver::new(20 * MTU, 4);
    let sent = scene.on_their_way();
    sent.iter().for_each(|packet| receiver.take(packet));
    scene.answer(&[receiver.acknowledge(sent[0].tid)]);
    let mut asked = Vec::new();
    for ms in 0..2000 {
        scene.pass_us(1000);
        let sent = scene.sent();
        assert!(sent.iter().all(|packet| packet.flag && packet.pkt_idx == 3), "the last that was sent: {sent:?}");
        if !sent.is_empty() {
            asked.push(ms);
            scene.answer(&[receiver.acknowledge(sent[0].tid)]);
        }
    }
    assert!((6..=12).contains(&asked.len()), "asked after {asked:?} ms");
    assert!(asked.windows(3).all(|three| three[2] - three[1] >= three[1] - three[0]), "{asked:?}");
    // Now the server is silent.
    let mut end = None;
    for _ in 0..60 {
        scene.pass_us(1_000_000);
        end = end.or(scene.end());
    }
    assert_eq!(end, Some((ticket, Err(CallError::TimedOut))));
}

#[test]
fn whatever_is_lost_of_packets_acknowledgments_and_grants_a_long_request_arrives() {
    for seed in 0..40 {
        let mut draw = Draw::new(seed);
        let mut scene = Scene::new(homa());
        let bytes = MTU + 1 + draw.below(150 * MTU);
        let request = draw.bytes(bytes);
        let ticket = scene.client.submit(&request).expect("room");
        let mut receiver = Receiver::new(request.len(), 4);
        let mut tid = 0;
        for round in 0.. {
            assert!(round < 20_000, "seed {seed}: {} of {} packets", receiver.arrived.len(), receiver.packets);
            for packet in scene.on_their_way() {
                assert_eq!(packet.kind, REQUEST);
                tid = packet.tid;
                if draw.once_in(5) {
                    continue;
                }
                receiver.take(&packet);
                if receiver.is_whole() {
                    break;
                }
                let came = u32::try_from(receiver.arrived.len()).expect("few");
                receiver.granted = receiver.granted.max(came + 1 + u32::try_from(draw.below(8)).expect("few"));
                let answers =
                    [packet.flag.then(|| receiver.acknowledge(tid)), Some(Message::grant(tid, receiver.granted))];
                let kept: Vec<Message> = answers.into_iter().flatten().filter(|_| !draw.once_in(4)).collect();
                scene.answer(&kept);
            }
            if receiver.is_whole() {
                break;
            }
            scene.pass_us(100);
            assert!(scene.end().is_none());
        }
        assert!(receiver.bytes == request, "seed {seed}");
        scene.answer(&[Message::reply(tid, b"thanks", 0, MTU)]);
        assert_eq!(scene.end(), Some((ticket, Ok(b"thanks".to_vec()))), "seed {seed}");
    }
}

#[test]
fn a_server_that_grants_nothing_is_told_apart_and_the_other_flow_controls_do_without() {
    let refused = || {
        let mut scene = Scene::outside(homa());
        scene.unscheduled = 0;
        let ticket = scene.client.submit(b"early").expect("room");
        assert!(scene.client.poll().is_none());
        assert_eq!(scene.welcomed(), [(ticket, Err(CallError::NotSent(SubmitError::NoGrants)))]);
        scene.client.submit(b"late")
    };
    assert_eq!(refused(), Err(SubmitError::NoGrants));
    for flow in [FlowKind::Window, FlowKind::Unbounded] {
        let mut scene = Scene::outside(ClientConfig::default().flow(flow));
        scene.unscheduled = 0;
        assert!(scene.client.poll().is_none());
        scene.welcome();
        scene.client.submit(&vec![1; 3 * MTU]).expect("room");
        let sent = scene.on_their_way();
        assert!(sent.len() == 3 && sent.iter().all(|packet| !packet.wants_grants), "{flow}");
        // An unexpected grant changes nothing.
        scene.answer(&[Message::grant(sent[0].tid, 100)]);
        assert!(scene.sent().is_empty(), "{flow}");
    }
}

#[test]
fn a_refused_request_begins_again_with_one_packet_and_with_no_grant_of_before() {
    let retry = nebula::RetryPolicy::BackOff { first: nebula::Span::from_us(100), factor: 2, attempts: 3, seed: 1 };
    let mut scene = Scene::new(homa().retry(retry));
    scene.client.submit(&vec![1; 20 * MTU]).expect("room");
    let first = scene.on_their_way();
    scene.answer(&[Message::grant(first[0].tid, 9), Message::nack(first[0].tid, 1)]);
    let mut again = Vec::new();
    for _ in 0..50 {
        assert!(scene.end().is_none());
        again.extend(scene.on_their_way().into_iter().filter(|packet| packet.tid != first[0].tid));
        scene.pass_us(10);
    }
    assert_eq!(again.iter().map(|packet| packet.pkt_idx).collect::<Vec<_>>(), [0]);
    assert!(again[0].flag && again[0].kind != CANCEL);
}

#[test]
fn echoes_of_every_size_come_back_under_each_flow_control_over_udp_and_tcp() {
    let _watchdog = Watchdog::new("each flow control");
    for endpoint in ["udp://127.0.0.1:0", "tcp://127.0.0.1:0"] {
        for inline in [true, false] {
            let config = roomy(|config| (config.inline, config.idle) = (Some(inline), IdlePolicy::Block));
            let server = Server::bind(endpoint).config(config).serve(echo).expect("a server");
            for flow in FlowKind::ALL {
                let config = ClientConfig::default().flow(flow).call_timeout(PATIENCE).wait(Wait::Block);
                echo_sizes(&mut Client::connect_with(server.endpoint(), config).expect("a client"));
            }
            server.stop();
        }
    }
}

#[test]
fn many_clients_that_wait_for_grants_all_get_theirs() {
    let _watchdog = Watchdog::new("many clients under homa");
    let config = roomy(|config| (config.inline, config.idle) = (Some(true), IdlePolicy::Block));
    let server = Server::bind("udp://127.0.0.1:0").config(config).serve(echo).expect("a server");
    let config = homa().call_timeout(PATIENCE).slots(16);
    let mut clients: Vec<Client> =
        (0..16).map(|_| Client::connect_with(server.endpoint(), config.clone()).expect("a client")).collect();
    let requests: Vec<Vec<u8>> = (0..16).map(|client| Draw::new(client).bytes(40 * MTU)).collect();
    let mut left = BTreeSet::new();
    for (index, client) in clients.iter_mut().enumerate() {
        for _ in 0..3 {
            let ticket = client.submit(&requests[index]).expect("room");
            left.insert((index, ticket.0));
        }
    }
    while !left.is_empty() {
        for (index, client) in clients.iter_mut().enumerate() {
            while let Some(done) = client.poll() {
                assert!(done.result == Ok(&requests[index][..]), "client {index}");
                assert!(left.remove(&(index, done.ticket.0)));
            }
        }
        std::thread::yield_now();
    }
    drop(clients);
    server.stop();
}

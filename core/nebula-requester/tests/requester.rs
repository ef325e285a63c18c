//! The requester: numbers, matching, retries and deadlines, and comparison with a map over long
//! histories.

use arbitrary::{Arbitrary, Unstructured};
use nebula_nic::{DropReason, Header, Kind, Mtu, NackReason, NodeId, Outbound, RpcKey, Span, Timestamp, TransferId};
use nebula_requester::{Call, Expired, Outcome, Requester, RequesterConfig, RequesterConfigError, Resend, RetryPolicy};
use std::collections::BTreeMap;

const ME: NodeId = NodeId(3);

fn at(ns: u64) -> Timestamp {
    Timestamp::ZERO + Span::from_ns(ns)
}

fn requester(config: RequesterConfig) -> Requester {
    Requester::try_new(config).expect("the bounds are possible")
}

fn begin(client: &mut Requester, token: u64) -> RpcKey {
    RpcKey { snid: ME, tid: client.begin(at(0), 64, token).expect("there is room").tid() }
}

fn nack(client: &mut Requester, now: Timestamp, tid: TransferId, reason: NackReason) -> Outcome {
    client.handle_packet(now, Header::nack(RpcKey { snid: ME, tid }, reason))
}

#[test]
fn numbers_follow_each_other_and_skip_those_in_use() {
    let mut client = requester(RequesterConfig::new(ME, 4));
    let slow = begin(&mut client, 0);
    let mut numbers = Vec::new();
    for token in 1..8 {
        let rpc = begin(&mut client, token);
        numbers.push(rpc.tid.0);
        assert!(matches!(client.handle_packet(at(0), Header::reply(rpc, 8, 0)), Outcome::Reply { .. }));
    }
    assert_eq!((slow.tid.0, numbers), (0, vec![1, 2, 3, 5, 6, 7, 9]));
}

#[test]
fn a_full_table_says_so_and_takes_the_next_after_a_reply() {
    let mut client = requester(RequesterConfig::new(ME, 3));
    let rpcs: Vec<_> = (0..4).map(|token| begin(&mut client, token)).collect();
    let error = client.begin(at(0), 1, 9).unwrap_err().to_string();
    assert!(error.contains("4 RPCs are outstanding"), "{error}");
    client.handle_packet(at(0), Header::reply(rpcs[2], 0, 0));
    assert_eq!(client.begin(at(0), 1, 9).unwrap().tid(), TransferId(6));
}

#[test]
fn what_is_not_for_this_node_or_not_outstanding_is_unknown() {
    let mut client = requester(RequesterConfig::new(ME, 4));
    let early = Header::reply(RpcKey { snid: ME, tid: TransferId(0) }, 0, 0);
    assert_eq!(client.handle_packet(at(0), early), Outcome::Unknown);
    let rpc = begin(&mut client, 1);
    assert_eq!(client.handle_packet(at(0), Header::reply(RpcKey { snid: NodeId(4), ..rpc }, 0, 0)), Outcome::Unknown);
    assert_eq!(client.handle_packet(at(0), Header { tid: TransferId(4), ..early }), Outcome::Unknown);
    assert_eq!(client.handle_packet(at(0), Header { kind: Kind::Request, ..early }), Outcome::Unknown);
    let ack = Header { kind: Kind::Ack, ..early };
    assert_eq!(client.handle_packet(at(0), ack), Outcome::Acked { token: 1 });
    assert_eq!(client.outstanding(), 1);
}

#[test]
fn a_reply_of_several_packets_is_whole_with_its_last() {
    let mut client = requester(RequesterConfig::new(ME, 4).reply_bytes_max(150));
    let rpc = begin(&mut client, 7);
    let mut packet = |bytes, pkt_idx| client.handle_packet(at(0), Header::reply(rpc, bytes, pkt_idx));
    assert_eq!(packet(150, 2), Outcome::Part { token: 7, offset_bytes: 128, packet_bytes: 22 });
    assert_eq!(packet(150, 2), Outcome::Duplicate);
    assert_eq!(packet(100, 0), Outcome::Refused { token: 7, reason: DropReason::SizeMismatch });
    assert_eq!(packet(151, 0), Outcome::Refused { token: 7, reason: DropReason::SizeMismatch });
    assert_eq!(packet(150, 3), Outcome::Refused { token: 7, reason: DropReason::IndexOutOfRange });
    assert_eq!(packet(150, 0), Outcome::Part { token: 7, offset_bytes: 0, packet_bytes: 64 });
    assert_eq!(packet(150, 1), Outcome::Reply { token: 7, bytes: 150, offset_bytes: 64, packet_bytes: 64 });
    assert_eq!(packet(150, 1), Outcome::Duplicate);
}

#[test]
fn giving_up_reports_the_reason_and_frees_the_place() {
    let mut client = requester(RequesterConfig::new(ME, 1));
    let rpc = begin(&mut client, 7);
    let gave_up = Outcome::GaveUp { token: 7, reason: Some(NackReason::QueueBound) };
    assert_eq!(nack(&mut client, at(1), rpc.tid, NackReason::QueueBound), gave_up);
    assert_eq!(nack(&mut client, at(1), rpc.tid, NackReason::QueueBound), Outcome::Duplicate);
    let rpc = begin(&mut client, 8);
    let strange = Header { key_hash: 99, ..Header::nack(rpc, NackReason::BufferFull) };
    assert_eq!(client.handle_packet(at(1), strange), Outcome::GaveUp { token: 8, reason: None });
}

#[test]
fn backing_off_tries_again_later_and_longer_under_another_number() {
    let retry = RetryPolicy::BackOff { first: Span::from_ns(100), factor: 4, attempts: 3, seed: 9 };
    let mut client = requester(RequesterConfig::new(ME, 2).retry(retry));
    let mut rpc = begin(&mut client, 7);
    for (longest, now) in [(100, at(10)), (400, at(1000))] {
        let Outcome::Retry { token: 7, at: due } = nack(&mut client, now, rpc.tid, NackReason::BufferFull) else {
            panic!("a try is left")
        };
        let wait = due - now;
        assert!(wait <= Span::from_ns(longest) && wait >= Span::from_ns(longest / 2), "{wait}");
        assert_eq!(nack(&mut client, now, rpc.tid, NackReason::BufferFull), Outcome::Duplicate, "its other packets'");
        assert_eq!(client.poll_timeout(), Some(due), "long before the deadline");
        assert_eq!(client.poll_retry(due - Span::from_ps(1)), None);
        let Resend { token, server, outbound } = client.poll_retry(due).unwrap();
        assert_eq!((token, server, outbound.rpc_bytes(), client.poll_retry(due)), (7, 0, 64, None));
        assert_eq!(nack(&mut client, due, rpc.tid, NackReason::BufferFull), Outcome::Unknown, "an earlier try's");
        rpc.tid = outbound.tid();
    }
    let gave_up = Outcome::GaveUp { token: 7, reason: Some(NackReason::BufferFull) };
    assert_eq!(nack(&mut client, at(9000), rpc.tid, NackReason::BufferFull), gave_up);
    assert_eq!(client.outstanding(), 0);
}

#[test]
fn what_cannot_pass_is_not_tried_again() {
    let retry = RetryPolicy::AnotherServer { servers: 3, attempts: 9 };
    let mut client = requester(RequesterConfig::new(ME, 2).retry(retry));
    let mut given_up = Vec::new();
    for reason in NackReason::ALL {
        let rpc = begin(&mut client, 7);
        match nack(&mut client, at(1), rpc.tid, reason) {
            Outcome::GaveUp { token: 7, reason: Some(given) } => given_up.push(given),
            outcome => assert!(matches!(outcome, Outcome::Redirect { token: 7, .. }), "{outcome:?} on {reason}"),
        }
        client.handle_server_gone(1);
        while client.poll_expired().is_some() {}
    }
    assert_eq!(given_up, [NackReason::TooLarge, NackReason::Stale, NackReason::Expired, NackReason::Cancelled]);
}

#[test]
fn another_server_is_tried_at_once_and_in_turn() {
    let retry = RetryPolicy::AnotherServer { servers: 3, attempts: 4 };
    let mut client = requester(RequesterConfig::new(ME, 2).retry(retry));
    let call = Call { bytes: 100, key_hash: 5, server: 1, token: 7 };
    let mut outbound = client.begin_call(at(0), call).unwrap();
    let mut servers = Vec::new();
    while let Outcome::Redirect { token: 7, server, outbound: next } =
        nack(&mut client, at(1), outbound.tid(), NackReason::QueueBound)
    {
        assert_ne!(next.tid(), outbound.tid());
        assert!(next.clone().all(|packet| packet.key_hash == 5 && packet.rpc_bytes == 100));
        servers.push(server);
        outbound = next;
    }
    assert_eq!((servers, client.outstanding()), (vec![2, 0, 1], 0));
}

#[test]
fn deadlines_end_what_is_not_answered_in_the_order_begun() {
    let mut client = requester(RequesterConfig::new(ME, 4).deadline(Span::from_ns(100)));
    let rpcs: Vec<_> = (0..3).map(|token| client.begin(at(token * 10), 0, token).unwrap().tid()).collect();
    assert_eq!(client.poll_timeout(), Some(at(100)));
    client.handle_packet(at(50), Header::reply(RpcKey { snid: ME, tid: rpcs[0] }, 0, 0));
    client.handle_timeout(at(120));
    let late = Header::reply(RpcKey { snid: ME, tid: rpcs[1] }, 0, 0);
    assert_eq!(client.handle_packet(at(121), late), Outcome::Unknown);
    let expired: Vec<_> = std::iter::from_fn(|| client.poll_expired()).collect();
    assert_eq!(expired, [Expired { token: 1 }, Expired { token: 2 }]);
    assert_eq!(client.handle_packet(at(122), late), Outcome::Unknown);
    assert_eq!((client.poll_timeout(), client.outstanding()), (None, 0));
}

#[test]
fn no_try_is_made_after_the_deadline() {
    let retry = RetryPolicy::BackOff { first: Span::from_us(1), factor: 1, attempts: 9, seed: 0 };
    let mut client = requester(RequesterConfig::new(ME, 4).retry(retry).deadline(Span::from_us(2)));
    let rpc = begin(&mut client, 7);
    assert!(matches!(nack(&mut client, at(1900), rpc.tid, NackReason::BufferFull), Outcome::GaveUp { token: 7, .. }));
    let rpc = begin(&mut client, 8);
    assert!(matches!(nack(&mut client, at(10), rpc.tid, NackReason::BufferFull), Outcome::Retry { .. }));
    client.handle_timeout(at(2000));
    assert_eq!((client.poll_expired(), client.poll_retry(at(5000))), (Some(Expired { token: 8 }), None));
}

#[test]
fn a_lost_server_ends_its_rpcs_and_no_others() {
    let mut client = requester(RequesterConfig::new(ME, 8));
    for (token, server) in [(0, 0), (1, 1), (2, 0), (3, 1)] {
        client.begin_call(at(0), Call { token, server, ..Call::default() }).unwrap();
    }
    client.handle_server_gone(1);
    let expired: Vec<_> = std::iter::from_fn(|| client.poll_expired()).map(|expired| expired.token).collect();
    assert_eq!((expired, client.outstanding()), (vec![1, 3], 2));
}

#[test]
fn bounds_that_cannot_be_say_why() {
    let retry = |retry| Requester::try_new(RequesterConfig::new(ME, 1).retry(retry)).unwrap_err();
    let outstanding = |outstanding| Requester::try_new(RequesterConfig::new(ME, outstanding)).unwrap_err();
    assert_eq!(outstanding(0), RequesterConfigError::Outstanding { got: 0 });
    assert_eq!(outstanding(u32::MAX), RequesterConfigError::Outstanding { got: u32::MAX });
    assert_eq!(retry(RetryPolicy::AnotherServer { servers: 0, attempts: 1 }), RequesterConfigError::Servers);
    assert_eq!(retry(RetryPolicy::AnotherServer { servers: 1, attempts: 0 }), RequesterConfigError::Attempts);
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Op {
    Begin,
    Packet { nth: u8, kind: u8, bytes: u8, pkt_idx: u8 },
    Old { tid: u8 },
    Pass { ns: u8 },
    ServerGone,
}

/// An RPC in the map: its outstanding packets by number, or waiting for its next try.
#[derive(Debug, Default)]
struct World {
    sent: BTreeMap<TransferId, u64>,
    waiting: BTreeMap<u64, Timestamp>,
    begun: u64,
    over: u64,
    now: Timestamp,
}

impl World {
    fn sent(&mut self, token: u64, outbound: Outbound) {
        assert_eq!(self.sent.insert(outbound.tid(), token), None, "no two RPCs under one number");
    }

    /// Ends an RPC; each has exactly one outcome.
    fn end(&mut self, token: u64) {
        let before = self.sent.len() + self.waiting.len();
        self.sent.retain(|_, sent| *sent != token);
        self.waiting.remove(&token);
        assert_eq!(self.sent.len() + self.waiting.len() + 1, before, "RPC {token} ended twice");
        self.over += 1;
    }

    fn apply(&mut self, client: &mut Requester, op: Op) {
        match op {
            Op::Begin => {
                if let Ok(outbound) = client.begin(self.now, 64, self.begun) {
                    self.sent(self.begun, outbound);
                    self.begun += 1;
                }
            }
            Op::Packet { nth, kind, bytes, pkt_idx } => {
                let Some((&tid, &token)) = self.sent.iter().nth(usize::from(nth) % self.sent.len().max(1)) else {
                    return;
                };
                self.packet(client, tid, token, kind, bytes, pkt_idx);
            }
            Op::Old { tid } => {
                let header = Header::reply(RpcKey { snid: ME, tid: TransferId(tid.into()) }, 8, 0);
                if !self.sent.contains_key(&header.tid) {
                    let outcome = client.handle_packet(self.now, header);
                    assert!(matches!(outcome, Outcome::Unknown | Outcome::Duplicate), "{outcome:?}");
                }
            }
            Op::Pass { ns } => {
                self.now += Span::from_ns(ns.into());
                client.handle_timeout(self.now);
            }
            Op::ServerGone => client.handle_server_gone(0),
        }
        self.drain(client);
        assert_eq!(u64::from(client.outstanding()), self.begun - self.over);
    }

    fn packet(&mut self, client: &mut Requester, tid: TransferId, token: u64, kind: u8, bytes: u8, pkt_idx: u8) {
        let rpc = RpcKey { snid: ME, tid };
        let header = match kind % 3 {
            0 => Header::nack(rpc, NackReason::ALL[usize::from(bytes % 8)]),
            _ => Header::reply(rpc, u32::from(bytes) % 200, u32::from(pkt_idx % 4)),
        };
        match client.handle_packet(self.now, header) {
            Outcome::Reply { token: ended, .. } | Outcome::GaveUp { token: ended, .. } => {
                assert_eq!(ended, token);
                self.end(token);
            }
            Outcome::Retry { token: retried, at } => {
                assert_eq!((retried, self.sent.remove(&tid)), (token, Some(token)));
                self.waiting.insert(token, at);
            }
            Outcome::Part { token: named, .. } | Outcome::Refused { token: named, .. } => assert_eq!(named, token),
            Outcome::Duplicate => assert_eq!(header.kind, Kind::Reply),
            other => panic!("{other:?} on {header:?}"),
        }
    }

    fn drain(&mut self, client: &mut Requester) {
        while let Some(Expired { token }) = client.poll_expired() {
            self.end(token);
        }
        while let Some(Resend { token, outbound, .. }) = client.poll_retry(self.now) {
            assert!(self.waiting.remove(&token).is_some_and(|due| due <= self.now), "{token} was not due");
            self.sent(token, outbound);
        }
    }
}

#[test]
fn every_rpc_ends_exactly_once() {
    nebula_testing::seeded(|draw: &mut Unstructured<'_>| {
        let retry = RetryPolicy::BackOff { first: Span::from_ns(40), factor: 2, attempts: 3, seed: 1 };
        let config = RequesterConfig::new(ME, draw.int_in_range(1..=9)?).retry(retry).deadline(Span::from_ns(400));
        let mut client = requester(config.reply_bytes_max(190).mtu(Mtu::MIN));
        let mut world = World::default();
        while !draw.is_empty() {
            world.apply(&mut client, draw.arbitrary()?);
        }
        world.apply(&mut client, Op::Pass { ns: 255 });
        world.apply(&mut client, Op::Pass { ns: 255 });
        assert_eq!((client.outstanding(), world.over), (0, world.begun), "past the deadline all are over");
        Ok(())
    })
    .size_max(4096)
    .runs(600);
}

#[test]
fn a_deadline_of_its_own_ends_one_rpc_and_no_other() {
    let mut client = requester(RequesterConfig::new(ME, 8).deadline(Span::from_ns(100)));
    let within = |ns| Span::from_ns(ns);
    let call = |token| Call { token, ..Call::default() };
    client.begin_call(at(0), call(0)).unwrap();
    client.begin_within(at(0), within(50), call(1)).unwrap();
    let third = client.begin_within(at(0), within(30), call(2)).unwrap();
    client.begin_within(at(10), within(500), call(3)).unwrap();
    assert_eq!(client.poll_timeout(), Some(at(30)));
    client.handle_packet(at(20), Header::reply(RpcKey { snid: ME, tid: third.tid() }, 0, 0));
    let mut ended = Vec::new();
    for now in [30, 49, 50, 99, 100, 110] {
        client.handle_timeout(at(now));
        ended.extend(std::iter::from_fn(|| client.poll_expired()).map(|Expired { token }| (now, token)));
    }
    assert_eq!(ended, [(50, 1), (100, 0), (110, 3)], "the earlier of both deadlines");
    // Marks of RPCs that ended early do not fill it.
    for token in 0..1000 {
        let outbound = client.begin_within(at(200), within(50), call(token)).unwrap();
        assert_eq!(client.end(client.place(outbound.tid())), Some(token));
    }
    client.handle_timeout(at(250));
    assert_eq!((client.poll_expired(), client.poll_timeout(), client.outstanding()), (None, None, 0));
}

#[test]
fn what_is_ended_from_outside_is_over_and_its_answer_unknown() {
    let retry = RetryPolicy::BackOff { first: Span::from_us(1), factor: 1, attempts: 9, seed: 0 };
    let mut client = requester(RequesterConfig::new(ME, 4).retry(retry));
    let (first, second) = (begin(&mut client, 7), begin(&mut client, 8));
    assert_eq!((client.find(7), client.find(8), client.find(9)), (Some(0), Some(1), None));
    assert_eq!((client.end(0), client.end(0), client.outstanding()), (Some(7), None, 1));
    assert_eq!(client.handle_packet(at(1), Header::reply(first, 0, 0)), Outcome::Unknown);
    assert!(matches!(nack(&mut client, at(1), second.tid, NackReason::BufferFull), Outcome::Retry { .. }));
    assert_eq!(client.end(1), Some(8), "while it waits for its next try");
    assert_eq!((client.poll_retry(at(1_000_000)), client.outstanding()), (None, 0));
}

#[test]
fn of_a_reply_on_its_way_it_is_known_what_is_missing() {
    let mut client = requester(RequesterConfig::new(ME, 4).reply_bytes_max(200 * 64));
    client.set_mtu(Mtu::try_new(128).unwrap());
    let rpc = begin(&mut client, 7);
    let place = client.place(rpc.tid);
    assert_eq!(client.reply_missing(place), None);
    for pkt_idx in (0..70).filter(|packet| ![3, 66].contains(packet)) {
        let part = client.handle_packet(at(1), Header::reply(rpc, 99 * 128 + 1, pkt_idx));
        assert!(matches!(part, Outcome::Part { packet_bytes: 128, .. }), "{part:?}");
    }
    assert_eq!(client.reply_missing(place), Some((3, !1 & !(1 << 63))));
    client.handle_packet(at(2), Header::reply(rpc, 99 * 128 + 1, 3));
    assert_eq!(client.reply_missing(place), Some((66, 0b1110)));
}

//! Datagrams that no honest client sends, to a real server on the test's wire and clock. It never
//! sends an unproven address more than came from it, executes nothing twice, loses no slots, and
//! goes on serving others.

use crate::support::by_hand::{ByHand, job, reply, reply_of, whole};
use crate::support::udp_raw::*;
use nebula::{Queueing, Span};

#[test]
fn a_client_that_is_let_in_is_served() {
    let mut scene = ByHand::open(|_| ());
    let mut client = RawClient::new(scene.address(), None);
    let hello = client.hello(99);
    let said = scene.say(client.address, &hello);
    let welcome = Welcome::read(&said[0].1, None);
    assert_eq!((said.len(), welcome.echo, welcome.time_ns), (1, 99, scene.now_ns()));
    assert_eq!((welcome.rpc_bytes_max, welcome.mtu_bytes, welcome.slo_ps), (8192, 1088, 100_000_000));
    assert!(said[0].1.len() <= hello.len());
    client.enter(&welcome);
    scene.is_served(&mut client, 0, 1);
    let again = client.hello(100);
    let again = Welcome::read(&scene.say(client.address, &again)[0].1, None);
    assert_eq!((again.snid, again.token), (welcome.snid, welcome.token), "who is known keeps its number");
}

/// The refusal of `datagram` from `from`, which must be the only answer.
fn refusal(scene: &mut ByHand, from: std::net::SocketAddr, datagram: &[u8]) -> u32 {
    let said = scene.say(from, datagram);
    let [(to, refusal)] = &said[..] else { panic!("one refusal, not {said:?}") };
    assert!(*to == from && refusal.len() <= datagram.len());
    refusal_of(datagram, refusal, None)
}

#[test]
fn who_is_not_let_in_is_refused_and_nothing_is_executed() {
    let mut scene = ByHand::open(|_| ());
    let (client, stranger) = (scene.client(), scene.address());
    let request = Packet::whole(0, scene.now_ns(), &job(1, 100, 100)).bytes();
    let good = client.header();
    let right = good.plain(&request);
    assert_eq!(refusal(&mut scene, stranger, &right), BY_TOKEN, "somebody else's token");
    let wrong = [
        (Header { word: good.word ^ 1, ..good }, BY_TOKEN),
        (Header { word: 0, ..good }, BY_TOKEN),
        (Header { snid: good.snid + 1, ..good }, BY_TOKEN),
        (Header { incarnation: good.incarnation ^ 1, ..good }, BY_INCARNATION),
        (Header { version: 3, ..good }, BY_VERSION),
    ];
    for (header, reason) in wrong {
        assert_eq!(refusal(&mut scene, client.address, &header.plain(&request)), reason, "{header:?}");
    }
    let sealed = good.sealed(&request, [1; 32], 1);
    assert_eq!(refusal(&mut scene, client.address, &sealed), NO_KEY);
    for kind in [WELCOME, REFUSAL, SERVER, 0, 6, 255] {
        assert!(scene.say(client.address, &Header { kind, ..good }.plain(&request)).is_empty(), "{kind}");
    }
    assert_eq!(scene.executions(), 0);
    assert_eq!(scene.say(client.address, &right).len(), 1, "and its own is right");
}

/// Checks that the server sends an unproven address no more than came from it.
fn assert_no_longer(scene: &mut ByHand, datagram: &[u8]) {
    let from = scene.address();
    let said = scene.say(from, datagram);
    let bytes: usize = said.iter().map(|(_, answer)| answer.len()).sum();
    assert!(bytes <= datagram.len(), "{} bytes were answered with {bytes}: {datagram:?}", datagram.len());
    assert!(said.iter().all(|(to, _)| *to == from));
}

#[test]
fn no_answer_to_who_has_proven_nothing_is_longer_than_what_came() {
    for key in [None, Some([5; 32])] {
        let mut scene = key.map_or_else(|| ByHand::open(|_| ()), ByHand::open_sealed);
        let client = scene.client();
        for kind in 0..7 {
            for version in [VERSION, 3] {
                for incarnation in [0, client.incarnation] {
                    let header = Header { kind, version, incarnation, ..client.header() };
                    for len in 0..200 {
                        assert_no_longer(&mut scene, &header.plain(&vec![0; len]));
                        assert_no_longer(&mut scene, &header.plain(&vec![1; len])[..len]);
                        assert_no_longer(&mut scene, &header.sealed(&vec![0; len], [5; 32], len as u64));
                        assert_no_longer(&mut scene, &checked(header.sealed(&vec![0; len], [6; 32], 0)));
                    }
                }
            }
        }
        assert_eq!(scene.executions(), 0);
    }
}

#[test]
fn no_answer_to_any_bytes_is_longer_than_they_are() {
    let scene = std::cell::RefCell::new(ByHand::open(|_| ()));
    nebula_testing::seeded(|u| {
        let mut bytes: Vec<u8> = u.arbitrary()?;
        if bytes.len() >= 32 && u.arbitrary()? {
            (bytes[0], bytes[1]) = (VERSION, u.int_in_range(1..=5)?);
            bytes = checked(bytes);
        }
        assert_no_longer(&mut scene.borrow_mut(), &bytes);
        Ok(())
    });
    assert_eq!(scene.borrow().executions(), 0);
}

#[test]
fn whatever_comes_five_times_is_executed_once_and_answered_each_time() {
    let mut scene = ByHand::open(|_| ());
    let mut client = scene.client();
    let now = scene.now_ns();
    let (short, long) = (job(1, 100, 100), job(2, 4000, 200));
    let first = Packet::whole(0, now, &short).bytes();
    for _ in 0..5 {
        assert_eq!(scene.ask(&mut client, &first), [reply(0, 1, 100)]);
    }
    // In one turn. The first is served at once, and the others find its reply.
    let again = Packet::whole(3, now, &job(4, 100, 100)).bytes();
    assert_eq!(scene.ask(&mut client, &again.repeat(5)), vec![reply(3, 4, 100); 5]);
    // In one turn. The first waits, and the others find it in the server.
    let again = Packet { budget_us: BUDGET_US, ..Packet::whole(1, now, &job(3, 100, 100)) }.bytes();
    let answers = scene.ask(&mut client, &again.repeat(5));
    assert_eq!(answers, [vec![whole(1); 4], vec![reply(1, 3, 100)]].concat());
    for pkt_idx in [2, 0, 3, 1] {
        let part = Packet::part(2, now, &long, pkt_idx).bytes();
        for copy in 0..5 {
            let answers = scene.ask(&mut client, &part);
            let is_last = pkt_idx == 1;
            assert_eq!(answers, if is_last { vec![reply(2, 2, 200)] } else { vec![] }, "{pkt_idx}, {copy}");
        }
    }
    assert_eq!([1, 2, 3].map(|id| scene.executed(id)), [1; 3]);
}

#[test]
fn a_nack_stays_a_nack_however_often_the_request_comes() {
    let mut scene = ByHand::open(|_| ());
    let mut client = scene.client();
    let mut packet = Packet::whole(0, scene.now_ns(), &[0; MTU]);
    packet.rpc_bytes = 8193;
    for _ in 0..5 {
        assert_eq!(scene.ask(&mut client, &packet.bytes()), [Answer::Nack { tid: 0, reason: TOO_LARGE }]);
    }
    // A server that measures long RPCs has a short queue. A refused request stays refused when
    // there is room.
    scene.account.service_ns.set(100_000);
    let now = scene.now_ns();
    let requests: Vec<u8> = (1..200).flat_map(|id| Packet::whole(id, now, &job(id.into(), 60, 8)).bytes()).collect();
    let answers = requests.chunks(10 * 92).flat_map(|part| client.frame(part)).collect::<Vec<u8>>();
    answers.chunks(32 + 10 * 92).for_each(|frame| scene.hand.put(client.address, frame));
    let heard = scene.hear_each(&[&client]).remove(0);
    let nacked: Vec<u32> = heard
        .iter()
        .filter_map(|answer| match answer {
            Answer::Nack { tid, reason: QUEUE_BOUND } => Some(*tid),
            _ => None,
        })
        .collect();
    assert!(nacked.len() > 20, "{} of 199 were refused", nacked.len());
    for tid in nacked {
        let request = job(tid.into(), 60, 8);
        let answers = scene.ask(&mut client, &Packet::whole(tid, now, &request).bytes());
        assert_eq!(answers, [Answer::Nack { tid, reason: QUEUE_BOUND }]);
        assert_eq!(scene.executed(tid.into()), 0);
    }
}

/// A server that remembers 512 RPCs.
fn forgetful() -> ByHand {
    ByHand::open(|config| config.queueing = Queueing::Unbounded { recv_buffer_bytes: 1 << 14 })
}

#[test]
fn what_is_older_than_the_memory_is_stale_and_not_executed() {
    let mut scene = forgetful();
    let mut client = scene.client();
    let stamp = scene.now_ns();
    let old = Packet::whole(0, stamp, &job(1, 100, 100)).bytes();
    assert_eq!(scene.ask(&mut client, &old), [reply(0, 1, 100)]);
    for tid in 1..=513 {
        scene.advance_us(1);
        scene.is_served(&mut client, tid, 1000 + u64::from(tid));
    }
    let stale = Answer::Nack { tid: 0, reason: STALE };
    assert_eq!(scene.ask(&mut client, &old), std::slice::from_ref(&stale));
    assert_eq!(scene.ask(&mut client, &pull(0, 0, 1)), [stale]);
    assert_eq!(scene.executed(1), 1);
    // One that never came and is as old: the server cannot tell them apart.
    let never = Packet::whole(9999, stamp, &job(2, 100, 100)).bytes();
    assert_eq!(scene.ask(&mut client, &never), [Answer::Nack { tid: 9999, reason: STALE }]);
    assert_eq!(scene.executed(2), 0);
}

#[test]
fn a_stamp_far_ahead_is_ignored_and_makes_nobody_elses_stale() {
    let mut scene = forgetful();
    let (mut liar, mut client) = (scene.client(), scene.client());
    for tid in 0..2000 {
        let ahead = [2_000_001, 1 << 40, u64::MAX - scene.now_ns()][tid as usize % 3];
        let request = job(u64::from(tid), 100, 10);
        let packet = Packet::whole(tid, scene.now_ns() + ahead, &request);
        assert!(scene.ask(&mut liar, &packet.bytes()).is_empty());
    }
    assert_eq!(scene.executions(), 0);
    for tid in 0..2000 {
        scene.is_served(&mut client, tid, 10_000 + u64::from(tid));
    }
    let near = job(1, 100, 10);
    let answers = scene.ask(&mut liar, &Packet::whole(5000, scene.now_ns() + 1_900_000, &near).bytes());
    assert_eq!(answers, [reply(5000, 1, 10)], "clocks differ a little");
}

#[test]
fn what_is_expired_is_refused_and_never_executed() {
    let mut scene = ByHand::open(|config| (config.service_mean, config.slo) = (Span::from_us(20), Span::from_ms(1)));
    let mut client = scene.client();
    let request = job(0, 100, 10);
    let late = Packet { budget_us: 50, ..Packet::whole(0, scene.now_ns() - 50_000, &request) };
    for _ in 0..3 {
        assert_eq!(scene.ask(&mut client, &late.bytes()), [Answer::Nack { tid: 0, reason: EXPIRED }]);
    }
    // Ten at once, each of 20 µs, with 90 µs of time.
    scene.account.service_ns.set(20_000);
    let now = scene.now_ns();
    let jobs: Vec<_> = (1..=5).map(|id| job(id, 100, 10)).collect();
    let packets = (1..).zip(&jobs).map(|(tid, job)| Packet { budget_us: 30, ..Packet::whole(tid, now, job) });
    let answers = scene.ask(&mut client, &packets.flat_map(|packet| packet.bytes()).collect::<Vec<_>>());
    assert_eq!(answers.len(), 5, "{answers:?}");
    for tid in 1..=5 {
        let is_expired = answers.contains(&Answer::Nack { tid, reason: EXPIRED });
        assert_eq!(scene.executed(tid.into()), u32::from(!is_expired));
        assert!(is_expired || tid < 5, "the last cannot be in time");
        assert!(!is_expired || tid > 2, "the first are");
    }
}

/// Requests from transfer 1 on. They have a deadline, and so wait until the whole datagram has been
/// read.
fn waiting(now_ns: u64, jobs: &[Vec<u8>]) -> Vec<u8> {
    let packet =
        |(tid, job): (u32, &Vec<u8>)| Packet { budget_us: BUDGET_US, ..Packet::whole(tid, now_ns, job) }.bytes();
    (1..).zip(jobs).flat_map(packet).collect()
}

#[test]
fn an_rpc_taken_back_while_it_waits_is_never_executed() {
    let mut scene = ByHand::open(|_| ());
    let mut client = scene.client();
    let now = scene.now_ns();
    let jobs = [1, 2, 3].map(|id| job(id, 100, 10));
    let mut messages = waiting(now, &jobs);
    messages.extend([cancel(2, now), cancel(2, now), cancel(77, now)].concat());
    let answers = scene.ask(&mut client, &messages);
    assert!(answers.contains(&Answer::Nack { tid: 2, reason: CANCELLED }), "{answers:?}");
    assert_eq!([1, 2, 3].map(|id| scene.executed(id)), [1, 0, 1]);
    let again = scene.ask(&mut client, &Packet::whole(2, now, &jobs[1]).bytes());
    assert_eq!(again, [Answer::Nack { tid: 2, reason: CANCELLED }]);
    assert!(scene.ask(&mut client, &cancel(1, now)).is_empty(), "too late");
    assert_eq!(scene.ask(&mut client, &pull(1, 0, 1)), [reply(1, 1, 10)]);
    // A request of which one part came, cancelled by its own client; no other client can.
    let long = job(4, 2000, 10);
    let mut other = scene.client();
    assert!(scene.ask(&mut client, &Packet::part(4, now, &long, 0).bytes()).is_empty());
    assert!(scene.ask(&mut other, &cancel(4, now)).is_empty());
    assert!(scene.ask(&mut client, &cancel(4, now)).is_empty());
    let answers = scene.ask(&mut client, &Packet::part(4, now, &long, 1).bytes());
    assert_eq!(answers, [Answer::Nack { tid: 4, reason: CANCELLED }]);
    assert_eq!((scene.executed(4), scene.status().slots_used), (0, 0));
}

#[test]
fn an_old_cancel_does_not_take_back_an_rpc_that_has_its_number() {
    let mut scene = ByHand::open(|_| ());
    let mut client = scene.client();
    let (old, now) = (scene.now_ns() - 1000, scene.now_ns());
    // An old cancel replayed, while another RPC of that number waits behind a first one.
    let jobs = [1, 2].map(|id| job(id, 100, 10));
    let mut messages = waiting(now, &jobs);
    messages.extend(cancel(2, old));
    assert_eq!(scene.ask(&mut client, &messages), [reply(1, 1, 10), reply(2, 2, 10)]);
    assert_eq!(scene.status().violations, 1);
}

#[test]
fn parts_of_a_reply_are_there_for_who_asks() {
    let mut scene = ByHand::open(|_| ());
    let mut client = scene.client();
    let bytes = 40 * 1088 - 100;
    let expected = reply_of(1, bytes);
    let answers = scene.ask(&mut client, &Packet::whole(0, scene.now_ns(), &job(1, 12, bytes)).bytes());
    let indices = |answers: &[Answer]| -> Vec<u16> {
        let index = |answer: &Answer| {
            let Answer::Reply { tid: 0, rpc_bytes, pkt_idx, payload } = answer else { panic!("{answer:?}") };
            let from = usize::from(*pkt_idx) * MTU;
            assert_eq!((*rpc_bytes, payload), (bytes, &expected[from..][..payload.len()].to_vec()));
            *pkt_idx
        };
        answers.iter().map(index).collect()
    };
    assert_eq!(indices(&answers), (0..32).collect::<Vec<_>>());
    let asked = [
        (32, u64::MAX, (32..40).collect::<Vec<u16>>()),
        (0, 1 << 39 | 1, vec![0, 39]),
        (39, 1, vec![39]),
        (0, 0, vec![]),
        (40, u64::MAX, vec![]),
        (u16::MAX, u64::MAX, vec![]),
    ];
    for (first, bitmap, parts) in asked {
        assert_eq!(indices(&scene.ask(&mut client, &pull(0, first, bitmap))), parts, "{first} {bitmap:x}");
    }
    let mut other = scene.client();
    assert_eq!(scene.ask(&mut other, &pull(0, 0, 1)), [Answer::Nack { tid: 0, reason: STALE }], "its own only");
    assert_eq!(scene.executed(1), 1);
}

#[test]
fn replies_that_together_are_longer_than_the_memory_are_right_or_not_there() {
    let mut scene = ByHand::open(|config| {
        (config.reply_bytes_max, config.retention_bytes) = (Some(64 * 1024), 0);
        config.queueing = Queueing::Unbounded { recv_buffer_bytes: 1 << 14 };
    });
    let mut client = scene.client();
    let (now, bytes) = (scene.now_ns(), 60_000);
    // All in one turn: 16 replies, and room to keep 4.
    let requests: Vec<u8> =
        (0..16).flat_map(|tid| Packet::whole(tid, now, &job(tid.into(), 12, bytes)).bytes()).collect();
    let answers = scene.ask(&mut client, &requests);
    let mut packets = [0; 16];
    for answer in answers {
        let Answer::Reply { tid, rpc_bytes, pkt_idx, payload } = answer else { panic!("{answer:?}") };
        let from = usize::from(pkt_idx) * MTU;
        assert_eq!(rpc_bytes, bytes);
        assert!(
            payload == reply_of(tid.into(), bytes)[from..from + payload.len()],
            "packet {pkt_idx} of {tid} is wrong"
        );
        packets[tid as usize] += 1;
    }
    assert_eq!(packets, [32; 16], "what was served is said, even if it is not kept");
}

#[test]
fn a_datagram_full_of_questions_gets_a_bounded_answer() {
    let mut scene = ByHand::open(|config| config.reply_bytes_max = Some(1 << 17));
    let mut client = scene.client();
    let bytes = 64 * 1088;
    let request = Packet::whole(0, scene.now_ns(), &job(1, 12, bytes)).bytes();
    let _ = scene.ask(&mut client, &request);
    for questions in [pull(0, 0, u64::MAX).repeat(2000), request.repeat(1000)] {
        let answers = scene.ask(&mut client, &questions);
        assert!((64..=1024).contains(&answers.len()), "{} packets", answers.len());
    }
    assert_eq!(scene.executed(1), 1);
}

#[test]
fn packets_that_disagree_with_their_rpc_change_nothing() {
    let mut scene = ByHand::open(|_| ());
    let mut client = scene.client();
    let now = scene.now_ns();
    let rpc = job(1, 3000, 20);
    let part = |pkt_idx| Packet::part(0, now, &rpc, pkt_idx);
    assert!(scene.ask(&mut client, &part(1).bytes()).is_empty());
    let (other, tiny) = (job(9, 3001, 20), job(9, 12, 20));
    let liars = [
        Packet::part(0, now, &other, 0),
        Packet::part(0, now, &other, 2),
        // As if the RPC were one packet.
        Packet::whole(0, now, &tiny),
        Packet::whole(0, now, &[]),
        Packet { rpc_bytes: u32::MAX, ..part(0) },
        Packet { rpc_bytes: 8193, ..part(0) },
        Packet { pkt_idx: 3, payload: &[], ..part(0) },
        Packet { pkt_idx: u16::MAX, payload: &[], ..part(0) },
        Packet { payload: &rpc[..MTU - 1], ..part(0) },
        Packet { payload: &rpc[..MTU + 1], ..part(0) },
        Packet { pkt_idx: 2, ..part(0) },
    ];
    for liar in liars {
        for wants_ack in [false, true] {
            for answer in scene.ask(&mut client, &Packet { wants_ack, ..liar }.bytes()) {
                assert_eq!(answer, Answer::Ack { tid: 0, is_whole: false, first_missing: 0, bitmap: 2 }, "{liar:?}");
            }
        }
    }
    let asking = Packet { wants_ack: true, ..part(1) };
    let missing = Answer::Ack { tid: 0, is_whole: false, first_missing: 0, bitmap: 2 };
    assert_eq!(scene.ask(&mut client, &asking.bytes()), [missing]);
    assert_eq!(scene.ask(&mut client, &[part(0).bytes(), part(2).bytes()].concat()), [reply(0, 1, 20)]);
    assert_eq!((scene.executed(1), scene.executions(), scene.status().slots_used), (1, 1, 0));
}

#[test]
fn first_packets_that_make_no_sense_hold_nothing() {
    let mut scene = ByHand::open(|_| ());
    let mut client = scene.client();
    let (now, bytes) = (scene.now_ns(), [3; 2000]);
    let whole = Packet::whole(0, now, &bytes[..100]);
    let liars = [
        Packet { rpc_bytes: 101, ..whole },
        Packet { rpc_bytes: 0, ..whole },
        Packet { pkt_idx: 1, ..whole },
        Packet { pkt_idx: 1, payload: &[], ..whole },
        Packet { pkt_idx: u16::MAX, rpc_bytes: 5000, payload: &[], ..whole },
        Packet { rpc_bytes: 2000, ..whole },
        Packet { payload: &bytes, rpc_bytes: 2000, ..whole },
    ];
    for (tid, liar) in (0..).zip(liars) {
        let answers = scene.ask(&mut client, &Packet { tid, ..liar }.bytes());
        assert!(answers.is_empty(), "{liar:?}: {answers:?}");
    }
    assert_eq!((scene.executions(), scene.status().slots_used), (0, 0));
    scene.is_served(&mut client, 0, 1);
}

#[test]
fn messages_cut_short_and_garbage_do_no_harm() {
    let mut scene = ByHand::open(|_| ());
    let mut client = scene.client();
    let now = scene.now_ns();
    let messages = [Packet::whole(0, now, &job(1, 40, 8)).bytes(), pull(0, 0, 1), cancel(0, now)].concat();
    for len in 0..messages.len() {
        let _ = scene.ask(&mut client, &messages[..len]);
    }
    assert_eq!(scene.executed(1), 1, "the prefixes that hold it are one RPC");
    for kind in 0..=255 {
        let mut message = messages.clone();
        message[0] = kind;
        let _ = scene.ask(&mut client, &message);
    }
    let mut draw = crate::support::draw::Draw::new(1);
    for len in [1 << 10, 1 << 15, 65_000] {
        for _ in 0..20 {
            let garbage = draw.bytes(len);
            scene.say(client.address, &garbage);
            let _ = scene.ask(&mut client, &garbage);
        }
    }
    assert_eq!(scene.executions(), 1);
    scene.is_served(&mut client, 1, 2);
}

#[test]
fn a_flood_of_rpcs_that_are_never_whole_gives_all_its_slots_back() {
    let mut scene = ByHand::open(|_| ());
    let (mut flood, mut client) = (scene.client(), scene.client());
    let rpc = job(0, 8192, 8);
    let mut ends = std::collections::BTreeMap::new();
    for round in 0..20_u32 {
        for tid in round * 100..(round + 1) * 100 {
            // As fast as the server can tell them apart.
            scene.advance_us(3);
            let now = scene.now_ns();
            for answer in scene.ask(&mut flood, &Packet::part(tid, now, &rpc, 0).bytes()) {
                let Answer::Nack { tid, reason } = answer else { panic!("{answer:?}") };
                assert_eq!(ends.insert(tid, reason), None, "one end each");
            }
        }
        scene.advance_us(200);
        scene.is_served(&mut client, round, 1000 + u64::from(round));
    }
    scene.advance_us(11_000);
    for answer in scene.hear_each(&[&flood]).remove(0) {
        let Answer::Nack { tid, reason } = answer else { panic!("{answer:?}") };
        assert_eq!((ends.insert(tid, reason), reason), (None, INCOMPLETE));
    }
    assert_eq!(ends.len(), 2000, "each hears of its end");
    assert!(ends.values().any(|&reason| reason == INCOMPLETE) && ends.values().any(|&reason| reason != INCOMPLETE));
    let status = scene.status();
    assert_eq!((status.slots_used, scene.executed(0)), (0, 0));
    assert!(status.abandoned > 0);
    // A part that comes after the RPC's end begins nothing.
    let late = scene.ask(&mut flood, &Packet::part(1999, scene.now_ns(), &rpc, 1).bytes());
    assert_eq!(late, [Answer::Nack { tid: 1999, reason: ends[&1999] }]);
}

#[test]
fn a_flood_of_long_rpcs_that_are_never_whole_leaves_room_for_short_ones() {
    let mut scene = ByHand::open(|_| ());
    let mut client = scene.client();
    let mut refused = 0;
    for round in 0..5 {
        // The longest first, then those that fit between; from many clients, as one attacker can
        // pose as many.
        for bytes in [8192, 4096, 2048, 1152, 1089] {
            for _ in 0..100 {
                let mut flood = scene.client();
                scene.advance_us(2);
                let packet = Packet::part(0, scene.now_ns(), &job(0, bytes, 8), 0).bytes();
                refused += scene.ask(&mut flood, &packet).len();
            }
        }
        // Several at once, of a packet each.
        let (tids, now) = (round * 8..(round + 1) * 8, scene.now_ns());
        let jobs: Vec<_> = tids.clone().map(|tid| job(1000 + u64::from(tid), 1000, 8)).collect();
        let requests: Vec<u8> =
            tids.clone().zip(&jobs).flat_map(|(tid, job)| Packet::whole(tid, now, job).bytes()).collect();
        let answers = scene.ask(&mut client, &requests);
        assert_eq!(answers, tids.map(|tid| reply(tid, 1000 + u64::from(tid), 8)).collect::<Vec<_>>());
        scene.advance_us(11_000);
        scene.hear();
    }
    assert!(refused > 1000, "{refused} were refused");
    assert_eq!((scene.status().slots_used, scene.executed(0)), (0, 0));
    // And the longest have room again.
    let (long, now) = (job(1, 8192, 8), scene.now_ns());
    let packets: Vec<u8> = (0..8).flat_map(|pkt_idx| Packet::part(5000, now, &long, pkt_idx).bytes()).collect();
    assert_eq!(scene.ask(&mut client, &packets), [reply(5000, 1, 8)]);
}

#[test]
fn an_honest_rpc_of_several_packets_finds_room_in_a_flood_of_one_client() {
    let mut scene = ByHand::open(|config| config.queueing = Queueing::Unbounded { recv_buffer_bytes: 1 << 20 });
    let (mut flood, mut client) = (scene.client(), scene.client());
    let (rpc, honest) = (job(0, 2000, 8), job(1, 2000, 30));
    for tid in 0..500 {
        let _ = scene.ask(&mut flood, &Packet::part(tid, scene.now_ns(), &rpc, 0).bytes());
    }
    assert!(scene.ask(&mut client, &Packet::part(0, scene.now_ns(), &honest, 0).bytes()).is_empty());
    let answers = scene.ask(&mut client, &Packet::part(0, scene.now_ns(), &honest, 1).bytes());
    assert_eq!(answers, [reply(0, 1, 30)]);
}

#[test]
fn the_server_holds_nothing_for_its_clients() {
    let mut scene = ByHand::open(|_| ());
    scene.account.is_plain.set(true);
    let payload = job(1, 64, 0);
    let (mut held, mut first) = (0, 0);
    let peers = 100_000_u32;
    for peer in 0..peers {
        let address = std::net::SocketAddr::from((std::net::Ipv4Addr::from_bits(0x0B00_0000 + peer), 1000));
        let mut client = RawClient::new(address, None);
        let hello = client.hello(u64::from(peer));
        let said = scene.say(address, &hello);
        client.enter(&Welcome::read(&said[0].1, None));
        first = if peer == 0 { client.snid } else { first };
        assert_eq!(client.snid, first.wrapping_add(peer), "one after the other");
        drop((hello, said));
        scene.advance_us(1);
        let now = scene.now_ns();
        let answers = scene.ask(&mut client, &Packet::whole(0, now, &payload).bytes());
        assert!(matches!(answers[..], [Answer::Reply { tid: 0, .. }]), "{answers:?}");
        drop(answers);
        if peer == 1_000 {
            held = nebula_testing::allocations::bytes();
        }
    }
    let grown = nebula_testing::allocations::bytes() - held;
    assert_eq!(grown, 0, "bytes for {} peers", peers - 1_000);
    println!("{grown} bytes more for {} peers more: 0 bytes a peer", peers - 1_001);
}

#[test]
fn the_server_allocates_nothing_for_an_rpc() {
    let mut scene = ByHand::open(|config| config.queueing = Queueing::Unbounded { recv_buffer_bytes: 1 << 20 });
    scene.account.is_plain.set(true);
    let mut clients: Vec<_> = (0..100).map(|_| scene.client()).collect();
    let (short, long) = (job(1, 64, 0), job(1, 3000, 0));
    let mut replied = 0;
    let mut before = 0;
    for round in 0..200_u32 {
        let now = scene.now_ns();
        // From all clients in turn, so that one turn of the server answers many.
        for client in &mut clients {
            let (first, second) = (Packet::whole(3 * round, now, &short), Packet::whole(3 * round + 1, now, &short));
            let parts = [0, 1, 2].map(|pkt_idx| Packet::part(3 * round + 2, now, &long, pkt_idx).bytes());
            for messages in [first.bytes(), second.bytes(), first.bytes()].into_iter().chain(parts) {
                let frame = client.frame(&messages);
                scene.hand.put(client.address, &frame);
            }
        }
        let started = nebula_testing::allocations::allocations();
        scene.run();
        let allocated = nebula_testing::allocations::allocations() - started;
        replied += scene.hand.take(|_, datagram| assert_eq!(datagram[1], SERVER));
        if round >= 20 {
            before += allocated;
        }
        scene.advance_us(100);
    }
    assert!(replied > 20_000, "{replied}");
    assert_eq!(before, 0, "allocations in 180 rounds of 300 RPCs");
}

#[test]
fn a_sealed_server_serves_who_has_the_key_and_nobody_else() {
    let key = [9; 32];
    let mut scene = ByHand::open_sealed(key);
    let mut client = scene.client();
    scene.is_served(&mut client, 0, 1);
    let request = Packet::whole(1, scene.now_ns(), &job(2, 100, 50)).bytes();
    let frame = client.frame(&request);
    for bit in 0..frame.len() * 8 {
        let mut changed = frame.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        for (_, answer) in scene.say(client.address, &changed) {
            let reason = refusal_of(&changed, &answer, None);
            assert!(reason == BY_VERSION || reason == KEY_WANTED, "bit {bit}: {reason}");
        }
    }
    let plain = client.header().plain(&request);
    assert_eq!(refusal(&mut scene, client.address, &plain), KEY_WANTED);
    let other = client.header().sealed(&request, [8; 32], 5);
    assert!(scene.say(client.address, &other).is_empty());
    let hello = RawClient { key: Some([8; 32]), ..client.clone() }.hello(1);
    assert!(scene.say(client.address, &hello).is_empty());
    assert_eq!(scene.executed(2), 0);
    for _ in 0..5 {
        let said = scene.say(client.address, &frame);
        assert_eq!(client.read(&said[0].1), [reply(1, 2, 50)], "a replay is answered from memory");
    }
    let elsewhere = scene.address();
    let said = scene.say(elsewhere, &frame);
    assert_eq!(
        (said.len(), refusal_of(&frame, &said[0].1, Some(key))),
        (1, BY_TOKEN),
        "a replay from elsewhere is not"
    );
    assert_eq!(scene.executed(2), 1);
}

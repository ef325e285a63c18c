//! The client over UDP against a scripted server, with a clock moved by hand: what it sends and
//! when, and how each RPC ends.

use crate::support;

use crate::support::message::{ACK, CANCEL, FAULT, Message, PULL, REQUEST};
use crate::support::scene::{AHEAD_NS, Scene, server};
use crate::support::udp_raw::MTU;
use nebula::{CallError, ClientConfig, FlowKind, NackReason, Options, RetryPolicy, Span, SubmitError};
use std::collections::BTreeSet;
use std::time::Duration;

fn scene() -> Scene {
    Scene::new(ClientConfig::default())
}

/// The echo of a request of one packet.
fn echo(request: &Message) -> Message {
    Message::reply(request.tid, &request.payload, 0, MTU)
}

/// A scene with a measured round trip of 100 µs, so that timeouts are 100 to 300 µs.
fn measured(config: ClientConfig) -> Scene {
    let mut scene = Scene::new(config);
    for _ in 0..40 {
        let ticket = scene.client.submit(b"measure").expect("room");
        let sent = scene.on_their_way();
        scene.pass_us(100);
        scene.answer(&[echo(&sent[0])]);
        assert_eq!(scene.end(), Some((ticket, Ok(b"measure".to_vec()))));
    }
    scene
}

#[test]
fn hello_is_said_until_there_is_a_welcome_and_requests_wait_for_it() {
    let mut scene = Scene::outside(ClientConfig::default());
    let ticket = scene.client.submit(b"early").unwrap();
    let mut said = Vec::new();
    for ms in 0..1000 {
        assert!(scene.end().is_none());
        said.extend(scene.hellos().iter().map(|_| ms));
        scene.pass_us(1000);
    }
    assert_eq!(said, [0, 20, 60, 140, 300, 620]);
    scene.pass_us(500_000);
    assert!(scene.end().is_none());
    scene.welcome();
    let sent = scene.sent();
    assert_eq!((sent.len(), sent[0].kind, &sent[0].payload[..]), (1, REQUEST, &b"early"[..]));
    assert_eq!(sent[0].stamp_ns, scene.server_ns(), "by the server's clock");
    scene.answer(&[echo(&sent[0])]);
    assert_eq!(scene.end(), Some((ticket, Ok(b"early".to_vec()))));
    assert_eq!((scene.client.slo(), scene.client.rpc_bytes_max()), (Span::from_us(100), 1 << 20));
}

#[test]
fn without_a_welcome_requests_end_and_have_not_been_sent() {
    let mut scene = Scene::outside(ClientConfig::default());
    let ticket = scene.client.submit(b"anybody?").unwrap();
    for _ in 0..49 {
        assert!(scene.end().is_none());
        scene.pass_us(100_000);
    }
    scene.pass_us(100_000);
    assert_eq!(scene.end(), Some((ticket, Err(CallError::NotSent(SubmitError::ServerGone)))));
}

#[test]
fn what_is_lost_is_the_same_when_it_is_sent_again_and_given_up_after_twelve_times() {
    let mut scene = measured(ClientConfig::default());
    let ticket = scene.client.submit_keyed(b"lost", 77).unwrap();
    let first = scene.on_their_way().remove(0);
    assert_eq!((first.key_hash, first.budget_us, first.flag), (77, u32::MAX, false));
    let (mut at_us, mut ends) = (vec![0], Vec::new());
    for us in (10..2_000_000).step_by(10) {
        scene.pass_us(10);
        ends.extend(scene.end());
        for again in scene.on_their_way() {
            assert_eq!(Message { flag: false, ..again }, first, "number, stamp and bytes");
            at_us.push(us);
        }
        if !ends.is_empty() {
            break;
        }
    }
    assert_eq!(ends, [(ticket, Err(CallError::TimedOut))]);
    assert_eq!(at_us.len(), 12);
    let waits: Vec<_> = at_us.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!((100..=110).contains(&waits[0]), "{waits:?}");
    assert!(
        waits.windows(2).all(|pair: &[u64]| pair[1].abs_diff(2 * pair[0]) <= 20),
        "each is twice the one before: {waits:?}"
    );
}

#[test]
fn a_lost_reply_comes_again_and_copies_of_it_change_nothing() {
    let mut scene = measured(ClientConfig::default());
    let ticket = scene.client.submit(b"once").unwrap();
    scene.on_their_way();
    scene.pass_us(1000);
    let again = scene.sent();
    assert_eq!(again.len(), 1);
    scene.answer(&[echo(&again[0]), echo(&again[0])]);
    assert_eq!(scene.ends(), [(ticket, Ok(b"once".to_vec()))]);
    let next = scene.client.submit(b"next").unwrap();
    let sent = scene.on_their_way();
    scene.answer(&[echo(&again[0]), echo(&sent[0]), echo(&again[0])]);
    assert_eq!(scene.ends(), [(next, Ok(b"next".to_vec()))]);
}

#[test]
fn an_answer_to_something_sent_later_shows_a_loss_before_its_time_out() {
    let mut scene = measured(ClientConfig::default());
    let lost = scene.client.submit(b"lost").unwrap();
    let first = scene.on_their_way().remove(0);
    scene.pass_us(60);
    let later = scene.client.submit(b"later").unwrap();
    let sent = scene.sent();
    assert_eq!(sent.len(), 1, "the first is not overdue yet");
    scene.pass_us(10);
    scene.answer(&[echo(&sent[0])]);
    assert_eq!(scene.end(), Some((later, Ok(b"later".to_vec()))));
    let again = scene.on_their_way();
    assert_eq!((again.len(), again[0].tid, again[0].stamp_ns), (1, first.tid, first.stamp_ns), "after 70 µs");
    scene.answer(&[echo(&again[0])]);
    assert_eq!(scene.end(), Some((lost, Ok(b"lost".to_vec()))));
}

#[test]
fn what_the_server_has_is_waited_for_and_asked_after_ever_more_rarely() {
    let mut scene = measured(ClientConfig::default());
    let ticket = scene.client.submit(b"slow").unwrap();
    let sent = scene.on_their_way();
    scene.answer(&[Message::ack_whole(sent[0].tid)]);
    let mut asked_ms = Vec::new();
    for ms in 0..1000 {
        for again in scene.sent() {
            assert_eq!((again.tid, again.stamp_ns), (sent[0].tid, sent[0].stamp_ns));
            asked_ms.push(ms);
            scene.answer(&[Message::ack_whole(again.tid)]);
        }
        scene.pass_us(1000);
    }
    // After 10, 20, 40, … ms; the client looks at the clock once per millisecond.
    assert_eq!(asked_ms.len(), 6, "{asked_ms:?}");
    assert!(asked_ms.windows(3).all(|three| three[2] - three[1] >= 2 * (three[1] - three[0]) - 2), "{asked_ms:?}");
    scene.answer(&[echo(&sent[0])]);
    assert_eq!(scene.end(), Some((ticket, Ok(b"slow".to_vec()))));
}

#[test]
fn a_nack_ends_a_call_or_starts_a_try_of_its_own() {
    let mut scene = scene();
    let ends = [
        (3, CallError::Nack { reason: NackReason::QueueBound }),
        (4, CallError::Nack { reason: NackReason::TooLarge }),
        (5, CallError::Stale),
        (6, CallError::Expired),
        (7, CallError::Nack { reason: NackReason::Incomplete }),
        (99, CallError::Protocol),
    ];
    for (code, error) in ends {
        let ticket = scene.client.submit(b"refused").unwrap();
        let tid = scene.on_their_way()[0].tid;
        scene.answer(&[Message::nack(tid, code), Message::nack(tid, code)]);
        assert_eq!(scene.ends(), [(ticket, Err(error))]);
    }
    let ticket = scene.client.submit(b"panics").unwrap();
    let tid = scene.on_their_way()[0].tid;
    scene.answer(&[Message { kind: FAULT, word: 2, tid, ..Message::default() }]);
    assert!(matches!(scene.end(), Some((ended, Err(CallError::Fault(_)))) if ended == ticket));

    let retry = RetryPolicy::BackOff { first: Span::from_us(100), factor: 2, attempts: 3, seed: 1 };
    let mut scene = Scene::new(ClientConfig::default().retry(retry));
    let ticket = scene.client.submit(b"again").unwrap();
    let first = scene.on_their_way().remove(0);
    scene.answer(&[Message::nack(first.tid, 1)]);
    assert!(scene.sent().is_empty());
    scene.pass_us(100);
    let second = scene.sent().remove(0);
    assert!(second.tid != first.tid && second.stamp_ns == first.stamp_ns + 100_000, "its own number and stamp");
    scene.answer(&[Message::reply(first.tid, b"no", 0, MTU), echo(&second)]);
    assert_eq!(scene.ends(), [(ticket, Ok(b"again".to_vec()))]);
}

#[test]
fn a_server_that_has_started_anew_ends_what_was_sent_and_gets_what_was_not() {
    let mut scene = scene();
    let tickets: Vec<_> = (0..64_u8).map(|i| scene.client.submit(&[i]).unwrap()).collect();
    assert_eq!(scene.sent().len(), 64, "as many as the first window allows");
    scene.client.submit(&[64]).expect("one may wait");
    assert_eq!(scene.client.submit(&[65]), Err(SubmitError::Full), "and no more");
    scene.pass_us(20_000);
    scene.on_their_way();
    scene.refuse(2);
    assert!(scene.end().is_none(), "a refusal ends nothing");
    assert_eq!(scene.hellos(), [(scene.snid, scene.token())], "under the name that it had");
    scene.pass_us(20_000);
    assert!(scene.end().is_none());
    (scene.incarnation, scene.snid) = (0xDCBA, 6);
    let ends = scene.welcomed();
    assert_eq!(ends.len(), 64);
    assert!(ends.iter().zip(&tickets).all(|(end, &ticket)| *end == (ticket, Err(CallError::ServerGone))), "{ends:?}");
    let sent = scene.sent();
    assert_eq!(sent.iter().map(|message| message.payload[0]).collect::<Vec<_>>(), [64]);
    scene.answer(&sent.iter().map(echo).collect::<Vec<_>>());
    assert_eq!(scene.ends().len(), 1);
    assert_eq!(scene.client.outstanding(), 0);
}

#[test]
fn a_long_silence_is_ended_by_a_hello() {
    let mut scene = measured(ClientConfig::default());
    scene.pass_us(11_000_000);
    let ticket = scene.client.submit(b"still there?").unwrap();
    assert!(scene.end().is_none());
    scene.welcome();
    let sent = scene.sent();
    assert_eq!(sent[0].stamp_ns, scene.server_ns());
    scene.answer(&[echo(&sent[0])]);
    assert_eq!(scene.end(), Some((ticket, Ok(b"still there?".to_vec()))));
}

fn acknowledge(tid: u32, arrived: &BTreeSet<u16>, packets: u16) -> Message {
    let Some(first) = (0..packets).find(|packet| !arrived.contains(packet)) else { return Message::ack_whole(tid) };
    let bitmap = (0..64).filter(|bit| arrived.contains(&(first + bit))).fold(0, |bits, bit| bits | 1 << bit);
    Message { kind: ACK, tid, pkt_idx: first, bitmap, ..Message::default() }
}

#[test]
fn a_long_request_goes_in_bursts_and_only_what_is_missing_goes_again() {
    let mut scene = measured(ClientConfig::default());
    let request: Vec<u8> = (0..150 * MTU + 7).map(|at| u8::try_from(at % 251).unwrap()).collect();
    let ticket = scene.client.submit(&request).unwrap();
    let (mut arrived, mut received, mut bursts, mut seen) = (BTreeSet::new(), vec![0; request.len()], 0, 0);
    let mut tid = 0;
    while arrived.len() < 151 {
        let burst = scene.on_their_way();
        assert!(burst.len() <= 64 && burst.iter().rev().skip(1).all(|packet| !packet.flag));
        for packet in &burst {
            seen += 1;
            tid = packet.tid;
            // Every seventh packet is lost, also the last of a burst.
            if seen % 7 != 0 {
                let at = usize::from(packet.pkt_idx) * MTU;
                received[at..at + packet.payload.len()].copy_from_slice(&packet.payload);
                assert!(arrived.insert(packet.pkt_idx) || packet.flag, "packet {} came twice", packet.pkt_idx);
                if packet.flag {
                    scene.answer(&[acknowledge(tid, &arrived, 151)]);
                }
            }
        }
        bursts += 1;
        assert!(bursts < 50, "{} of 151 packets after 50 bursts", arrived.len());
        scene.pass_us(1000);
        assert!(scene.end().is_none());
    }
    assert_eq!(received, request);
    assert!(seen < 151 + 60, "{seen} packets for 151");
    scene.answer(&[Message::reply(tid, b"thanks", 0, MTU)]);
    assert_eq!(scene.end(), Some((ticket, Ok(b"thanks".to_vec()))));
}

#[test]
fn a_long_reply_is_pulled_and_what_is_lost_of_it_again() {
    let mut scene = measured(ClientConfig::default());
    let reply: Vec<u8> = (0..200 * MTU + 1).map(|at| u8::try_from(at % 249).unwrap()).collect();
    let ticket = scene.client.submit(b"much").unwrap();
    let tid = scene.on_their_way()[0].tid;
    let mut wanted: Vec<u16> = (0..32).collect();
    let (mut seen, mut turns, mut asked) = (0, 0, 0);
    let end = loop {
        for pkt_idx in wanted.drain(..) {
            seen += 1;
            if seen % 9 != 0 {
                scene.answer(&[Message::reply(tid, &reply, pkt_idx, MTU)]);
            }
        }
        if let Some(end) = scene.end() {
            break end;
        }
        for pull in scene.on_their_way() {
            if pull.kind == PULL {
                assert_eq!(pull.tid, tid);
                wanted.extend((0..64).filter(|bit| pull.bitmap >> bit & 1 == 1).map(|bit| pull.pkt_idx + bit));
            }
        }
        assert!(wanted.len() <= 64);
        asked += wanted.len();
        turns += 1;
        assert!(turns < 100, "incomplete after {turns} turns");
        scene.pass_us(400);
    };
    assert!(end == (ticket, Ok(reply)));
    assert!(asked < 201 + 40, "{asked} packets were asked for");
    // Buffers are reused, and a short reply must not pass for a long one.
    let ticket = scene.client.submit(b"little").unwrap();
    let tid = scene.on_their_way()[0].tid;
    scene.answer(&[Message::reply(tid, &[1; MTU + 1], 1, MTU), Message::reply(tid, &[1; MTU + 1], 0, MTU)]);
    assert_eq!(scene.end(), Some((ticket, Ok(vec![1; MTU + 1]))));
}

#[test]
fn what_is_cancelled_ends_once_and_the_server_is_told_until_it_has_answered() {
    let mut scene = measured(ClientConfig::default());
    let ticket = scene.client.submit(b"too late.").unwrap();
    let sent = scene.on_their_way();
    assert!(scene.client.cancel(ticket) && !scene.client.cancel(ticket));
    assert_eq!(scene.end(), Some((ticket, Err(CallError::Cancelled))));
    assert!(!scene.client.cancel(ticket));
    let told = scene.sent();
    assert_eq!((told.len(), told[0].kind, told[0].tid), (1, CANCEL, sent[0].tid));
    scene.answer(&[echo(&sent[0]), Message::nack(sent[0].tid, 8)]);
    for _ in 0..100 {
        scene.pass_us(1000);
        assert!(scene.sent().is_empty());
    }
    // An RPC cancelled before it was sent is never sent.
    let tickets: Vec<_> = (0..3).map(|_| scene.client.submit(b"few").unwrap()).collect();
    assert!(scene.client.cancel(tickets[1]));
    assert_eq!(scene.end(), Some((tickets[1], Err(CallError::Cancelled))));
    let sent = scene.sent();
    assert!(sent.len() == 2 && sent.iter().all(|message| message.kind == REQUEST), "{sent:?}");
}

#[test]
fn a_cancel_that_is_lost_is_sent_again() {
    for is_acknowledged in [false, true] {
        let mut scene = measured(ClientConfig::default());
        let ticket = scene.client.submit(b"too late.").unwrap();
        let tid = scene.on_their_way()[0].tid;
        assert!(scene.client.cancel(ticket));
        assert_eq!(scene.end(), Some((ticket, Err(CallError::Cancelled))));
        let mut told = Vec::new();
        for ms in 0..100 {
            let sent = scene.sent();
            assert!(sent.iter().all(|message| message.kind == CANCEL && message.tid == tid), "{sent:?}");
            told.extend(sent.iter().map(|_| ms));
            if is_acknowledged && ms == 0 {
                // The request has arrived, and the cancel has not.
                scene.answer(&[Message::ack_whole(tid)]);
            }
            scene.pass_us(1000);
            assert!(scene.end().is_none());
        }
        assert_eq!(told, [0, 1, 9]);
        assert_eq!(scene.client.outstanding(), 0);
    }
}

#[test]
fn a_deadline_travels_and_ends_the_call() {
    let mut scene = measured(ClientConfig::default());
    let deadline = Options::default().deadline(Span::from_us(2500));
    let ticket = scene.client.submit_with(b"soon", deadline).unwrap();
    let sent = scene.on_their_way();
    assert_eq!((sent[0].budget_us, sent[0].stamp_ns), (2500, scene.server_ns()));
    scene.pass_us(2499);
    assert!(scene.end().is_none());
    scene.pass_us(1);
    assert_eq!(scene.end(), Some((ticket, Err(CallError::TimedOut))));
    scene.answer(&[echo(&sent[0])]);
    assert!(scene.end().is_none());

    // An RPC that could not be sent was not executed either.
    let mut scene = Scene::outside(ClientConfig::default().deadline(Span::from_ms(1)));
    let ticket = scene.client.submit(b"soon").unwrap();
    scene.pass_us(1000);
    assert_eq!(scene.end(), Some((ticket, Err(CallError::Expired))));
}

#[test]
fn the_window_opens_with_answers_and_closes_with_refusals() {
    let mut scene = Scene::new(ClientConfig::default().slots(4096));
    let submit = |scene: &mut Scene, count: usize| {
        let taken = (0..count).take_while(|_| scene.client.submit(b"one of many").is_ok()).count();
        assert!(taken < count, "what is too much is not queued");
        scene.sent()
    };
    let sent = submit(&mut scene, 1000);
    assert_eq!(sent.len(), 64);
    scene.answer(&sent.iter().map(echo).collect::<Vec<_>>());
    scene.pass_us(50);
    assert_eq!(scene.ends().len(), 64);
    let sent = submit(&mut scene, 1000);
    assert_eq!(sent.len(), 128);
    scene.answer(&sent.iter().map(|message| Message::nack(message.tid, 3)).collect::<Vec<_>>());
    scene.pass_us(50);
    assert_eq!(scene.ends().len(), 128);
    assert_eq!(submit(&mut scene, 1000).len(), 89, "0.7 of it, once a round trip");
}

#[test]
fn without_flow_control_refusals_change_nothing() {
    let mut scene = Scene::new(ClientConfig::default().slots(512).flow(FlowKind::Unbounded));
    for _ in 0..3 {
        let submitted = (0..512).map(|_| scene.client.submit(b"one of many").expect("room")).collect::<Vec<_>>();
        let sent = scene.sent();
        assert_eq!(sent.len(), 512, "as many as there are slots");
        scene.answer(&sent.iter().map(|message| Message::nack(message.tid, 3)).collect::<Vec<_>>());
        scene.pass_us(50);
        assert_eq!(scene.ends().len(), submitted.len());
    }
}

#[test]
fn as_many_as_there_are_slots_are_outstanding_and_tickets_are_apart() {
    let mut scene = Scene::new(ClientConfig::default().slots(8));
    let mut waiting: Vec<(nebula::Ticket, Message)> = Vec::new();
    let mut draw = support::draw::Draw::new(3);
    for _ in 0..2000 {
        while let Ok(ticket) = scene.client.submit(&[1]) {
            assert!(waiting.iter().all(|(other, _)| other.0 % 8 != ticket.0 % 8), "{ticket:?} of {waiting:?}");
            scene.client.flush();
            let sent = scene.on_their_way().remove(0);
            waiting.push((ticket, sent));
        }
        assert_eq!((waiting.len(), scene.client.submit(&[1])), (8, Err(SubmitError::Full)));
        for _ in 0..=draw.below(4) {
            let (_, request) = &waiting[draw.below(waiting.len())];
            let reply = echo(request);
            scene.answer(&[reply]);
        }
        // Only the first of the ended RPCs is reported before more are submitted.
        let (ended, _) = scene.end().expect("an answer");
        waiting.retain(|(ticket, _)| *ticket != ended);
    }
}

#[test]
fn what_is_not_the_servers_is_ignored() {
    let mut scene = measured(ClientConfig::default());
    let ticket = scene.client.submit(b"whose?").unwrap();
    let request = scene.on_their_way().remove(0);
    let reply = [Message::reply(request.tid, b"forged", 0, MTU)];
    scene.deliver("127.0.0.2:7400".parse().unwrap(), scene.frame(&reply));
    for bit in [0, 9, 70, 130, 300] {
        let mut changed = scene.frame(&reply);
        changed[bit / 8] ^= 1 << (bit % 8);
        scene.deliver(server(), changed);
    }
    let (incarnation, snid) = (scene.incarnation, scene.snid);
    scene.incarnation += 1;
    scene.answer(&reply);
    scene.refuse(2);
    scene.incarnation = incarnation;
    scene.snid += 1;
    scene.answer(&reply);
    scene.refuse(3);
    scene.snid = snid;
    // Replies with wrong fields.
    scene.answer(&[
        Message { word: 900, ..Message::reply(request.tid, b"forged", 0, MTU) },
        Message { pkt_idx: 9, ..Message::reply(request.tid, b"forged", 0, MTU) },
        Message { tid: request.tid ^ 0x4000, ..Message::reply(0, b"forged", 0, MTU) },
    ]);
    scene.deliver(server(), vec![]);
    scene.deliver(server(), vec![1; 2000]);
    assert!(scene.end().is_none());
    scene.answer(&[echo(&request)]);
    assert_eq!(scene.ends(), [(ticket, Ok(b"whose?".to_vec()))]);
}

#[test]
fn stamps_follow_the_servers_clock() {
    let mut scene = measured(ClientConfig::default());
    scene.pass_us(9_000_000);
    scene.client.submit(b"when?").unwrap();
    let sent = scene.on_their_way();
    let own_ns = scene.server_ns() - AHEAD_NS;
    assert_eq!(sent[0].stamp_ns - own_ns, AHEAD_NS);
}

#[test]
fn a_refusal_played_again_and_again_ends_nothing_and_hardly_costs_time() {
    let mut scene = measured(ClientConfig::default());
    scene.pass_us(1_000_000);
    let (mut hellos, mut replies) = (0, 0);
    let mut ticket = None;
    for _ in 0..10_000 {
        // A copy of one refusal each time, as an observer would have it.
        scene.refuse(2 + replies % 2);
        let end = scene.end();
        let is_ours = end.is_none() || end == ticket.take().map(|ticket| (ticket, Ok(b"goes on".to_vec())));
        assert!(is_ours, "{end:?}");
        replies += u32::from(end.is_some());
        ticket = ticket.or_else(|| scene.client.submit(b"goes on").ok());
        let answers: Vec<_> = scene.all_on_their_way(&mut hellos).iter().map(echo).collect();
        scene.answer(&answers);
        scene.pass_us(100);
    }
    // Each check takes 100 us here, and 20 ms of trust follow.
    assert!((40..=60).contains(&hellos), "{hellos} hellos in a second");
    assert!(replies > 4500, "{replies} of 5,000 calls");
}

#[test]
fn an_old_frame_played_again_and_again_hardly_costs_time_either() {
    let mut scene = measured(ClientConfig::default());
    let mut old = scene.header();
    old.word -= 12_000_000_000;
    let old = scene.frame_with(&old, &[Message::nack(1, 1)]);
    let mut hellos = 0;
    for _ in 0..10_000 {
        scene.deliver(server(), old.clone());
        assert!(scene.end().is_none());
        scene.all_on_their_way(&mut hellos);
        scene.pass_us(100);
        // The client listens only while it awaits something.
        let _ = scene.client.submit(b"awaited");
    }
    assert!((40..=60).contains(&hellos), "{hellos} hellos in a second");
}

#[test]
fn a_client_that_asks_believes_the_welcome_that_repeats_its_echo_and_no_other() {
    let mut scene = measured(ClientConfig::default());
    scene.pass_us(1_000_000);
    let ticket = scene.client.submit(b"mine").unwrap();
    let request = scene.on_their_way().remove(0);
    scene.refuse(2);
    assert!(scene.end().is_none());
    let old = std::mem::replace(&mut scene.incarnation, 0xBAD);
    scene.welcome_with_echo(&[7; 8]);
    assert!(scene.end().is_none(), "nobody asked for that");
    scene.incarnation = old;
    scene.welcome();
    scene.answer(&[echo(&request)]);
    assert_eq!(scene.end(), Some((ticket, Ok(b"mine".to_vec()))));
}

#[test]
fn who_does_not_know_the_token_makes_no_frame_that_is_taken() {
    let mut scene = measured(ClientConfig::default());
    let ticket = scene.client.submit(b"whose?").unwrap();
    let request = scene.on_their_way().remove(0);
    // It even knows the number, transfer and time that it would have to guess.
    let forged = [Message::reply(request.tid, b"forged", 0, MTU)];
    let mut datagram = scene.frame(&forged);
    let right: [u8; 4] = datagram[4..8].try_into().unwrap();
    let mut draw = crate::support::draw::Draw::new(1);
    for _ in 0..GUESSES / GUESSES_AT_ONCE {
        for _ in 0..GUESSES_AT_ONCE {
            let guess = draw.number().to_le_bytes();
            datagram[4..8].copy_from_slice(&guess[..4]);
            assert_ne!(datagram[4..8], right, "another seed, please");
            scene.deliver(server(), datagram.clone());
        }
        assert!(scene.end().is_none());
    }
    scene.answer(&[echo(&request)]);
    assert_eq!(scene.ends(), [(ticket, Ok(b"whose?".to_vec()))]);
}

const GUESSES: usize = 1_000_000;
const GUESSES_AT_ONCE: usize = 1000;

#[test]
fn transfers_begin_at_a_number_that_nobody_knows() {
    let first = |entropy| {
        let mut scene = Scene::with_entropy(entropy);
        scene.client.submit(b"first").unwrap();
        scene.on_their_way().remove(0).tid
    };
    let tids: std::collections::BTreeSet<u32> = (0..20).map(first).collect();
    assert_eq!(tids.len(), 20);
    assert!(tids.last().unwrap() - tids.first().unwrap() > 1 << 30, "{tids:?}");
}

#[test]
fn a_frame_of_long_ago_is_not_taken_although_its_transfer_has_come_round_again() {
    let mut scene = measured(ClientConfig::default());
    let ticket = scene.client.submit(b"now").unwrap();
    let request = scene.on_their_way().remove(0);
    scene.pass_us(1_000_000);
    let mut old = scene.header();
    old.word -= 12_000_000_000;
    let datagram = scene.frame_with(&old, &[Message::reply(request.tid, b"old", 0, MTU)]);
    scene.deliver(server(), datagram);
    assert!(scene.end().is_none());
    // A stopped server clock would show in the welcome.
    let mut hellos = 0;
    scene.all_on_their_way(&mut hellos);
    assert_eq!(hellos, 1);
    scene.answer(&[echo(&request)]);
    assert_eq!(scene.end(), Some((ticket, Ok(b"now".to_vec()))));
}

#[test]
fn a_server_whose_clock_was_stopped_is_believed_when_it_answers_a_hello() {
    let mut scene = measured(ClientConfig::default());
    scene.pass_us(1_000_000);
    let ticket = scene.client.submit(b"slept").unwrap();
    let request = scene.on_their_way().remove(0);
    scene.behind_ns = 60_000_000_000;
    scene.answer(&[echo(&request)]);
    assert!(scene.end().is_none(), "it could be a copy of long ago");
    scene.welcome();
    scene.answer(&[echo(&request)]);
    assert_eq!(scene.end(), Some((ticket, Ok(b"slept".to_vec()))));
}

/// A server that forgets nothing, behind a network that loses, doubles and reorders.
#[test]
fn whatever_the_network_does_each_call_ends_once_with_its_own_reply() {
    for seed in 0..20 {
        let mut draw = support::draw::Draw::new(seed);
        let mut scene = Scene::new(ClientConfig::default().slots(64));
        let (mut waiting, mut number, mut replied) = (std::collections::BTreeMap::new(), 0_u32, 0);
        let mut on_their_way: Vec<Message> = Vec::new();
        for turn in 0..200_000 {
            if waiting.len() < 64
                && number < 2000
                && let Ok(ticket) = scene.client.submit(&number.to_le_bytes())
            {
                waiting.insert(ticket, number);
                number += 1;
            }
            while let Some((ticket, result)) = scene.end() {
                let number = waiting.remove(&ticket).expect("its only end");
                assert_eq!(result, Ok(number.to_le_bytes().to_vec()), "seed {seed}");
                replied += 1;
            }
            for request in scene.on_their_way() {
                for _ in 0..[0, 1, 1, 1, 1, 1, 1, 2][draw.below(8)] {
                    on_their_way.push(echo(&request));
                }
            }
            while !on_their_way.is_empty() && !draw.once_in(3) {
                let reply = on_their_way.swap_remove(draw.below(on_their_way.len()));
                scene.answer(&[reply]);
            }
            scene.pass_us(5);
            if replied == 2000 {
                break;
            }
            assert!(turn < 199_999, "seed {seed}: {replied} of 2000");
        }
    }
}

#[test]
fn a_client_sleeps_until_something_is_due_and_not_while_something_has_ended() {
    const MINUTE: Duration = Duration::from_secs(60);
    let mut scene = measured(ClientConfig::default());
    assert_eq!(scene.slept(MINUTE), Some(MINUTE), "nothing is awaited");
    let deadline = Options::default().deadline(Span::from_secs(5));
    let tickets = [scene.client.submit(b"one"), scene.client.submit_with(b"two", deadline)].map(|sent| sent.unwrap());
    let until_due = scene.slept(MINUTE).expect("no answer yet");
    assert_eq!(scene.slept(Duration::from_micros(1)), Some(Duration::from_micros(1)));
    // The second was sent before the sleep; then the first is due again.
    let sent = scene.on_their_way();
    assert_eq!(sent.len(), 2);
    assert!((100..=300).contains(&until_due.as_micros()), "{until_due:?}");
    scene.answer(&[echo(&sent[0]), echo(&sent[1])]);
    assert_eq!(scene.end().map(|(ticket, _)| ticket), Some(tickets[0]));
    assert_eq!(scene.slept(MINUTE), None, "another has ended");
    assert_eq!(scene.end().map(|(ticket, _)| ticket), Some(tickets[1]));
    assert_eq!(scene.slept(MINUTE), Some(MINUTE), "the deadline of what is over is no reason to wake up");
}

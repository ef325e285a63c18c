//! Hostile clients that wait for grants, on a real server with the test's wire and clock: some send
//! packets that were not granted, others send none.

use crate::support::by_hand::{ByHand, job, reply};
use crate::support::udp_raw::{Answer, MTU, Packet};
use nebula::{Queueing, Span};

/// A server with a buffer of `slots` slots and messages of up to 60 packets.
fn granting(slots: u64) -> ByHand {
    ByHand::open(|config| {
        config.rpc_bytes_max = 64 << 10;
        config.queueing = Queueing::Unbounded { recv_buffer_bytes: slots * 64 };
        config.reassembly_timeout = Some(Span::from_secs(1));
    })
}

/// Packets `from` to `to` of a request whose client waits for grants; the last one asks for an
/// acknowledgment.
fn granted_parts(now: u64, rpc: &[u8], from: u16, to: u16) -> Vec<u8> {
    let part =
        |pkt_idx| Packet { wants_grants: true, wants_ack: pkt_idx + 1 == to, ..Packet::part(0, now, rpc, pkt_idx) };
    (from..to).flat_map(|pkt_idx| part(pkt_idx).bytes()).collect()
}

fn last_grant(answers: &[Answer]) -> Option<u32> {
    let grants = |answer: &Answer| match answer {
        Answer::Grant { packets, .. } => Some(*packets),
        _ => None,
    };
    answers.iter().rev().find_map(grants)
}

#[test]
fn who_asks_for_grants_and_does_not_wait_for_them_is_served_as_anybody_is() {
    let mut scene = granting(4096);
    let mut client = scene.client();
    let rpc = job(1, 40 * MTU, 20);
    let now = scene.now_ns();
    let answers = scene.ask(&mut client, &granted_parts(now, &rpc, 0, 40));
    assert_eq!(answers.last(), Some(&reply(0, 1, 20)));
    assert_eq!((scene.executed(1), scene.status().slots_used), (1, 0));
    // A repetition changes nothing.
    scene.ask(&mut client, &granted_parts(now, &rpc, 0, 40));
    assert_eq!((scene.executed(1), scene.executions()), (1, 1));
}

#[test]
fn who_is_granted_packets_and_is_silent_keeps_no_honest_client_from_being_served() {
    let mut scene = granting(1 << 15);
    // More silent clients than the server grants at once, each with less left than the honest one.
    for silent in 0..12 {
        let mut client = scene.client();
        let rpc = job(100 + silent, 30 * MTU, 20);
        let now = scene.now_ns();
        scene.ask(&mut client, &granted_parts(now, &rpc, 0, 16));
    }
    let mut client = scene.client();
    let rpc = job(1, 40 * MTU, 20);
    let now = scene.now_ns();
    let (mut sent, mut answered) = (0, Vec::new());
    let mut limit = 16_u16;
    for round in 0.. {
        assert!(round < 60, "{sent} of 40 packets sent");
        let answers =
            if sent < limit { scene.ask(&mut client, &granted_parts(now, &rpc, sent, limit)) } else { Vec::new() };
        sent = limit;
        let heard = scene.hear_each(&[&client]).remove(0);
        answered = [answers, heard].concat();
        if answered.contains(&reply(0, 1, 20)) {
            break;
        }
        limit = limit.max(u16::try_from(last_grant(&answered).unwrap_or(0)).expect("few")).min(40);
        scene.advance_us(500);
        // A waiting client asks from time to time.
        if sent == limit && round % 4 == 3 {
            let asked = scene.ask(&mut client, &granted_parts(now, &rpc, sent - 1, sent));
            limit = limit.max(u16::try_from(last_grant(&asked).unwrap_or(0)).expect("few")).min(40);
        }
    }
    assert!(answered.contains(&reply(0, 1, 20)) && scene.executed(1) == 1);
}

#[test]
fn messages_beyond_those_that_are_known_go_on_by_their_questions() {
    let mut scene = granting(1 << 19);
    let mut clients: Vec<_> = (0..300).map(|_| scene.client()).collect();
    let now = scene.now_ns();
    for (id, client) in (0..).zip(&mut clients) {
        let rpc = job(1000 + id, 20 * MTU, 20);
        scene.ask(client, &granted_parts(now, &rpc, 0, 16));
    }
    let rpc = job(1299, 20 * MTU, 20);
    for sent in 16..20 {
        let answers = scene.ask(&mut clients[299], &granted_parts(now, &rpc, sent - 1, sent));
        assert!(last_grant(&answers) > Some(sent.into()), "after {sent}: {answers:?}");
    }
    let answers = scene.ask(&mut clients[299], &granted_parts(now, &rpc, 19, 20));
    assert!(answers.contains(&reply(0, 1299, 20)), "{answers:?}");
}

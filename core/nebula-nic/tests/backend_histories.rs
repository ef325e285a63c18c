//! The whole back end compared with the naive model, over all short histories of tiny
//! configurations.

use crate::support::histories::walk;
use crate::support::op::Op;
use crate::support::pair::Pair;
use nebula_nic::{Input, LogLine, Policy, ScrubMode};

/// The possible steps: an RPC of one packet, two of several in any order, and everything that ends
/// one.
fn choices(pair: &Pair) -> Vec<Op> {
    let packet = |tid, bytes, pkt_idx| Op::Packet { peer: 0, tid, bytes, pkt_idx, key: tid };
    let mut ops = vec![
        packet(0, 64, 0),
        packet(1, 128, 0),
        packet(1, 128, 1),
        packet(2, 192, 2),
        packet(2, 192, 0),
        packet(1, 192, 1),
        Op::Packet { peer: 1, tid: 1, bytes: 128, pkt_idx: 0, key: 1 },
        Op::Timeout { steps: 1 },
    ];
    let frees = [0, 1].map(|core| Op::Free { core, nth: 0 });
    ops.extend(frees.iter().filter(|op| op.input(&pair.model).is_some()));
    if pair.model.incomplete() > 0 {
        ops.push(Op::PeerGone { peer: 0 });
    }
    ops
}

fn histories(policy: Policy, scrub: ScrubMode, steps: u32) -> u64 {
    walk(&Pair::tiny(policy, scrub), steps, &choices, &|pair, op| {
        pair.apply(op);
    })
}

#[test]
fn all_short_histories_of_one_queue_agree_with_the_model() {
    let jbsq = histories(Policy::Jbsq(2), ScrubMode::OnFull, 6);
    let ideal = histories(Policy::SingleQueue, ScrubMode::AfterNack, 6);
    assert!(jbsq + ideal > 1_000_000, "{jbsq} + {ideal} histories");
}

#[test]
fn all_short_histories_of_a_queue_a_core_agree_with_the_model() {
    let policies = [Policy::RoundRobin, Policy::KeyHash, Policy::Random, Policy::Rss];
    let histories: u64 = policies.into_iter().map(|policy| histories(policy, ScrubMode::OnFull, 5)).sum();
    assert!(histories > 200_000, "{histories} histories");
}

#[test]
fn a_poll_without_news_decides_nothing() {
    let mut pair = Pair::tiny(Policy::Jbsq(2), ScrubMode::OnFull);
    pair.apply(Op::Packet { peer: 0, tid: 0, bytes: 64, pkt_idx: 0, key: 0 });
    assert_eq!(LogLine::record(&mut pair.real, pair.now, Input::Poll).decisions, []);
}

//! The memory of RPCs compared with one that never forgets: all short histories, and long random
//! ones.

use crate::support::histories::walk;
use crate::support::retention::{Op, Pair};
use nebula_nic::{
    NackReason, NodeId, Retention, RetentionConfig, RetentionFull, RetentionKey, RpcKey, Seen, TransferId,
};

fn key(tid: u32) -> RetentionKey {
    RetentionKey { rpc: RpcKey { snid: NodeId(1), tid: TransferId(tid) }, tag: 7 }
}

fn choices(pair: &Pair) -> Vec<Op> {
    let mut ops = vec![
        Op::Request { peer: 0, late: 0, early: 0, note: 1 },
        Op::Request { peer: 1, late: 2, early: 0, note: 2 },
        Op::Refused { peer: 2, late: 1, early: 3, reason: 0 },
    ];
    let end = |nth| [Op::Reply { nth, bytes: 3 }, Op::Reply { nth, bytes: 1 }, Op::Fault { nth, code: 3 }];
    ops.extend((0..2).take(pair.in_server()).flat_map(end));
    ops
}

#[test]
fn all_short_histories_agree_with_a_memory_that_never_forgets() {
    let apply = |pair: &mut Pair, op| {
        pair.apply(op);
        pair.check_all();
    };
    let histories = walk(&Pair::new(2, 4), 8, &choices, &apply);
    assert!(histories > 300_000, "{histories} histories");
}

#[test]
fn long_histories_agree_with_a_memory_that_never_forgets() {
    nebula_testing::seeded(|draw| {
        let mut pair = Pair::new(draw.int_in_range(0..=20)?, draw.int_in_range(0..=2000)?);
        while !draw.is_empty() {
            pair.apply(draw.arbitrary()?);
        }
        pair.check_all();
        Ok(())
    })
    .size_max(4096)
    .runs(600);
}

#[test]
fn an_rpc_in_the_server_outlasts_any_number_of_others() {
    let mut retention = Retention::new(RetentionConfig::new(4, 64));
    let slow = retention.begin(key(0), 0, 42).expect("it is empty");
    for tid in 1..1000 {
        let rpc = retention.begin(key(tid), tid.into(), 0).expect("three entries are not in the server");
        assert!(retention.end_replied(rpc, 64).is_some());
        assert_eq!(retention.look(key(0), 0), Seen::InServer(slow));
    }
    assert_eq!((retention.note(slow), retention.len(), retention.in_server()), (42, 4, 1));
    retention.end_nacked(slow, NackReason::Expired);
    for tid in 1000..1003 {
        retention.nacked(key(tid), tid.into(), NackReason::QueueBound).expect("nothing is in the server");
        assert_eq!(retention.look(key(0), 0), Seen::Nacked(NackReason::Expired), "three others are over after it");
    }
    retention.nacked(key(1003), 1003, NackReason::QueueBound).expect("nothing is in the server");
    assert_eq!(retention.look(key(0), 0), Seen::Stale);
}

#[test]
fn what_there_is_no_room_for_changes_nothing() {
    let mut retention = Retention::new(RetentionConfig::new(2, 64));
    let [first, second] = [0, 1].map(|tid| retention.begin(key(tid), 5, 0).expect("it is empty"));
    assert_eq!(retention.begin(key(2), 6, 0), Err(RetentionFull));
    assert_eq!(retention.nacked(key(2), 6, NackReason::BufferFull), Err(RetentionFull));
    assert_eq!((retention.look(key(2), 6), retention.floor_ns(), retention.is_full()), (Seen::New, None, true));
    assert_eq!(retention.end_replied(first, 65), None, "longer than the ring");
    assert_eq!([0, 1].map(|tid| retention.look(key(tid), 5)), [first, second].map(Seen::InServer));
}

#[test]
fn a_reply_of_no_bytes_is_there_for_as_long_as_its_rpc_is_remembered() {
    let mut retention = Retention::new(RetentionConfig::new(8, 16));
    let [empty, other] = [0, 1].map(|tid| retention.begin(key(tid), 5, 0).expect("it is empty"));
    let at = retention.end_replied(empty, 0).expect("nothing fits");
    let over_written = retention.end_replied(other, 1).expect("one byte fits");
    assert_eq!(retention.look(key(1), 5), Seen::Replied(over_written));
    let last = retention.begin(key(2), 5, 0).expect("entries are left");
    assert!(retention.end_replied(last, 16).is_some());
    assert_eq!([0, 1].map(|tid| retention.look(key(tid), 5)), [Seen::Replied(at), Seen::Stale]);
}

#[test]
fn stamps_at_both_ends_are_stamps() {
    let mut retention = Retention::new(RetentionConfig::new(1, 0));
    assert_eq!(retention.look(key(0), 0), Seen::New, "nothing is forgotten yet");
    for (tid, stamp_ns) in [(0, 0), (1, u64::MAX)] {
        retention.nacked(key(tid), stamp_ns, NackReason::BufferFull).expect("nothing is in the server");
    }
    assert_eq!((retention.look(key(0), 0), retention.look(key(2), 1)), (Seen::Stale, Seen::New));
    retention.nacked(key(3), 1, NackReason::BufferFull).expect("nothing is in the server");
    assert_eq!((retention.look(key(1), u64::MAX), retention.floor_ns()), (Seen::Stale, Some(u64::MAX)));
}

#[test]
fn a_tag_tells_nodes_of_one_number_apart() {
    let mut retention = Retention::new(RetentionConfig::new(2, 64));
    let other = RetentionKey { tag: 8, ..key(0) };
    let rpc = retention.begin(key(0), 1, 0).expect("it is empty");
    assert_eq!((retention.look(other, 1), retention.recall(other)), (Seen::New, None));
    assert_eq!(retention.recall(key(0)), Some(Seen::InServer(rpc)));
}

#[test]
#[should_panic(expected = "the RPC of this entry is over")]
fn an_rpc_ends_once() {
    let mut retention = Retention::new(RetentionConfig::new(2, 64));
    let rpc = retention.begin(key(0), 1, 0).expect("it is empty");
    retention.end_faulted(rpc, 1);
    retention.end_faulted(rpc, 1);
}

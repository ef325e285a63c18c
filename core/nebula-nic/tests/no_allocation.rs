//! Construction is the last allocation: a million RPCs make none.

use nebula_nic::schedule::{
    Darc, DarcConfig, Manager, ManagerConfig, RpcType, Selection, Thresholds, Turns, TypedQueues,
};
use nebula_nic::{
    Adoption, Backend, BackendConfig, CoreId, GroupConfig, GroupId, Header, HostWatch, HostWatchConfig, NackReason,
    NodeId, Policy, Quantum, Retention, RetentionConfig, RetentionKey, RpcKey, Seen, Span, Timestamp, TransferId,
};
use nebula_testing::allocations::{Counting, made_by};

#[global_allocator]
static ALLOCATOR: Counting = Counting::new();

#[test]
fn handing_rpcs_over_allocates_nothing() {
    let backend = BackendConfig::new(2, Policy::Jbsq(2)).slots(32).rpc_bytes_max(64);
    let group = |id| Backend::try_group(GroupConfig { backend, group: GroupId(id), groups: 2, foreign_max: 8 });
    let manager = ManagerConfig::new(GroupId(0), 2, 2, Span::from_us(1), Thresholds::fixed(4));
    let mut manager = Manager::try_new(manager).unwrap();
    let (mut origin, mut other) = (group(0).unwrap(), group(1).unwrap());
    let mut moved = 0;
    let count = made_by(|| {
        for number in 0..200_000 {
            let now = Timestamp::ZERO + Span::from_ns(u64::from(number) * 10);
            origin.handle_packet(now, Header { rpc_bytes: 40, tid: TransferId(number), ..Header::default() });
            manager.handle_arrival(now);
            let depth = other.queue_depth();
            for migration in manager.decide(now, origin.queue_depth(), |_| depth) {
                for _ in 0..migration.count {
                    let Some(arrival) = origin.take_newest_waiting(migration.to) else { break };
                    if other.adopt(arrival) == Adoption::Taken {
                        moved += 1;
                    } else {
                        assert!(origin.handle_refused(migration.to, arrival));
                    }
                }
            }
            while let Some(given) = other.poll_dispatch() {
                other.handle_free(given.core, given.arrival.slots);
                origin.handle_returned(GroupId(1), given.arrival.slots);
            }
            if number % 3 == 0
                && let Some(given) = origin.poll_dispatch()
            {
                origin.handle_free(given.core, given.arrival.slots);
            }
        }
    });
    assert_eq!(count, 0);
    assert!(moved > 50_000, "{moved}");
}

#[test]
fn queues_and_plans_of_a_million_rpcs_allocate_nothing() {
    let (mut darc, mut queues) = (Darc::new(DarcConfig::new(3, 8).window(1_000)), TypedQueues::new(3, 16));
    let mut turns = Turns::new(Quantum::SHINJUKU, 2);
    let slos = Selection::WaitOverSlo([10, 100, 1_000].map(Span::from_ns).into());
    let mut served = 0_u32;
    let count = made_by(|| {
        for number in 0..1_000_000_u32 {
            let (kind, now) = (RpcType((number % 3) as u8), Timestamp::from_ps(number.into()));
            queues.push(kind, number, now);
            let chosen = darc.choose_type(CoreId((number % 8) as u16), &queues).or(queues.select(&slos, now));
            if chosen.and_then(|kind| queues.pop(kind)).is_none() {
                continue;
            }
            turns.handle_dispatch();
            served += u32::from(turns.poll_next(now).is_some());
            turns.handle_yield(turns.due_at());
            turns.poll_next(now);
            turns.handle_end();
            // Types change places and every RPC is late, so plans are made again and again.
            let length = u64::from((u32::from(kind.0) + number / 100_000) % 3 + 1);
            darc.handle_begun(kind, Span::from_secs(1));
            darc.handle_done(kind, Span::from_us(length * length));
        }
    });
    assert_eq!(count, 0);
    assert!(served == 1_000_000 && darc.plans() > 10, "{served} and {}", darc.plans());
}

#[test]
fn remembering_a_million_rpcs_allocates_nothing() {
    let mut retention = Retention::new(RetentionConfig::new(64, 4096));
    let key = |tid| RetentionKey { rpc: RpcKey { snid: NodeId(tid % 7), tid: TransferId(tid) }, tag: 0 };
    let mut sent_again = 0_u32;
    let count = made_by(|| {
        for tid in 0..1_000_000_u32 {
            assert_eq!(retention.look(key(tid), tid.into()), Seen::New);
            if tid % 5 == 0 {
                retention.nacked(key(tid), tid.into(), NackReason::QueueBound).expect("no RPC stays in the server");
                continue;
            }
            let rpc = retention.begin(key(tid), tid.into(), 0).expect("no RPC stays in the server");
            retention.end_replied(rpc, tid % 300).expect("the ring is longer");
            let before = tid.saturating_sub(3);
            sent_again += u32::from(matches!(retention.look(key(before), before.into()), Seen::Replied(_)));
        }
    });
    assert_eq!(count, 0);
    assert!(sent_again > 10_000, "{sent_again}");
}

#[test]
fn watching_a_million_lines_allocates_nothing() {
    let config = HostWatchConfig { window: Span::from_us(1), polls_from: 20, polls_until: 10 };
    let mut watch = HostWatch::try_new(config).unwrap();
    let mut now = Timestamp::ZERO;
    let count = made_by(|| {
        for number in 0..1_000_000_u64 {
            // A thousand lines at a high rate, then a thousand at a low one.
            now += Span::from_ns(if number / 1_000 % 2 == 0 { 20 } else { 500 });
            watch.handle_line(now);
        }
    });
    assert_eq!(count, 0);
    assert!(watch.changes() > 900, "{}", watch.changes());
}

#[test]
fn the_count_sees_an_allocation() {
    assert_eq!(made_by(|| drop(std::hint::black_box(Box::new(1)))), 1);
}

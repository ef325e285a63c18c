//! Typed queues and the end of a quantum, compared with naive models.

use arbitrary::Arbitrary;
use nebula_nic::schedule::{Condition, Preemption, RpcType, Selection, TypedQueues};
use nebula_nic::{Quantum, Span, Timestamp};

const TYPES: u8 = 4;

#[derive(Clone, Copy, Debug, Arbitrary)]
enum QueueOp {
    Push(u8),
    Pop(u8),
    PopFirst,
    PopUrgent,
}

/// All waiting RPCs in order of arrival: type, RPC, since when.
struct NaiveTypedQueues(Vec<(u8, u32, u64)>);

impl NaiveTypedQueues {
    fn head(&self, kind: u8) -> Option<(u8, u32, u64)> {
        self.0.iter().find(|rpc| rpc.0 == kind).copied()
    }

    /// Of the types whose head has the largest wait over its SLO, the lowest.
    fn most_urgent(&self, now: u64, slos: &[u64]) -> Option<u8> {
        let share = |&(kind, _, since): &(u8, u32, u64)| (now - since) as f64 / slos[usize::from(kind)] as f64;
        let heads: Vec<_> = (0..TYPES).filter_map(|kind| self.head(kind)).collect();
        let most = heads.iter().map(share).fold(f64::MIN, f64::max);
        heads.iter().find(|head| share(head) >= most).map(|head| head.0)
    }

    fn pop(&mut self, kind: u8) -> Option<(u8, u32, u64)> {
        let place = self.0.iter().position(|rpc| rpc.0 == kind)?;
        Some(self.0.remove(place))
    }
}

#[test]
fn typed_queues_choose_as_one_list_of_all_does() {
    // Powers of two, so that the naive model's quotients are exact.
    let slos = [64, 256, 16, 1024];
    let urgent = Selection::WaitOverSlo(slos.map(Span::from_ps).into());
    nebula_testing::seeded(|random| {
        let capacity = random.int_in_range(0..=12)?;
        let (mut real, mut naive) = (TypedQueues::new(TYPES, capacity), NaiveTypedQueues(Vec::new()));
        for number in 0..200_u32 {
            let now = u64::from(number) * 3;
            let at = Timestamp::from_ps(now);
            let first = naive.0.first().map(|rpc| rpc.0);
            let most_urgent = naive.most_urgent(now, &slos);
            assert_eq!(real.select(&Selection::Fifo, at).map(|kind| kind.0), first);
            assert_eq!(real.select(&urgent, at).map(|kind| kind.0), most_urgent);
            let popped = match random.arbitrary()? {
                QueueOp::Push(kind) => {
                    let (kind, since) = (kind % TYPES, now - u64::from(kind).min(now));
                    let fits = naive.0.len() < capacity as usize;
                    assert_eq!(real.push(RpcType(kind), number, Timestamp::from_ps(since)), fits);
                    naive.0.extend(fits.then_some((kind, number, since)));
                    None
                }
                QueueOp::Pop(kind) => Some(kind % TYPES),
                QueueOp::PopFirst => first,
                QueueOp::PopUrgent => most_urgent,
            };
            if let Some(kind) = popped {
                let found = real.pop(RpcType(kind)).map(|head| (kind, head.rpc, head.since.as_ps()));
                assert_eq!(found, naive.pop(kind));
            }
            assert_eq!(real.waiting() as usize, naive.0.len());
            for kind in 0..TYPES {
                let waiting = naive.0.iter().filter(|rpc| rpc.0 == kind).count();
                assert_eq!(real.waiting_of(RpcType(kind)) as usize, waiting);
                assert_eq!(real.types().contains(RpcType(kind)), waiting > 0);
                assert_eq!(real.peek(RpcType(kind)).map(|head| head.rpc), naive.head(kind).map(|head| head.1));
            }
        }
        Ok(())
    })
    .runs(200);
}

#[test]
fn a_turn_ends_with_the_quantum_and_not_before() {
    let quantum = Quantum::try_new(Span::from_ns(100)).unwrap();
    let rule = Preemption::new(quantum);
    let [early, late] = [99, 100].map(Span::from_ns);
    assert!(!rule.suspends(early, true));
    assert!(rule.suspends(late, true));
    assert!(!rule.suspends(late, false));
    let always = rule.condition(Condition::Always);
    assert!(always.suspends(late, false));
    assert!(!always.suspends(early, false));
    assert_eq!(rule.due_at(Timestamp::from_ps(7)), Timestamp::from_ps(100_007));
    let endless = Preemption::new(Quantum::try_new(Span::MAX).unwrap());
    assert_eq!(endless.due_at(Timestamp::from_ps(7)), Timestamp::from_ps(u64::MAX));
}

//! Cores that pull their RPCs, compared with a model of one list.

use arbitrary::Arbitrary;
use nebula_nic::{
    Arrival, Backend, BackendConfig, CoreId, Freed, Header, Input, LogLine, NodeId, Policy, Timestamp, TransferId,
    Verdict, replay,
};
use std::collections::VecDeque;

const CORES: u16 = 3;

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Op {
    Packet,
    Pull { core: u8 },
    Free { core: u8 },
}

/// The back end, the model of its content, and the log so far.
struct Pair {
    real: Backend,
    bound: usize,
    waiting: VecDeque<TransferId>,
    given: Vec<VecDeque<Arrival>>,
    sent: u32,
    log: Vec<LogLine>,
}

impl Pair {
    fn new(policy: Policy, bound: usize) -> Self {
        let real = Backend::try_new(BackendConfig::new(CORES, policy).slots(64).rpc_bytes_max(64).queue_bound(16))
            .expect("possible");
        let given = vec![VecDeque::new(); usize::from(CORES)];
        Self { real, bound, waiting: VecDeque::new(), given, sent: 0, log: Vec::new() }
    }

    fn note(&mut self, input: Input) -> LogLine {
        let at = Timestamp::from_ps(self.log.len() as u64);
        let decisions = input.apply(&mut self.real, at).into_iter().collect();
        let line = LogLine { at, input, decisions };
        self.log.push(line.clone());
        line
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Packet => {
                let tid = TransferId(self.sent);
                self.sent += 1;
                let line =
                    self.note(Input::Packet(Header { snid: NodeId(1), tid, rpc_bytes: 64, ..Header::default() }));
                if let [nebula_nic::Decision::Packet(Verdict::Write { .. })] = line.decisions[..] {
                    self.waiting.push_back(tid);
                } else {
                    assert_eq!(self.waiting.len(), 16, "{line}");
                }
            }
            Op::Pull { core } => {
                let core = CoreId(u16::from(core) % (CORES + 1));
                let line = self.note(Input::Pull { core });
                let has_credit = self.given.get(core.index()).is_some_and(|given| given.len() < self.bound);
                let expected = if has_credit { self.waiting.pop_front() } else { None };
                let pulled = line.decisions.first().map(|decision| match decision {
                    nebula_nic::Decision::Dispatch(dispatch) => *dispatch,
                    other => panic!("{other}"),
                });
                assert_eq!(pulled.map(|dispatch| dispatch.arrival.rpc.tid), expected, "{line}");
                if let Some(dispatch) = pulled {
                    assert_eq!(dispatch.core, core);
                    self.given[core.index()].push_back(dispatch.arrival);
                }
            }
            Op::Free { core } => {
                let core = CoreId(u16::from(core) % CORES);
                let Some(arrival) = self.given[core.index()].pop_front() else { return };
                let line = self.note(Input::Free { core, slots: arrival.slots });
                assert_eq!(line.decisions, [nebula_nic::Decision::Free(Freed::Taken)]);
            }
        }
    }
}

#[test]
fn the_head_goes_to_whoever_comes_with_credit_and_the_log_replays() {
    for (policy, bound) in [(Policy::McsLock, 1), (Policy::SingleQueue, 1), (Policy::Jbsq(2), 2), (Policy::Jbsq(3), 3)]
    {
        nebula_testing::seeded(|draw| {
            let mut pair = Pair::new(policy, bound);
            while !draw.is_empty() {
                pair.apply(draw.arbitrary()?);
            }
            let count = pair.log.len();
            assert_eq!(replay(*pair.real.config(), pair.log), Ok(count));
            Ok(())
        })
        .runs(200);
    }
}

#[test]
fn a_queue_a_core_has_no_head_that_any_core_could_come_for() {
    for policy in [Policy::Rss, Policy::WorkStealing] {
        let mut nic = Backend::try_new(BackendConfig::new(2, policy)).expect("possible");
        nic.handle_packet(Timestamp::ZERO, Header::default());
        assert!((0..2).all(|core| nic.poll_dispatch_for(CoreId(core)).is_none()));
        assert!(nic.poll_dispatch().is_some());
    }
}

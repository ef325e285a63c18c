//! Any decider can be replayed: here one that drives a back end ahead of requests, as hardware
//! does.

use nebula_nic::decision::{Beside, Decides, LogLine, replay_through};
use nebula_nic::{
    Abandoned, Backend, BackendConfig, Decision, Dispatch, Header, Input, Mtu, NodeId, Policy, ScrubMode, Timestamp,
    TransferId,
};
use std::collections::VecDeque;

/// Asks its back end for all pending decisions after each input, and hands them out later.
struct Eager {
    backend: Backend,
    dispatches: VecDeque<Dispatch>,
    inputs: usize,
    /// At this input it gives the RPC to another core; 0 for never.
    wrong_at: usize,
}

impl Eager {
    fn new(config: BackendConfig, wrong_at: usize) -> Self {
        let backend = Backend::try_new(config).expect("a valid configuration");
        Self { backend, dispatches: VecDeque::new(), inputs: 0, wrong_at }
    }
}

impl Decides for Eager {
    fn apply(&mut self, at: Timestamp, input: Input) -> Option<Decision> {
        self.inputs += 1;
        let answer = input.apply(&mut self.backend, at);
        while let Some(mut dispatch) = self.backend.poll_dispatch() {
            dispatch.core.0 ^= u16::from(self.inputs == self.wrong_at);
            self.dispatches.push_back(dispatch);
        }
        answer
    }

    fn poll_abandoned(&mut self) -> Option<Abandoned> {
        self.backend.poll_abandoned()
    }

    fn poll_dispatch(&mut self) -> Option<Dispatch> {
        self.dispatches.pop_front()
    }
}

/// Inputs of a server whose cores end their RPCs in no particular order.
fn log(config: BackendConfig) -> Vec<LogLine> {
    let mut backend = Backend::try_new(config).expect("a valid configuration");
    let mut given = Vec::new();
    let mut lines = Vec::new();
    for number in 0..2_000_u32 {
        let at = Timestamp::from_ps(u64::from(number) * 1000);
        let which = ((number * 7919) >> 4) as usize % given.len().max(1);
        let ended = given.get(which).copied().filter(|_| number % 9 > 4);
        let input = match ended {
            Some((core, slots)) => Input::Free { core, slots },
            None => Input::Packet(Header {
                snid: NodeId(number % 7),
                tid: TransferId(number),
                rpc_bytes: 1 + number * 37 % 200,
                ..Header::default()
            }),
        };
        let line = LogLine::record(&mut backend, at, input);
        if ended.is_some() {
            given.remove(which);
        }
        for decision in &line.decisions {
            if let Decision::Dispatch(Dispatch { core, arrival }) = decision {
                given.push((*core, arrival.slots));
            }
        }
        lines.push(line);
    }
    lines
}

fn configs() -> impl Iterator<Item = BackendConfig> {
    let policies = Policy::SAMPLES.iter().map(|text| text.parse::<Policy>().expect("a sample"));
    policies.filter(|policy| *policy != Policy::Darc).flat_map(|policy| {
        [ScrubMode::OnFull, ScrubMode::AfterNack, ScrubMode::Ahead, ScrubMode::Off]
            .map(|scrub| BackendConfig::new(4, policy).slots(24).rpc_bytes_max(256).queue_bound(9).scrub(scrub))
    })
}

#[test]
fn what_decides_ahead_of_what_is_asked_replays_as_a_back_end_does() {
    for config in configs() {
        let lines = log(config);
        let eager = replay_through(Eager::new(config, 0), Beside::new(&config), lines.iter().cloned());
        assert_eq!(eager, Ok(lines.len()), "{config}");
        let backend = Backend::try_new(config).expect("a valid configuration");
        assert_eq!(replay_through(backend, Beside::new(&config), lines.iter().cloned()), Ok(lines.len()));
    }
}

#[test]
fn one_decision_that_differs_is_found_at_its_line() {
    for config in configs() {
        let lines = log(config);
        let dispatches = |line: &LogLine| line.decisions.iter().any(|made| matches!(made, Decision::Dispatch(_)));
        let last = lines.iter().rposition(dispatches).expect("an RPC is given to a core") + 1;
        let ended = replay_through(Eager::new(config, last), Beside::new(&config), lines);
        assert_eq!(ended.map_err(|difference| difference.line), Err(last), "{config}");
    }
}

#[test]
fn an_rpc_that_begins_looks_for_room_whichever_queue_it_joins() {
    let one_core = |policy| {
        let config = BackendConfig::new(1, policy).slots(24).rpc_bytes_max(256).scrub(ScrubMode::Ahead);
        log(config.mtu(Mtu::try_new(256).expect("a multiple of 16")))
    };
    assert_eq!(one_core(Policy::Jbsq(2)), one_core(Policy::RoundRobin), "one core, whose queue is that of all");
}

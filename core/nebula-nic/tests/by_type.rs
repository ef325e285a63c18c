//! `darc` in a back end: RPCs wait by type, and a type's time is measured from the inputs.

use nebula_nic::schedule::RpcType;
use nebula_nic::{
    Arrival, Backend, BackendConfig, CoreId, Decision, Dispatch, Header, Input, LogLine, NackReason, NodeId, Policy,
    Timestamp, TransferId, replay,
};

const SHORT: RpcType = RpcType(1);
const LONG: RpcType = RpcType(2);
/// Service times in nanoseconds.
const TAKES_NS: [u64; 3] = [10, 1, 100];
const WINDOW: u32 = 20;

struct Nic {
    backend: Backend,
    now: Timestamp,
    tid: u32,
    log: Vec<LogLine>,
}

fn config(cores: u16) -> BackendConfig {
    BackendConfig::new(cores, Policy::Darc).types(3).type_window(WINDOW).slots(64).rpc_bytes_max(64).queue_bound(16)
}

impl Nic {
    fn new(cores: u16) -> Self {
        let backend = Backend::try_new(config(cores)).expect("possible");
        Self { backend, now: Timestamp::ZERO, tid: 0, log: Vec::new() }
    }

    fn tell(&mut self, input: Input) -> Option<Decision> {
        let decision = input.apply(&mut self.backend, self.now);
        self.log.push(LogLine { at: self.now, input, decisions: decision.into_iter().collect() });
        decision
    }

    /// An RPC arrives; its number.
    fn arrive(&mut self, kind: RpcType) -> TransferId {
        let tid = self.arrive_untyped();
        self.tell(Input::Type(kind));
        tid
    }

    fn arrive_untyped(&mut self) -> TransferId {
        self.tid += 1;
        let tid = TransferId(self.tid);
        self.tell(Input::Packet(Header { snid: NodeId(1), tid, rpc_bytes: 8, ..Header::default() }));
        tid
    }

    fn poll(&mut self) -> Option<Dispatch> {
        let dispatch = self.backend.poll_dispatch()?;
        self.log.last_mut().expect("an input before").decisions.push(Decision::Dispatch(dispatch));
        Some(dispatch)
    }

    /// The next dispatch: core and RPC.
    fn given(&mut self) -> Option<(u16, TransferId)> {
        self.poll().map(|Dispatch { core, arrival }| (core.0, arrival.rpc.tid))
    }

    fn end(&mut self, core: CoreId, arrival: Arrival, takes_ns: u64) {
        self.now = Timestamp::from_ps(self.now.as_ps() + takes_ns * 1_000);
        self.tell(Input::Free { core, slots: arrival.slots });
    }

    fn learn(&mut self) {
        for number in 0..WINDOW {
            let kind = if number % 2 == 0 { SHORT } else { LONG };
            self.arrive(kind);
            let Dispatch { core, arrival } = self.poll().expect("a core is idle");
            self.end(core, arrival, TAKES_NS[usize::from(kind.0)]);
        }
        assert_eq!(self.backend.darc().expect("under darc").plans(), 1);
    }
}

#[test]
fn cores_are_reserved_for_what_was_measured_to_be_short() {
    let mut nic = Nic::new(2);
    nic.learn();
    let darc = nic.backend.darc().expect("under darc");
    assert_eq!((darc.reserved(SHORT), darc.reserved(LONG)), (0..1, 1..2));
    let (long, waits) = (nic.arrive(LONG), nic.arrive(LONG));
    assert_eq!((nic.given(), nic.given()), (Some((1, long)), None), "core 0 is kept");
    assert_eq!(nic.backend.queue_depth(), 1);
    let short = nic.arrive(SHORT);
    assert_eq!(nic.given(), Some((0, short)), "before a long one that came earlier");
    assert_eq!((nic.given(), nic.backend.queue_depth()), (None, 1), "{waits:?} waits");
}

#[test]
fn before_the_first_plan_all_types_are_served_in_their_order() {
    let mut nic = Nic::new(2);
    let came = [LONG, SHORT, LONG].map(|kind| nic.arrive(kind));
    assert_eq!([nic.given(), nic.given(), nic.given()], [Some((0, came[0])), Some((1, came[1])), None]);
}

#[test]
fn a_type_that_does_not_exist_or_was_not_told_is_the_common_one() {
    let mut nic = Nic::new(2);
    nic.learn();
    // The common type was not seen yet: it comes after the seen ones, with the cores of the
    // longest.
    let unknown = nic.arrive(RpcType(200));
    let untold = nic.arrive_untyped();
    assert_eq!(nic.backend.untyped().map(|arrival| arrival.rpc.tid), Some(untold));
    assert_eq!((nic.given(), nic.given()), (Some((1, unknown)), None));
    assert_eq!(nic.backend.untyped(), None, "it is of the common type by now");
    nic.tell(Input::Type(SHORT));
    assert_eq!(nic.given(), None, "and stays that");
}

#[test]
fn what_waits_by_type_counts_for_the_bound_of_the_queue() {
    let mut nic = Nic::new(1);
    (0..20).for_each(|_| {
        nic.arrive(SHORT);
    });
    assert_eq!((nic.backend.queue_depth(), nic.backend.counters().nacked(NackReason::QueueBound)), (16, 4));
    assert!(nic.poll().is_some());
    nic.arrive(LONG);
    assert_eq!((nic.backend.queue_depth(), nic.backend.counters().nacked(NackReason::QueueBound)), (16, 4));
}

#[test]
fn the_log_of_a_long_history_replays_and_a_changed_type_does_not() {
    let mut nic = Nic::new(3);
    let (mut word, mut running) = (7_u64, Vec::new());
    let mut below = move |bound: u64| {
        word = word.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        usize::try_from((word >> 33) % bound).expect("small")
    };
    for _ in 0..3_000 {
        if below(2) == 0 {
            let kind = RpcType([0, 1, 1, 1, 2][below(5)]);
            nic.arrive(kind);
        } else if !running.is_empty() {
            let Dispatch { core, arrival } = running.swap_remove(below(running.len() as u64));
            nic.end(core, arrival, below(50) as u64);
        }
        while let Some(dispatch) = nic.poll() {
            running.push(dispatch);
        }
    }
    assert!(nic.backend.darc().expect("under darc").plans() > 1, "{:?}", nic.backend.darc());
    assert_eq!(replay(config(3), nic.log.clone()), Ok(nic.log.len()));
    let text: String = nic.log.iter().map(|line| format!("{line}\n")).collect();
    let read: Vec<LogLine> = text.lines().map(|line| line.parse().expect("a line")).collect();
    assert_eq!(read, nic.log);
    let tampered = nic.log.iter().map(|line| match line.input {
        Input::Type(LONG) => LogLine { input: Input::Type(SHORT), ..line.clone() },
        _ => line.clone(),
    });
    assert!(replay(config(3), tampered).is_err());
    let later = nic.log.iter().map(|line| match line.input {
        Input::Free { .. } => LogLine { at: Timestamp::from_ps(line.at.as_ps() * 2), ..line.clone() },
        _ => line.clone(),
    });
    assert!(replay(config(3), later).is_err(), "times are inputs");
}

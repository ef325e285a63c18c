//! Refusals at a busy server, by client: a queue of 64 places, one RPC served per step, and clients
//! that ignore refusals.

use nebula_nic::{
    Backend, BackendConfig, CLIENTS_WAITING_MAX, CoreId, Header, LogLine, NodeId, Policy, Sources, Span, Tenants,
    Timestamp, TransferId, Verdict, replay_text,
};
use std::collections::BTreeMap;

const BOUND: u32 = 64;
const STEPS: u32 = 20_000;
const STEP: Span = Span::from_us(1);
/// The honest client, and the steps between two of its RPCs.
const HONEST: NodeId = NodeId(1 << 8);
const EVERY: u32 = 80;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Ends {
    sent: u32,
    admitted: u32,
}

struct Scene {
    backend: Backend,
    ends: BTreeMap<u32, Ends>,
    now: Timestamp,
    sent: u32,
    /// The waits, in steps, of the honest client's RPCs and of the others'.
    waits: [Vec<u64>; 2],
}

impl Scene {
    fn new(policy: Policy, sources: Sources) -> Self {
        let config = BackendConfig::new(1, policy).slots(256).rpc_bytes_max(64).queue_bound(BOUND).sources(sources);
        let backend = Backend::try_new(config).expect("possible");
        Self { backend, ends: BTreeMap::new(), now: Timestamp::ZERO, sent: 0, waits: Default::default() }
    }

    fn send(&mut self, snid: NodeId) {
        self.sent += 1;
        let header = Header { snid, tid: TransferId(self.sent), rpc_bytes: 40, ..Header::default() };
        let refuses = self.backend.refuses(self.now, snid);
        let verdict = self.backend.handle_packet(self.now, header);
        let is_admitted = matches!(verdict, Verdict::Write { .. });
        assert!(!refuses || !is_admitted, "what is said beforehand holds");
        let ends = self.ends.entry(snid.0).or_default();
        ends.sent += 1;
        ends.admitted += u32::from(is_admitted);
    }

    fn serve(&mut self) {
        self.now += STEP;
        if let Some(dispatch) = self.backend.poll_dispatch() {
            let waited = (self.now - dispatch.arrival.arrived).as_ps() / STEP.as_ps();
            self.waits[usize::from(dispatch.arrival.rpc.snid != HONEST)].push(waited);
            self.backend.handle_free(CoreId(0), dispatch.arrival.slots);
        }
    }

    /// `heavy` clients with numbers below 256 send `times` the capacity in total, besides the
    /// honest one.
    fn run(&mut self, heavy: u32, times: u32) {
        for step in 0..STEPS {
            for index in 0..times {
                self.send(NodeId((step * times + index) % heavy));
            }
            if step % EVERY == 0 {
                self.send(HONEST);
            }
            self.serve();
        }
    }

    /// The percentile of the waits of the honest client's RPCs and of the others'.
    fn waited(&self, percent: usize) -> [u64; 2] {
        self.waits.clone().map(|mut waits| {
            waits.sort_unstable();
            waits[(waits.len() * percent).div_ceil(100) - 1]
        })
    }

    fn of(&self, snid: NodeId) -> Ends {
        self.ends[&snid.0]
    }
}

const EACH: Sources = Sources { shift: 0, bits: 9 };

#[test]
fn a_client_that_asks_for_less_than_its_share_is_served_whatever_others_send() {
    for heavy in [1, 8, 32] {
        for times in [2, 4, 10] {
            let mut unfair = Scene::new(Policy::Jbsq(2), Sources::ONE);
            unfair.run(heavy, times);
            let Ends { sent, admitted } = unfair.of(HONEST);
            assert!(admitted * 10 < sent * 7, "{heavy} x {times}: as refused as anyone: {admitted} of {sent}");
            let mut fair = Scene::new(Policy::Jbsq(2), EACH);
            fair.run(heavy, times);
            let Ends { sent, admitted } = fair.of(HONEST);
            // The first ones may find a queue that is not shared yet.
            assert!(admitted + 5 >= sent, "{heavy} x {times}: {admitted} of {sent}");
            assert!(
                fair.ends.values().map(|ends| ends.admitted).sum::<u32>() + BOUND >= STEPS,
                "the core is never idle"
            );
        }
    }
}

#[test]
fn a_client_that_asks_for_little_is_served_first_and_others_wait_no_longer_for_it_than_a_third() {
    for policy in [Policy::Jbsq(2), Policy::SingleQueue] {
        for heavy in [1, 8] {
            let mut scene = Scene::new(policy, EACH);
            scene.run(heavy, 4);
            let ([_, half], [first, others]) = (scene.waited(50), scene.waited(99));
            assert!(half * 4 > u64::from(BOUND) * 3, "{policy}, {heavy}: the others wait {half} steps");
            assert!(others * 3 <= u64::from(BOUND) * 4, "{policy}, {heavy}: the others wait {others} steps at most");
            assert!(first <= 2, "{policy}, {heavy}: {first} steps");
        }
    }
}

#[test]
fn many_that_ask_for_little_are_not_all_served_first() {
    // 400 clients send one RPC in 400 each, and one sends half of all: the others are the mean.
    let mut scene = Scene::new(Policy::Jbsq(2), EACH);
    for step in 0..STEPS {
        scene.send(NodeId(1));
        scene.send(NodeId(100 + step % 400));
        scene.serve();
    }
    let longest = scene.waits[1].iter().max().copied().expect("they are served");
    assert!(longest <= u64::from(BOUND) * 4 / 3, "{longest} steps");
}

#[test]
fn clients_that_all_send_too_much_get_the_same() {
    let mut scene = Scene::new(Policy::Jbsq(2), EACH);
    for step in 0..STEPS {
        // The first sends eight times as much as the second, and always before it.
        (0..8).for_each(|_| scene.send(NodeId(0)));
        scene.send(NodeId(1));
        scene.serve();
        assert!(scene.backend.queue_depth() <= BOUND, "step {step}");
    }
    let [first, second] = [0, 1].map(|number| scene.of(NodeId(number)).admitted);
    assert!(first.abs_diff(second) * 10 < first, "{first} and {second}");
}

#[test]
fn a_client_that_is_alone_has_the_whole_queue() {
    let mut scene = Scene::new(Policy::Jbsq(2), EACH);
    (0..2 * BOUND).for_each(|_| scene.send(NodeId(7)));
    assert_eq!(scene.of(NodeId(7)).admitted, BOUND);
}

#[test]
fn queues_of_the_cores_are_shared_too() {
    let mut scene = Scene::new(Policy::RoundRobin, EACH);
    scene.run(8, 4);
    let Ends { sent, admitted } = scene.of(HONEST);
    assert!(admitted + 5 >= sent, "{admitted} of {sent}");
}

#[test]
fn clients_of_one_host_share_its_share() {
    // Sixteen clients per host: the first host has many active clients, the second one.
    let mut scene = Scene::new(Policy::Jbsq(2), Sources { shift: 4, bits: 4 });
    for step in 0..STEPS {
        (0..8).for_each(|index| scene.send(NodeId((step * 8 + index) % 16)));
        scene.send(NodeId(16));
        scene.serve();
    }
    let first: u32 = (0..16).map(|number| scene.of(NodeId(number)).admitted).sum();
    let second = scene.of(NodeId(16)).admitted;
    assert!(first.abs_diff(second) * 10 < first, "{first} and {second}");
}

#[test]
fn a_log_says_how_sources_are_told_apart_and_one_without_that_replays_as_before() {
    for sources in [Sources::ONE, EACH] {
        let config = BackendConfig::new(1, Policy::Jbsq(2)).slots(64).rpc_bytes_max(64).queue_bound(8).sources(sources);
        let mut backend = Backend::try_new(config).expect("possible");
        let mut log = format!("nebula-nic 1 {config}\n");
        let mut nacked = 0;
        for tid in 0..200 {
            let header = Header { snid: NodeId(tid % 3), tid: TransferId(tid), rpc_bytes: 8, ..Header::default() };
            let input = nebula_nic::Input::Packet(header);
            let line = LogLine::record(&mut backend, Timestamp::from_ps(tid.into()), input).to_string();
            nacked += u32::from(line.contains("nack queue-bound"));
            log += &format!("{line}\n");
        }
        assert!(nacked > 0 && log.contains("sources=") == (sources != Sources::ONE));
        assert_eq!(replay_text(&log).expect("the same decisions"), 200);
    }
}

/// A back end with the least bound for `clients` clients.
fn backend_for(config: BackendConfig, clients: u32) -> Backend {
    let mut backend = Backend::try_new(config).expect("possible");
    backend.set_queue_bound(backend.queue_bound_for(clients));
    backend
}

fn takes(backend: &mut Backend, snid: u32, tid: u32) -> bool {
    let header = Header { snid: NodeId(snid), tid: TransferId(tid), rpc_bytes: 40, ..Header::default() };
    matches!(backend.handle_packet(Timestamp::ZERO, header), Verdict::Write { .. })
}

#[test]
fn at_the_bound_for_so_many_clients_one_rpc_of_each_waits() {
    for policy in [Policy::Jbsq(2), Policy::SingleQueue, Policy::KeyHash] {
        for tenants in [Tenants::ONE, Tenants::new(28, &[1, 1])] {
            for clients in [1, 2, 4, 7, 33, CLIENTS_WAITING_MAX] {
                let config = BackendConfig::new(2, policy).slots(1024).rpc_bytes_max(64);
                let mut backend = backend_for(config.sources(EACH).tenants(tenants), clients);
                // All at once, in several rounds: none is lighter than another.
                for round in 0..20 {
                    let taken = (0..clients).filter(|&client| takes(&mut backend, client, round)).count();
                    assert_eq!(taken, clients as usize, "{policy}, {tenants:?}, round {round}");
                    while let Some(dispatch) = backend.poll_dispatch() {
                        backend.handle_free(dispatch.core, dispatch.arrival.slots);
                    }
                }
            }
        }
    }
}

#[test]
fn silent_clients_never_switch_admission_off() {
    let config = BackendConfig::new(1, Policy::SingleQueue).slots(1024).rpc_bytes_max(64).sources(EACH);
    let mut backend = backend_for(config, 65_536);
    assert_eq!(backend.queue_bound_for(65_536), backend.queue_bound_for(CLIENTS_WAITING_MAX));
    let taken = (0..1000).filter(|&tid| takes(&mut backend, tid % 2, tid)).count();
    assert!(taken <= 74, "{taken} wait");
}

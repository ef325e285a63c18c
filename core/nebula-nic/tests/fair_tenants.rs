//! Shares of tenants with weights at a busy server: a queue of 64 places, one RPC served per step,
//! and clients that ignore refusals.

use nebula_nic::{
    Backend, BackendConfig, ConfigError, CoreId, Decision, Header, Input, LogLine, NodeId, Policy, Sources, Span,
    Tenants, Timestamp, TransferId, Verdict, replay_text,
};
use std::collections::{BTreeMap, VecDeque};

const BOUND: u32 = 64;
const STEPS: u32 = 40_000;
const STEP: Span = Span::from_us(1);
/// Ten bits for the source, below four for the tenant.
const SOURCES: Sources = Sources { shift: 0, bits: 14 };
const TENANT_SHIFT: u8 = 10;

fn source(tenant: u32, number: u32) -> NodeId {
    NodeId(tenant << TENANT_SHIFT | number)
}

fn config(weights: &[u8]) -> BackendConfig {
    let config = BackendConfig::new(1, Policy::Jbsq(2)).slots(256).rpc_bytes_max(64).queue_bound(BOUND);
    config.sources(SOURCES).tenants(Tenants::new(TENANT_SHIFT, weights))
}

struct Scene {
    backend: Backend,
    /// By client: sent and admitted.
    ends: BTreeMap<u32, (u32, u32)>,
    now: Timestamp,
    sent: u32,
}

impl Scene {
    fn new(weights: &[u8]) -> Self {
        let backend = Backend::try_new(config(weights)).expect("possible");
        Self { backend, ends: BTreeMap::new(), now: Timestamp::ZERO, sent: 0 }
    }

    fn send(&mut self, snid: NodeId) {
        self.sent += 1;
        let header = Header { snid, tid: TransferId(self.sent), rpc_bytes: 40, ..Header::default() };
        let is_admitted = matches!(self.backend.handle_packet(self.now, header), Verdict::Write { .. });
        let (sent, admitted) = self.ends.entry(snid.0).or_default();
        *sent += 1;
        *admitted += u32::from(is_admitted);
    }

    /// In each step calls `send` with its number and serves an RPC. The first quarter is not
    /// counted.
    fn run(&mut self, mut send: impl FnMut(&mut Self, u32)) {
        for step in 0..STEPS {
            if step == STEPS / 4 {
                self.ends.clear();
            }
            send(self, step);
            self.now += STEP;
            if let Some(dispatch) = self.backend.poll_dispatch() {
                self.backend.handle_free(CoreId(0), dispatch.arrival.slots);
            }
        }
    }

    fn percent(&self, tenant: u32) -> u32 {
        let of = |mine: bool| {
            let ends = self.ends.iter().filter(|(snid, _)| !mine || *snid >> TENANT_SHIFT == tenant);
            ends.map(|(_, (_, admitted))| admitted).sum::<u32>()
        };
        of(true) * 100 / of(false)
    }
}

#[test]
fn tenants_that_all_send_too_much_get_what_they_weigh() {
    for weights in [[1, 3, 2], [1, 1, 1], [6, 1, 5]] {
        let mut scene = Scene::new(&weights);
        scene.run(|scene, _| {
            // The first sends the most, and always before the others.
            for (tenant, times) in [(0, 12), (1, 3), (2, 6)] {
                (0..times).for_each(|_| scene.send(source(tenant, 0)));
            }
        });
        let all: u8 = weights.iter().sum();
        for (tenant, weight) in (0..).zip(weights) {
            let (got, due) = (scene.percent(tenant), u32::from(weight) * 100 / u32::from(all));
            assert!(got.abs_diff(due) <= 3, "{weights:?}: tenant {tenant} got {got} % and not {due} %");
        }
    }
}

#[test]
fn what_a_tenant_leaves_is_parted_by_weight_among_those_that_want_more() {
    let mut scene = Scene::new(&[4, 3, 1]);
    scene.run(|scene, step| {
        (0..2).for_each(|_| scene.send(source(1, 0)));
        (0..8).for_each(|_| scene.send(source(2, 0)));
        if step % 10 == 0 {
            scene.send(source(0, 0));
        }
    });
    let (sent, admitted) = scene.ends[&source(0, 0).0];
    assert!(admitted * 100 >= sent * 98, "{admitted} of {sent}");
    // Of the remaining nine tenths.
    assert!(scene.percent(1).abs_diff(67) <= 4 && scene.percent(2).abs_diff(22) <= 4, "{:?}", scene.ends);
}

#[test]
fn a_tenant_gets_no_more_by_having_many_sources() {
    for sources in [1, 16, 1000] {
        let mut scene = Scene::new(&[1, 1]);
        scene.run(|scene, step| {
            (0..4).for_each(|index| scene.send(source(0, (4 * step + index) % sources)));
            scene.send(source(1, 0));
        });
        let got = scene.percent(0);
        assert!((44..=56).contains(&got), "{sources} sources got {got} %");
    }
}

#[test]
fn who_asks_for_less_than_a_source_s_share_is_served_beside_a_heavy_one_of_its_tenant() {
    for weights in [[1, 1], [3, 1], [1, 3]] {
        let mut scene = Scene::new(&weights);
        scene.run(|scene, step| {
            (0..8).for_each(|_| scene.send(source(0, 0)));
            (0..4).for_each(|_| scene.send(source(1, 0)));
            if step % 40 == 0 {
                scene.send(source(0, 1));
            }
        });
        let (sent, admitted) = scene.ends[&source(0, 1).0];
        assert!(admitted * 100 >= sent * 95, "{weights:?}: {admitted} of {sent}");
        let due = u32::from(weights[0]) * 100 / u32::from(weights[0] + weights[1]);
        assert!(scene.percent(0).abs_diff(due) <= 5, "{weights:?}: {} %", scene.percent(0));
    }
}

#[test]
fn the_one_tenant_that_is_there_has_the_whole_queue() {
    let mut scene = Scene::new(&[1, 200]);
    (0..2 * BOUND).for_each(|_| scene.send(source(0, 7)));
    assert_eq!(scene.ends[&source(0, 7).0].1, BOUND);
}

#[test]
fn tenants_without_weight_or_number_are_refused() {
    let refused = |tenants| Backend::try_new(config(&[1, 1]).tenants(tenants)).err();
    for tenants in [
        Tenants::new(10, &[3]),
        Tenants::new(10, &[1, 0, 2]),
        Tenants::new(10, &[0, 1]),
        Tenants::new(30, &[1; 5]),
        Tenants::new(0, &[1; 17]),
    ] {
        assert_eq!(refused(tenants), Some(ConfigError::Tenants), "{tenants:?}");
    }
    assert_eq!(refused(Tenants::new(30, &[1; 4])), None);
    assert_eq!(refused(Tenants::ONE), None);
}

#[test]
fn a_log_says_who_the_tenants_are_and_replays() {
    let config = config(&[1, 3]).queue_bound(16);
    let mut backend = Backend::try_new(config).expect("possible");
    let mut log = format!("nebula-nic 1 {config}\n");
    let (mut inputs, mut given) = (0, VecDeque::new());
    let mut record = |backend: &mut Backend, input| {
        let line = LogLine::record(backend, Timestamp::from_ps(inputs), input);
        log += &format!("{line}\n");
        inputs += 1;
        line.decisions
    };
    for tid in 0..9_000 {
        let snid = source(u32::from(tid % 4 == 0), 0);
        let header = Header { snid, tid: TransferId(tid), rpc_bytes: 8, ..Header::default() };
        let mut decisions = record(&mut backend, Input::Packet(header));
        let done = if tid % 3 == 0 { given.pop_front() } else { None };
        if let Some(slots) = done {
            decisions.extend(record(&mut backend, Input::Free { core: CoreId(0), slots }));
        }
        given.extend(decisions.iter().filter_map(|decision| match decision {
            Decision::Dispatch(dispatch) => Some(dispatch.arrival.slots),
            _ => None,
        }));
    }
    assert!(log.contains(" tenants=10+1,3"));
    assert_eq!(replay_text(&log).expect("the same decisions") as u64, inputs);
    // With equal weights other RPCs are refused.
    assert!(replay_text(&log.replace(" tenants=10+1,3", " tenants=10+1,1")).is_err());
}

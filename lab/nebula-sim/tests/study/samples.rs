//! What a short run of each level might have shown, for tests of what is made of it.

use nebula_nic::{Policy, Span};
use nebula_sim::blocks::{Machine, Part};
use nebula_sim::study::blocks::{self, Findings, Setting};
use nebula_sim::study::{Ask, AtSlo, Bin, Detail, Figures, Found, Outcome, Point, Replication};
use nebula_sim::{CoreTime, Effort, Interval, Load, Met, SearchEnd, System};
use std::sync::Arc;

/// Two loads of each of two policies, as a short run shows them; the first policy's second has many
/// NACKs.
pub(crate) fn found(ask: Ask) -> Vec<Found> {
    let figures = |load: f64, accepted: f64, p99_ns: f64| Figures {
        outcome: Outcome {
            served_rps: Interval::exact(load * accepted * 16e6),
            accepted: Interval::exact(accepted),
            nacks: 0,
            met: if accepted >= 0.99 && p99_ns <= 10e3 { Met::Yes } else { Met::No },
            is_unsettled: false,
            mean: Interval::exact(1.1e3),
            p50: Interval::exact(0.8e3),
            p90: Interval::exact(2.4e3),
            p99: Interval { value: p99_ns, lo: 0.8 * p99_ns, hi: 1.2 * p99_ns },
            p999: Interval::exact(2.0 * p99_ns),
            replications: 4,
            is_precise: None,
        },
        load,
        rpcs: 200_000,
        slowdown_p99: None,
        slowdown_p999: None,
        offered_rps: load * 16e6,
        queued_mean: 0.1e3,
        queued_p99: 0.9e3,
        depth_mean: Interval { value: 3.0, lo: -1.0, hi: 7.0 },
        depth_p99: Interval { value: 70.0, lo: 50.0, hi: 90.0 },
        core_time: CoreTime { service: load, idle: 1.0 - load, ..Default::default() },
        busy: Interval { value: load, lo: 0.99 * load, hi: 1.01 * load },
        core_times: CoreTime { service: load, idle: 1.0 - load, ..Default::default() }.shares().map(Interval::exact),
        host: Default::default(),
        hottest: None,
        accepted_light: None,
    };
    let one = |policy: Policy, load, accepted, p99_ns| {
        let load_of = Load::open("exp:1us".parse().unwrap(), load);
        let slo = load_of.slo(10.0);
        let interval = Interval { value: load, lo: load - 0.01, hi: load + 0.01 };
        let at_slo = AtSlo { load: interval, served_rps: Interval::exact(load * 16e6), end: SearchEnd::Missed };
        Found {
            point: Point {
                name: policy.to_string(),
                system: System::new(policy, 16),
                load: load_of,
                slo,
                ask,
                effort: Effort::default(),
            },
            at_slo: (ask == Ask::FindLoad).then_some(at_slo),
            figures: Some(figures(load, accepted, p99_ns)),
            over_time: None,
            tiers: Vec::new(),
            detail: detail(p99_ns),
        }
    };
    vec![
        one(Policy::Jbsq(2), 0.5, 1.0, 4.6e3),
        one(Policy::Jbsq(2), 0.9, 0.9, 6.2e3),
        one(Policy::Rss, 0.5, 1.0, 9.2e3),
        one(Policy::Rss, 0.9, 1.0, 44.0e3),
    ]
}

fn detail(p99: f64) -> Detail {
    let one = Replication { mean: 1.1e3, p99, p99_with_nacks: p99, depth_mean: 3.0, depth_p99: 70.0 };
    let bin = |from: f64, count| Bin { from, to: from + 1.0, count };
    Detail { replications: vec![one; 4], latency: vec![bin(800.0, 98), bin(p99, 2)] }
}

/// Two designs at two rates, or at the highest that keeps the SLO; the first design's second rate
/// is far past saturation.
pub(crate) fn findings(searches: bool) -> Findings {
    let figures = |p99: f64, accepted: f64| blocks::Figures {
        outcome: Outcome {
            served_rps: Interval::exact(5e6),
            accepted: Interval::exact(accepted),
            nacks: 0,
            met: if p99 <= 6300.0 && accepted >= 0.99 { Met::Yes } else { Met::No },
            is_unsettled: false,
            mean: Interval::exact(800.0),
            p50: Interval::exact(700.0),
            p90: Interval::exact(1100.0),
            p99: Interval { value: p99, lo: 0.9 * p99, hi: 1.1 * p99 },
            p999: Interval::exact(2.0 * p99),
            replications: 2,
            is_precise: None,
        },
        service_mean: Interval::exact(650.0),
        depth_mean: Interval::exact(0.1),
        depth_p99: Interval::exact(2.0),
        incomplete: [1.25, 6.0],
        queued_at_core: Interval::exact(0.25),
        idle: Interval::exact(0.8),
        stages: [0.0, 40.0, 20.0, 90.0, 30.0, 110.0, 150.0, 0.0, 60.0, 290.0, 10.0],
        dram_gb_per_s: Interval { value: 11.0, lo: 10.9, hi: 11.1 },
        blocks: Part::ALL.map(|part| if part == Part::State { [0.0; 5] } else { [1.0, 2.0, 3.0, 4.0, 0.0] }),
        blocks_per_rpc: Interval::exact(60.0),
    };
    let setting = Arc::new(Setting {
        machine: Machine::named("isca20").unwrap(),
        application: "kvs".to_owned(),
        store: Some((0.5, 512)),
        arrivals: "poisson".to_owned(),
        hog_gb_per_s: 0.0,
        slo: Span::from_ns(6300),
        effort: Effort::default(),
        searches,
    });
    let one = |design: &str, rate: f64, p99: f64, accepted: f64| blocks::Found {
        setting: setting.clone(),
        design: design.to_owned(),
        receive_buffer_bytes: setting.machine.deployment.receive_buffer_bytes,
        rate_rps: Some(rate),
        at_slo: searches.then_some(blocks::AtSlo {
            rate_rps: Interval { value: rate, lo: 0.99 * rate, hi: 1.01 * rate },
            end: SearchEnd::Missed,
        }),
        figures: Some(figures(p99, accepted)),
    };
    let mut found = vec![one("<rss>", 5e6, 1800.0, 1.0), one("<rss>", 20e6, 4e6, 0.7)];
    found.extend([one("nebula", 5e6, 1100.0, 1.0), one("nebula", 20e6, 1500.0, 1.0)]);
    Findings { setting, found }
}

//! A point is a pure function of itself and a seed, wherever it runs.

use nebula_nic::{Policy, Span};
use nebula_sim::blocks::{Machine, Scenario};
use nebula_sim::study::{Ask, Executor, OneThread, Point, Threads, blocks, replications, run};
use nebula_sim::{Effort, Load, SimError, System};
use nebula_workload::{Rate, Seed};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn point(policy: Policy, ask: Ask) -> Point {
    Point {
        name: policy.to_string(),
        system: System::new(policy, 4),
        load: Load::open("exp:1us".parse().unwrap(), 0.7),
        slo: Span::from_us(10),
        ask,
        effort: Effort::default().rpcs(2_000).replications(3),
    }
}

#[test]
fn a_study_is_the_same_on_one_thread_and_on_several_and_each_replication_is_told() {
    let points = [point(Policy::Jbsq(2), Ask::Measure), point(Policy::Rss, Ask::FindLoad)];
    let told = AtomicU64::new(0);
    let count = || _ = told.fetch_add(1, Ordering::Relaxed);
    let alone: Vec<_> = run(&points, Seed(7), &OneThread, &count).into_iter().map(Result::unwrap).collect();
    assert_eq!(told.into_inner(), replications(&points));
    let threads = Threads::try_new(Some(3)).unwrap();
    let beside: Vec<_> = run(&points, Seed(7), &threads, &|| ()).into_iter().map(Result::unwrap).collect();
    assert_eq!(alone, beside);
    assert_eq!(alone[0], points[0].run(Seed(7)).unwrap());
    assert_ne!(alone[0].figures, points[0].run(Seed(8)).unwrap().figures);
    assert_eq!(alone[0].point.effort.seed, Seed(7), "a result says which seed it is of");
}

#[test]
fn a_point_that_fails_ends_no_other() {
    let wrong = Point { load: Load::open("exp:1us".parse().unwrap(), -1.0), ..point(Policy::Rss, Ask::Measure) };
    let found = run(&[wrong, point(Policy::Rss, Ask::Measure)], Seed(1), &OneThread, &|| ());
    assert!(matches!(found[0], Err(SimError::Load { .. })), "{:?}", found[0]);
    assert!(found[1].is_ok());
}

#[test]
fn what_no_load_keeps_is_a_result_without_figures() {
    let found = Point { slo: Span::from_ns(1), ..point(Policy::Rss, Ask::FindLoad) }.run(Seed(1)).unwrap();
    assert!(found.at_slo.is_none() && found.figures.is_none());
}

#[test]
fn designs_at_rates_are_the_same_on_one_thread_and_on_several() {
    let scenario = |design| Scenario::named("isca20", design, "kvs").unwrap();
    let setting = Arc::new(blocks::Setting {
        machine: Machine::named("isca20").unwrap(),
        application: "kvs".to_owned(),
        store: Some((0.5, 512)),
        arrivals: "poisson".to_owned(),
        hog_gb_per_s: 0.0,
        slo: Span::from_us(6),
        effort: Effort { warmup: Some(500), ..Effort::default().rpcs(1_000).replications(2) },
        searches: false,
    });
    let rate = Some(Rate::try_new(5e6).unwrap());
    let point = |design| blocks::Point { setting: setting.clone(), scenario: scenario(design), rate };
    let points = ["rss", "nebula"].map(point);
    let figures = |executor: &dyn Fn() -> blocks::Findings| {
        executor().found.into_iter().map(|found| found.figures.unwrap()).collect::<Vec<_>>()
    };
    let threads = Threads::try_new(Some(2)).unwrap();
    let alone = figures(&|| blocks::run(&setting, &points, Seed(3), &OneThread, &|| ()).unwrap());
    let beside = figures(&|| blocks::run(&setting, &points, Seed(3), &threads, &|| ()).unwrap());
    assert_eq!(alone, beside);
    assert!(
        alone[0].blocks_per_rpc.value > alone[1].blocks_per_rpc.value,
        "per-connection buffers do not stay in the LLC"
    );
    assert_eq!(OneThread.map(&points, |point| point.run(Seed(3)).unwrap().figures.unwrap()), alone);
}

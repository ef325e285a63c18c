//! Queues by formula and by simulation: they agree where both hold, and refuse the same.

#![expect(clippy::unwrap_used, reason = "what cannot go on fails here")]

use nebula_nic::{Policy, Sizing, Span};
use nebula_sim::sizing::{queue_at_load, queue_at_slo, room};
use nebula_sim::{Effort, Load, SimError, System};
use nebula_workload::Seed;

fn exponential(utilization: f64) -> Load {
    Load::open("exp:1us".parse().unwrap(), utilization)
}

fn effort() -> Effort {
    Effort::default().rpcs(50_000).replications(4).seed(Seed(3))
}

#[test]
fn formula_and_simulation_agree_where_both_hold() {
    // A bound that is hardly met keeps the formula away.
    let plain = System::new(Policy::SingleQueue, 4);
    let bounded = plain.clone().queue_bound(60);
    let (load, slo) = (exponential(0.8), Span::from_us(10));
    let exact = queue_at_load(&plain, &load, &effort(), &|| ()).unwrap();
    let shown = queue_at_load(&bounded, &load, &effort(), &|| ()).unwrap();
    assert!(!exact.is_simulated && shown.is_simulated);
    assert!((shown.depth_mean.value / exact.depth_mean.value - 1.0).abs() < 0.1, "{exact:?} {shown:?}");
    assert!((shown.depth_p99.value - exact.depth_p99.value).abs() <= 2.0, "{exact:?} {shown:?}");
    let exact = queue_at_slo(&plain, &load, slo, &effort(), &|| ()).unwrap();
    let shown = queue_at_slo(&bounded, &load, slo, &effort(), &|| ()).unwrap();
    assert!((shown.load.value - exact.load.value).abs() < 0.02, "{exact:?} {shown:?}");
}

#[test]
fn an_slo_that_the_service_alone_misses_is_refused_by_the_formula_too() {
    let refused =
        queue_at_slo(&System::new(Policy::SingleQueue, 16), &exponential(0.5), Span::from_us(4), &effort(), &|| ());
    assert!(matches!(refused, Err(SimError::Slo { p99_ns, .. }) if (p99_ns - 4605.17).abs() < 0.01), "{refused:?}");
}

#[test]
fn the_room_for_a_formulas_queue_is_the_papers() {
    let papers = Sizing::new(64, 63.0 / 64.0, 1024).unwrap();
    let queue =
        queue_at_load(&System::new(Policy::SingleQueue, 64), &exponential(63.0 / 64.0), &effort(), &|| ()).unwrap();
    assert_eq!(room(&System::new(Policy::SingleQueue, 64), queue.depth_mean.value, 1024), papers);
    assert_eq!(room(&System::new(Policy::Jbsq(2), 64), 0.1, 64).reassembler_entries, 128);
}

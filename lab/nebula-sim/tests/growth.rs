//! Costs that grow with the number of cores, against the distance in a mesh and the queue before
//! one dispatcher.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use nebula_nic::{Policy, Span};
use nebula_sim::{Costs, Length, Load, SimError, System, Tally, mesh_hops, run};
use nebula_workload::Seed;

fn tally(system: &System, load: f64) -> Tally {
    let load = Load::open("fixed:1us".parse().unwrap(), load);
    run(system, &load, Length { warmup: 20_000, rpcs: 400_000 }, Seed(8)).unwrap()
}

fn costs(hop_ns: u64, decision_ns: u64, per_core_ns: u64) -> Costs {
    let [hop, decision, per_core] = [hop_ns, decision_ns, per_core_ns].map(Span::from_ns);
    Costs { hop, decision, per_core, ..Costs::ZERO }
}

#[test]
fn the_mean_way_is_that_between_all_pairs_of_tiles() {
    for side in [1_i32, 2, 3, 8, 16] {
        let tiles = || (0..side).flat_map(|x| (0..side).map(move |y| (x, y)));
        let hops =
            |(one, other): ((i32, i32), (i32, i32))| f64::from((one.0 - other.0).abs() + (one.1 - other.1).abs());
        let sum: f64 = tiles().flat_map(|one| tiles().map(move |other| (one, other))).map(hops).sum();
        let pairs = f64::from(side).powi(4);
        let found = mesh_hops(u16::try_from(side * side).unwrap());
        assert!((found - sum / pairs).abs() < 1e-9, "{side}: {found}");
    }
}

#[test]
fn a_message_takes_the_way_across_its_mesh() {
    // 5.25 hops of 10 ns among 64 cores, 10.625 among 256; within groups of 16 they are 2.5.
    for (policy, cores, way_ns) in
        [("jbsq:1", 64, 52.5), ("jbsq:2", 256, 106.25), ("rss", 64, 52.5), ("altocumulus:16", 256, 25.0)]
    {
        let system = System::new(policy.parse().unwrap(), cores).costs(costs(10, 0, 0));
        let found = tally(&system, 0.001).latency.quantile(0.5) / 1e3;
        assert!((found / (1000.0 + way_ns) - 1.0).abs() < 0.001, "{policy} on {cores}: {found} ns");
    }
    let lock = Costs { lock_handoff: Span::from_ns(100), ..costs(10, 0, 0) };
    let system = System::new(Policy::McsLock, 64).costs(lock).at_size();
    assert_eq!((system.costs.lock_handoff, system.costs.hop), (Span::from_ns(205), Span::ZERO));
}

#[test]
fn a_dispatcher_that_looks_at_every_core_is_md1_and_saturates_sooner_the_more_there_are() {
    // 10 ns, and one for each of 64 cores: M/D/1 of 74 ns before cores that are mostly idle.
    let system = System::new(Policy::Jbsq(1), 64).costs(costs(0, 10, 1));
    let (decision_us, rate) = (0.074, 6.4);
    let busy = rate * decision_us;
    let theory = 1.0 + decision_us + busy * decision_us / (2.0 * (1.0 - busy));
    let found = tally(&system, 0.1).latency.mean() / 1e6;
    assert!((found / theory - 1.0).abs() < 0.002, "theory {theory}, found {found}");
    assert!((found / (1.0 + decision_us) - 1.0).abs() > 0.02, "the queue before the dispatcher shows");

    let most_mrps = |policy: &str, cores: u16| {
        let system = System::new(policy.parse().unwrap(), cores).costs(costs(0, 10, 1));
        system.saturation(&"fixed:1us".parse().unwrap()) * f64::from(cores)
    };
    // One dispatcher serves fewer the more cores it looks at; groups of 16 add up.
    let one: Vec<f64> = [16, 64, 256].map(|cores| most_mrps("jbsq:1", cores)).into();
    assert!((one[1] - 1e3 / 74.0).abs() < 1e-9 && (one[2] - 1e3 / 266.0).abs() < 1e-9, "{one:?}");
    let groups = [most_mrps("altocumulus:4", 64), most_mrps("altocumulus:16", 256)];
    assert!((groups[1] / groups[0] - 4.0).abs() < 1e-9 && groups[1] > 10.0 * one[2], "{groups:?}");
}

#[test]
fn a_thief_looks_at_every_core_and_what_has_no_scheduler_refuses() {
    let stealing = System::new(Policy::WorkStealing, 16).costs(costs(8, 0, 2)).at_size();
    // Twice 2.5 hops of 8 ns, and 16 lines.
    assert_eq!(stealing.costs.steal, Span::from_ns(40 + 32));
    let load = Load::open("exp:1us".parse().unwrap(), 0.1);
    let refused = |policy| {
        let system = System::new(policy, 16).costs(costs(0, 0, 1));
        run(&system, &load, Length::of(1_000), Seed(1)).unwrap_err()
    };
    assert!(matches!(refused(Policy::Jbsq(2)), SimError::PerCoreWithout { .. }));
}

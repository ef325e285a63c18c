//! Groups of cores that hand each other RPCs: one group is a central policy, nothing is lost or
//! served twice, and tails get shorter.

use nebula_nic::schedule::Thresholds;
use nebula_nic::{Policy, Span, queue_depth_mean};
use nebula_sim::{Altocumulus, Costs, Effort, Interval, Length, Load, SimError, System, Tally, estimate, run};
use nebula_workload::Seed;

const LENGTH: Length = Length { warmup: 10_000, rpcs: 60_000 };

fn groups(groups: u16, cores: u16, options: Altocumulus) -> System {
    System::new(format!("altocumulus:{groups}").parse().expect("a policy"), cores).altocumulus(options)
}

fn eager(waiting: u32) -> Altocumulus {
    Altocumulus::new(Thresholds::fixed(waiting))
}

fn tally(system: &System, service: &str, load: f64) -> Tally {
    run(system, &Load::open(service.parse().expect("a service"), load), LENGTH, Seed(3)).expect("it can be simulated")
}

/// All that a tally says of RPCs, and nothing of how they were scheduled.
fn seen(tally: &Tally) -> String {
    let Tally { latency, queued, queue_depth, served, busy_ps, overheads, window, .. } = tally;
    format!("{latency:?} {queued:?} {queue_depth:?} {served} {busy_ps} {overheads:?} {window:?}")
}

#[test]
fn one_group_is_the_central_policy() {
    let costs = [
        Costs::ZERO,
        Costs { dispatch: Span::from_ns(30), notify: Span::from_ns(20), ..Costs::ZERO },
        Costs { decision: Span::from_ns(50), receive: Span::from_ns(10), ..Costs::ZERO },
    ];
    for (service, load) in [("exp:1us", 0.5), ("exp:1us", 0.9), ("bimodal:500ns@0.9,5500ns@0.1", 0.8)] {
        for (bound, policy) in [(1, Policy::SingleQueue), (2, Policy::Jbsq(2)), (3, Policy::Jbsq(3))] {
            for costs in costs {
                let one = groups(1, 16, Altocumulus { bound, ..eager(0) }).costs(costs);
                let central = System::new(policy, 16).costs(costs);
                let (one, central) = (tally(&one, service, load), tally(&central, service, load));
                assert_eq!(seen(&one), seen(&central), "{policy} {service} at {load} with {costs:?}");
                assert_eq!((one.migrations.descriptors, one.migrations.updates), (0, 0));
            }
        }
    }
}

#[test]
fn one_group_is_the_central_policy_on_each_of_several_servers() {
    let costs = Costs { decision: Span::from_ns(50), dispatch: Span::from_ns(20), ..Costs::ZERO };
    for load in [0.4, 0.7] {
        let one = tally(&groups(1, 8, eager(0)).servers(3).costs(costs), "exp:1us", load);
        let central = tally(&System::new(Policy::Jbsq(2), 8).servers(3).costs(costs), "exp:1us", load);
        assert_eq!(seen(&one), seen(&central), "at {load}");
    }
}

#[test]
fn groups_that_keep_to_themselves_are_erlangs() {
    let load = Load::open("exp:1us".parse().unwrap(), 0.8);
    let effort = Effort::default().rpcs(200_000).replications(12);
    let alone = Altocumulus { bound: 1, ..Altocumulus::without_migration() };
    let found = estimate(&groups(4, 16, alone), &load, &effort, &|| ()).unwrap();
    let expected = 1.0 + queue_depth_mean(4, 3.2) / 3.2;
    let mean = Interval::of(&found.mean_ps).scaled(1e-6);
    assert!((mean.value / expected - 1.0).abs() < 0.015 && mean.relative() < 0.015, "{mean:?}, not {expected}");
    assert_eq!(found.tally.migrations.descriptors, 0);
}

#[test]
fn a_group_has_the_share_of_its_flows() {
    let placed = |groups_of_flows: &[u16]| Altocumulus {
        bound: 1,
        flows: Some(4),
        groups_of_flows: Some(groups_of_flows.into()),
        ..Altocumulus::without_migration()
    };
    // Three of four flows of 0.6 of 8 cores: one group of four cores at 0.9, the other at 0.3.
    let load = Load::open("exp:1us".parse().unwrap(), 0.6);
    let tally = run(&groups(2, 8, placed(&[0, 0, 1, 0])), &load, Length::of(2_000_000), Seed(5)).unwrap();
    let (own, expected) = (tally.queue_depth.mean(), queue_depth_mean(4, 3.6) + queue_depth_mean(4, 1.2));
    assert!((own / expected - 1.0).abs() < 0.1, "{own} waited on average, {expected} by Erlang's formula");
    let refused = |options| matches!(groups(2, 8, options).validate(), Err(SimError::GroupsOfFlows { .. }));
    assert!(refused(placed(&[0, 1])) && refused(placed(&[0, 1, 2, 0])));
    assert!(refused(Altocumulus { flows: None, ..placed(&[0, 0, 0, 0]) }) && !refused(placed(&[0, 1, 1, 0])));
}

#[test]
fn nothing_is_lost_and_nothing_is_served_twice() {
    let small = Altocumulus { fifo: 1, ..eager(0) };
    let slow = Altocumulus { message: Span::from_us(3), fifo: 4, ..eager(1) };
    let far = Altocumulus { fetch: Span::from_ns(40), bulk: 40, ..eager(2) };
    for options in [small, slow, far, eager(0), eager(5)] {
        for costs in [Costs::ZERO, Costs { dispatch: Span::from_ns(25), notify: Span::from_ns(25), ..Costs::ZERO }] {
            let system = groups(5, 17, options.clone()).costs(costs);
            let reference = tally(&System::new(Policy::SingleQueue, 17), "exp:1us", 0.85);
            let found = tally(&system, "exp:1us", 0.85);
            assert_eq!((found.served, found.busy_ps), (LENGTH.rpcs, reference.busy_ps), "{options:?}");
            let moved = &found.migrations;
            assert!(moved.migrated() > 1000 && moved.share() < 1.0, "{moved:?}");
            assert!(moved.messages <= moved.descriptors && moved.messages * 5 >= moved.descriptors, "{moved:?}");
        }
    }
}

#[test]
fn a_group_without_room_refuses_and_the_rpc_is_served_at_home() {
    let options = Altocumulus { fifo: 1, message: Span::from_ns(400), ..eager(0) };
    let found = tally(&groups(4, 8, options), "exp:1us", 0.9);
    assert!(found.migrations.refused > 1000, "{:?}", found.migrations);
    assert_eq!(found.served, LENGTH.rpcs);
    let nowhere = tally(&groups(4, 8, Altocumulus { fifo: 0, ..eager(0) }), "exp:1us", 0.9);
    assert_eq!((nowhere.migrations.migrated(), nowhere.served), (0, LENGTH.rpcs));
}

#[test]
fn migration_shortens_the_tail_of_rss_to_groups_and_never_beats_one_queue() {
    for (service, load) in [("exp:1us", 0.85), ("fixed:1us", 0.9), ("bimodal:500ns@0.9,5500ns@0.1", 0.75)] {
        let load = Load::open(service.parse().unwrap(), load);
        let effort = Effort::default().rpcs(40_000).replications(6);
        let p99 = |system: &System| estimate(system, &load, &effort, &|| ()).unwrap().p99().scaled(1e-6);
        let alone = p99(&groups(16, 64, Altocumulus::without_migration()));
        let moved = p99(&groups(16, 64, eager(2)));
        let single = p99(&System::new(Policy::SingleQueue, 64));
        assert!(moved.hi < 0.8 * alone.lo, "{service}: {moved:?} against {alone:?}");
        assert!(moved.value > 0.99 * single.value, "{service}: {moved:?} against {single:?}");
    }
}

#[test]
fn the_later_a_message_comes_the_longer_the_tail() {
    let p99 = |message_ns| {
        let options = Altocumulus { message: Span::from_ns(message_ns), ..eager(1) };
        tally(&groups(8, 32, options), "exp:1us", 0.85).latency.quantile(0.99)
    };
    let tails = [0, 2000, 20_000].map(p99);
    assert!(tails[0] < 0.95 * tails[1] && tails[1] < 0.95 * tails[2], "{tails:?}");
}

#[test]
fn what_a_foreign_rpc_takes_is_core_time_lost_to_migration() {
    let options = Altocumulus { fetch: Span::from_ns(100), ..eager(0) };
    let found = tally(&groups(4, 16, options), "exp:1us", 0.8);
    assert!(found.overheads.migration_ps > 0 && found.overheads.migration_ps.is_multiple_of(100_000));
    let expected = found.migrations.share() * LENGTH.rpcs as f64;
    let fetched = found.overheads.migration_ps as f64 / 100_000.0;
    assert!((fetched / expected - 1.0).abs() < 0.05, "{fetched} of {expected}");
}

#[test]
fn updates_are_one_a_period_from_each_to_each_other() {
    let found = tally(&groups(4, 16, eager(8)), "exp:1us", 0.5);
    let periods = (LENGTH.rpcs + LENGTH.warmup) as f64 / 8e6 / 200e-9;
    assert!((found.migrations.updates as f64 / (periods * 12.0) - 1.0).abs() < 0.02, "{:?}", found.migrations);
}

#[test]
fn a_bound_on_the_queue_is_shared_out_and_kept() {
    let system = groups(4, 16, eager(2)).queue_bound(40);
    let found = tally(&system, "exp:1us", 1.5);
    assert!(found.given_up > 10_000 && found.served + found.given_up == LENGTH.rpcs);
    // Foreign RPCs may wait beyond it, and those on their way.
    assert!(found.queue_depth.quantile(0.5) <= 40.0, "{:?}", found.queue_depth.quantile(0.5));
}

#[test]
fn servers_and_closed_loops_have_groups_too() {
    let system = groups(2, 6, eager(0)).servers(3);
    let load = Load::closed("exp:1us".parse().unwrap(), 40, Some("exp:500ns".parse().unwrap()));
    let found = run(&system, &load, LENGTH, Seed(1)).unwrap();
    assert_eq!(found.served, LENGTH.rpcs);
    assert!(found.migrations.migrated() > 1000);
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let system = groups(16, 64, eager(3)).costs(Costs { decision: Span::from_ns(20), ..Costs::ZERO });
    let all = || format!("{:?}", tally(&system, "lognormal:mean=1us,scv=4", 0.8));
    assert_eq!(all(), all());
}

#[test]
fn what_cannot_be_grouped_is_refused() {
    let validate = |system: System| system.validate().unwrap_err();
    assert!(matches!(validate(groups(9, 8, eager(0))), SimError::Groups { groups: 9, workers: 8 }));
    assert!(matches!(validate(groups(9, 16, eager(0)).dedicated(8)), SimError::Groups { groups: 9, workers: 8 }));
    let slow = Altocumulus { message: Span::from_ms(1), ..eager(0) };
    assert!(matches!(validate(groups(2, 8, slow)), SimError::SlowMessages { .. }));
    let still = Altocumulus { period: Span::ZERO, ..eager(0) };
    assert!(matches!(validate(groups(2, 8, still)), SimError::Manager(_) | SimError::SlowMessages { .. }));
    let none = Altocumulus { bound: 0, ..eager(0) };
    assert!(matches!(validate(groups(2, 8, none)), SimError::Nic(_)));
    let elsewhere = System::new(Policy::Rss, 8).altocumulus(eager(0));
    assert!(matches!(validate(elsewhere), SimError::CostWithout { cost: "managers", .. }));
}

//! Which cores DARC reserves for which types: the papers' workloads by hand, and random ones
//! compared with a naive plan.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use nebula_nic::schedule::{Darc, DarcConfig, RpcType, TYPES_MAX, TypedQueues};
use nebula_nic::{CoreId, CoreSet, Span, Timestamp};

/// DARC after `windows` windows of these types: mean in nanoseconds, and RPCs per window.
fn planned(cores: u16, types: &[(u64, u32)], windows: u32) -> Darc {
    let window = types.iter().map(|kind| kind.1).sum();
    let mut darc = Darc::new(DarcConfig::new(u8::try_from(types.len()).unwrap(), cores).window(window));
    (0..windows).for_each(|_| feed(&mut darc, types));
    darc
}

fn feed(darc: &mut Darc, types: &[(u64, u32)]) {
    for (kind, &(mean_ns, rpcs)) in (0..).map(RpcType).zip(types) {
        for _ in 0..rpcs {
            darc.handle_done(kind, Span::from_ns(mean_ns));
        }
    }
}

fn reserved(darc: &Darc, types: u8) -> Vec<(u16, u16)> {
    (0..types).map(|kind| darc.reserved(RpcType(kind))).map(|range| (range.start, range.end)).collect()
}

#[test]
fn it_begins_with_all_cores_for_all_types() {
    let darc = Darc::new(DarcConfig::new(3, 14));
    assert_eq!((reserved(&darc, 3), darc.groups(), darc.plans()), (vec![(0, 14); 3], 1, 0));
}

#[test]
fn the_workloads_of_its_paper_reserve_a_core_for_the_short_and_the_rest_for_the_long() {
    let high = planned(14, &[(1_000, 500), (100_000, 500)], 1);
    assert_eq!(reserved(&high, 2), [(0, 1), (1, 14)], "0.14 cores of demand are one core");
    let extreme = planned(14, &[(500, 9_950), (500_000, 50)], 1);
    assert_eq!(reserved(&extreme, 2), [(0, 2), (2, 14)], "14 · 0.497 / 2.997 = 2.3 cores");
    let tpcc = planned(14, &[(5_700, 44), (6_000, 4), (20_000, 44), (88_000, 4), (100_000, 4)], 1);
    assert_eq!(tpcc.groups(), 3, "payments with order statuses, new orders, deliveries with stock levels");
    // Work: 2.748, 8.8 and 7.52 of 19.068 µs.
    assert_eq!(reserved(&tpcc, 5), [(0, 2), (0, 2), (2, 8), (8, 14), (8, 14)]);
}

#[test]
fn more_groups_than_cores_share_the_last_core() {
    let darc = planned(2, &[(1_000, 10), (10_000, 10), (100_000, 10), (1_000_000, 10)], 1);
    assert_eq!(reserved(&darc, 4), [(0, 1), (1, 2), (1, 1), (1, 1)]);
    let idle = CoreSet::full(2);
    let cores: Vec<_> = (0..4).map(|kind| darc.choose_core(RpcType(kind), &idle).unwrap().0).collect();
    assert_eq!(cores, [0, 1, 1, 1]);
}

#[test]
fn a_type_that_was_never_seen_has_the_last_core() {
    let darc = planned(4, &[(1_000, 100), (100_000, 100), (0, 0)], 1);
    assert_eq!((reserved(&darc, 3), darc.groups()), (vec![(0, 1), (1, 4), (3, 3)], 3));
}

#[test]
fn short_ones_steal_cores_of_long_ones_and_never_the_other_way() {
    let darc = planned(4, &[(1_000, 100), (3_000, 100)], 1);
    let (short, long) = (RpcType(0), RpcType(1));
    assert_eq!(reserved(&darc, 2), [(0, 1), (1, 4)]);
    let mut idle = CoreSet::full(4);
    idle.remove(CoreId(0));
    assert_eq!(darc.choose_core(short, &idle), Some(CoreId(1)));
    let only_short = CoreSet::full(1);
    assert_eq!(darc.choose_core(long, &only_short), None);
    let mut queues = TypedQueues::new(2, 8);
    assert!(queues.push(long, 'l', Timestamp::ZERO));
    assert_eq!(darc.choose_type(CoreId(0), &queues), None);
    assert_eq!(darc.choose_type(CoreId(1), &queues), Some(long));
    assert!(queues.push(short, 's', Timestamp::ZERO));
    assert_eq!(darc.choose_type(CoreId(3), &queues), Some(short), "the shortest that may use it");
}

#[test]
fn a_new_plan_wants_a_long_wait_and_another_demand() {
    let before = [(1_000, 500), (100_000, 500)];
    let after = [(100_000, 500), (1_000, 500)];
    let late = |darc: &mut Darc| darc.handle_begun(RpcType(0), Span::from_ns(10_001));
    let mut calm = planned(14, &before, 1);
    feed(&mut calm, &after);
    assert_eq!(calm.plans(), 1, "demand has moved, but no RPC waits");
    let mut steady = planned(14, &before, 1);
    late(&mut steady);
    feed(&mut steady, &before);
    assert_eq!(steady.plans(), 1, "an RPC waits, but demand has not moved");
    let mut moved = planned(14, &before, 1);
    moved.handle_begun(RpcType(0), Span::from_ns(10_000));
    feed(&mut moved, &after);
    assert_eq!(moved.plans(), 1, "ten services are not too long");
    for _ in 0..20 {
        moved.handle_begun(RpcType(0), Span::from_ms(10));
        feed(&mut moved, &after);
    }
    assert!(moved.plans() > 1);
    assert_eq!(reserved(&moved, 2), [(1, 14), (0, 1)], "in the end the types have changed places");
}

/// Groups and cores in floating point, from a sorted list.
fn naive_plan(cores: u16, types: &[(u64, u32)]) -> Vec<(u16, u16)> {
    let total: u64 = types.iter().map(|kind| kind.0 * u64::from(kind.1)).sum();
    let mut order: Vec<usize> = (0..types.len()).collect();
    order.sort_by_key(|&kind| types[kind].0);
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for kind in order {
        match groups.last_mut() {
            Some(group) if types[kind].0 * 100 <= types[group[0]].0 * 120 => group.push(kind),
            _ => groups.push(vec![kind]),
        }
    }
    let (mut given, mut plan, last) = (0, vec![(0, 0); types.len()], groups.len() - 1);
    for (index, group) in groups.iter().enumerate() {
        let work: u64 = group.iter().map(|&kind| types[kind].0 * u64::from(types[kind].1)).sum();
        let demand = work as f64 / total as f64 * f64::from(cores);
        let wanted = (demand - 0.5).ceil().max(1.0);
        let mut own = (0..cores - given).take_while(|&core| f64::from(core) < wanted).count();
        if index == last {
            own = usize::from(cores - given);
        }
        let first = given.min(cores - 1);
        given += u16::try_from(own).unwrap();
        group.iter().for_each(|&kind| plan[kind] = (first, first + u16::try_from(own).unwrap()));
    }
    plan
}

#[test]
fn plans_of_random_workloads_are_the_naive_ones() {
    nebula_testing::seeded(|random| {
        let (types, cores) = (random.int_in_range(1..=9_usize)?, random.int_in_range(1..=40_u16)?);
        let kinds: Vec<(u64, u32)> = (0..types)
            .map(|_| Ok((random.int_in_range(1..=300_u64)? * 10, 1 << random.int_in_range(0..=5_u32)?)))
            .collect::<Result<_, arbitrary::Error>>()?;
        // A power of two makes shares exact, and a half is a half in both.
        let rest = 512 - kinds.iter().map(|kind| kind.1).sum::<u32>();
        let kinds: Vec<_> = kinds.into_iter().chain([(5_000, rest)]).collect();
        let darc = planned(cores, &kinds, 1);
        assert_eq!(reserved(&darc, u8::try_from(kinds.len()).unwrap()), naive_plan(cores, &kinds), "{kinds:?}");
        Ok(())
    })
    .runs(300);
}

#[test]
fn choices_are_those_of_a_search_through_all_cores_and_types() {
    nebula_testing::seeded(|random| {
        let cores = random.int_in_range(1..=130_u16)?;
        let kinds: Vec<(u64, u32)> = (0..random.int_in_range(1..=8)?)
            .map(|_| Ok((random.int_in_range(1..=3_000)?, random.int_in_range(1..=20)?)))
            .collect::<Result<_, arbitrary::Error>>()?;
        let types = u8::try_from(kinds.len()).unwrap();
        let darc = planned(cores, &kinds, 1);
        let first = |kind: u8| darc.reserved(RpcType(kind)).start;
        let mut idle = CoreSet::empty(cores);
        let mut queues = TypedQueues::new(types, 64);
        for rpc in 0..random.int_in_range(0..=30_u32)? {
            idle.insert(CoreId(random.int_in_range(0..=cores - 1)?));
            let kind = RpcType(random.int_in_range(0..=types - 1)?);
            assert!(queues.push(kind, rpc, Timestamp::ZERO));
        }
        for kind in 0..types {
            let naive = (first(kind)..cores).map(CoreId).find(|&core| idle.contains(core));
            assert_eq!(darc.choose_core(RpcType(kind), &idle), naive);
        }
        let all: Vec<_> = (0..cores).map(CoreId).collect();
        let by_core =
            all.iter().filter(|&&core| idle.contains(core)).filter_map(|&core| darc.choose_type(core, &queues));
        let shortest = by_core.map(|kind| (first(kind.0), kind)).min_by_key(|found| found.0);
        let given = darc.choose(&idle, &queues);
        assert_eq!(given.is_some(), shortest.is_some(), "no core that may serve is idle beside an RPC");
        if let (Some((core, kind)), Some((first_core, _))) = (given, shortest) {
            assert!(idle.contains(core) && core.0 >= first(kind.0) && queues.waiting_of(kind) > 0);
            assert_eq!(first(kind.0), first_core, "the shortest of those that have a core");
        }
        for core in (0..cores).map(CoreId) {
            let may = (0..types).filter(|&kind| first(kind) <= core.0 && queues.waiting_of(RpcType(kind)) > 0);
            // The shortest group has the lowest first core, except for groups that share the last
            // one.
            let found = darc.choose_type(core, &queues);
            assert_eq!(found.is_some(), may.clone().next().is_some());
            let shortest = may.map(|kind| kinds[usize::from(kind)].0).min();
            if let (Some(found), Some(shortest)) = (found, shortest) {
                let taken = kinds[usize::from(found.0)].0;
                assert!(taken * 100 <= shortest * 144, "within δ of one that is within δ of the shortest");
            }
        }
        Ok(())
    })
    .runs(300);
}

#[test]
fn every_type_that_can_be_told_apart_has_a_core() {
    let kinds: Vec<(u64, u32)> = (0..u64::from(TYPES_MAX)).map(|kind| (1 + kind * kind, 1)).collect();
    let darc = planned(16, &kinds, 1);
    let idle = CoreSet::full(16);
    assert!((0..TYPES_MAX).all(|kind| darc.choose_core(RpcType(kind), &idle).is_some()));
    assert_eq!(darc.choose_core(RpcType(TYPES_MAX - 1), &idle), Some(CoreId(15)));
}

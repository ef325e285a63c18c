//! The operating points: each policy at each load, validated before the first run.

mod nic;
mod thresholds;
mod tiers;

use nebula_nic::Policy;
use nebula_sim::study::{Ask, Point};
use nebula_sim::{Calls, Costs, Hedge, Load, System};

use super::question::Question;
use super::queueing::QueueingArgs;
use super::words::{HedgeOrNone, Reaction};
use crate::Failure;
use crate::own::OwnPolicy;
use crate::studies::{check_saturation, lock_handoff};

const LOADS: [f64; 2] = [0.5, 0.9];

/// The load of a point whose load a search determines.
const LOWEST: f64 = 0.01;

/// Every policy at every load, validated.
pub(super) fn points(args: &Question) -> Result<Vec<Point>, Failure> {
    check_servers(args)?;
    check_lock(args)?;
    args.effort.effort().validate()?;
    let points: Vec<Point> = match &args.queueing.tiers {
        Some(text) => tiers::points(args, text)?,
        None => named(args).iter().flat_map(|&policy| of_policy(args, policy)).chain(own(args)).collect(),
    };
    let points = match &args.queueing.thresholds {
        Some(text) => thresholds::with(points, text)?,
        None => points,
    };
    let points = match &args.queueing.nic_cycles {
        Some(file) => nic::with(points, file, args.queueing.nic_ghz, &args.queueing.nic_mix)?,
        None => points,
    };
    for point in &points {
        point.system.validate()?;
        point.load.validate(&point.system)?;
        check_saturation(&point.system, &point.load)?;
    }
    Ok(points)
}

fn named(args: &Question) -> &[Policy] {
    if args.own.are_all { &[] } else { &args.queueing.policy }
}

fn own(args: &Question) -> Vec<Point> {
    let of = |own: &OwnPolicy| {
        let system = system(args, Policy::default()).policy_with(own.policy().clone());
        of_copies(args, &own.policy().to_string(), &system)
    };
    args.own.policies.iter().flat_map(of).collect()
}

fn of_policy(args: &Question, policy: Policy) -> Vec<Point> {
    of_copies(args, &policy.to_string(), &system(args, policy))
}

fn of_copies(args: &Question, policy: &str, plain: &System) -> Vec<Point> {
    let QueueingArgs { hedge, same_service, fan_out, deadline, .. } = &args.queueing;
    if hedge.is_empty() && fan_out.is_none() && deadline.is_none() {
        return of_system(args, policy.to_owned(), plain);
    }
    let hedges = if hedge.is_empty() { &[HedgeOrNone(None)] } else { &hedge[..] };
    let of_hedge = |&HedgeOrNone(hedge): &HedgeOrNone| {
        let hedge = hedge.map(|hedge| Hedge { has_same_service: *same_service, ..hedge });
        let calls = Calls { fan_out: fan_out.unwrap_or(1), hedge, deadline: *deadline };
        let copies = hedge.map_or(String::new(), |hedge| format!(", copies {hedge}"));
        of_system(args, format!("{policy}{copies}"), &plain.clone().calls(calls))
    };
    hedges.iter().flat_map(of_hedge).collect()
}

fn of_system(args: &Question, name: String, system: &System) -> Vec<Point> {
    let effort = args.effort.effort();
    let point = |load: Load, ask| {
        let load = Load { flows: args.queueing.flows.unwrap_or_default(), keys: args.queueing.keys, ..load };
        let slo = args.slo.of(&load);
        Point { name: name.clone(), system: system.clone(), slo, load, ask, effort }
    };
    let open = |load| Load::open(args.queueing.service.clone(), load).arrivals(args.arrivals.clone());
    if let Some(clients) = args.queueing.clients {
        let closed = Load::closed(args.queueing.service.clone(), clients, args.queueing.think.clone());
        return vec![point(closed.outstanding(args.queueing.outstanding.unwrap_or(1)), Ask::Measure)];
    }
    if let Some(profile) = &args.queueing.load_over_time {
        return vec![point(open(LOWEST).over_time(profile.clone()), Ask::Measure)];
    }
    if args.find_slo {
        return vec![point(open(LOWEST), Ask::FindLoad)];
    }
    loads(args).iter().map(|&load| point(open(load), Ask::Measure)).collect()
}

fn loads(args: &Question) -> &[f64] {
    args.queueing.load.as_ref().map_or(&LOADS[..], |loads| &loads.0)
}

fn system(args: &Question, policy: Policy) -> System {
    let costs = Costs {
        dispatch: args.queueing.dispatch_latency,
        notify: args.queueing.notify_latency,
        decision: args.queueing.decision_time,
        hop: args.queueing.hop_latency,
        per_core: args.queueing.per_core_time,
        lock_handoff: lock_handoff(policy, args.queueing.lock_handoff),
        ..Costs::ZERO
    };
    let reaction = args.queueing.on_nack.policy(args.queueing.servers, args.effort.seed().0);
    let system =
        System::new(policy, args.queueing.cores).servers(args.queueing.servers).reaction(reaction).costs(costs);
    let router = args.queueing.balancer.map(|balancer| balancer.router(args.queueing.distance));
    System {
        router,
        fair_shares: args.queueing.fair_shares,
        queue_bound: args.queueing.queue_bound,
        speeds: args.queueing.speeds.clone(),
        ..system
    }
}

fn check_lock(args: &Question) -> Result<(), Failure> {
    if args.queueing.lock_handoff.is_some() && !args.queueing.policy.contains(&Policy::McsLock) {
        return Err(Failure::bad_input("--lock-handoff applies to the policy mcs-lock only: add it to --policy"));
    }
    Ok(())
}

fn check_servers(args: &Question) -> Result<(), Failure> {
    if args.queueing.balancer.is_some() && args.queueing.servers < 2 {
        return Err(Failure::bad_input("--balancer needs servers to choose from: give --servers 2 or more"));
    }
    let wrong = match args.queueing.on_nack {
        Reaction::Another if args.queueing.servers < 2 => {
            "--on-nack another needs another server: give --servers 2 or more"
        }
        Reaction::Retry { .. } | Reaction::Another if args.queueing.queue_bound.is_none() => {
            "--on-nack has no effect on an unbounded queue: give a --queue-bound"
        }
        _ => return Ok(()),
    };
    Err(Failure::bad_input(wrong))
}

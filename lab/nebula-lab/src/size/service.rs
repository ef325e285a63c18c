//! Sizes for a service and its SLO, from the queue at a load or at the highest within the SLO.

use nebula_nic::{Policy, Sizing, Span, queue_bound_for_slo};
use nebula_sim::sizing::{QueueAt, queue_at_load, queue_at_slo, room};
use nebula_sim::study::text::{depth, digits, load as load_text, with_half};
use nebula_sim::study::{Row, Value, units};
use nebula_sim::{Costs, Interval, Load, SearchEnd, System};
use nebula_workload::ServiceTime;

use super::question::{Question, with_sizing, with_sizing_shown};
use crate::studies::{check_saturation, lock_handoff};
use crate::words::Slo;
use crate::{Answer, Failure, Progress, Workers};

struct Case {
    system: System,
    load: Load,
    slo: Span,
    searches: bool,
}

pub(super) fn answer(
    args: &Question,
    service: &ServiceTime,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Answer, Failure> {
    if args.rpc_bytes == 0 {
        return Err(Failure::bad_input(nebula_nic::SizingError::RpcBytes));
    }
    let effort = args.effort.effort();
    effort.validate()?;
    let cases = cases(args, service)?;
    progress.expect(cases.len() as u64 * u64::from(effort.replications));
    let replicated = || progress.step();
    let one = |case: &Case| match case.searches {
        true => queue_at_slo(&case.system, &case.load, case.slo, &effort, &replicated),
        false => queue_at_load(&case.system, &case.load, &effort, &replicated),
    };
    let found: Result<Vec<QueueAt>, _> = workers.install(|| cases.iter().map(one).collect());
    let found = found?;
    let rows = cases.iter().zip(&found).map(|(case, queue)| row(case, queue, args)).collect::<Result<_, _>>()?;
    let notes = cases.iter().zip(&found).flat_map(|(case, queue)| doubts(case, queue)).collect();
    Ok(Answer { rows, notes, ..Answer::default() })
}

fn cases(args: &Question, service: &ServiceTime) -> Result<Vec<Case>, Failure> {
    let policy = args.policy.unwrap_or_default();
    let searched = [0.5];
    let (loads, searches) = if args.load.is_empty() { (&searched[..], true) } else { (&args.load[..], false) };
    let slo = args.slo.unwrap_or(Slo::Times(10.0));
    let mut cases = Vec::new();
    for &cores in &args.cores {
        let system = system(policy, cores)?;
        for &load in loads {
            let load = Load::open(service.clone(), load);
            load.validate(&system)?;
            if !searches {
                check_saturation(&system, &load)?;
            }
            cases.push(Case { system: system.clone(), slo: slo.of(&load), load, searches });
        }
    }
    Ok(cases)
}

pub(super) fn system(policy: Policy, cores: u32) -> Result<System, Failure> {
    // An overflow is reported with the given number, as 0 cores are.
    let count =
        u16::try_from(cores).map_err(|_| Failure::bad_input(format!("{cores} cores are too many: give 1 to 4096")))?;
    let costs = Costs { lock_handoff: lock_handoff(policy, None), ..Costs::default() };
    let system = System::new(policy, count).costs(costs);
    system.validate()?;
    Ok(system)
}

fn row(case: &Case, queue: &QueueAt, args: &Question) -> Result<Row, Failure> {
    let Case { system, load, slo, .. } = case;
    let bound = queue_bound_for_slo(*slo, load.slo(1.0), system.cores.into()).map_err(Failure::bad_input)?;
    let sizing = room(system, measured(queue, queue.depth_mean.value), args.rpc_bytes);
    let row = Row::new().field("cores", u32::from(system.cores)).field("load", measured(queue, queue.load.value));
    let row = with_sizing(row, &sizing)
        .field("service", load.service.to_string())
        .field("slo_ns", digits(slo.as_ns_f64()))
        .field("policy", system.policy.to_string())
        .field("rpc_bytes", args.rpc_bytes)
        .field("simulated", queue.is_simulated)
        .field("queue_depth_mean_ci", ends_of(queue, queue.depth_mean))
        .field("queue_depth_p99", digits(queue.depth_p99.value))
        .field("queue_depth_p99_ci", ends_of(queue, queue.depth_p99))
        .field("queue_bound", bound)
        .field("precise", queue.is_precise)
        .field("unsettled", queue.is_unsettled);
    let row = match case.searches {
        true => row
            .field("load_at_slo", measured(queue, queue.load.value))
            .field("load_at_slo_ci", ends_of(queue, queue.load))
            .field("search_end", queue.end.map(SearchEnd::name)),
        false => row,
    };
    Ok(shown(row, case, queue, &sizing, bound))
}

/// A formula is exact; a simulated figure is rounded to its digits.
fn measured(queue: &QueueAt, figure: f64) -> f64 {
    if queue.is_simulated { digits(figure) } else { figure }
}

fn ends_of(queue: &QueueAt, interval: Interval) -> Value {
    Value::Ends([interval.lo, interval.hi].map(|end| measured(queue, end)))
}

fn shown(row: Row, case: &Case, queue: &QueueAt, sizing: &Sizing, bound: u32) -> Row {
    let row = row
        .shown("cores", case.system.cores.to_string())
        .word("policy", case.system.policy.to_string())
        .shown("SLO", units::span(case.slo))
        .shown(if case.searches { "load at SLO" } else { "load" }, with_half(queue.load, load_text))
        .shown("E[Nq]", with_half(queue.depth_mean, depth))
        .shown("queue p99", with_half(queue.depth_p99, depth))
        .shown("queue bound", bound.to_string());
    with_sizing_shown(row, sizing).word("by", by(queue))
}

fn by(queue: &QueueAt) -> &'static str {
    match (queue.is_simulated, queue.is_unsettled) {
        (true, true) => "simulation, unsettled",
        (true, false) => "simulation",
        (false, _) => "formula",
    }
}

fn doubts(case: &Case, queue: &QueueAt) -> Vec<String> {
    let (cores, load) = (case.system.cores, load_text(queue.load.value));
    let end = match queue.end {
        Some(SearchEnd::Highest) => {
            Some(format!("note: {cores} cores keep the SLO at the highest load that was tried, {load}"))
        }
        Some(SearchEnd::Unsettled) => Some(format!(
            "note: {cores} cores keep the SLO up to a load of {load}, above which so few RPCs do not settle; give more --rpcs"
        )),
        _ => queue.is_unsettled.then(|| format!(
            "note: {cores} cores: the load is unsettled: so few RPCs say little about a load that takes this long to settle; give more --rpcs"
        )),
    };
    let imprecise = (queue.is_precise == Some(false)).then(|| {
        format!(
            "note: {cores} cores: --precision, or 1 % of a load that is searched for, was not reached; give more --rpcs"
        )
    });
    end.into_iter().chain(imprecise).collect()
}

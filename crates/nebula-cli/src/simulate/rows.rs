//! What was found, described once for tables, JSON and CSV.

use nebula_sim::{Interval, Source};

use super::measure::{Ask, Figures, Found};
use crate::output::interval::{depth, digits, ends, load, time, with_half};
use crate::output::{Row, Value, units};

/// One operating point.
pub(super) fn row(found: &Found) -> Row {
    with_table(fields(Row::new(), found), found)
}

/// What JSON and CSV say of it.
pub(crate) fn fields(row: Row, found: &Found) -> Row {
    let row = with_figures(with_question(row, found), found);
    with_setting(with_search(row, found), found)
}

fn with_question(row: Row, found: &Found) -> Row {
    let (system, asked) = (&found.point.system, &found.point.load);
    row.field("policy", system.policy.to_string())
        .field("cores", u32::from(system.cores))
        .field("service", asked.service.to_string())
        .field("load", found.figures.map(|figures| digits(figures.load)))
        .field("seed", found.effort.seed.0)
        .field("rpcs", found.effort.rpcs)
}

fn with_figures(row: Row, found: &Found) -> Row {
    let of = |get: fn(&Figures) -> f64| found.figures.as_ref().map(|figures| digits(get(figures)));
    let latency = Value::Object(vec![
        ("mean", of(|f| f.mean).into()),
        ("p50", of(|f| f.p50).into()),
        ("p90", of(|f| f.p90).into()),
        ("p99", of(|f| f.p99.value).into()),
        ("p999", of(|f| f.p999).into()),
    ]);
    let queued = Value::Object(vec![("mean", of(|f| f.queued_mean).into()), ("p99", of(|f| f.queued_p99).into())]);
    let depth =
        Value::Object(vec![("mean", of(|f| f.depth_mean.value).into()), ("p99", of(|f| f.depth_p99.value).into())]);
    let ci = |get: fn(&Figures) -> Interval| found.figures.as_ref().map_or(Value::Null, |f| ends(get(f)));
    row.field("offered_mrps", of(|f| f.offered_rps / 1e6))
        .field("throughput_mrps", of(|f| f.served_rps / 1e6))
        .field("accepted", of(|f| f.accepted))
        .field("slo_ns", digits(found.point.slo.as_ns_f64()))
        .field("meets_slo", found.figures.is_some_and(|figures| figures.meets_slo))
        .field("latency_ns", latency)
        .field("latency_ns_p99_ci", ci(|f| f.p99))
        .field("queue_depth", depth)
        .field("queue_depth_mean_ci", ci(|f| f.depth_mean))
        .field("queue_depth_p99_ci", ci(|f| f.depth_p99))
        .field("queued_ns", queued)
        .field("nacks", found.figures.map(|figures| figures.nacks))
        .field("replications", found.figures.map(|figures| figures.replications))
        .field("precise", found.figures.and_then(|figures| figures.is_precise))
}

fn with_search(row: Row, found: &Found) -> Row {
    if found.point.ask == Ask::Measure {
        return row;
    }
    row.field("load_at_slo", found.at_slo.map(|at| digits(at.load.value)))
        .field("load_at_slo_ci", found.at_slo.map_or(Value::Null, |at| ends(at.load)))
        .field("throughput_under_slo_rps", found.at_slo.map(|at| digits(at.served_rps)))
}

/// What was simulated, so that a row can be run again.
fn with_setting(row: Row, found: &Found) -> Row {
    let (system, asked) = (&found.point.system, &found.point.load);
    let row = match &asked.source {
        Source::Open { arrivals, .. } => row.field("arrivals", arrivals.to_string()),
        Source::Closed { clients, think } => {
            row.field("clients", *clients).field("think", think.as_ref().map(ToString::to_string))
        }
    };
    row.field("servers", u32::from(system.servers))
        .field("queue_bound", system.queue_bound)
        .field("dispatch_ns", system.costs.dispatch.as_ns_f64())
        .field("notify_ns", system.costs.notify.as_ns_f64())
        .field("lock_handoff_ns", system.costs.lock_handoff.as_ns_f64())
}

fn with_table(row: Row, found: &Found) -> Row {
    let row = row.word("policy", found.point.name.clone());
    let row = match (found.point.ask, found.at_slo) {
        (Ask::Measure, _) => row.shown("load", found.figures.map_or("–".to_owned(), |f| load(f.load))),
        (Ask::FindLoad, None) => row.shown("load at SLO", "none"),
        (Ask::FindLoad, Some(at)) => row.shown("load at SLO", with_half(at.load, load)),
    };
    let of = |get: &dyn Fn(&Figures) -> String| found.figures.as_ref().map_or("–".to_owned(), get);
    row.shown("offered", of(&|f| units::rate(f.offered_rps)))
        .shown("served", of(&|f| units::rate(f.served_rps)))
        .shown("NACKed", of(&|f| units::percent(1.0 - f.accepted)))
        .shown("mean", of(&|f| time(f.mean)))
        .shown("p50", of(&|f| time(f.p50)))
        .shown("p99", of(&|f| with_half(f.p99, time)))
        .shown("p99.9", of(&|f| time(f.p999)))
        .shown("SLO", units::span(found.point.slo))
        .shown("met", of(&|f| if f.meets_slo { "yes".to_owned() } else { "no".to_owned() }))
        .shown("queue mean", of(&|f| depth(f.depth_mean.value)))
        .shown("queue p99", of(&|f| depth(f.depth_p99.value)))
}

/// What makes a row doubtful, in one line.
pub(crate) fn doubt(found: &Found) -> Option<String> {
    let policy = &found.point.name;
    match (found.figures, found.at_slo) {
        (None, _) => Some(format!("note: {policy} keeps the SLO of {} at no load", units::span(found.point.slo))),
        (_, Some(at)) if at.is_lower_bound => {
            Some(format!("note: {policy} keeps the SLO at the highest load that was tried, {}", load(at.load.value)))
        }
        (Some(f), _) if f.is_precise == Some(false) => Some(format!(
            "note: {policy} at load {}: the p99 is known to {} after {} replications, not to {}; give more --rpcs",
            load(f.load),
            units::percent(f.p99.relative()),
            f.replications,
            units::percent(found.effort.precision.unwrap_or(0.0)),
        )),
        _ => None,
    }
}

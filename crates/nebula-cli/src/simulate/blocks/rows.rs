//! What was found, described once for tables, JSON and CSV.

use nebula_memsys::Cause;
use nebula_sim::Interval;
use nebula_sim::blocks::{Part, Stage};

use super::measure::{Figures, Findings, Found};
use super::plan::Setting;
use crate::output::interval::{digits, ends, time, with_half};
use crate::output::{Row, Value, units};

/// One design at one rate.
pub(super) fn row(setting: &Setting, found: &Found) -> Row {
    let row = with_question(Row::new(), setting, found);
    let row = with_figures(row, setting, found);
    let row = with_memory(row, found);
    let row = with_search(row, setting, found);
    with_table(with_setting(row, setting), setting, found)
}

fn with_question(row: Row, setting: &Setting, found: &Found) -> Row {
    row.field("machine", setting.machine.name.as_str())
        .field("design", found.design.as_str())
        .field("application", setting.application.as_str())
        .field("load_rps_offered", found.rate_rps.map(digits))
        .field("seed", setting.effort.seed.0)
        .field("rpcs", setting.effort.rpcs)
}

fn with_figures(row: Row, setting: &Setting, found: &Found) -> Row {
    let of = |get: fn(&Figures) -> f64| found.figures.as_ref().map(|figures| digits(get(figures)));
    let latency = Value::Object(vec![
        ("mean", of(|f| f.mean).into()),
        ("p50", of(|f| f.p50).into()),
        ("p90", of(|f| f.p90).into()),
        ("p99", of(|f| f.p99.value).into()),
        ("p999", of(|f| f.p999).into()),
    ]);
    let depth = Value::Object(vec![("mean", of(|f| f.depth_mean).into()), ("p99", of(|f| f.depth_p99).into())]);
    row.field("offered_mrps", found.rate_rps.map(|rps| digits(rps / 1e6)))
        .field("throughput_mrps", of(|f| f.served_rps / 1e6))
        .field("accepted", of(|f| f.accepted))
        .field("slo_ns", digits(setting.slo.as_ns_f64()))
        .field("meets_slo", found.figures.as_ref().is_some_and(|figures| figures.meets_slo))
        .field("latency_ns", latency)
        .field("latency_ns_p99_ci", interval(found, |f| f.p99))
        .field("service_ns_mean", of(|f| f.service_mean))
        .field("queue_depth", depth)
        .field("queued_at_core", of(|f| f.queued_at_core))
        .field("nacks", found.figures.as_ref().map(|figures| figures.nacks))
        .field("replications", found.figures.as_ref().map(|figures| figures.replications))
        .field("precise", found.figures.as_ref().and_then(|figures| figures.is_precise))
}

fn interval(found: &Found, get: fn(&Figures) -> Interval) -> Value {
    found.figures.as_ref().map_or(Value::Null, |figures| ends(get(figures)))
}

/// Where time and bytes went. A design that no rate suits has the same columns, without figures.
fn with_memory(row: Row, found: &Found) -> Row {
    let figures = found.figures.as_ref();
    let of = |get: fn(&Figures) -> f64| figures.map(|figures| digits(get(figures)));
    let stage = |(index, stage): (usize, Stage)| {
        (stage_field(stage), figures.map(|figures| digits(figures.stages[index])).into())
    };
    let cause = |part: usize, cause: usize| {
        (CAUSE_FIELDS[cause], figures.map(|figures| digits(figures.blocks[part][cause])).into())
    };
    let part = |(index, part): (usize, Part)| {
        (part.name(), Value::Object((0..Cause::ALL.len()).map(|at| cause(index, at)).collect()))
    };
    row.field("dram_gb_per_s", of(|f| f.dram_gb_per_s.value))
        .field("dram_gb_per_s_ci", interval(found, |f| f.dram_gb_per_s))
        .field("dram_blocks_per_rpc", of(|f| f.blocks_per_rpc))
        .field("stage_ns", Value::Object(Stage::ALL.into_iter().enumerate().map(stage).collect()))
        .field("dram_blocks", Value::Object(Part::ALL.into_iter().enumerate().map(part).collect()))
}

/// In the order of [`Cause::ALL`].
const CAUSE_FIELDS: [&str; Cause::ALL.len()] =
    ["nic_fetch", "nic_write_back", "core_fetch", "core_write_back", "stream"];

/// Its name as that of a field.
const fn stage_field(stage: Stage) -> &'static str {
    match stage {
        Stage::LookAhead => "look_ahead",
        stage => stage.name(),
    }
}

fn with_search(row: Row, setting: &Setting, found: &Found) -> Row {
    if !setting.searches {
        return row;
    }
    let rate = found.at_slo.map(|at| at.rate_rps);
    row.field("throughput_under_slo_rps", rate.map(|rate| digits(rate.value)))
        .field("throughput_under_slo_rps_ci", rate.map_or(Value::Null, ends))
}

/// What was simulated, so that a row can be run again.
fn with_setting(row: Row, setting: &Setting) -> Row {
    row.field("cores", u32::from(setting.machine.memory.cores))
        .field("arrivals", setting.arrivals.as_str())
        .field("get_share", setting.store.map(|(share, _)| digits(share)))
        .field("value_bytes", setting.store.map(|(_, bytes)| bytes))
        .field("hog_gb_per_s", setting.hog_gb_per_s)
        .field("receive_buffer_bytes", setting.machine.deployment.receive_buffer_bytes)
}

fn with_table(row: Row, setting: &Setting, found: &Found) -> Row {
    let row = row.word("design", found.design.as_str());
    let row = match (setting.searches, found.at_slo) {
        (false, _) => row.shown("offered", found.rate_rps.map_or("–".to_owned(), units::rate)),
        (true, None) => row.shown("rate at SLO", "none"),
        (true, Some(at)) => row.shown("rate at SLO", with_half(at.rate_rps, units::rate)),
    };
    let of = |get: &dyn Fn(&Figures) -> String| found.figures.as_ref().map_or("–".to_owned(), get);
    row.shown("NACKed", of(&|f| units::percent(1.0 - f.accepted)))
        .shown("mean", of(&|f| time(f.mean)))
        .shown("p99", of(&|f| with_half(f.p99, time)))
        .shown("p99.9", of(&|f| time(f.p999)))
        .shown("SLO", units::span(setting.slo))
        .shown("met", of(&|f| if f.meets_slo { "yes".to_owned() } else { "no".to_owned() }))
        .shown("service", of(&|f| time(f.service_mean)))
        .shown("queued at core", of(&|f| units::percent(f.queued_at_core)))
        .shown("DRAM GB/s", of(&|f| with_half(f.dram_gb_per_s, |gb| format!("{gb:.1}"))))
        .shown("blocks/RPC", of(&|f| format!("{:.1}", f.blocks_per_rpc)))
}

/// What makes rows doubtful, a line each, but one for all that are past saturation.
pub(super) fn doubts(findings: &Findings) -> Vec<String> {
    let Findings { setting, found } = findings;
    let past: Vec<&Found> = found.iter().filter(|found| is_past_saturation(setting, found)).collect();
    let others = found.iter().filter(|found| !is_past_saturation(setting, found));
    let name = |found: &&Found| format!("{} at {}", found.design, found.rate_rps.map_or(String::new(), units::rate));
    let names = past.iter().map(name).collect::<Vec<_>>().join(", ");
    let line = (!past.is_empty())
        .then(|| format!("note: past saturation latencies grow with --rpcs, and so it is with {names} RPC/s"));
    line.into_iter().chain(others.filter_map(|found| doubt(setting, found))).collect()
}

/// A p99 of ten times the SLO, a hundred times the service, is that of a queue that grows as long as the run lasts.
fn is_past_saturation(setting: &Setting, found: &Found) -> bool {
    let is_late = |figures: &Figures| figures.p99.value > 10.0 * setting.slo.as_ns_f64();
    found.at_slo.is_none() && found.figures.as_ref().is_some_and(is_late)
}

fn doubt(setting: &Setting, found: &Found) -> Option<String> {
    let (design, slo) = (&found.design, setting.slo);
    let rate = found.rate_rps.map_or(String::new(), units::rate);
    match (&found.figures, found.at_slo) {
        (None, _) => Some(format!("note: {design} keeps the SLO of {} at no rate", units::span(slo))),
        (_, Some(at)) if at.is_lower_bound => {
            Some(format!("note: {design} keeps the SLO at the highest rate that was tried, {rate} RPC/s"))
        }
        (Some(f), _) if f.is_precise == Some(false) => Some(format!(
            "note: {design} at {rate} RPC/s: the p99 is known to {} after {} replications, not to {}; give more --rpcs",
            units::percent(f.p99.relative()),
            f.replications,
            units::percent(setting.effort.precision.unwrap_or(0.0)),
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::blocks::tests::findings;

    #[test]
    fn what_is_past_saturation_is_said_once() {
        let mut findings = findings(false);
        findings.found[3].figures.as_mut().unwrap().p99.value = 1e6;
        let said =
            "note: past saturation latencies grow with --rpcs, and so it is with <rss> at 20M, nebula at 20M RPC/s";
        assert_eq!(doubts(&findings), [said]);
    }

    #[test]
    fn a_search_says_where_it_found_nothing_and_where_it_ended_too_soon() {
        let mut findings = findings(true);
        (findings.found[0].at_slo, findings.found[0].figures) = (None, None);
        findings.found[2].at_slo.as_mut().unwrap().is_lower_bound = true;
        let said = doubts(&findings);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].contains("<rss> keeps the SLO of 6.3 µs at no rate"));
        assert!(said[1].contains("nebula keeps the SLO at the highest rate that was tried, 5M"));
    }
}

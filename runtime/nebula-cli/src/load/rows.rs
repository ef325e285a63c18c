//! The results of a load, defined once for tables, JSON and CSV.

use nebula_nic::Span;
use nebula_workload::{ByOp, Counts, Latency, LatencyRecorder, LatencySummary};

use crate::drive::{FoundSlo, LoadOutcome};
use nebula_ui::output::{Row, Value, units};

pub(super) fn load_row(outcome: &LoadOutcome) -> Row {
    with_table(with_fields(Row::new(), outcome), outcome)
}

/// The load that met the SLO, and the bracket around it.
pub(super) fn search_row(found: &FoundSlo) -> Row {
    let under_slo = found.result.throughput_under_slo_rps;
    let row = Row::new()
        .field("throughput_under_slo_rps", under_slo.map(rounded))
        .field("lowest_missed_rps", found.result.lowest_missed_rps.map(rounded))
        .field("slo_ns", found.slo.as_ns())
        .field("probes", found.result.probes)
        .field("is_complete", found.result.is_complete)
        .shown(UNDER_SLO, under_slo.map_or("none".to_owned(), units::rate))
        .shown("missed at", found.result.lowest_missed_rps.map_or("–".to_owned(), units::rate));
    match found.best() {
        Some(best) => with_table(with_fields(row, &best.outcome), &best.outcome),
        None => row,
    }
}

const UNDER_SLO: &str = "under SLO";

fn with_fields(row: Row, outcome: &LoadOutcome) -> Row {
    let report = &outcome.report;
    let (counts, latency) = (&report.counts, &report.latency);
    row.field("rate_rps", rounded(report.rate_rps))
        .field("offered", counts.offered)
        .field("achieved_rps", rounded(report.achieved_rps()))
        .field("replied", counts.replied)
        .field("not_found", counts.not_found)
        .field("nacked", counts.nacked)
        .field("refused_by_client", counts.refused_by_client)
        .field("lost", counts.lost)
        .field("unsent", counts.never_sent)
        // An alias of `unsent`, for older scripts.
        .field("never_sent", counts.never_sent)
        .field("latency_ns", latency_value(latency.raw()))
        .field("replied_p99_ns", replied_p99(latency.raw()))
        .field("latency_ns_gaps_excluded", latency_value(latency.gaps_excluded()))
        .field("latency_ns_by_op", by_op(&report.by_op))
        .field("share_kept", latency.share_kept())
        .field("unjudged", latency.unjudged())
        .field("nack_share", share(counts.nacked, counts.offered))
        .field("sender_late_share", report.share_later_than(report.late_after))
        .field("sender_was_late", report.generator_was_late())
        .field("machine_share_lost", outcome.gaps.share_lost)
        .field("server_buffer_bytes", outcome.server.buffer_bytes())
        .field("server_queue_depth_max", outcome.server.queue_depth_max)
}

/// Two lines: the raw tail, and the tail with gaps excluded.
fn with_table(row: Row, outcome: &LoadOutcome) -> Row {
    let report = &outcome.report;
    let counts = &report.counts;
    let tails = [report.latency.raw().summary(), report.latency.gaps_excluded().summary()];
    let kept = report.latency.share_kept().map_or("–".to_owned(), units::percent);
    let shown = |latency| match latency {
        Some(Latency::Infinite) => infinite(&report.counts).to_owned(),
        latency => units::latency(latency),
    };
    let lines = |of: fn(&LatencySummary) -> Latency| tails.map(|tail| shown(tail.as_ref().map(of))).join("\n");
    row.shown("rate", units::rate(report.rate_rps))
        .shown("achieved", units::rate(report.achieved_rps()))
        .shown("NACKed", units::percent(share(counts.nacked, counts.offered)))
        .shown("client full", units::percent(share(counts.refused_by_client, counts.offered)))
        .shown("lost", counts.lost.to_string())
        .shown("unsent", counts.never_sent.to_string())
        .word("tail", "raw\ngaps excluded")
        .shown("kept", format!("100 %\n{kept}"))
        .shown("p50", lines(|tail| tail.p50))
        .shown("p90", lines(|tail| tail.p90))
        .shown("p99", lines(|tail| tail.p99))
        .shown("p99.9", lines(|tail| tail.p999))
        .shown("max", lines(|tail| tail.max))
}

fn infinite(counts: &Counts) -> &'static str {
    let Counts { nacked, refused_by_client, lost, never_sent, .. } = *counts;
    match nacked.max(refused_by_client).max(lost).max(never_sent) {
        most if most == counts.nacked => "∞ (NACK)",
        most if most == counts.refused_by_client => "∞ (client full)",
        most if most == counts.lost => "∞ (lost)",
        _ => "∞ (unsent)",
    }
}

/// The 99th percentile of the RPCs that were answered, whatever was refused, in nanoseconds.
fn replied_p99(recorder: &LatencyRecorder) -> Value {
    let (all, infinite) = (recorder.count(), recorder.infinite());
    let p99 = recorder.quantile(0.99 * (1.0 - share(infinite, all)));
    Value::from(p99.and_then(Latency::finite).map(Span::as_ns))
}

/// In nanoseconds; infinite latencies are `null`.
fn latency_value(recorder: &LatencyRecorder) -> Value {
    let summary = recorder.summary();
    let finite = |of: fn(&LatencySummary) -> Latency| {
        Value::from(summary.as_ref().and_then(|s| of(s).finite()).map(Span::as_ns))
    };
    let mean = summary.as_ref().and_then(|summary| summary.mean);
    Value::object([
        ("mean", mean.map(|mean| rounded(mean.as_ns_f64())).into()),
        ("p50", finite(|summary| summary.p50)),
        ("p90", finite(|summary| summary.p90)),
        ("p95", finite(|summary| summary.p95)),
        ("p99", finite(|summary| summary.p99)),
        ("p999", finite(|summary| summary.p999)),
        ("max", finite(|summary| summary.max)),
    ])
}

/// Of each operation that occurred.
fn by_op(latencies: &ByOp) -> Value {
    Value::object(latencies.each().map(|(op, recorder)| (op.name(), latency_value(recorder))))
}

/// To a tenth.
fn rounded(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_nic::Timestamp;

    #[test]
    fn a_p99_of_nacks_is_null_and_the_median_is_not() {
        let mut recorder = LatencyRecorder::new();
        (0..97).for_each(|_| recorder.record(Timestamp::ZERO, Latency::Finite(Span::from_us(2))));
        (0..3).for_each(|_| recorder.record(Timestamp::ZERO, Latency::Infinite));
        let json = serde_json::to_string(&latency_value(&recorder)).unwrap();
        let expected = r#"{"mean":2000.0,"p50":2000,"p90":2000,"p95":2000,"p99":null,"p999":null,"max":null}"#;
        assert_eq!(json, expected);
    }
}

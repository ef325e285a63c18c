//! The page of one load, or of a search for the highest load under the SLO.

use super::chart::latency_axis;
use super::chart::{Axis, BLUE, Bound, Chart, Color, Dot, Line, Marker, ORANGE, Stroke, Unit, round_ticks, sample};
use super::finding::p99_answered;
use super::page::{Figure, Page, Table};
use super::sweep::log_us;
use crate::drive::{FoundSlo, LoadOutcome, Probe};
use nebula_ui::output::units;
use nebula_workload::{GapSummary, Latency, LatencyRecorder, LoadReport};

pub(crate) fn render_load(outcome: &LoadOutcome, footer: &str) -> String {
    let report = &outcome.report;
    let p99 = report.latency.raw().quantile(0.99).and_then(Latency::finite);
    let p99 = p99
        .map_or("an infinite p99 (over 1 % got no reply)".to_owned(), |p99| format!("a p99 of {}", units::span(p99)));
    let verdict = format!(
        "At {} RPC/s offered, {} RPC/s were served with {p99} (raw), {} were NACKed, and {} were not sent or not answered.",
        units::rate(report.rate_rps),
        units::rate(report.achieved_rps()),
        share(report, report.counts.nacked),
        share(report, report.counts.refused_by_client + report.counts.lost + report.counts.never_sent),
    );
    Page::new("Nebula: one load", &verdict, &machine(outcome))
        .charts(&[curve_figure(outcome)])
        .table(&tails_table(outcome))
        .remarks("How to read this", &remarks(report))
        .finish(footer)
}

pub(crate) fn render_search(found: &FoundSlo, footer: &str) -> String {
    let slo = units::span(found.slo);
    let verdict = match found.result.throughput_under_slo_rps {
        Some(rps) => format!(
            "Up to {} RPC/s the raw p99 stayed within {slo}, with NACKs counted as infinite latency.",
            units::rate(rps)
        ),
        None => {
            format!("No load that was tried kept the raw p99 within {slo}, with NACKs counted as infinite latency.")
        }
    };
    let best = found.best().map(|probe| &probe.outcome);
    let figures: Vec<Figure> = std::iter::once(probes_figure(found)).chain(best.map(curve_figure)).collect();
    let mut page =
        Page::new("Nebula: load under the SLO", &verdict, &best.map(machine).unwrap_or_default()).charts(&figures);
    if let Some(best) = best {
        page = page.table(&tails_table(best)).remarks("How to read this", &remarks(&best.report));
    }
    page.finish(footer)
}

fn machine(outcome: &LoadOutcome) -> String {
    let buffer = units::bytes(outcome.server.buffer_bytes());
    format!("The server's receive buffer has {buffer}. During the load, {}.", hiccups(&outcome.gaps))
}

fn share(report: &LoadReport, part: u64) -> String {
    units::percent(part as f64 / report.counts.offered.max(1) as f64)
}

fn hiccups(gaps: &GapSummary) -> String {
    let per_second = gaps.per_second_above.first().map_or(0.0, |class| class.1);
    let typical = gaps.length_p50.map_or("none".to_owned(), units::span);
    format!(
        "a core paused {per_second:.0} times per second for 1 µs or more, {} of the time (median {typical}, longest {})",
        units::percent(gaps.share_lost),
        units::span(gaps.longest)
    )
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    Raw,
    GapsExcluded,
}

const READINGS: [(Reading, Color, Stroke, &str); 2] =
    [(Reading::Raw, BLUE, Stroke::Solid, "raw"), (Reading::GapsExcluded, ORANGE, Stroke::Dashed, "gaps excluded")];

fn recorder(outcome: &LoadOutcome, reading: Reading) -> &LatencyRecorder {
    match reading {
        Reading::Raw => outcome.report.latency.raw(),
        Reading::GapsExcluded => outcome.report.latency.gaps_excluded(),
    }
}

fn curve_figure(outcome: &LoadOutcome) -> Figure {
    let lines: Vec<Line> = READINGS
        .iter()
        .map(|&(reading, color, stroke, _)| Line {
            color,
            marker: None,
            stroke,
            dots: curve(recorder(outcome, reading)),
        })
        .collect();
    let heights = lines.iter().flat_map(|line| &line.dots).map(|dot| dot.y);
    let (low, high) = heights.fold((0.0, 1.0), |(low, high): (f64, f64), y| (low.min(y), high.max(y)));
    let chart = Chart {
        title: format!("Latency by percentile at {} RPC/s", units::rate(outcome.report.rate_rps)),
        description: describe(outcome),
        x: nines_axis(),
        y: Axis { label: "latency".to_owned(), ..latency_axis(low, high) },
        lines,
        bound: None,
    };
    let legend =
        READINGS.iter().map(|&(_, color, stroke, words)| (sample(color, None, stroke, false), words.to_owned()));
    let caption = "Both scales are logarithmic. A curve ends where the remaining RPCs got no reply.";
    Figure { chart, legend: legend.collect(), caption: caption.to_owned() }
}

/// The labeled shares of the axis, by their number of nines.
const PERCENTILES: [(f64, &str); 5] = [(0.0, "0"), (0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %")];
/// 99.99 %: a second at a million RPC/s has a hundred RPCs beyond it.
const LAST_NINES: f64 = 4.0;

fn nines(share: f64) -> f64 {
    -(1.0 - share).log10()
}

fn nines_axis() -> Axis {
    let ticks = PERCENTILES.iter().map(|&(share, label)| (nines(share), label.to_owned()));
    let last = (LAST_NINES, "99.99 %".to_owned());
    Axis {
        label: "share of RPCs at or below this latency".to_owned(),
        from: 0.0,
        to: LAST_NINES,
        unit: Unit::Nines,
        ticks: ticks.chain([last]).collect(),
    }
}

/// Twenty points for each nine, as far as the number of RPCs resolves them.
fn curve(recorder: &LatencyRecorder) -> Vec<Dot> {
    let resolved = (recorder.count().max(1) as f64).log10().min(LAST_NINES);
    let at = (0..=80).map(|step| f64::from(step) / 20.0).take_while(|&x| x <= resolved);
    at.map_while(|x| {
        let latency = recorder.quantile(1.0 - 10f64.powf(-x))?.finite()?;
        Some(Dot::at(x, log_us(latency)))
    })
    .collect()
}

fn describe(outcome: &LoadOutcome) -> String {
    let words = |&(reading, _, _, words): &(Reading, Color, Stroke, &str)| {
        let at = |share| recorder(outcome, reading).quantile(share);
        format!(
            "{words}: p50 {}, p99 {}, p99.9 {}.",
            units::latency(at(0.5)),
            units::latency(at(0.99)),
            units::latency(at(0.999))
        )
    };
    READINGS.iter().map(words).collect::<Vec<_>>().join(" ")
}

fn tails_table(outcome: &LoadOutcome) -> Table {
    let row = |&(reading, _, _, words): &(Reading, Color, Stroke, &str)| {
        let at = |share| units::latency(recorder(outcome, reading).quantile(share));
        let kept = match reading {
            Reading::Raw => Some(1.0),
            Reading::GapsExcluded => outcome.report.latency.share_kept(),
        };
        let kept = kept.map_or("–".to_owned(), units::percent);
        [words.to_owned(), kept].into_iter().chain([0.5, 0.9, 0.99, 0.999, 1.0].map(at)).collect()
    };
    Table {
        caption: "Latency from the scheduled send time. Kept: share of RPCs that met no pause of the machine."
            .to_owned(),
        headings: ["tail", "kept", "p50", "p90", "p99", "p99.9", "max"].map(str::to_owned).into(),
        rows: READINGS.iter().map(row).collect(),
    }
}

fn remarks(report: &LoadReport) -> Vec<String> {
    let mut remarks = vec![
        "An RPC that was NACKed, was refused by its own client, or got no reply counts as infinite latency.".to_owned(),
        "Gaps excluded: without the RPCs during which, or within 20 µs after which, the core of the client or of the server paused. Read it \
         only together with the raw tail and the share kept."
            .to_owned(),
    ];
    if report.generator_was_late() {
        remarks.push(
            "The load generator itself was late, so part of the tail is its own and not the server's.".to_owned(),
        );
    }
    remarks
}

fn probes_figure(found: &FoundSlo) -> Figure {
    let (met, missed): (Vec<&Probe>, Vec<&Probe>) = found.probes.iter().partition(|probe| probe.is_met);
    let lines = vec![probe_dots(&met, BLUE, Marker::Circle), probe_dots(&missed, ORANGE, Marker::Square)];
    let slo = log_us(found.slo);
    let heights = lines.iter().flat_map(|line| &line.dots).map(|dot| dot.y);
    let (low, high) = heights.chain([slo]).fold((0.0, 3.0), |(low, high): (f64, f64), y| (low.min(y), high.max(y)));
    let to = found.probes.iter().map(|probe| probe.rate.as_rps()).fold(1.0, f64::max) * 1.05;
    let in_words =
        |probe: &Probe| format!("{} {}", units::rate(probe.rate.as_rps()), if probe.is_met { "met" } else { "missed" });
    let chart = Chart {
        title: "Loads that were tried".to_owned(),
        description: found.probes.iter().map(in_words).collect::<Vec<_>>().join("; "),
        x: Axis {
            label: "offered, RPC/s".to_owned(),
            from: 0.0,
            to,
            unit: Unit::Rate,
            ticks: round_ticks(to, units::rate),
        },
        y: latency_axis(low, high),
        lines,
        bound: Some(Bound { y: slo, label: format!("SLO {}", units::span(found.slo)) }),
    };
    let of = |color, marker, words: &str| (sample(color, Some(marker), Stroke::None, false), words.to_owned());
    let legend = vec![of(BLUE, Marker::Circle, "met the SLO"), of(ORANGE, Marker::Square, "missed it")];
    let caption =
        "Raw p99 of the RPCs that were answered. A hollow marker misses the SLO because over 1 % were NACKed.";
    Figure { chart, legend, caption: caption.to_owned() }
}

fn probe_dots(probes: &[&Probe], color: Color, marker: Marker) -> Line {
    let dot = |probe: &&Probe| {
        let raw = probe.outcome.report.latency.raw();
        let is_hollow = raw.quantile(0.99) == Some(Latency::Infinite);
        Some(Dot::at(probe.rate.as_rps(), log_us(p99_answered(raw)?)).hollow(is_hollow))
    };
    Line { color, marker: Some(marker), stroke: Stroke::None, dots: probes.iter().filter_map(dot).collect() }
}

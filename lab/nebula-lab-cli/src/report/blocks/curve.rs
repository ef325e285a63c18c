//! Tail latency and DRAM bandwidth over the rate; or the highest rate under the SLO, and the
//! bandwidth at that rate.

use nebula_sim::Interval;

use super::super::chart::{
    Axis, Bound, Chart, Dot, INK, Line, Marker, Sample, Stroke, Unit, look, round_ticks, sample,
};
use super::super::levels::{Level, levels};
use super::super::log_us;
use super::super::page::Figure;
use super::series::{Series, series};
use nebula_sim::study::blocks::{Figures, Findings, Found};
use nebula_sim::study::text::{time, with_half};
use nebula_ui::output::units;

/// p99 over the rate, on a logarithmic scale that ends at ten times the SLO.
pub(super) fn tail_figure(findings: &Findings) -> Figure {
    let slo = findings.setting.slo.as_ns_f64();
    let y = tail_axis(findings, slo);
    let dot = |rate: f64, figures: &Figures| {
        let Interval { value, lo, hi } = figures.outcome.p99;
        let at = Dot::at(rate, y.clip(log_us(value))).hollow(figures.outcome.accepted.value < 0.99);
        if log_us(value) > y.to { at } else { at.between(log_us(lo), log_us(hi)) }
    };
    let lines = lines(findings, dot);
    let is_hollow = lines.iter().flat_map(|line| &line.dots).any(|dot| dot.is_hollow);
    let is_beyond = points(findings).any(|(_, figures)| log_us(figures.outcome.p99.value) > y.to);
    let chart = Chart {
        title: "Tail latency over the rate".to_owned(),
        description: describe(findings, |figures| time(figures.outcome.p99.value)),
        x: rate_axis(findings),
        y,
        lines,
        bound: Some(Bound { y: log_us(slo), label: format!("SLO {}", units::span(findings.setting.slo)) }),
    };
    let over = (sample(INK, Some(Marker::Circle), Stroke::None, true), "over 1 % NACKed: misses every SLO".to_owned());
    let legend = legend(findings).chain(is_hollow.then_some(over)).collect();
    let beyond = if is_beyond { " A marker at the upper edge is outside the chart." } else { "" };
    let caption = format!("p99 of the RPCs served, on a logarithmic scale. {BAR}{beyond}");
    Figure { chart, legend, caption }
}

const BAR: &str = "Bars are 95 % confidence intervals; some are smaller than the marker.";

/// With the peak of the channels.
pub(super) fn bandwidth_figure(findings: &Findings) -> Figure {
    let dot = |rate: f64, figures: &Figures| {
        let Interval { value, lo, hi } = figures.dram_gb_per_s;
        Dot::at(rate, value).between(lo, hi)
    };
    let peak = findings.setting.machine.memory.peak_gb_per_s();
    let (high, bound) = bandwidth_range(findings, peak);
    let chart = Chart {
        title: "DRAM bandwidth over the rate".to_owned(),
        description: describe(findings, |figures| format!("{:.1} GB/s", figures.dram_gb_per_s.value)),
        x: rate_axis(findings),
        y: bandwidth_axis(high),
        lines: lines(findings, dot),
        bound: bound.then(|| Bound { y: peak, label: format!("peak of all channels: {peak:.0} GB/s") }),
    };
    let caption = format!(
        "Reads and writes of the whole machine. Designs with equal buffers move the same bytes, so their lines coincide. {BAR}"
    );
    Figure { chart, legend: legend(findings).collect(), caption }
}

fn points(findings: &Findings) -> impl Iterator<Item = (f64, &Figures)> {
    findings.found.iter().filter_map(|found| Some((found.rate_rps?, found.figures.as_ref()?)))
}

fn lines(findings: &Findings, dot: impl Fn(f64, &Figures) -> Dot) -> Vec<Line> {
    let line = |(index, series): (usize, &Series<'_>)| {
        let (color, marker) = look(index);
        let dots = series.points.iter().filter_map(|found| Some(dot(found.rate_rps?, found.figures.as_ref()?)));
        Line { color, marker: Some(marker), stroke: Stroke::Solid, dots: dots.collect() }
    };
    series(findings).iter().enumerate().map(line).collect()
}

fn legend(findings: &Findings) -> impl Iterator<Item = (Sample, String)> {
    let of = |(index, series): (usize, Series<'_>)| {
        let (color, marker) = look(index);
        (sample(color, Some(marker), Stroke::Solid, false), series.name.to_owned())
    };
    series(findings).into_iter().enumerate().map(of).collect::<Vec<_>>().into_iter()
}

fn describe(findings: &Findings, in_words: impl Fn(&Figures) -> String) -> String {
    let point =
        |found: &&Found| Some(format!("{} at {}", in_words(found.figures.as_ref()?), units::rate(found.rate_rps?)));
    let of = |series: &Series<'_>| {
        format!("{}: {}.", series.name, series.points.iter().filter_map(point).collect::<Vec<_>>().join("; "))
    };
    series(findings).iter().map(of).collect::<Vec<_>>().join(" ")
}

fn rate_axis(findings: &Findings) -> Axis {
    let to = points(findings).map(|(rate, _)| rate).fold(1.0, f64::max) * 1.05;
    Axis { label: "offered, RPC/s".to_owned(), from: 0.0, to, unit: Unit::Rate, ticks: round_ticks(to, units::rate) }
}

/// From 1, 2 or 5 below the lowest p99 to the next above the highest, but not far above ten times
/// the SLO.
fn tail_axis(findings: &Findings, slo: f64) -> Axis {
    let tails = || points(findings).map(|(_, figures)| figures.outcome.p99.value).chain([slo]);
    let low = tails().fold(f64::INFINITY, f64::min);
    let high = tails().fold(0.0, f64::max).min(10.0 * slo);
    let steps = || (0..=9).flat_map(|decade| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(decade)));
    let from = steps().take_while(|&ns| ns <= low).last().unwrap_or(1.0);
    let to = steps().find(|&ns| ns >= high && ns > from).unwrap_or(1e10);
    let ticks = steps().filter(|ns| (from..=to).contains(ns)).map(|ns| (log_us(ns), time(ns)));
    Axis {
        label: "p99 latency".to_owned(),
        from: log_us(from),
        to: log_us(to),
        unit: Unit::LogTime,
        ticks: ticks.collect(),
    }
}

/// The end of the axis, and whether the peak of the channels is near enough to be shown.
fn bandwidth_range(findings: &Findings, peak: f64) -> (f64, bool) {
    let high = points(findings).map(|(_, figures)| figures.dram_gb_per_s.value).fold(0.1, f64::max);
    let is_near = high > peak / 3.0;
    (if is_near { high.max(peak) } else { high }, is_near)
}

fn bandwidth_axis(high: f64) -> Axis {
    let to = high * 1.1;
    let label = |gb: f64| if high < 5.0 { format!("{gb:.1}") } else { format!("{gb:.0}") };
    Axis { label: "GB/s".to_owned(), from: 0.0, to, unit: Unit::Number, ticks: round_ticks(to, label) }
}

pub(super) fn rate_at_slo_figure(findings: &Findings) -> Figure {
    let at = |found: &Found| found.at_slo.map(|at| at.rate_rps);
    let to = findings.found.iter().filter_map(at).map(|rate| rate.value.max(rate.hi)).filter(|rate| rate.is_finite());
    let to = to.fold(1.0, f64::max) * 1.05;
    let slo = units::span(findings.setting.slo);
    of_designs(
        findings,
        &format!("Highest rate with p99 within {slo}"),
        Axis { label: "RPC/s".to_owned(), from: 0.0, to, unit: Unit::Rate, ticks: round_ticks(to, units::rate) },
        at,
        units::rate,
    )
}

pub(super) fn bandwidth_at_slo_figure(findings: &Findings) -> Figure {
    let at = |found: &Found| Some(found.figures.as_ref()?.dram_gb_per_s);
    let (high, _) = bandwidth_range(findings, findings.setting.machine.memory.peak_gb_per_s());
    let show = |gb: f64| format!("{gb:.1} GB/s");
    of_designs(findings, "DRAM bandwidth at that rate", bandwidth_axis(high), at, show)
}

/// With a row for each design.
fn of_designs(
    findings: &Findings,
    title: &str,
    x: Axis,
    at: impl Fn(&Found) -> Option<Interval>,
    show: impl Fn(f64) -> String,
) -> Figure {
    let level = |one: &Found| Level {
        name: one.design.clone(),
        at: at(one),
        in_words: at(one).map_or("none".to_owned(), |at| with_half(at, &show)),
    };
    levels(title, x, "design", &findings.found.iter().map(level).collect::<Vec<_>>(), BAR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::findings;

    #[test]
    fn the_axes_hold_every_point() {
        for (searches, figure) in [
            (false, tail_figure as fn(&Findings) -> Figure),
            (false, bandwidth_figure),
            (true, rate_at_slo_figure),
            (true, bandwidth_at_slo_figure),
        ] {
            let chart = figure(&findings(searches)).chart;
            for dot in chart.lines.iter().flat_map(|line| &line.dots) {
                assert!((chart.x.from..=chart.x.to).contains(&dot.x), "{}: {dot:?}", chart.title);
                assert!((chart.y.from..=chart.y.to).contains(&dot.y), "{}: {dot:?}", chart.title);
            }
            assert!(chart.x.ticks.len() >= 4 && chart.y.ticks.len() >= 4, "{}", chart.title);
        }
    }

    #[test]
    fn what_is_past_saturation_stands_at_the_edge_and_squeezes_no_other() {
        let figure = tail_figure(&findings(false));
        let y = &figure.chart.y;
        let labels: Vec<&str> = y.ticks.iter().map(|tick| tick.1.as_str()).collect();
        assert_eq!(labels, ["1 µs", "2 µs", "5 µs", "10 µs", "20 µs", "50 µs", "100 µs"]);
        let edge = figure.chart.lines[0].dots[1];
        assert!(edge.y == y.to && edge.is_hollow && edge.y_ends.is_none());
        assert!(figure.caption.contains("upper edge") && figure.legend.len() == 3);
    }
}

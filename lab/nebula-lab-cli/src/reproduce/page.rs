//! The report: charts of published and reproduced points, and a table of every comparison.

use nebula_lab::reproduce::{Comparison, Counted};
use nebula_sim::Interval;
use nebula_sim::reproduce::{Curve, Entry, Measure, Picture, Point};

use crate::report::chart::{
    Axis, Bound, Chart, Dot, INK, Line, Marker, Sample, Stroke, Unit, log_ticks, look, sample, ticks_between,
};
use crate::report::page::{Figure, Page, Table};
use nebula_ui::output::text::{load, time};

/// Tables of the entries that have comparisons, under the pictures if there are any.
pub(super) fn render(entries: &[Entry], comparisons: &[Comparison], pictures: &[&Picture], footer: &str) -> String {
    let verdict = Counted::of(comparisons.iter()).to_string();
    let figures: Vec<Figure> = pictures.iter().map(|picture| figure(picture)).collect();
    let mut page = Page::new("Published and reproduced", &verdict, SETTING).charts(&figures);
    for entry in entries {
        let of_entry = comparisons.iter().filter(|one| one.is_of(entry));
        let (claims, variants): (Vec<&Comparison>, Vec<&Comparison>) =
            of_entry.partition(|one| one.published.is_some());
        if !claims.is_empty() {
            let remarks = format!("Comparisons in {}", entry.id);
            page = page.table(&published(entry, &claims)).remarks(&remarks, &explained(entry, &claims));
        }
        if !variants.is_empty() {
            page = page.table(&notes(entry, &variants));
        }
    }
    page.finish(footer)
}

const SETTING: &str =
    "All figures are simulated and do not depend on this machine. Intervals are 95 % confidence intervals.";

fn published(entry: &Entry, claims: &[&Comparison]) -> Table {
    let row = |one: &&Comparison| {
        let published = one.claim().unwrap_or_default();
        let (unit, verdict, unfitted) = (one.unit.clone(), one.verdict.clone(), one.with_nothing_fitted());
        vec![short(entry, &one.id).to_owned(), published, one.value(), one.ends(), unit, verdict, unfitted]
    };
    Table {
        caption: format!("{}: {}", entry.id, entry.title),
        headings: ["value", "published", "ours", "interval", "unit", "verdict", "nothing fitted"]
            .map(str::to_owned)
            .into(),
        rows: claims.iter().map(row).collect(),
    }
}

fn notes(entry: &Entry, variants: &[&Comparison]) -> Table {
    let row = |one: &&Comparison| {
        vec![short(entry, &one.id).to_owned(), one.what.clone(), one.value(), one.ends(), one.unit.clone()]
    };
    Table {
        caption: format!("{}: variants of the setup, for which nothing is published", entry.id),
        headings: ["value", "meaning", "ours", "interval", "unit"].map(str::to_owned).into(),
        rows: variants.iter().map(row).collect(),
    }
}

fn short<'a>(entry: &Entry, id: &'a str) -> &'a str {
    id.strip_prefix(entry.id).map_or(id, |rest| rest.trim_start_matches('/'))
}

/// Every published value as text, and the reason for a difference.
fn explained(entry: &Entry, claims: &[&Comparison]) -> Vec<String> {
    let words = |one: &&Comparison| {
        let why = one.why.as_ref().map_or(String::new(), |why| format!(" Here {why}."));
        format!("{}: {} ({}).{why}", short(entry, &one.id), one.what, one.source.as_deref().unwrap_or_default())
    };
    claims.iter().map(words).collect()
}

fn figure(picture: &Picture) -> Figure {
    let lines = picture.curves.iter().enumerate().flat_map(|(index, curve)| lines(picture, index, curve)).collect();
    let chart = Chart {
        title: picture.title.clone(),
        description: description(picture),
        x: axis(picture.x, &ends_along(picture)),
        y: axis(picture.y, &ends_upright(picture)),
        lines,
        bound: picture.slo.map(|slo| Bound { y: place(picture.y, slo), label: format!("SLO {}", time(slo)) }),
    };
    Figure { chart, legend: legend(picture), caption: caption(picture).to_owned() }
}

fn lines(picture: &Picture, index: usize, curve: &Curve) -> [Line; 2] {
    let ((color, marker), marker_of) = (look(index), Some);
    let dot = |point: &Point| {
        let Interval { value, lo, hi } = point.value;
        let at = Dot::at(place(picture.x, point.at), place(picture.y, value));
        at.between(place(picture.y, lo), place(picture.y, hi))
    };
    let ours = curve.points.iter().filter(|point| point.value.value.is_finite()).map(dot);
    let published = |&(x, y): &(f64, f64)| Dot::at(place(picture.x, x), place(picture.y, y)).hollow(true);
    let published = curve.published.iter().map(published);
    [
        Line { color, marker: marker_of(marker), stroke: Stroke::Solid, dots: ours.collect() },
        Line { color, marker: marker_of(marker), stroke: Stroke::None, dots: published.collect() },
    ]
}

fn legend(picture: &Picture) -> Vec<(Sample, String)> {
    let ours = picture.curves.iter().enumerate().map(|(index, curve)| {
        let (color, marker) = look(index);
        (sample(color, Some(marker), Stroke::Solid, false), curve.name.clone())
    });
    let published = picture.curves.iter().any(|curve| !curve.published.is_empty());
    let hollow =
        (sample(INK, Some(Marker::Circle), Stroke::None, true), "published, in the color of its line".to_owned());
    ours.chain(published.then_some(hollow)).collect()
}

fn caption(picture: &Picture) -> &'static str {
    match (picture.x, picture.y) {
        (_, Measure::TailNs) => {
            "On a logarithmic scale. Bars are 95 % confidence intervals; some are smaller than the marker."
        }
        (Measure::Load | Measure::Mrps, Measure::GbPerS) => {
            "Designs with equal buffers move the same bytes, so their lines coincide."
        }
        _ => "Bars are 95 % confidence intervals; some are smaller than the marker.",
    }
}

fn description(picture: &Picture) -> String {
    let point = |point: &Point| format!("{} at {}", words(picture.y, point.value.value), words(picture.x, point.at));
    let curve =
        |curve: &Curve| format!("{}: {}.", curve.name, curve.points.iter().map(point).collect::<Vec<_>>().join("; "));
    picture.curves.iter().map(curve).collect::<Vec<_>>().join(" ")
}

fn place(measure: Measure, value: f64) -> f64 {
    match measure {
        Measure::Load
        | Measure::GbPerS
        | Measure::Mrps
        | Measure::GetsPercent
        | Measure::Threads
        | Measure::Throughput => value,
        Measure::Queues(_) | Measure::ValueBytes => value.log2(),
        Measure::TailNs => (value.max(1.0) / 1e3).log10(),
    }
}

fn words(measure: Measure, value: f64) -> String {
    match measure {
        Measure::Load => load(value),
        Measure::GbPerS => format!("{value:.1} GB/s"),
        Measure::Queues(cores) => queues(value, cores),
        Measure::TailNs => time(value),
        Measure::Mrps | Measure::Throughput => format!("{value:.1} MRPS"),
        Measure::Threads => format!("{value:.0} threads"),
        Measure::GetsPercent => format!("{value:.0} % GETs"),
        Measure::ValueBytes => format!("{value:.0} B"),
    }
}

fn queues(queues: f64, cores: u16) -> String {
    format!("{queues:.0}×{:.0}", f64::from(cores) / queues)
}

fn axis(measure: Measure, values: &[f64]) -> Axis {
    let places = || values.iter().map(|&value| place(measure, value)).filter(|place| place.is_finite());
    let (low, high) = (places().fold(f64::INFINITY, f64::min), places().fold(f64::NEG_INFINITY, f64::max));
    match measure {
        Measure::Load => linear("load, share of core time", high.max(1.0), load),
        Measure::GbPerS => linear("DRAM bandwidth, GB/s", high * 1.05, |at| format!("{at:.0}")),
        Measure::Mrps => linear("load, MRPS", high * 1.05, |at| format!("{at:.0}")),
        Measure::Throughput => linear("served, MRPS", high * 1.05, |at| format!("{at:.0}")),
        Measure::Threads => named("threads", 0.3, measure, values, |at| format!("{at:.0}")),
        Measure::GetsPercent => named("GETs, % of RPCs", 4.0, measure, values, |at| format!("{at:.0}")),
        Measure::ValueBytes => named("value size, bytes", 0.15, measure, values, |at| format!("{at:.0}")),
        Measure::Queues(cores) => named("queues × cores per queue", 0.15, measure, values, |at| queues(at, cores)),
        Measure::TailNs => latency(low, high),
    }
}

/// An axis whose ticks are the values themselves.
fn named(label: &str, margin: f64, measure: Measure, values: &[f64], tick: impl Fn(f64) -> String) -> Axis {
    let mut ticks: Vec<(f64, String)> = values.iter().map(|&at| (place(measure, at), tick(at))).collect();
    ticks.sort_by(|one, other| one.0.total_cmp(&other.0));
    ticks.dedup_by(|next, tick| next.0 == tick.0);
    let end = |tick: Option<&(f64, String)>| tick.map_or(0.0, |tick| tick.0);
    let (from, to) = (end(ticks.first()) - margin, end(ticks.last()) + margin);
    Axis { label: label.to_owned(), from, to, unit: Unit::Ticks, ticks }
}

fn linear(label: &str, to: f64, tick: impl Fn(f64) -> String) -> Axis {
    Axis { label: label.to_owned(), from: 0.0, to, unit: Unit::Number, ticks: ticks_between(0.0, to, tick) }
}

/// Whole decades around the logarithms `low` and `high`, in µs.
#[expect(clippy::cast_possible_truncation, reason = "logarithms of latencies in µs, -3 to 8")]
fn latency(low: f64, high: f64) -> Axis {
    let (from, to) = (low.floor() as i32, high.ceil() as i32);
    let ticks = log_ticks(from, to, |us| time(us * 1e3));
    Axis { label: "p99 latency".to_owned(), from: from.into(), to: to.into(), unit: Unit::LogTime, ticks }
}

fn ends_along(picture: &Picture) -> Vec<f64> {
    let ours = picture.curves.iter().flat_map(|curve| &curve.points).map(|point| point.at);
    let published = picture.curves.iter().flat_map(|curve| &curve.published).map(|&(at, _)| at);
    let mut ends: Vec<f64> = ours.chain(published).collect();
    ends.sort_by(f64::total_cmp);
    ends.dedup();
    ends
}

/// Without the ends of intervals: a bar longer than the chart is clipped.
fn ends_upright(picture: &Picture) -> Vec<f64> {
    let ours = picture.curves.iter().flat_map(|curve| &curve.points).map(|point| point.value.value);
    let published = picture.curves.iter().flat_map(|curve| &curve.published).map(|&(_, value)| value);
    ours.chain(published).chain(picture.slo).filter(|value| value.is_finite()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_sim::reproduce::{ENTRIES, Effort, Lab, Memo};
    use nebula_workload::Seed;

    fn picture(x: Measure, y: Measure) -> Picture {
        let at = |at| Point { at, value: Interval { value: 40.0 * at, lo: 30.0 * at, hi: 50.0 * at } };
        let curve =
            Curve { name: "<one>".to_owned(), points: [1.0, 2.0, 16.0].map(at).into(), published: vec![(2.0, 90.0)] };
        Picture { title: "title".to_owned(), x, y, slo: Some(600.0), curves: vec![curve] }
    }

    #[test]
    fn the_axes_hold_every_point_and_have_ticks() {
        for (x, y) in [
            (Measure::Load, Measure::TailNs),
            (Measure::Load, Measure::GbPerS),
            (Measure::Queues(16), Measure::Load),
            (Measure::Mrps, Measure::TailNs),
            (Measure::GetsPercent, Measure::Mrps),
            (Measure::ValueBytes, Measure::Mrps),
            (Measure::Threads, Measure::Throughput),
        ] {
            let chart = figure(&picture(x, y)).chart;
            for dot in chart.lines.iter().flat_map(|line| &line.dots) {
                assert!((chart.x.from..=chart.x.to).contains(&dot.x), "{x:?}: {dot:?}");
                assert!((chart.y.from..=chart.y.to).contains(&dot.y), "{y:?}: {dot:?}");
            }
            assert!(chart.x.ticks.len() >= 2 && chart.y.ticks.len() >= 2, "{x:?} {y:?}");
        }
    }

    #[test]
    fn published_points_are_hollow_and_ours_have_bars() {
        let chart = figure(&picture(Measure::Load, Measure::GbPerS)).chart;
        assert!(chart.lines[0].dots.iter().all(|dot| !dot.is_hollow && dot.y_ends.is_some()));
        assert!(chart.lines[1].dots.iter().all(|dot| dot.is_hollow) && chart.lines[1].dots.len() == 1);
    }

    #[test]
    fn the_page_names_every_row_and_needs_nothing_else() {
        let entry = ENTRIES.iter().find(|entry| entry.id == "nebula/sizing").unwrap();
        let memo = Memo::default();
        let lab = Lab { effort: Effort::Quick, seed: Seed(1), progress: &(), memo: &memo };
        let rows: Vec<Comparison> = entry.reproduce(&lab).unwrap().rows.iter().map(Comparison::of).collect();
        let drawn = picture(Measure::Load, Measure::TailNs);
        let page = render(&[*entry], &rows, &[&drawn], "made by a test");
        assert!(rows.iter().all(|row| page.contains(&nebula_ui::report::markup::escape(&row.what))));
        assert!(page.contains("Of 5 published values 5 are reproduced") && !page.contains("<one>"));
        nebula_testing::pages::assert_loads_nothing(&page);
    }
}

//! The page of a sweep: tail latency and throughput over the offered load, for each design.

use super::chart::{
    Axis, BLUE, Bound, Chart, Color, Dot, INK, Line, MUTED, Marker, ORANGE, Sample, Stroke, Unit, latency_axis,
    round_ticks, sample,
};
use super::finding::{Design, KEPT_MIN, Laboratory, Point, Reading, Sweep, hiccups};
use super::page::{Figure, Page, Table};
use nebula_nic::Span;
use nebula_ui::output::{Row, units};
use nebula_workload::Latency;

/// The looks of the first design, the second, and all others.
const LOOKS: [(Color, Marker); 2] = [(BLUE, Marker::Circle), (ORANGE, Marker::Square)];

/// The page, a complete HTML document.
pub(crate) fn render(sweep: &Sweep, footer: &str) -> String {
    let machine = format!("{}. {}. Without load, {}.", sweep.machine, sweep.workload, hiccups(&sweep.hiccups));
    let page = Page::new("Nebula under load", &sweep.headline(), &machine)
        .warning(sweep.disturbance())
        .charts(&[tail_figure(sweep, &[Reading::Raw, Reading::GapsExcluded]), throughput_figure(sweep)])
        .table(&table(sweep));
    let laboratory = sweep.laboratory.as_ref().map(laboratory_table);
    let page = laboratory.iter().fold(page, |page, table| page.heading("The same service on more cores").table(table));
    page.remarks("How to read this", &remarks(sweep)).finish(footer)
}

/// The chart of `--plot`: the raw p99 of each design over the offered load.
pub(crate) fn plot(sweep: &Sweep) -> Figure {
    tail_figure(sweep, &[Reading::Raw])
}

fn looks(sweep: &Sweep) -> impl Iterator<Item = (&Design, (Color, Marker))> {
    sweep.designs.iter().zip(LOOKS.into_iter().cycle())
}

// -- tail over load --

fn tail_figure(sweep: &Sweep, readings: &[Reading]) -> Figure {
    let tail_lines = |(design, look)| readings.iter().map(move |&reading| tail_line(design, look, reading));
    let lines: Vec<Line> = looks(sweep).flat_map(tail_lines).collect();
    let heights = lines.iter().flat_map(|line| &line.dots).map(|dot| dot.y);
    let slo = log_us(sweep.slo);
    let (low, high) = heights.chain([slo]).fold((0.0, 3.0), |(low, high): (f64, f64), y| (low.min(y), high.max(y)));
    let chart = Chart {
        title: "p99 latency of the RPCs that were answered".to_owned(),
        description: describe(sweep, tail_in_words),
        x: load_axis(sweep),
        y: latency_axis(low, high),
        lines,
        bound: Some(Bound { y: slo, label: format!("SLO {}", units::span(sweep.slo)) }),
    };
    Figure { chart, legend: tail_legend(sweep, readings), caption: TAIL_CAPTION.to_owned() }
}

const TAIL_CAPTION: &str = "Latency from the scheduled send time, on a logarithmic scale. A hollow marker misses the SLO even below the line: so \
    many RPCs were NACKed or unanswered that the p99 of all RPCs offered is infinite.";

/// The logarithm of a latency in µs, at least a nanosecond.
pub(super) fn log_us(span: Span) -> f64 {
    (span.as_ns_f64().max(1.0) / 1e3).log10()
}

fn load_axis(sweep: &Sweep) -> Axis {
    let offered = sweep.designs.iter().flat_map(|design| &design.points).map(|point| point.offered_rps);
    let to = offered.fold(0.0, f64::max).max(1.0) * 1.05;
    Axis { label: "offered, RPC/s".to_owned(), from: 0.0, to, unit: Unit::Rate, ticks: round_ticks(to, units::rate) }
}

fn tail_line(design: &Design, (color, marker): (Color, Marker), reading: Reading) -> Line {
    let dot = |point: &Point| {
        let tail = point.tail(reading)?;
        Some(Dot::at(point.offered_rps, log_us(tail.p99_answered?)).hollow(tail.p99 == Latency::Infinite))
    };
    Line { color, marker: Some(marker), stroke: stroke(reading), dots: design.points.iter().filter_map(dot).collect() }
}

fn stroke(reading: Reading) -> Stroke {
    match reading {
        Reading::Raw => Stroke::Solid,
        Reading::GapsExcluded => Stroke::Dashed,
    }
}

fn tail_legend(sweep: &Sweep, readings: &[Reading]) -> Vec<(Sample, String)> {
    let of_design = |(design, (color, marker)): (&Design, (Color, Marker))| {
        let row = |&reading: &Reading| {
            (sample(color, Some(marker), stroke(reading), false), format!("{}, {}", design.name, words(reading)))
        };
        readings.iter().map(row).collect::<Vec<_>>()
    };
    let hollow = (sample(INK, Some(Marker::Circle), Stroke::Solid, true), "over 1 % NACKed or unanswered".to_owned());
    looks(sweep).flat_map(of_design).chain([hollow]).collect()
}

fn words(reading: Reading) -> &'static str {
    match reading {
        Reading::Raw => "raw",
        Reading::GapsExcluded => "gaps excluded",
    }
}

// -- throughput over load --

fn throughput_figure(sweep: &Sweep) -> Figure {
    let mut lines = vec![all_served(sweep)];
    let mut legend = vec![(sample(MUTED, None, Stroke::Dashed, false), "offered".to_owned())];
    for (design, (color, marker)) in looks(sweep) {
        let mut add = |of: fn(&Point) -> f64, stroke, words: &str| {
            lines.push(rate_line(design, color, marker, stroke, of));
            legend.push((sample(color, Some(marker), stroke, false), format!("{}, {words}", design.name)));
        };
        add(|point| point.served_rps, Stroke::Solid, "served");
        if design.points.iter().any(|point| point.nack_share > 0.0) {
            add(Point::nacked_rps, Stroke::Dashed, "NACKed");
        }
    }
    let load = load_axis(sweep);
    let chart = Chart {
        title: "Served and NACKed".to_owned(),
        description: describe(sweep, throughput_in_words),
        y: Axis { label: "RPC/s".to_owned(), ..load.clone() },
        x: load,
        lines,
        bound: None,
    };
    let caption = "A client that receives a NACK learns of the overload at once, and can try another server or try later. Without NACKs the same RPCs wait in the queue.";
    Figure { chart, legend, caption: caption.to_owned() }
}

fn all_served(sweep: &Sweep) -> Line {
    let to = load_axis(sweep).to;
    let dots = [0.0, to].map(|at| Dot::at(at, at)).into();
    Line { color: MUTED, marker: None, stroke: Stroke::Dashed, dots }
}

fn rate_line(design: &Design, color: Color, marker: Marker, stroke: Stroke, of: fn(&Point) -> f64) -> Line {
    let dot = |point: &Point| Dot::at(point.offered_rps, of(point));
    Line { color, marker: Some(marker), stroke, dots: design.points.iter().map(dot).collect() }
}

// -- text --

/// The points of a chart as text, for screen readers.
fn describe(sweep: &Sweep, in_words: fn(&Point) -> String) -> String {
    let of_design = |design: &Design| {
        let points = design.points.iter().map(in_words).collect::<Vec<_>>();
        format!("{}: {}.", design.name, points.join("; "))
    };
    sweep.designs.iter().map(of_design).collect::<Vec<_>>().join(" ")
}

fn tail_in_words(point: &Point) -> String {
    let p99 = point.raw.p99_answered.map_or("no answer".to_owned(), units::span);
    format!("{p99} raw at {} RPC/s", units::rate(point.offered_rps))
}

fn throughput_in_words(point: &Point) -> String {
    let (served, nacked) = (units::rate(point.served_rps), units::percent(point.nack_share));
    format!("{served} served and {nacked} NACKed at {} RPC/s", units::rate(point.offered_rps))
}

fn table(sweep: &Sweep) -> Table {
    let row = |design: &Design, point: &Point| -> Vec<String> {
        let shown = point.shown(sweep.slo).into_iter().map(|(_, text)| text);
        std::iter::once(design.name.clone()).chain(shown).collect()
    };
    let headings = sweep.designs.iter().flat_map(|design| design.points.first()).take(1);
    let headings = headings.flat_map(|point| point.shown(sweep.slo)).map(|(heading, _)| heading.replace('\n', " "));
    Table {
        caption: "Rates are RPC/s. ∞: NACKed or unanswered. Kept: share of RPCs that met no pause of the machine."
            .to_owned(),
        headings: std::iter::once("design".to_owned()).chain(headings).collect(),
        rows: sweep.designs.iter().flat_map(|design| design.points.iter().map(|point| row(design, point))).collect(),
    }
}

fn laboratory_table(laboratory: &Laboratory) -> Table {
    Table {
        caption: format!("{}.", laboratory.caption),
        headings: laboratory.rows.first().map(Row::headings).unwrap_or_default(),
        rows: laboratory.rows.iter().map(Row::texts).collect(),
    }
}

fn remarks(sweep: &Sweep) -> Vec<String> {
    let slo = units::span(sweep.slo);
    let mut remarks = vec![
        format!(
            "Meets SLO: the p99 of all RPCs offered is within {slo}. An RPC that was NACKed or got no reply counts as infinite latency, so at \
             most 1 % of RPCs may be NACKed."
        ),
        "Each verdict is given twice. \"Raw\" counts every RPC. \"Gaps excluded\" leaves out the RPCs during which, or within 20 µs \
         after which, the core of the server or of the client paused because of timer ticks or the host, which no server on this \
         machine can avoid. Read it only together with the raw verdict and the share kept."
            .to_owned(),
        format!(
            "If fewer than {} of the RPCs met no gap, no tail with gaps excluded is given: slow RPCs are more likely to meet a gap, so the \
             rest would be biased.",
            units::percent(KEPT_MIN)
        ),
        "A few NACKs at a low load come from the machine: more RPCs arrive during a pause than the server can serve within the SLO."
            .to_owned(),
        "Requests follow an open-loop Poisson schedule that does not wait for replies. Latency is measured from the scheduled send time, so it \
         includes queueing in front of the server and delays of the client."
            .to_owned(),
    ];
    remarks.extend(sweep.designs.iter().map(|design| design.verdict(sweep.slo)));
    remarks.extend(late_senders(sweep));
    remarks
}

/// The loads at which the load generator was late, if any.
pub(crate) fn late_senders(sweep: &Sweep) -> Option<String> {
    let late = |design: &Design| {
        let rates =
            design.points.iter().filter(|point| point.sender_was_late).map(|point| units::rate(point.offered_rps));
        let rates = rates.collect::<Vec<_>>().join(", ");
        match design.points.iter().filter(|point| point.sender_was_late).count() {
            0 => None,
            all if all == design.points.len() => Some(format!("{} at every load", design.name)),
            _ => Some(format!("{} at {rates} RPC/s", design.name)),
        }
    };
    let late = sweep.designs.iter().filter_map(late).collect::<Vec<_>>().join("; ");
    (!late.is_empty()).then(|| {
        format!("The load generator itself was late, so part of the tail is its own and not the server's: {late}.")
    })
}

#[cfg(test)]
mod picture;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::finding::tests::sweep;

    #[test]
    fn the_page_needs_nothing_else() {
        let page = render(&sweep(), "made by a test");
        assert_eq!(page.matches("role=\"img\"").count(), 2);
        nebula_testing::pages::assert_loads_nothing(&page);
    }

    #[test]
    fn every_element_that_is_opened_is_closed() {
        let page = render(&sweep(), "made by a test");
        for name in
            ["html", "head", "body", "main", "figure", "svg", "table", "tr", "td", "th", "ul", "li", "text", "title"]
        {
            let opened = page.matches(&format!("<{name}>")).count() + page.matches(&format!("<{name} ")).count();
            assert_eq!(opened, page.matches(&format!("</{name}>")).count(), "{name}");
            assert!(opened > 0, "{name}");
        }
    }

    #[test]
    fn a_point_at_which_too_many_were_nacked_is_hollow() {
        let found = sweep();
        let line = tail_line(&found.designs[0], LOOKS[0], Reading::Raw);
        assert_eq!(line.dots.iter().map(|dot| dot.is_hollow).collect::<Vec<_>>(), [false, false, false, true, true]);
    }

    #[test]
    fn a_tail_made_of_too_few_rpcs_is_not_drawn() {
        let found = sweep();
        assert_eq!(tail_line(&found.designs[1], LOOKS[1], Reading::Raw).dots.len(), 5);
        assert_eq!(tail_line(&found.designs[1], LOOKS[1], Reading::GapsExcluded).dots.len(), 3);
    }

    #[test]
    fn the_axes_hold_every_point() {
        let found = sweep();
        for figure in [tail_figure(&found, &[Reading::Raw, Reading::GapsExcluded]), throughput_figure(&found)] {
            let (x, y) = (&figure.chart.x, &figure.chart.y);
            for dot in figure.chart.lines.iter().flat_map(|line| &line.dots) {
                assert!((x.from..=x.to).contains(&dot.x) && (y.from..=y.to).contains(&dot.y), "{dot:?}");
            }
        }
    }

    #[test]
    fn a_page_measured_beside_other_programs_warns() {
        let mut found = sweep();
        assert!(!render(&found, "").contains("class=\"warning\""));
        found.hiccups.share_lost = 0.5;
        assert!(render(&found, "").contains("class=\"warning\" role=\"note\">Other programs used these cores: 1 % of"));
    }

    #[test]
    fn a_sweep_of_nothing_is_still_a_page() {
        let mut nothing = sweep();
        nothing.designs.iter_mut().for_each(|design| design.points.clear());
        assert!(render(&nothing, "").ends_with("</html>\n"));
        nothing.designs.clear();
        assert!(render(&nothing, "").ends_with("</html>\n"));
    }
}

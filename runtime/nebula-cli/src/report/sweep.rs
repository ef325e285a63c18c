//! The page of a sweep: the results of each design under each load.

use nebula_nic::Span;

use super::chart::{
    Axis, BLUE, Bound, Chart, Color, Dot, INK, Line, Marker, ORANGE, Sample, Stroke, Unit, latency_axis, round_ticks,
    sample,
};
use super::finding::{Design, Point, Sweep};
use super::page::{Figure, Page, Table};
use nebula_ui::output::units;

/// Of the first and the second design, repeated for others.
const LOOKS: [(Color, Marker); 2] = [(BLUE, Marker::Circle), (ORANGE, Marker::Square)];

pub(crate) fn render(sweep: &Sweep, footer: &str) -> String {
    let simulated = sweep.simulated.iter().map(|what| format!(" All figures are {what}."));
    let machine = format!("{} {} {}.{}", sweep.promise, sweep.machine, sweep.workload, simulated.collect::<String>());
    Page::new("Nebula under load", &sweep.headline(), &machine)
        .warning(sweep.disturbance())
        .charts(&[plot(sweep)])
        .table(&table(sweep))
        .remarks("How to read this", &remarks(sweep))
        .finish(footer)
}

pub(crate) fn plot(sweep: &Sweep) -> Figure {
    let lines: Vec<Line> = looks(sweep).map(|(design, look)| tail_line(design, look)).collect();
    let heights = lines.iter().flat_map(|line| &line.dots).map(|dot| dot.y);
    let slo = log_us(sweep.slo);
    let (low, high) = heights.chain([slo]).fold((0.0, 3.0), |(low, high): (f64, f64), y| (low.min(y), high.max(y)));
    let simulated = if sweep.simulated.is_some() { ", simulated" } else { "" };
    let chart = Chart {
        title: format!("p99 latency of the RPCs that were answered{simulated}"),
        description: describe(sweep),
        x: load_axis(sweep),
        y: latency_axis(low, high),
        lines,
        bound: Some(Bound { y: slo, label: format!("SLO {}", units::span(sweep.slo)) }),
    };
    Figure { chart, legend: legend(sweep), caption: CAPTION.to_owned() }
}

fn looks(sweep: &Sweep) -> impl Iterator<Item = (&Design, (Color, Marker))> {
    sweep.designs.iter().zip(LOOKS.into_iter().cycle())
}

const CAPTION: &str = "Latency from the scheduled send time, on a logarithmic scale. The SLO is missed, even below \
    the line, where fewer than 99 % of all RPCs were answered in time.";

/// The logarithm of a latency in µs, at least a nanosecond.
pub(super) fn log_us(span: Span) -> f64 {
    (span.as_ns_f64().max(1.0) / 1e3).log10()
}

fn load_axis(sweep: &Sweep) -> Axis {
    let offered = sweep.designs.iter().flat_map(|design| &design.points).map(|point| point.offered_rps);
    let to = offered.fold(0.0, f64::max).max(1.0) * 1.05;
    Axis { label: "offered, RPC/s".to_owned(), from: 0.0, to, unit: Unit::Rate, ticks: round_ticks(to, units::rate) }
}

fn tail_line(design: &Design, (color, marker): (Color, Marker)) -> Line {
    let dot = |point: &Point| {
        let p99 = point.raw.p99_answered?;
        Some(Dot::at(point.offered_rps, log_us(p99)).hollow(!point.keeps()))
    };
    let dots = design.points.iter().filter_map(dot).collect();
    Line { color, marker: Some(marker), stroke: Stroke::Solid, dots }
}

fn legend(sweep: &Sweep) -> Vec<(Sample, String)> {
    let of_design = |(design, (color, marker)): (&Design, (Color, Marker))| {
        (sample(color, Some(marker), Stroke::Solid, false), design.name.clone())
    };
    let hollow = (sample(INK, Some(Marker::Circle), Stroke::Solid, true), "misses the SLO".to_owned());
    looks(sweep).map(of_design).chain([hollow]).collect()
}

fn describe(sweep: &Sweep) -> String {
    let point = |point: &Point| {
        let p99 = point.raw.p99_answered.map_or("no answer".to_owned(), units::span);
        format!("{p99} at {} RPC/s", units::rate(point.offered_rps))
    };
    let of_design = |design: &Design| {
        let points = design.points.iter().map(point).collect::<Vec<_>>();
        format!("{}: {}.", design.name, points.join("; "))
    };
    sweep.designs.iter().map(of_design).collect::<Vec<_>>().join(" ")
}

fn table(sweep: &Sweep) -> Table {
    let row = |design: &Design, point: &Point| -> Vec<String> {
        std::iter::once(design.name.clone()).chain(point.shown().into_iter().map(|(_, text)| text)).collect()
    };
    let headings = sweep.designs.iter().flat_map(|design| design.points.first()).take(1);
    let headings = headings.flat_map(Point::shown).map(|(heading, _)| heading.replace('\n', " "));
    Table {
        caption: format!("Load is a share of saturation, {} RPC/s.", units::rate(sweep.saturation_rps)),
        headings: std::iter::once("design".to_owned()).chain(headings).collect(),
        rows: sweep.designs.iter().flat_map(|design| design.points.iter().map(|point| row(design, point))).collect(),
    }
}

fn remarks(sweep: &Sweep) -> Vec<String> {
    let slo = units::span(sweep.slo);
    let mut remarks = vec![
        format!(
            "Goodput is the share of all offered RPCs that were answered within {slo}. The SLO is kept where that is at least \
             99 %. An RPC that was NACKed or got no reply is not in time, and pauses of the machine count."
        ),
        "NACKed: the server refused the RPC at once, because it could not have answered in time. A client that receives a NACK \
         can try another server, or try later. Without the bound the same RPCs wait in the queue."
            .to_owned(),
        "Sent late: the load generator itself sent the RPC more than a tenth of the SLO after its scheduled time. A NACK of \
         such an RPC is not counted as NACKed: the burst that follows a delay caused it."
            .to_owned(),
        "RPCs follow an open-loop Poisson schedule that does not wait for replies. Latency counts from the scheduled send time, \
         so it includes queueing in front of the server and delays of the client."
            .to_owned(),
    ];
    remarks.extend(sweep.designs.iter().map(|design| design.verdict(sweep.slo)));
    remarks
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
        assert_eq!(page.matches("class=\"chart\"").count(), 1);
        nebula_testing::pages::assert_loads_nothing(&page);
    }

    #[test]
    fn every_element_that_is_opened_is_closed() {
        let page = render(&sweep(), "made by a test");
        for name in ["html", "head", "body", "main", "figure", "table", "tr", "td", "th", "ul", "li", "title"] {
            let opened = page.matches(&format!("<{name}>")).count() + page.matches(&format!("<{name} ")).count();
            assert_eq!(opened, page.matches(&format!("</{name}>")).count(), "{name}");
            assert!(opened > 0, "{name}");
        }
    }

    #[test]
    fn a_point_that_misses_the_slo_is_hollow() {
        let found = sweep();
        let hollow = |design: usize| {
            let line = tail_line(&found.designs[design], LOOKS[0]);
            line.dots.iter().map(|dot| dot.is_hollow).collect::<Vec<_>>()
        };
        assert_eq!((hollow(0), hollow(1)), (vec![false, false, true, true], vec![false, false, true, true]));
    }

    #[test]
    fn the_axes_hold_every_point() {
        let chart = plot(&sweep()).chart;
        for dot in chart.lines.iter().flat_map(|line| &line.dots) {
            let (x, y) = (chart.x.from..=chart.x.to, chart.y.from..=chart.y.to);
            assert!(x.contains(&dot.x) && y.contains(&dot.y), "{dot:?}");
        }
    }

    #[test]
    fn a_page_of_a_machine_that_became_busy_warns() {
        let mut found = sweep();
        assert!(!render(&found, "").contains("class=\"warning\""));
        found.designs[0].points.iter_mut().for_each(|point| point.share_lost = 0.5);
        assert!(render(&found, "").contains("class=\"warning\" role=\"note\">Other programs took more of"));
    }

    #[test]
    fn simulated_figures_are_called_so() {
        let found = Sweep { simulated: Some("simulated from 7 handler times".to_owned()), ..sweep() };
        let page = render(&found, "");
        assert!(page.contains("All figures are simulated from 7 handler times."), "{page}");
        assert!(page.contains("p99 latency of the RPCs that were answered, simulated"), "{page}");
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

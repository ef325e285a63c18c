//! The page of simulated operating points: tail latency and queue depth over the load for each
//! policy, or the highest load under the SLO.

mod over_time;

use super::chart::latency_axis;
use super::chart::{
    Axis, Bound, Chart, Color, Dot, INK, Line, Marker, Sample, Stroke, Unit, look, sample, symlog, symlog_ticks,
    ticks_between,
};
use super::levels::{Level, levels};
use super::page::{Figure, Page};
use super::{log_us, table};
use nebula_sim::study::{Ask, Figures, Found};
use nebula_sim::{Flows, Interval, Met, Source, System, Tier};
use nebula_ui::output::text::{load as load_text, time};
use nebula_ui::output::{Row, units};

/// `rows` are those of the table on the terminal.
pub(crate) fn render(found: &[Found], rows: &[Row], footer: &str) -> String {
    let caption = "± is half the 95 % confidence interval, relative to the figure. NACKed: share of all RPCs.";
    Page::new("Nebula's laboratory", &verdict(found), &setting(found))
        .charts(&figures(found))
        .table(&table(caption, rows))
        .data(rows)
        .remarks("How to read this", &remarks())
        .finish(footer)
}

pub(crate) fn plot(found: &[Found]) -> Figure {
    if is_search(found) { at_slo_figure(found) } else { tail_figure(found) }
}

pub(super) fn figures(found: &[Found]) -> Vec<Figure> {
    if is_search(found) {
        return vec![at_slo_figure(found)];
    }
    let nacked = found.iter().filter_map(|found| found.figures).any(|figures| figures.outcome.accepted.value < 1.0);
    let over_time = found.iter().any(|found| found.over_time.is_some()).then(|| over_time::figure(found));
    let figures = [over_time, Some(tail_figure(found)), Some(depth_figure(found)), nacked.then(|| nack_figure(found))];
    figures.into_iter().flatten().collect()
}

fn is_search(found: &[Found]) -> bool {
    found.iter().any(|found| found.point.ask == Ask::FindLoad)
}

struct Series<'a> {
    name: String,
    look: (Color, Marker),
    points: Vec<(&'a Found, Figures)>,
}

fn series(found: &[Found]) -> Vec<Series<'_>> {
    let mut all: Vec<Series<'_>> = Vec::new();
    for one in found {
        let name = one.point.name.clone();
        let place = all.iter().position(|series| series.name == name).unwrap_or_else(|| {
            all.push(Series { name, look: look(all.len()), points: Vec::new() });
            all.len() - 1
        });
        all[place].points.extend(one.figures.map(|figures| (one, figures)));
    }
    for series in &mut all {
        series.points.sort_by(|one, other| one.1.load.total_cmp(&other.1.load));
    }
    all
}

impl Series<'_> {
    fn line(&self, stroke: Stroke, dot: impl Fn(&Figures) -> Dot) -> Line {
        let dots = self.points.iter().map(|(_, figures)| dot(figures)).collect();
        Line { color: self.look.0, marker: Some(self.look.1), stroke, dots }
    }

    fn sample(&self, stroke: Stroke, words: &str) -> (Sample, String) {
        (sample(self.look.0, Some(self.look.1), stroke, false), format!("{}{words}", self.name))
    }
}

fn load_axis(found: &[Found]) -> Axis {
    let loads = || found.iter().filter_map(|found| found.figures).map(|figures| figures.load);
    let (low, high) = (loads().fold(f64::INFINITY, f64::min), loads().fold(0.0, f64::max));
    let (from, to) = match low > high / 2.0 && low < high {
        true => (low - (high - low) / 20.0, high + (high - low) / 20.0),
        false => (0.0, if high > 0.95 { high * 1.05 } else { 1.0 }),
    };
    let achieved = found.iter().any(|found| matches!(found.point.load.source, Source::Closed { .. }));
    let label = if achieved { "load achieved, share of core time" } else { "load offered, share of core time" };
    Axis { label: label.to_owned(), from, to, unit: Unit::Number, ticks: ticks_between(from, to, load_text) }
}

fn tail_figure(found: &[Found]) -> Figure {
    let all = series(found);
    let dot = |figures: &Figures| {
        let Interval { value, lo, hi } = figures.outcome.p99;
        // A point above the SLO line needs no hollow marker.
        Dot::at(figures.load, log_us(value))
            .between(log_us(lo), log_us(hi))
            .hollow(figures.outcome.accepted.value < 0.99)
    };
    let lines: Vec<Line> = all.iter().map(|series| series.line(Stroke::Solid, dot)).collect();
    let slo = found.first().map(|found| found.point.slo);
    let bound = slo.map(|slo| Bound { y: log_us(slo.as_ns_f64()), label: format!("SLO {}", units::span(slo)) });
    let ends = lines.iter().flat_map(|line| &line.dots).flat_map(|dot| [Some(dot.y), dot.y_ends.map(|ends| ends.1)]);
    let heights = ends.flatten().chain(bound.as_ref().map(|bound| bound.y)).filter(|y| y.is_finite());
    let (low, high) = heights.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| (low.min(y), high.max(y)));
    let hollow = lines.iter().flat_map(|line| &line.dots).any(|dot| dot.is_hollow);
    let chart = Chart {
        title: "Tail latency over the load".to_owned(),
        description: describe(&all, |figures| {
            format!("{} at {}", time(figures.outcome.p99.value), load_text(figures.load))
        }),
        x: load_axis(found),
        y: latency_axis(low.min(high), high.max(low + 0.1)),
        lines,
        bound,
    };
    let over = (sample(INK, Some(Marker::Circle), Stroke::None, true), "over 1 % NACKed: misses every SLO".to_owned());
    let legend = all.iter().map(|series| series.sample(Stroke::Solid, "")).chain(hollow.then_some(over)).collect();
    let caption = "p99 of the RPCs served, from arrival to the end of service, on a logarithmic scale. Bars are 95 % confidence intervals; some are \
        smaller than the marker.";
    Figure { chart, legend, caption: caption.to_owned() }
}

fn depth_figure(found: &[Found]) -> Figure {
    let all = series(found);
    let dot = |of: fn(&Figures) -> Interval| {
        move |figures: &Figures| {
            let Interval { value, lo, hi } = of(figures);
            Dot::at(figures.load, symlog(value)).between(symlog(lo), symlog(hi))
        }
    };
    let lines: Vec<Line> = all
        .iter()
        .flat_map(|series| {
            [series.line(Stroke::Solid, dot(|f| f.depth_p99)), series.line(Stroke::Dashed, dot(|f| f.depth_mean))]
        })
        .collect();
    let high = lines.iter().flat_map(|line| &line.dots).map(|dot| dot.y_ends.map_or(dot.y, |ends| ends.1.max(dot.y)));
    let high = high.filter(|y| y.is_finite()).fold(symlog(10.0), f64::max);
    let ticks = symlog_ticks(high);
    let to = ticks.last().map_or(high, |tick| tick.0.max(high));
    let words =
        |f: &Figures| format!("mean {:.2}, p99 {:.0} at {}", f.depth_mean.value, f.depth_p99.value, load_text(f.load));
    let chart = Chart {
        title: "Queue depth over the load".to_owned(),
        description: describe(&all, words),
        x: load_axis(found),
        y: Axis { label: "RPCs waiting".to_owned(), from: 0.0, to, unit: Unit::Symlog, ticks },
        lines,
        bound: None,
    };
    let legend =
        all.iter().flat_map(|series| [series.sample(Stroke::Solid, ", p99"), series.sample(Stroke::Dashed, ", mean")]);
    let caption =
        "Queue depth found by an arrival, without the RPCs dispatched to cores. The scale is logarithmic above 1.";
    Figure { chart, legend: legend.collect(), caption: caption.to_owned() }
}

fn nack_figure(found: &[Found]) -> Figure {
    let all = series(found);
    let refused = |figures: &Figures| Dot::at(figures.load, 100.0 * (1.0 - figures.outcome.accepted.value));
    let lines: Vec<Line> = all.iter().map(|series| series.line(Stroke::Solid, refused)).collect();
    let to = lines.iter().flat_map(|line| &line.dots).map(|dot| dot.y).fold(1.0, f64::max) * 1.05;
    let words = |f: &Figures| format!("{} at {}", units::percent(1.0 - f.outcome.accepted.value), load_text(f.load));
    let chart = Chart {
        title: "NACKed over the load".to_owned(),
        description: describe(&all, words),
        x: load_axis(found),
        y: Axis {
            label: "share of RPCs, %".to_owned(),
            from: 0.0,
            to,
            unit: Unit::Number,
            ticks: ticks_between(0.0, to, load_text),
        },
        lines,
        bound: None,
    };
    let legend = all.iter().map(|series| series.sample(Stroke::Solid, "")).collect();
    let caption = "RPCs that their client gave up after its last retry.";
    Figure { chart, legend, caption: caption.to_owned() }
}

fn at_slo_figure(found: &[Found]) -> Figure {
    let level = |one: &Found| Level {
        name: one.point.name.clone(),
        at: one.at_slo.map(|at| at.load),
        in_words: one.at_slo.map_or("none".to_owned(), |at| at.load_in_words()),
    };
    let slo = found.first().map_or(String::new(), |found| units::span(found.point.slo));
    let label = "highest load, share of core time".to_owned();
    levels(
        &format!("Highest load with p99 within {slo}"),
        Axis { label, from: 0.0, to: 1.05, unit: Unit::Number, ticks: ticks_between(0.0, 1.05, load_text) },
        "policy or system",
        &found.iter().map(level).collect::<Vec<_>>(),
        "Bars are 95 % confidence intervals; some are smaller than the marker. A NACK counts as infinite latency.",
    )
}

fn describe(all: &[Series<'_>], in_words: impl Fn(&Figures) -> String) -> String {
    let of_series = |series: &Series<'_>| {
        let points: Vec<String> = series.points.iter().map(|(_, figures)| in_words(figures)).collect();
        format!("{}: {}.", series.name, points.join("; "))
    };
    all.iter().map(of_series).collect::<Vec<_>>().join(" ")
}

pub(super) fn verdict(found: &[Found]) -> String {
    let Some(first) = found.first() else { return "Nothing was simulated.".to_owned() };
    let slo = units::span(first.point.slo);
    if is_search(found) {
        let up_to = |one: &Found| match one.at_slo {
            Some(at) => format!("{} up to a load of {}", one.point.name, at.load_in_words()),
            None => format!("{} at no load", one.point.name),
        };
        return format!("p99 stays within {slo} under {}.", found.iter().map(up_to).collect::<Vec<_>>().join(", "));
    }
    let hardest = |series: &Series<'_>| {
        let (_, figures) = series.points.last()?;
        let met = match (figures.outcome.met, figures.outcome.is_unsettled) {
            (Met::Yes, _) => "met",
            (Met::No, _) => "missed",
            (Met::Undecided, false) => "undecided",
            (Met::Undecided, true) => "unsettled",
        };
        Some(format!(
            "{} at load {} under {} ({met})",
            time(figures.outcome.p99.value),
            load_text(figures.load),
            series.name
        ))
    };
    let hardest: Vec<String> = series(found).iter().filter_map(hardest).collect();
    format!("The p99 is {}; the SLO is {slo}.", hardest.join(", "))
}

fn setting(found: &[Found]) -> String {
    let Some(Found { point, .. }) = found.first() else { return String::new() };
    let effort = point.effort;
    let servers = match point.system.servers {
        1 => format!("{} cores", point.system.cores),
        servers => format!("{servers} servers of {} cores", point.system.cores),
    };
    let servers = servers + &point.system.router.map_or(String::new(), |router| format!(" behind {router}"));
    let servers =
        servers + &point.system.speeds.as_ref().map_or(String::new(), |speeds| format!(" of speeds {speeds}"));
    let source = match &point.load.source {
        Source::Open { arrivals, .. } => match &point.load.over_time {
            Some(profile) => format!("{arrivals} arrivals, load {profile}"),
            None => format!("{arrivals} arrivals"),
        },
        Source::Closed { clients, outstanding: 1, .. } => format!("{clients} clients in a closed loop"),
        Source::Closed { clients, outstanding, .. } => {
            format!("{clients} clients in a closed loop, each with {outstanding} RPCs outstanding")
        }
    };
    let flows = match point.load.flows {
        Flows::EachRpc => String::new(),
        flows => format!(", flows {flows}"),
    };
    let shares = flows + &point.load.keys.map_or(String::new(), |keys| format!(", keys {keys}"));
    let tier = |tier: &Tier| {
        let System { servers, cores, calls, .. } = &tier.system;
        let calls = calls.map_or(1, |calls| calls.fan_out);
        format!(
            ", behind them {}: {servers} servers of {cores} cores, {calls} called, service {}",
            tier.name, tier.service
        )
    };
    let behind: String = point.system.behind.iter().map(tier).collect();
    let bound =
        point.system.queue_bound.map_or("no bound on the queue".to_owned(), |bound| format!("at most {bound} waiting"));
    format!(
        "{servers}, service {}{behind}, {source}{shares}, {bound}; {} replications of {} RPCs, seed {}. All figures are simulated and do not depend on this machine.",
        point.load.service,
        effort.replications,
        units::rate(effort.rpcs as f64),
        effort.seed.0,
    )
}

fn remarks() -> Vec<String> {
    [
        "A load meets the SLO if the p99 of all RPCs offered is within it, its whole interval included. A NACK counts as infinite latency.",
        "A point is unsettled if the load takes longer to settle than was simulated: its intervals may be too short, and it never counts as met.",
        "Confidence intervals come from the parts of independent replications. All policies get the same arrivals and service times.",
        "Load is the arrival rate times the mean service time, divided by the speeds of all cores, 1 each unless given. It does not include the costs of dispatch, completion notice and locks.",
    ]
    .map(str::to_owned)
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::found;

    #[test]
    fn the_page_needs_nothing_else_and_every_element_is_closed() {
        for found in [found(Ask::Measure), found(Ask::FindLoad)] {
            let page = render(&found, &[], "made by a test");
            nebula_testing::pages::assert_loads_nothing(&page);
            for name in ["svg", "figure", "text", "li"] {
                let opened = page.matches(&format!("<{name}>")).count() + page.matches(&format!("<{name} ")).count();
                assert_eq!(opened, page.matches(&format!("</{name}>")).count(), "{name}");
            }
        }
    }

    #[test]
    fn the_axes_hold_every_point_and_every_interval() {
        let found = found(Ask::Measure);
        for figure in figures(&found) {
            let (x, y) = (&figure.chart.x, &figure.chart.y);
            for dot in figure.chart.lines.iter().flat_map(|line| &line.dots) {
                let (lo, hi) = dot.y_ends.unwrap_or((dot.y, dot.y));
                assert!(
                    (x.from..=x.to).contains(&dot.x) && y.from <= lo && hi <= y.to,
                    "{}: {dot:?}",
                    figure.chart.title
                );
            }
        }
    }

    #[test]
    fn a_point_with_over_a_hundredth_nacked_is_hollow() {
        let figure = tail_figure(&found(Ask::Measure));
        let hollow: Vec<bool> = figure.chart.lines[0].dots.iter().map(|dot| dot.is_hollow).collect();
        assert_eq!(hollow, [false, true]);
    }
}

//! Stacked bars, a bar each design: time by stage, traffic by cause and by part of memory.

use nebula_memsys::Cause;
use nebula_sim::server::{Part, Stage};

use super::super::chart::{Axis, Chart, Dot, Line, Stroke, block_look, block_sample, round_ticks};
use super::super::page::Figure;
use super::{Series, series};
use crate::output::interval::time;
use crate::output::units;
use crate::simulate::server::{Figures, Findings, Found, breakdown};

/// Which rates bars stand at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// All at the highest rate at which every design keeps the SLO; at the lowest of all where there is none.
    Common,
    /// Each at the highest rate at which it keeps the SLO.
    Own,
}

impl At {
    /// Where designs are compared: at one rate, or where that was searched for at the rates found.
    fn of(findings: &Findings) -> Self {
        if findings.setting.searches { Self::Own } else { Self::Common }
    }
}

/// The mean time of an RPC, stage by stage.
pub(super) fn time_figure(findings: &Findings) -> Figure {
    time_figure_at(findings, At::of(findings))
}

/// The same where each design is at its own highest rate, if one bears more than all do.
pub(super) fn own_time_figure(findings: &Findings) -> Option<Figure> {
    let common = common_rate(findings);
    let bears_more = breakdown::shown(findings).any(|(found, figures)| figures.meets_slo && found.rate_rps > common);
    (!findings.setting.searches && bears_more).then(|| time_figure_at(findings, At::Own))
}

fn time_figure_at(findings: &Findings, at: At) -> Figure {
    let shown = breakdown::stages(findings);
    let pieces = shown.iter().map(|&(index, stage)| Piece {
        look: index,
        name: stage.name(),
        size: Box::new(move |figures: &Figures| figures.stages[index]),
    });
    Stack { title: "Time of an RPC", axis: "mean time, ns", tick: whole, show: time, pieces: pieces.collect() }.figure(
        findings,
        at,
        "From its first packet until its buffer is free, in the order of its path.",
    )
}

/// Blocks by what moved them.
pub(super) fn cause_figure(findings: &Findings) -> Figure {
    let pieces = breakdown::causes(findings).into_iter().map(|cause| Piece {
        look: cause,
        name: breakdown::CAUSES[cause],
        size: Box::new(move |figures: &Figures| figures.blocks.iter().map(|part| part[cause]).sum()),
    });
    Stack { title: "DRAM traffic by cause", axis: BLOCKS, tick: blocks, show: blocks, pieces: pieces.collect() }.figure(
        findings,
        At::of(findings),
        "What was fetched, and what was written back, for the NIC and for cores.",
    )
}

/// Blocks by the part of memory that they are of.
pub(super) fn part_figure(findings: &Findings) -> Figure {
    let shown = breakdown::parts(findings);
    let pieces = shown.iter().map(|&(index, part)| Piece {
        look: index,
        name: part.name(),
        size: Box::new(move |figures: &Figures| figures.blocks[index].iter().sum()),
    });
    Stack {
        title: "DRAM traffic by part of memory",
        axis: BLOCKS,
        tick: blocks,
        show: blocks,
        pieces: pieces.collect(),
    }
    .figure(
        findings,
        At::of(findings),
        "The same blocks, by what lies in them: requests, replies, the store, bookkeeping.",
    )
}

const BLOCKS: &str = "blocks of 64 bytes for each RPC";

fn whole(ns: f64) -> String {
    format!("{ns:.0}")
}

fn blocks(blocks: f64) -> String {
    if blocks.fract() == 0.0 { format!("{blocks:.0}") } else { format!("{blocks:.1}") }
}

/// One kind of piece, in all bars.
struct Piece {
    look: usize,
    name: &'static str,
    size: Box<dyn Fn(&Figures) -> f64>,
}

/// Bars that are made of the same kinds of pieces.
struct Stack {
    title: &'static str,
    axis: &'static str,
    tick: fn(f64) -> String,
    /// In words, for those who hear the page.
    show: fn(f64) -> String,
    pieces: Vec<Piece>,
}

/// What is written on pieces and in the legend.
const NUMERALS: [&str; 10] = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];
const _: () = assert!(Stage::ALL.len() <= NUMERALS.len() && Part::ALL.len() <= NUMERALS.len());
const _: () = assert!(Cause::ALL.len() <= NUMERALS.len());

impl Stack {
    fn figure(&self, findings: &Findings, at: At, caption: &str) -> Figure {
        let bars = Bars::of(findings, at);
        let to = bars.0.iter().map(|bar| self.total(bar.figures)).fold(0.0, f64::max).max(1e-3) * 1.05;
        let ticks = bars.0.iter().map(|bar| (bar.height, bar.name.clone())).collect();
        let chart = Chart {
            title: format!("{} at {}", self.title, at.words(findings)),
            description: self.describe(&bars),
            x: Axis { label: self.axis.to_owned(), from: 0.0, to, ticks: round_ticks(to, self.tick) },
            y: Axis { label: "design".to_owned(), from: 0.4, to: bars.0.len() as f64 + 0.6, ticks },
            lines: (0..self.pieces.len()).map(|index| self.line(index, &bars)).collect(),
            bound: None,
        };
        let sample = |(index, piece): (usize, &Piece)| {
            let (color, is_hollow) = block_look(piece.look);
            (block_sample(color, is_hollow), format!("{} {}", NUMERALS[index], piece.name))
        };
        Figure { chart, legend: self.pieces.iter().enumerate().map(sample).collect(), caption: caption.to_owned() }
    }

    /// The pieces of one kind, each behind those before it in its bar.
    fn line(&self, index: usize, bars: &Bars<'_>) -> Line {
        let piece = &self.pieces[index];
        let (color, is_hollow) = block_look(piece.look);
        let dot = |bar: &Bar<'_>| {
            let from: f64 = self.pieces[..index].iter().map(|before| (before.size)(bar.figures)).sum();
            let to = from + (piece.size)(bar.figures);
            let at = Dot::at(f64::midpoint(from, to), bar.height).hollow(is_hollow).labeled(NUMERALS[index]);
            (to > from).then(|| at.level_between(from, to))
        };
        Line { color, marker: None, stroke: Stroke::Blocks, dots: bars.0.iter().filter_map(dot).collect() }
    }

    fn total(&self, figures: &Figures) -> f64 {
        self.pieces.iter().map(|piece| (piece.size)(figures)).sum()
    }

    fn describe(&self, bars: &Bars<'_>) -> String {
        let in_words = |bar: &Bar<'_>| {
            let piece = |piece: &Piece| format!("{} {}", piece.name, (self.show)((piece.size)(bar.figures)));
            format!("{}: {}.", bar.name, self.pieces.iter().map(piece).collect::<Vec<_>>().join(", "))
        };
        bars.0.iter().map(in_words).collect::<Vec<_>>().join(" ")
    }
}

// -- which bars --

/// One bar, and how high it stands.
struct Bar<'a> {
    name: String,
    height: f64,
    figures: &'a Figures,
}

/// From top to bottom, as the designs were asked for.
struct Bars<'a>(Vec<Bar<'a>>);

impl<'a> Bars<'a> {
    fn of(findings: &'a Findings, at: At) -> Self {
        let shown: Vec<(&Found, &Figures)> = match at {
            At::Common => {
                let rate = common_rate(findings);
                breakdown::shown(findings).filter(|(found, _)| found.rate_rps == rate).collect()
            }
            At::Own => series(findings).iter().filter_map(highest_met).collect(),
        };
        let name = |found: &Found| match at {
            At::Common => found.design.clone(),
            At::Own => format!("{} {}", found.design, found.rate_rps.map_or(String::new(), units::rate)),
        };
        let bar = |(index, &(found, figures)): (usize, &(&'a Found, &'a Figures))| Bar {
            name: name(found),
            height: (shown.len() - index) as f64,
            figures,
        };
        Self(shown.iter().enumerate().map(bar).collect())
    }
}

/// The highest rate at which a design keeps the SLO, and what it shows there.
fn highest_met<'a>(series: &Series<'a>) -> Option<(&'a Found, &'a Figures)> {
    let mut shown = series.points.iter().filter_map(|&found| Some((found, found.figures.as_ref()?)));
    shown.rfind(|(_, figures)| figures.meets_slo)
}

impl At {
    fn words(self, findings: &Findings) -> String {
        match (self, common_rate(findings)) {
            (Self::Common, Some(rate)) => format!("{} RPC/s", units::rate(rate)),
            (Self::Own, _) | (_, None) => "each design's highest rate".to_owned(),
        }
    }
}

/// The highest rate at which all designs keep the SLO; the lowest of all where there is none.
fn common_rate(findings: &Findings) -> Option<f64> {
    let rates = || breakdown::shown(findings).filter_map(|(found, _)| found.rate_rps);
    let all_meet = |rate: &f64| {
        breakdown::shown(findings).filter(|(found, _)| found.rate_rps == Some(*rate)).all(|(_, f)| f.meets_slo)
    };
    rates().filter(all_meet).reduce(f64::max).or_else(|| rates().reduce(f64::min))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::server::tests::findings;

    #[test]
    fn bars_stand_at_the_highest_rate_that_all_designs_bear() {
        let mut findings = findings(false);
        assert_eq!(common_rate(&findings), Some(5e6));
        findings.found[0].figures = None;
        findings.found[1].figures = None;
        assert_eq!(common_rate(&findings), Some(20e6));
        findings.found[2..].iter_mut().filter_map(|found| found.figures.as_mut()).for_each(|f| f.meets_slo = false);
        assert_eq!(common_rate(&findings), Some(5e6));
    }

    #[test]
    fn pieces_stand_end_to_end_and_add_up() {
        for searches in [false, true] {
            let findings = findings(searches);
            for figure in [time_figure(&findings), cause_figure(&findings), part_figure(&findings)] {
                let chart = &figure.chart;
                assert_eq!(chart.lines.len(), figure.legend.len());
                for (row, _) in &chart.y.ticks {
                    let dots = chart.lines.iter().flat_map(|line| &line.dots).filter(|dot| dot.y == *row);
                    let end = dots.filter_map(|dot| dot.x_ends).fold(0.0, |end: f64, (from, to)| {
                        assert!((from - end).abs() < 1e-9, "{}: a gap at {from}", chart.title);
                        to
                    });
                    assert!(end > chart.x.to * 0.9 && end <= chart.x.to, "{}: {end}", chart.title);
                }
            }
        }
    }

    #[test]
    fn each_design_is_shown_where_it_bears_most_if_one_bears_more() {
        let mut findings = findings(false);
        let figure = own_time_figure(&findings).unwrap();
        let names: Vec<&str> = figure.chart.y.ticks.iter().map(|tick| tick.1.as_str()).collect();
        assert_eq!(names, ["<rss> 5M", "nebula 20M"]);
        findings.found.truncate(2);
        assert!(own_time_figure(&findings).is_none());
    }

    #[test]
    fn a_piece_of_nothing_is_left_out() {
        let figure = time_figure(&findings(false));
        assert!(figure.legend.iter().all(|(_, text)| !text.ends_with("state")));
        assert!(figure.chart.title.ends_with("at 5M RPC/s"));
    }
}

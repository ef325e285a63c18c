//! Stacked bars, one for each design: time by stage, traffic by cause and by region of memory.

use nebula_memsys::Cause;
use nebula_sim::blocks::{Part, Stage};

use super::super::chart::Unit;
use super::super::page::Figure;
use super::super::stacked::{Bar, NUMERALS, Piece, Stack, bars};
use super::series::{Series, series};
use nebula_sim::study::blocks::{Figures, Findings, Found, breakdown};
use nebula_ui::output::text::time;
use nebula_ui::output::units;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// All at the highest rate at which every design meets the SLO, or else at the lowest rate.
    Common,
    /// Each at the highest rate at which it meets the SLO.
    Own,
}

impl At {
    fn of(findings: &Findings) -> Self {
        if findings.setting.searches { Self::Own } else { Self::Common }
    }
}

pub(super) fn time_figure(findings: &Findings) -> Figure {
    time_figure_at(findings, At::of(findings))
}

/// With each design at its own highest rate, if those rates differ.
pub(super) fn own_time_figure(findings: &Findings) -> Option<Figure> {
    let common = common_rate(findings);
    let bears_more = findings.shown().any(|(found, figures)| figures.outcome.meets() && found.rate_rps > common);
    (!findings.setting.searches && bears_more).then(|| time_figure_at(findings, At::Own))
}

fn time_figure_at(findings: &Findings, at: At) -> Figure {
    let shown = breakdown::stages(findings);
    let pieces = shown.iter().map(|&(index, stage)| Piece {
        look: index,
        name: stage.name(),
        size: Box::new(move |figures: &Figures| figures.stages[index]),
    });
    let caption = "From the first packet until the buffer is free, stage by stage.";
    let title = format!("Time of an RPC at {}", at.words(findings));
    Stack { title, axis: "mean time, ns", of: OF, unit: Unit::Time, tick: whole, show: time, pieces: pieces.collect() }
        .figure(&bars_at(findings, at), caption)
}

pub(super) fn cause_figure(findings: &Findings) -> Figure {
    let pieces = breakdown::causes(findings).into_iter().map(|cause| Piece {
        look: cause,
        name: breakdown::CAUSES[cause],
        size: Box::new(move |figures: &Figures| figures.blocks.iter().map(|part| part[cause]).sum()),
    });
    let caption = "Fetches and write-backs, by the NIC and by cores.";
    traffic_figure(findings, "DRAM traffic by cause", pieces.collect(), caption)
}

pub(super) fn part_figure(findings: &Findings) -> Figure {
    let shown = breakdown::parts(findings);
    let pieces = shown.iter().map(|&(index, part)| Piece {
        look: index,
        name: part.name(),
        size: Box::new(move |figures: &Figures| figures.blocks[index].iter().sum()),
    });
    let caption = "The same blocks by content: requests, replies, store, metadata.";
    traffic_figure(findings, "DRAM traffic by region of memory", pieces.collect(), caption)
}

fn traffic_figure(findings: &Findings, title: &str, pieces: Vec<Piece<Figures>>, caption: &str) -> Figure {
    let at = At::of(findings);
    let title = format!("{title} at {}", at.words(findings));
    Stack { title, axis: BLOCKS, of: OF, unit: Unit::Number, tick: blocks, show: blocks, pieces }
        .figure(&bars_at(findings, at), caption)
}

const OF: &str = "design";

const BLOCKS: &str = "64-byte blocks per RPC";

fn whole(ns: f64) -> String {
    format!("{ns:.0}")
}

fn blocks(blocks: f64) -> String {
    if blocks.fract() == 0.0 { format!("{blocks:.0}") } else { format!("{blocks:.1}") }
}

const _: () = assert!(Stage::ALL.len() <= NUMERALS.len() && Part::ALL.len() <= NUMERALS.len());
const _: () = assert!(Cause::ALL.len() <= NUMERALS.len());

/// From top to bottom, in the order of the command line.
fn bars_at(findings: &Findings, at: At) -> Vec<Bar<'_, Figures>> {
    let shown: Vec<(&Found, &Figures)> = match at {
        At::Common => {
            let rate = common_rate(findings);
            findings.shown().filter(|(found, _)| found.rate_rps == rate).collect()
        }
        At::Own => series(findings).iter().filter_map(highest_met).collect(),
    };
    let name = |found: &Found| match at {
        At::Common => found.design.clone(),
        At::Own => format!("{} {}", found.design, found.rate_rps.map_or(String::new(), units::rate)),
    };
    bars(shown.into_iter().map(|(found, figures)| (name(found), figures)))
}

fn highest_met<'a>(series: &Series<'a>) -> Option<(&'a Found, &'a Figures)> {
    let mut shown = series.points.iter().filter_map(|&found| Some((found, found.figures.as_ref()?)));
    shown.rfind(|(_, figures)| figures.outcome.meets())
}

impl At {
    fn words(self, findings: &Findings) -> String {
        match (self, common_rate(findings)) {
            (Self::Common, Some(rate)) => format!("{} RPC/s", units::rate(rate)),
            (Self::Own, _) | (_, None) => "each design's highest rate".to_owned(),
        }
    }
}

fn common_rate(findings: &Findings) -> Option<f64> {
    let rates = || findings.shown().filter_map(|(found, _)| found.rate_rps);
    let all_meet = |rate: &f64| {
        findings.shown().filter(|(found, _)| found.rate_rps == Some(*rate)).all(|(_, f)| f.outcome.meets())
    };
    rates().filter(all_meet).reduce(f64::max).or_else(|| rates().reduce(f64::min))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::findings;

    #[test]
    fn bars_stand_at_the_highest_rate_that_all_designs_bear() {
        let mut findings = findings(false);
        assert_eq!(common_rate(&findings), Some(5e6));
        findings.found[0].figures = None;
        findings.found[1].figures = None;
        assert_eq!(common_rate(&findings), Some(20e6));
        findings.found[2..]
            .iter_mut()
            .filter_map(|found| found.figures.as_mut())
            .for_each(|f| f.outcome.met = nebula_sim::Met::No);
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

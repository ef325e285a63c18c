//! A figure with its interval for each policy, system or design: one row each, from top to bottom.

use super::chart::{Axis, Chart, Dot, Line, Stroke, Unit, look, sample};
use super::page::Figure;
use nebula_sim::Interval;

/// One row; without a dot if there is no figure.
pub(super) struct Level {
    pub(super) name: String,
    pub(super) at: Option<Interval>,
    pub(super) in_words: String,
}

/// `of` is what the names are, such as designs.
pub(super) fn levels(title: &str, x: Axis, of: &str, all: &[Level], caption: &str) -> Figure {
    let height = |index: usize| (all.len() - index) as f64;
    let words = |level: &Level| format!("{}: {}", level.name, level.in_words);
    let line = |(index, level): (usize, &Level)| {
        let (color, marker) = look(index);
        let dots = level.at.iter().map(|at| Dot::at(at.value, height(index)).level_between(at.lo, at.hi));
        Line { color, marker: Some(marker), stroke: Stroke::None, dots: dots.collect() }
    };
    let legend = |(index, level): (usize, &Level)| {
        let (color, marker) = look(index);
        (sample(color, Some(marker), Stroke::None, false), words(level))
    };
    let ticks = all.iter().enumerate().map(|(index, level)| (height(index), level.name.clone())).collect();
    let chart = Chart {
        title: title.to_owned(),
        description: all.iter().map(words).collect::<Vec<_>>().join("; "),
        x,
        y: Axis { label: of.to_owned(), from: 0.4, to: all.len() as f64 + 0.6, unit: Unit::Ticks, ticks },
        lines: all.iter().enumerate().map(line).collect(),
        bound: None,
    };
    Figure { chart, legend: all.iter().enumerate().map(legend).collect(), caption: caption.to_owned() }
}

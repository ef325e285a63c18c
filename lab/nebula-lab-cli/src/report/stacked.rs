//! Horizontal stacked bars of the same kinds of pieces: breakdowns side by side.

use super::chart::{Axis, Chart, Dot, Line, Stroke, Unit, block_look, block_sample, round_ticks};
use super::page::Figure;

pub(super) struct Piece<T> {
    /// The same in all charts.
    pub(super) look: usize,
    pub(super) name: &'static str,
    pub(super) size: Box<dyn Fn(&T) -> f64>,
}

pub(super) struct Stack<T> {
    pub(super) title: String,
    pub(super) axis: &'static str,
    /// The thing that a bar represents.
    pub(super) of: &'static str,
    pub(super) unit: Unit,
    pub(super) tick: fn(f64) -> String,
    /// For screen readers.
    pub(super) show: fn(f64) -> String,
    pub(super) pieces: Vec<Piece<T>>,
}

pub(super) const NUMERALS: [&str; 11] = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"];

pub(super) struct Bar<'a, T> {
    pub(super) name: String,
    height: f64,
    figures: &'a T,
}

pub(super) fn bars<'a, T>(shown: impl ExactSizeIterator<Item = (String, &'a T)>) -> Vec<Bar<'a, T>> {
    let count = shown.len();
    let bar = |(index, (name, figures))| Bar { name, height: (count - index) as f64, figures };
    shown.enumerate().map(bar).collect()
}

impl<T> Stack<T> {
    pub(super) fn figure(&self, bars: &[Bar<'_, T>], caption: &str) -> Figure {
        let to = bars.iter().map(|bar| self.total(bar.figures)).fold(0.0, f64::max).max(1e-3) * 1.05;
        let ticks = bars.iter().map(|bar| (bar.height, bar.name.clone())).collect();
        let chart = Chart {
            title: self.title.clone(),
            description: self.describe(bars),
            x: Axis { label: self.axis.to_owned(), from: 0.0, to, unit: self.unit, ticks: round_ticks(to, self.tick) },
            y: Axis { label: self.of.to_owned(), from: 0.4, to: bars.len() as f64 + 0.6, unit: Unit::Ticks, ticks },
            lines: (0..self.pieces.len()).map(|index| self.line(index, bars)).collect(),
            bound: None,
        };
        let sample = |(index, piece): (usize, &Piece<T>)| {
            let (color, is_hollow) = block_look(piece.look);
            (block_sample(color, is_hollow), format!("{} {}", NUMERALS[index], piece.name))
        };
        Figure { chart, legend: self.pieces.iter().enumerate().map(sample).collect(), caption: caption.to_owned() }
    }

    /// Each piece follows the preceding pieces of its bar.
    fn line(&self, index: usize, bars: &[Bar<'_, T>]) -> Line {
        let piece = &self.pieces[index];
        let (color, is_hollow) = block_look(piece.look);
        let dot = |bar: &Bar<'_, T>| {
            let from: f64 = self.pieces[..index].iter().map(|before| (before.size)(bar.figures)).sum();
            let to = from + (piece.size)(bar.figures);
            let at = Dot::at(f64::midpoint(from, to), bar.height).hollow(is_hollow).labeled(NUMERALS[index]);
            (to > from).then(|| at.level_between(from, to))
        };
        Line { color, marker: None, stroke: Stroke::Blocks, dots: bars.iter().filter_map(dot).collect() }
    }

    fn total(&self, figures: &T) -> f64 {
        self.pieces.iter().map(|piece| (piece.size)(figures)).sum()
    }

    fn describe(&self, bars: &[Bar<'_, T>]) -> String {
        let in_words = |bar: &Bar<'_, T>| {
            let piece = |piece: &Piece<T>| format!("{} {}", piece.name, (self.show)((piece.size)(bar.figures)));
            format!("{}: {}.", bar.name, self.pieces.iter().map(piece).collect::<Vec<_>>().join(", "))
        };
        bars.iter().map(in_words).collect::<Vec<_>>().join(" ")
    }
}

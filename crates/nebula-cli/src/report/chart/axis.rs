//! An axis: what it shows, from where to where, and the labeled ticks.

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

/// An axis. A logarithmic one is linear over logarithms: the caller hands in `log10` of its values and the ticks to label.
#[derive(Clone, Debug)]
pub(in crate::report) struct Axis {
    pub(in crate::report) label: String,
    pub(in crate::report) from: f64,
    pub(in crate::report) to: f64,
    pub(in crate::report) ticks: Vec<(f64, String)>,
}

impl Axis {
    /// The text at a tick.
    pub(super) fn label_of(&self, at: f64) -> String {
        let nearest = self.ticks.iter().find(|tick| (tick.0 - at).abs() < 1e-9 * (1.0 + at.abs()));
        nearest.map(|tick| tick.1.clone()).unwrap_or_default()
    }

    pub(super) fn range(&self) -> Ticked {
        Ticked { scale: (self.from..self.to).into(), ticks: self.ticks.iter().map(|tick| tick.0).collect() }
    }

    /// The nearest place on the axis.
    pub(super) fn clip(&self, at: f64) -> f64 {
        at.max(self.from).min(self.to)
    }
}

/// A linear scale whose ticks are given: plotters would choose its own.
pub(super) struct Ticked {
    scale: RangedCoordf64,
    ticks: Vec<f64>,
}

impl Ranged for Ticked {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.scale.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.scale.range()
    }
}

/// Ticks at every power of ten from `10^from` to `10^to`, the first and last included.
pub(in crate::report) fn decades(from: i32, to: i32, label: impl Fn(f64) -> String) -> Vec<(f64, String)> {
    (from..=to).map(|exponent| (f64::from(exponent), label(10f64.powi(exponent)))).collect()
}

/// Five to nine ticks at round numbers from 0 to `to`.
pub(in crate::report) fn round_ticks(to: f64, label: impl Fn(f64) -> String) -> Vec<(f64, String)> {
    ticks_between(0.0, to, label)
}

/// Five to nine ticks, or one less, at round numbers between `from` and `to`.
pub(in crate::report) fn ticks_between(from: f64, to: f64, label: impl Fn(f64) -> String) -> Vec<(f64, String)> {
    let longest = (to - from).max(f64::MIN_POSITIVE) / 4.0;
    let decade = 10f64.powf(longest.log10().floor());
    let steps = [5.0, 2.5, 2.0].map(|factor| factor * decade);
    let step = steps.into_iter().find(|step| *step <= longest).unwrap_or(decade);
    let first = (from / step - 1e-6).ceil();
    (0..=8)
        .map(|count| (first + f64::from(count)) * step)
        .take_while(|at| *at <= to + 1e-6 * (to - from))
        .map(|at| (at, label(at)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_axis() {
        for to in (1..1000).map(|tenths| f64::from(tenths) / 10.0).chain([525e3, 1_234_567.0]) {
            let ticks = round_ticks(to, |at| at.to_string());
            assert!((5..=9).contains(&ticks.len()), "{to}: {ticks:?}");
            assert!(ticks.iter().all(|tick| (0.0..=to * 1.001).contains(&tick.0)));
        }
        let labels: Vec<String> = decades(0, 2, |us| format!("{us}")).into_iter().map(|tick| tick.1).collect();
        assert_eq!(labels, ["1", "10", "100"]);
    }

    #[test]
    fn ticks_begin_where_the_axis_does() {
        let at = |from, to| {
            ticks_between(from, to, |at| format!("{at:.2}")).into_iter().map(|tick| tick.1).collect::<Vec<_>>()
        };
        assert_eq!(at(0.8, 1.0), ["0.80", "0.85", "0.90", "0.95", "1.00"]);
        assert_eq!(at(0.83, 0.99), ["0.84", "0.86", "0.88", "0.90", "0.92", "0.94", "0.96", "0.98"]);
    }
}

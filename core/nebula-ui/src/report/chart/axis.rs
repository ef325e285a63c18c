//! An axis: its label, its range and its labeled ticks.

use crate::output::text::{depth, load, time};
use crate::output::units;
use nebula_nic::Span;

/// The meaning of the positions on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The label of the nearest tick: names, or values that are ticks themselves.
    Ticks,
    /// A number.
    Number,
    /// RPCs per second.
    Rate,
    /// Nanoseconds.
    Time,
    /// The logarithm of microseconds.
    LogTime,
    /// A number placed by [`symlog`].
    Symlog,
    /// The nines of a share.
    Nines,
}

impl Unit {
    /// The text of a position, with three digits.
    fn show(self, at: f64) -> Option<String> {
        Some(match self {
            Self::Ticks => return None,
            Self::Number => load(at),
            Self::Rate => units::rate(at),
            Self::Time => time(at),
            Self::LogTime => time(10f64.powf(at) * 1e3),
            Self::Symlog => depth(if at > 1.0 { 10f64.powf(at - 1.0) } else { at }),
            Self::Nines => units::percent(1.0 - 10f64.powf(-at)),
        })
    }
}

/// An axis. A logarithmic axis is a linear one over logarithms: the caller passes `log10` of its
/// values and the labeled ticks.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its label.
    pub label: String,
    /// Its lower end.
    pub from: f64,
    /// Its upper end.
    pub to: f64,
    /// The unit of its values.
    pub unit: Unit,
    /// The places and labels of its ticks.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    pub(super) fn show(&self, at: f64) -> String {
        let distance = |tick: &(f64, String)| (tick.0 - at).abs();
        let nearest = || self.ticks.iter().min_by(|one, other| distance(one).total_cmp(&distance(other)));
        self.unit.show(at).unwrap_or_else(|| nearest().map_or(String::new(), |tick| tick.1.clone()))
    }

    /// The value, clamped to the axis.
    pub fn clip(&self, at: f64) -> f64 {
        at.max(self.from).min(self.to)
    }
}

/// The axis of a latency: the whole decades around the logarithms `low` and `high`.
#[must_use]
pub fn latency_axis(low: f64, high: f64) -> Axis {
    #[expect(clippy::cast_possible_truncation, reason = "logarithms of latencies in µs, -3 to 8")]
    let (from, to) = (low.floor() as i32, high.ceil() as i32);
    Axis {
        label: "p99 latency".to_owned(),
        from: f64::from(from),
        to: f64::from(to),
        unit: Unit::LogTime,
        ticks: log_ticks(from, to, |us| units::span(span_of_us(us))),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a power of ten of µs, at most a hundred seconds"
)]
fn span_of_us(us: f64) -> Span {
    Span::from_ns((us * 1e3).round() as u64)
}

pub(crate) fn decades(from: i32, to: i32, label: impl Fn(f64) -> String) -> Vec<(f64, String)> {
    (from..=to).map(|exponent| (f64::from(exponent), label(10f64.powi(exponent)))).collect()
}

/// Ticks from `10^from` to `10^to`: the powers of ten, and 2 and 5 between them if few.
pub fn log_ticks(from: i32, to: i32, label: impl Fn(f64) -> String) -> Vec<(f64, String)> {
    if to - from > 2 {
        return decades(from, to, label);
    }
    let between = (from..to).flat_map(|exponent| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(exponent)));
    between.chain([10f64.powi(to)]).map(|at| (at.log10(), label(at))).collect()
}

/// The position of a number of RPCs on an axis that is logarithmic above 1 and begins at 0.
pub fn symlog(value: f64) -> f64 {
    if value > 1.0 { 1.0 + value.log10() } else { value.max(0.0) }
}

/// The ticks of such an axis: 0, 1, 10, …, to the first that reaches `to`.
pub fn symlog_ticks(to: f64) -> Vec<(f64, String)> {
    let powers = (0..=9).map(|exponent: u32| (1.0 + f64::from(exponent), 10_u64.pow(exponent).to_string()));
    let beyond = to.ceil();
    std::iter::once((0.0, "0".to_owned())).chain(powers.take_while(|tick| tick.0 <= beyond)).collect()
}

/// Five to nine ticks at round numbers from 0 to `to`.
pub fn round_ticks(to: f64, label: impl Fn(f64) -> String) -> Vec<(f64, String)> {
    ticks_between(0.0, to, label)
}

/// Five to nine ticks, or one less, at round numbers between `from` and `to`.
pub fn ticks_between(from: f64, to: f64, label: impl Fn(f64) -> String) -> Vec<(f64, String)> {
    let longest = (to - from).max(f64::MIN_POSITIVE) / 4.0;
    let decade = 10f64.powf(longest.log10().floor());
    let steps = [5.0, 2.5, 2.0].map(|factor| factor * decade);
    let step = steps.into_iter().find(|step| *step <= longest * 1.000_001).unwrap_or(decade);
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
    fn a_position_says_what_it_stands_for() {
        let ticks = vec![(1.0, "rss".to_owned()), (2.0, "jbsq:2".to_owned())];
        let show = |unit, at| Axis { label: String::new(), from: 0.0, to: 3.0, unit, ticks: ticks.clone() }.show(at);
        assert_eq!([show(Unit::Ticks, 1.9), show(Unit::Rate, 1.5e6)], ["jbsq:2", "1.5M"]);
        assert_eq!([show(Unit::LogTime, 1.0), show(Unit::Time, 1500.0)], ["10 µs", "1.5 µs"]);
        assert_eq!([show(Unit::Symlog, 3.0), show(Unit::Symlog, 0.5)], ["100", "0.5"]);
        assert_eq!([show(Unit::Nines, 2.0), show(Unit::Number, 0.984_375)], ["99 %", "0.9844"]);
    }

    #[test]
    fn an_axis_that_begins_at_nothing_is_logarithmic_above_one() {
        assert_eq!([0.0, 0.5, 1.0, 10.0, 1000.0].map(symlog), [0.0, 0.5, 1.0, 2.0, 4.0]);
        let labels: Vec<String> = symlog_ticks(symlog(42.0)).into_iter().map(|tick| tick.1).collect();
        assert_eq!(labels, ["0", "1", "10", "100"]);
    }

    #[test]
    fn few_decades_have_ticks_between() {
        let labels =
            |from, to| log_ticks(from, to, |at| format!("{at}")).into_iter().map(|tick| tick.1).collect::<Vec<_>>();
        assert_eq!(labels(0, 1), ["1", "2", "5", "10"]);
        assert_eq!(labels(0, 3), ["1", "10", "100", "1000"]);
    }

    #[test]
    fn ticks_begin_where_the_axis_does() {
        let at = |from, to| {
            ticks_between(from, to, |at| format!("{at:.3}")).into_iter().map(|tick| tick.1).collect::<Vec<_>>()
        };
        assert_eq!(at(0.8, 1.0), ["0.800", "0.850", "0.900", "0.950", "1.000"]);
        assert_eq!(at(0.83, 0.99), ["0.850", "0.875", "0.900", "0.925", "0.950", "0.975"]);
    }
}

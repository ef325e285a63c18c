//! Figures with error bars, formatted for people and for scripts.

use crate::interval::Interval;

use nebula_ui::{Value, units};

pub use nebula_ui::text::{depth, digits, load, time};

/// Both ends of an interval; an unknown end is `null`.
#[must_use]
pub fn ends(interval: Interval) -> Value {
    Value::Ends([digits(interval.lo), digits(interval.hi)])
}

/// A figure with half its interval in percent, `4.61 µs ±0.3 %`, unless that is 0 or infinite.
#[must_use]
pub fn with_half(interval: Interval, show: impl Fn(f64) -> String) -> String {
    let half = interval.relative();
    match half.is_finite() && half > 0.0 && interval.value != 0.0 {
        true => format!("{} ±{}", show(interval.value), units::percent(half)),
        false => show(interval.value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_shown_where_it_says_something() {
        let p99 = Interval { value: 4610.0, lo: 4600.0, hi: 4620.0 };
        assert_eq!(with_half(p99, time), "4.61 µs ±0.22 %");
        assert_eq!(with_half(Interval::exact(0.5), load), "0.5");
        assert_eq!(with_half(Interval::of(&[f64::INFINITY, 3.0]), time), "∞");
    }
}

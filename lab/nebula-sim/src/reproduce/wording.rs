//! Numbers in sentences: about three significant digits, and an interval where there is one.

use crate::interval::Interval;

/// `344 [310, 378]`, or the value alone if the interval is a point.
pub(super) fn with_interval(interval: Interval) -> String {
    let Interval { value, lo, hi } = interval;
    if lo == hi { number(value) } else { format!("{} [{}, {}]", number(value), number(lo), number(hi)) }
}

/// About three significant digits: `0.61`, `9.81`, `34.4`, `1020`.
pub(super) fn number(value: f64) -> String {
    let decimals = match value.abs() {
        _ if !value.is_finite() => return "∞".to_owned(),
        small if small < 9.995 => 2,
        medium if medium < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// A load with four decimals, since 0.995 and 0.9995 differ much.
pub(super) fn load(interval: Interval) -> String {
    let Interval { value, lo, hi } = interval;
    if lo == hi { format!("{value:.4}") } else { format!("{value:.4} [{lo:.4}, {hi:.4}]") }
}

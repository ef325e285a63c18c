//! Figures, formatted for people and for scripts.

use crate::units;

/// A figure rounded to nine significant digits.
#[must_use]
pub fn digits(figure: f64) -> f64 {
    if figure == 0.0 || !figure.is_finite() {
        return figure;
    }
    #[expect(clippy::cast_possible_truncation, reason = "the logarithm of a finite number")]
    let decimals = (8 - figure.abs().log10().floor() as i32).clamp(0, 12);
    let scale = 10f64.powi(decimals);
    (figure * scale).round() / scale
}

/// A load, to four decimals.
#[must_use]
pub fn load(load: f64) -> String {
    trimmed(&format!("{load:.4}"))
}

/// A time in nanoseconds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time that is positive; `as` saturates")]
#[must_use]
pub fn time(ns: f64) -> String {
    if ns.is_finite() { units::span(nebula_nic::Span::from_ps((ns * 1e3).round() as u64)) } else { "∞".to_owned() }
}

/// A mean number of waiting RPCs.
#[must_use]
pub fn depth(rpcs: f64) -> String {
    match rpcs {
        _ if rpcs > 0.0 && rpcs < 0.005 => "<0.01".to_owned(),
        _ if rpcs < 9.995 => trimmed(&format!("{rpcs:.2}")),
        _ if rpcs < 99.95 => trimmed(&format!("{rpcs:.1}")),
        _ => format!("{rpcs:.0}"),
    }
}

/// Removes trailing zeros after the decimal point.
fn trimmed(digits: &str) -> String {
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_lose_the_digits_that_say_nothing_and_no_other() {
        assert_eq!(digits(0.1 + 0.2), 0.3);
        assert_eq!(digits(1_234_567.891_234_567), 1_234_567.89);
        assert_eq!(digits(123_456_789_012.0), 123_456_789_012.0);
        assert_eq!((digits(0.0), digits(f64::INFINITY)), (0.0, f64::INFINITY));
    }

    #[test]
    fn depths_and_loads_have_as_many_digits_as_they_need() {
        assert_eq!([0.0, 0.001, 0.5, 2.0, 53.907, 540.4].map(depth), ["0", "<0.01", "0.5", "2", "53.9", "540"]);
        assert_eq!([1.0, 0.984_375, 10.0].map(load), ["1", "0.9844", "10"]);
    }
}

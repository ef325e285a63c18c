//! Time as an argument: points and lengths in whole picoseconds.
//!
//! A picosecond resolves one 64 B packet at 1 Tbps (512 ps), and a `u64` of them lasts 213 days.
//! Arithmetic saturates at both ends, so that a late or reordered reading of the clock gives an
//! empty span and never a huge one.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use core::str::FromStr;
use core::time::Duration;

const PS_PER_NS: u64 = 1_000;
const PS_PER_US: u64 = 1_000 * PS_PER_NS;
const PS_PER_MS: u64 = 1_000 * PS_PER_US;
const PS_PER_SEC: u64 = 1_000 * PS_PER_MS;

/// A point in time, counted in picoseconds from an origin that the caller chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The origin.
    pub const ZERO: Self = Self(0);

    /// The point `ps` picoseconds after the origin.
    #[must_use]
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// Picoseconds since the origin.
    #[must_use]
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// The length from `earlier` to `self`; empty if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

/// A length of time in picoseconds; converts from and to [`core::time::Duration`].
///
/// # Examples
///
/// ```
/// use nebula_nic::{Span, Timestamp};
///
/// let slo: Span = "1.25us".parse().unwrap();
/// assert_eq!(slo, Span::from_ns(1250));
/// assert_eq!(slo.to_string(), "1.250 µs");
/// assert_eq!(Timestamp::ZERO - Timestamp::from_ps(5), Span::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Span {
    /// The empty span.
    pub const ZERO: Self = Self(0);
    /// The longest span, some 213 days: "never".
    pub const MAX: Self = Self(u64::MAX);

    /// `ps` picoseconds.
    #[must_use]
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// `ns` nanoseconds, at most [`Span::MAX`].
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns.saturating_mul(PS_PER_NS))
    }

    /// `us` microseconds, at most [`Span::MAX`].
    #[must_use]
    pub const fn from_us(us: u64) -> Self {
        Self(us.saturating_mul(PS_PER_US))
    }

    /// `ms` milliseconds, at most [`Span::MAX`].
    #[must_use]
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms.saturating_mul(PS_PER_MS))
    }

    /// `secs` seconds, at most [`Span::MAX`].
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(PS_PER_SEC))
    }

    /// Picoseconds.
    #[must_use]
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds, rounded down.
    #[must_use]
    pub const fn as_ns(self) -> u64 {
        self.0 / PS_PER_NS
    }

    /// Nanoseconds with their fraction.
    #[must_use]
    pub fn as_ns_f64(self) -> f64 {
        self.0 as f64 / PS_PER_NS as f64
    }

    /// Seconds with their fraction.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_SEC as f64
    }

    /// `self - other`, empty if `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add<Span> for Timestamp {
    type Output = Self;
    #[inline]
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Timestamp {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Timestamp {
    type Output = Self;
    #[inline]
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Sub for Timestamp {
    type Output = Span;
    #[inline]
    fn sub(self, earlier: Self) -> Span {
        self.since(earlier)
    }
}

impl Add for Span {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}

impl SubAssign for Span {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl Div<u64> for Span {
    type Output = Self;
    /// # Panics
    ///
    /// If `parts` is 0.
    fn div(self, parts: u64) -> Self {
        Self(self.0 / parts)
    }
}

impl From<Duration> for Span {
    /// The same length, at most [`Span::MAX`], some 213 days, which every limit treats as "none".
    #[inline]
    fn from(duration: Duration) -> Self {
        u64::try_from(duration.as_nanos()).map_or(Self::MAX, Self::from_ns)
    }
}

impl From<Span> for Duration {
    /// The same length in whole nanoseconds, rounded down.
    #[inline]
    fn from(span: Span) -> Self {
        Self::from_nanos(span.as_ns())
    }
}

impl core::iter::Sum for Span {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Span(self.0), f)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit_ps, unit) = match self.0 {
            0..PS_PER_NS => return f.pad(&alloc::format!("{} ps", self.0)),
            PS_PER_NS..PS_PER_US => (PS_PER_NS, "ns"),
            PS_PER_US..PS_PER_MS => (PS_PER_US, "µs"),
            PS_PER_MS..PS_PER_SEC => (PS_PER_MS, "ms"),
            PS_PER_SEC.. => (PS_PER_SEC, "s"),
        };
        let thousandths = self.0 % unit_ps / (unit_ps / 1000);
        f.pad(&alloc::format!("{}.{thousandths:03} {unit}", self.0 / unit_ps))
    }
}

/// The text is not a length of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read \"{text}\" as a time: give a number and one of ps, ns, us, ms, s, such as 100us or 1.5ms")]
pub struct ParseSpanError {
    text: alloc::string::String,
}

impl FromStr for Span {
    type Err = ParseSpanError;

    /// Parses `100us`, `1.5ms`, `800ns`, `2s`, `10ps`; truncates digits below a picosecond.
    fn from_str(text: &str) -> Result<Self, ParseSpanError> {
        parse_ps(text.trim()).map(Self).ok_or_else(|| ParseSpanError { text: text.into() })
    }
}

fn parse_ps(text: &str) -> Option<u64> {
    let digits_end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(digits_end);
    let unit_ps = match unit.trim_start() {
        "ps" => 1,
        "ns" => PS_PER_NS,
        "us" | "µs" | "μs" => PS_PER_US,
        "ms" => PS_PER_MS,
        "s" => PS_PER_SEC,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() {
        return None;
    }
    let whole_ps = whole.parse::<u64>().ok()?.checked_mul(unit_ps)?;
    whole_ps.checked_add(fraction_ps(fraction, unit_ps)?)
}

fn fraction_ps(digits: &str, unit_ps: u64) -> Option<u64> {
    let mut ps = 0;
    let mut worth_ps = unit_ps;
    for digit in digits.chars() {
        worth_ps /= 10;
        ps += u64::from(digit.to_digit(10)?) * worth_ps;
    }
    Some(ps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn spans_read_back_what_people_write() {
        for (text, ps) in [
            ("100us", 100_000_000),
            ("1.5ms", 1_500_000_000),
            ("800ns", 800_000),
            ("2s", 2_000_000_000_000),
            ("10ps", 10),
        ] {
            assert_eq!(text.parse::<Span>().unwrap().as_ps(), ps, "{text}");
        }
        assert_eq!("0.512 ns".parse::<Span>().unwrap().as_ps(), 512);
    }

    #[test]
    fn nonsense_is_refused_in_one_line() {
        for text in ["", "10", "us", "1..5us", "-1us", ".us", "1.us", "1 hour", "99999999999999s", "1e3ns"] {
            let error = text.parse::<Span>().unwrap_err().to_string();
            assert!(error.contains("such as 100us") && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn display_picks_the_unit_that_reads_best() {
        let shown = [512, 630_000, 1_250_000, 2_000_000_000, 3_000_000_000_001].map(|ps| Span::from_ps(ps).to_string());
        assert_eq!(shown, ["512 ps", "630.000 ns", "1.250 µs", "2.000 ms", "3.000 s"]);
        assert_eq!(alloc::format!("{:>10}|", Span::from_ns(1)), "  1.000 ns|");
    }

    #[test]
    fn durations_become_spans_and_the_longest_stop_at_the_longest_span() {
        for duration in
            [Duration::ZERO, Duration::from_nanos(1), Duration::from_micros(100), Duration::from_secs(86_400)]
        {
            assert_eq!(Duration::from(Span::from(duration)), duration);
        }
        assert_eq!(Span::from(Duration::from_micros(100)), Span::from_us(100));
        let longest_ns = u64::MAX / PS_PER_NS;
        assert_eq!(Span::from(Duration::from_nanos(longest_ns)).as_ps(), longest_ns * PS_PER_NS);
        assert_eq!(Span::from(Duration::from_nanos(longest_ns + 1)), Span::MAX);
        assert_eq!(Span::from(Duration::MAX), Span::MAX);
        assert_eq!(Duration::from(Span::from_ps(1_999)), Duration::from_nanos(1), "rounded down");
    }

    #[test]
    fn differences_saturate() {
        assert_eq!(Timestamp::from_ps(3) - Timestamp::from_ps(5), Span::ZERO);
        assert_eq!(Timestamp::from_ps(u64::MAX) + Span::from_ps(1), Timestamp::from_ps(u64::MAX));
        assert_eq!(Span::from_ps(1) - Span::from_ps(2), Span::ZERO);
        assert_eq!(Span::from_secs(u64::MAX), Span::MAX);
    }
}

//! Parsers for the parts of spellings: times, numbers and `key=value` fields.

use std::fmt;

use nebula_nic::Span;

use crate::error::WorkloadError;

/// A text with its kind and the expected syntax, for errors.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Spelled<'a> {
    /// The name of the value, such as `service time`.
    pub(crate) what: &'static str,
    pub(crate) text: &'a str,
    /// Correct spellings.
    pub(crate) expected: &'static str,
}

impl Spelled<'_> {
    pub(crate) fn wrong(&self) -> WorkloadError {
        WorkloadError::spelling(self.what, self.text, self.expected)
    }

    pub(crate) fn time(&self, text: &str) -> Result<Span, WorkloadError> {
        text.parse().map_err(|_| self.wrong())
    }

    pub(crate) fn time_above_0(&self, text: &str) -> Result<Span, WorkloadError> {
        self.time(text).and_then(|span| if span == Span::ZERO { Err(self.wrong()) } else { Ok(span) })
    }

    pub(crate) fn number(&self, text: &str) -> Result<f64, WorkloadError> {
        text.trim().parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(|| self.wrong())
    }

    pub(crate) fn pair<'t>(&self, text: &'t str, separator: char) -> Result<(&'t str, &'t str), WorkloadError> {
        let (left, right) = text.split_once(separator).ok_or_else(|| self.wrong())?;
        Ok((left.trim(), right.trim()))
    }

    /// Parses `key=value,…` in any order; each of `keys` at most once, and no other.
    pub(crate) fn fields<'t, const N: usize>(
        &self,
        text: &'t str,
        keys: [&str; N],
    ) -> Result<[Option<&'t str>; N], WorkloadError> {
        let mut values = [None; N];
        for field in text.split(',') {
            let (key, value) = self.pair(field, '=')?;
            let place = keys.iter().position(|&known| known == key).ok_or_else(|| self.wrong())?;
            if values[place].replace(value).is_some() {
                return Err(self.wrong());
            }
        }
        Ok(values)
    }
}

/// Shows a time as on a command line: `1.5us`, exactly, in the largest unit that fits.
pub(crate) struct Time(pub(crate) Span);

/// Picoseconds of each unit as a power of ten, largest first.
const UNITS: [(u32, &str); 5] = [(12, "s"), (9, "ms"), (6, "us"), (3, "ns"), (0, "ps")];

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ps = self.0.as_ps();
        let fitting = UNITS.into_iter().find(|&(power, _)| ps >= 10u64.pow(power));
        let (power, unit) = fitting.unwrap_or((3, "ns"));
        let (whole, fraction) = (ps / 10u64.pow(power), ps % 10u64.pow(power));
        if fraction == 0 {
            return write!(f, "{whole}{unit}");
        }
        let digits = format!("{fraction:0places$}", places = power as usize);
        write!(f, "{whole}.{}{unit}", digits.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_back_what_they_show() {
        for (ps, shown) in [
            (0, "0ns"),
            (7, "7ps"),
            (181_500, "181.5ns"),
            (5_500_000, "5.5us"),
            (1_000_000_001, "1.000000001ms"),
            (u64::MAX, "18446744.073709551615s"),
        ] {
            assert_eq!(Time(Span::from_ps(ps)).to_string(), shown);
            assert_eq!(shown.parse(), Ok(Span::from_ps(ps)));
        }
    }
}

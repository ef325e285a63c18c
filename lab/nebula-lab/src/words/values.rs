//! Shares, loads and the SLO.

use std::str::FromStr;

use nebula_nic::Span;
use nebula_sim::Load;

/// A share such as `1%` or `0.005`.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let (digits, unit) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits.trim_end(), 100.0));
    digits
        .parse()
        .map(|number: f64| number / unit)
        .map_err(|_| format!("expected a share such as 1% or 0.005, not {text:?}"))
}

/// Loads to simulate: `0.5,0.9` or `0.5..0.99:20`.
#[derive(Clone, Debug, PartialEq)]
pub struct Loads(pub Vec<f64>);

impl Loads {
    /// The most loads of one command, so that a typing error is reported.
    const COUNT_MAX: usize = 10_000;

    fn list(text: &str) -> Option<Vec<f64>> {
        text.split(',').map(|load| load.trim().parse().ok()).collect()
    }

    fn range(text: &str) -> Option<Vec<f64>> {
        steps(text, Self::COUNT_MAX)?.iter().map(|load| load.parse().ok()).collect()
    }
}

/// Equal steps, at most `most`, with the unit of the end: `0.5..0.9:5`, `5..25MRPS:9`.
pub(crate) fn steps(text: &str, most: usize) -> Option<Vec<String>> {
    let (first, rest) = text.split_once("..")?;
    let (last, count) = rest.split_once(':')?;
    let digits = last.rfind(|char: char| char.is_ascii_digit()).map(|at| at + 1)?;
    let (last, unit) = last.split_at(digits);
    let (first, last): (f64, f64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    let count: usize = count.trim().parse().ok().filter(|count| (2..=most).contains(count))?;
    // Hides digits of binary fractions.
    let at = |step: usize| ((first + (last - first) * step as f64 / (count - 1) as f64) * 1e9).round() / 1e9;
    Some((0..count).map(|step| format!("{}{unit}", at(step))).collect())
}

impl FromStr for Loads {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let loads = Self::range(text).or_else(|| Self::list(text)).filter(|loads| loads.len() <= Self::COUNT_MAX);
        loads.map(Self).ok_or_else(|| format!("expected loads such as 0.5,0.9 or 0.5..0.99:20, not {text:?}"))
    }
}

/// The bound on the p99 latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Slo {
    /// A multiple of the mean service time.
    Times(f64),
    /// A latency.
    Within(Span),
}

impl Slo {
    /// The bound in time for the service times of `load`.
    #[must_use]
    pub fn of(self, load: &Load) -> Span {
        match self {
            Self::Times(times) => load.slo(times),
            Self::Within(span) => span,
        }
    }
}

impl FromStr for Slo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = match text.strip_suffix('x') {
            Some(times) => times.parse().ok().filter(|times| (1e-3..=1e6).contains(times)).map(Self::Times),
            None => text.parse().ok().filter(|&span| span > Span::ZERO).map(Self::Within),
        };
        read.ok_or_else(|| format!("expected a bound such as 10us, or 10x for ten mean service times, not {text:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_a_list_or_equal_steps() {
        let read = |text: &str| text.parse::<Loads>().map(|loads| loads.0);
        assert_eq!(read("0.5,0.9"), Ok(vec![0.5, 0.9]));
        assert_eq!(read("0.5..0.9:5"), Ok(vec![0.5, 0.6, 0.7, 0.8, 0.9]));
        for wrong in ["", "half", "0.5..0.9", "0.5..0.9:1", "0.5..0.9:20000", "0.5,", "a..b:3"] {
            assert!(read(wrong).is_err_and(|error| error.contains("0.5..0.99:20")), "{wrong}");
        }
    }

    #[test]
    fn steps_have_the_unit_of_their_end() {
        let of = |text: &str| steps(text, 10).map(|all| all.join(" "));
        assert_eq!(of("5..25MRPS:3").as_deref(), Some("5MRPS 15MRPS 25MRPS"));
        assert_eq!(of("0.1..0.3:3").as_deref(), Some("0.1 0.2 0.3"));
        assert!(["", "1..2", "1..2:1", "1..2:11", "a..b:3", "exp:1us"].iter().all(|text| of(text).is_none()));
    }

    #[test]
    fn an_slo_is_a_time_or_a_multiple_of_the_mean() {
        assert_eq!("10x".parse(), Ok(Slo::Times(10.0)));
        assert_eq!("50us".parse(), Ok(Slo::Within(Span::from_us(50))));
        assert!(["", "x", "10", "0us", "-1x", "0x", "infx"].iter().all(|text| text.parse::<Slo>().is_err()));
    }

    #[test]
    fn shares_read_with_and_without_percent() {
        assert_eq!([share("1%"), share("0.5 %"), share("0.02")], [Ok(0.01), Ok(0.005), Ok(0.02)]);
        assert!(share("one").is_err());
    }
}

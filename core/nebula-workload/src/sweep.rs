//! The rates of a sweep: `200k,500k,1M` or `200k..2M:10`.

use std::str::FromStr;

use crate::error::WorkloadError;
use crate::rate::Rate;

/// The rates to offer one after the other, in the order written: `a,b,c` lists them; `a..b:n` means
/// `n` rates from `a` to `b`, inclusive, at equal steps.
///
/// # Examples
///
/// ```
/// use nebula_workload::Sweep;
///
/// let sweep: Sweep = "100k..300k:3".parse()?;
/// let rates: Vec<String> = sweep.rates().iter().map(|rate| rate.to_string()).collect();
/// assert_eq!(rates, ["100k", "200k", "300k"]);
/// # Ok::<(), nebula_workload::WorkloadError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep(Vec<Rate>);

impl Sweep {
    /// The most rates in a sweep: a typing error such as `1..2M:1000000` is refused.
    pub const RATES_MAX: usize = 10_000;

    /// `count` rates from `first` to `last`, inclusive, at equal steps. A `count` of 1 gives only
    /// `first`; a count beyond [`RATES_MAX`](Self::RATES_MAX) is reduced to it.
    #[must_use]
    pub fn linear(first: Rate, last: Rate, count: usize) -> Self {
        let count = count.clamp(1, Self::RATES_MAX);
        let at = |step: usize| {
            let share = if step == 0 { 0.0 } else { step as f64 / (count - 1) as f64 };
            // Weighted so that both ends are exact.
            Rate::try_new(first.as_rps() * (1.0 - share) + last.as_rps() * share).unwrap_or(last)
        };
        Self((0..count).map(at).collect())
    }

    /// The rates in order; never empty.
    #[must_use]
    pub fn rates(&self) -> &[Rate] {
        &self.0
    }
}

const EXPECTED: &str = "rates such as 200k,500k,1M or 200k..2M:10";

impl FromStr for Sweep {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_range(text).or_else(|| parse_list(text)).ok_or_else(|| WorkloadError::spelling("sweep", text, EXPECTED))
    }
}

fn parse_range(text: &str) -> Option<Sweep> {
    let (first, rest) = text.split_once("..")?;
    let (last, count) = rest.split_once(':')?;
    let count: usize = count.trim().parse().ok()?;
    let is_allowed = (2..=Sweep::RATES_MAX).contains(&count);
    is_allowed.then_some(Sweep::linear(first.parse().ok()?, last.parse().ok()?, count))
}

fn parse_list(text: &str) -> Option<Sweep> {
    let rates: Vec<Rate> = text.split(',').map(|rate| rate.parse().ok()).collect::<Option<_>>()?;
    (rates.len() <= Sweep::RATES_MAX).then_some(Sweep(rates))
}

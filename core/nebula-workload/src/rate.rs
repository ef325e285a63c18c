//! RPCs per second: `200k`, `1.5M`, `22MRPS`.

use std::fmt;
use std::str::FromStr;

use crate::error::WorkloadError;

/// A rate in RPC/s, between [`Rate::MIN`] and [`Rate::MAX`].
///
/// # Examples
///
/// ```
/// use nebula_workload::Rate;
///
/// let rate: Rate = "1.5MRPS".parse()?;
/// assert_eq!(rate.as_rps(), 1_500_000.0);
/// assert_eq!(rate.to_string(), "1.5M");
/// assert_eq!("200k".parse::<Rate>()?, Rate::try_new(200_000.0)?);
/// # Ok::<(), nebula_workload::WorkloadError>(())
/// ```
#[derive(Copy, Clone, Debug, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    /// One RPC in a thousand seconds: gaps stay far below the limit of 64-bit picoseconds.
    pub const MIN: Self = Self(1e-3);
    /// One RPC per picosecond: the resolution of time.
    pub const MAX: Self = Self(1e12);

    /// Creates a rate of `rps` RPC/s.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::OutOfRange`] outside [`MIN`](Self::MIN)..=[`MAX`](Self::MAX), and for NaN.
    pub fn try_new(rps: f64) -> Result<Self, WorkloadError> {
        let allowed = Self::MIN.0..=Self::MAX.0;
        allowed.contains(&rps).then_some(Self(rps)).ok_or(WorkloadError::OutOfRange {
            what: "rate in RPC/s",
            got: rps,
            expected: "use 0.001 to 1e12",
        })
    }

    /// The rate in RPC/s.
    #[must_use]
    pub const fn as_rps(self) -> f64 {
        self.0
    }

    /// This rate times `factor`, kept between [`MIN`](Self::MIN) and [`MAX`](Self::MAX);
    /// [`MIN`](Self::MIN) for NaN.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        let rps = self.0 * factor;
        if rps > Self::MIN.0 { Self(rps.min(Self::MAX.0)) } else { Self::MIN }
    }
}

/// 100 k RPC/s: a rate that any machine sustains.
impl Default for Rate {
    fn default() -> Self {
        Self(1e5)
    }
}

const EXPECTED: &str = "RPC/s such as 200k, 1.5M or 22MRPS";

impl FromStr for Rate {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || WorkloadError::spelling("rate", text, EXPECTED);
        let lower = text.trim().to_ascii_lowercase();
        let (digits, unit) = split_unit(lower.strip_suffix("rps").unwrap_or(&lower));
        let number: f64 = digits.trim_end().parse().map_err(|_| wrong())?;
        Self::try_new(number * unit).map_err(|_| wrong())
    }
}

fn split_unit(text: &str) -> (&str, f64) {
    [("k", 1e3), ("m", 1e6), ("g", 1e9)]
        .iter()
        .find_map(|&(suffix, unit)| Some((text.strip_suffix(suffix)?, unit)))
        .unwrap_or((text, 1.0))
}

/// The largest unit that leaves a number of at least 1; a precision (`{:.2}`) rounds.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, suffix) = match self.0 {
            rps if rps >= 1e9 => (1e9, "G"),
            rps if rps >= 1e6 => (1e6, "M"),
            rps if rps >= 1e3 => (1e3, "k"),
            _ => (1.0, ""),
        };
        match f.precision() {
            Some(digits) => write!(f, "{:.digits$}{suffix}", self.0 / unit),
            None => write!(f, "{}{suffix}", self.0 / unit),
        }
    }
}

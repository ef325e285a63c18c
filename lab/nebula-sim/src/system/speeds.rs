//! Cores that differ in speed.

use crate::error::SimError;
use std::fmt;
use std::str::FromStr;

/// The speeds of the cores of a server that serve RPCs, in the order of their numbers: `1,1,0.5`,
/// or `4x1,12x0.5`.
///
/// A core of speed 0.5 takes twice the service time; mechanisms cost the same on every core. If a
/// policy takes the lowest of several idle cores, the order decides which those are.
///
/// # Examples
///
/// ```
/// use nebula_sim::{Speeds, System};
///
/// let speeds: Speeds = "4x1,12x0.5".parse()?;
/// let system = System::new("jbsq:2".parse().expect("a policy"), 16).speeds(speeds);
/// assert_eq!(system.capacity(), 10.0);
/// # Ok::<(), nebula_sim::SimError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Speeds(Vec<f64>);

/// Slowest and fastest: further apart, a load in shares of the capacity says little.
const RANGE: std::ops::RangeInclusive<f64> = 0.001..=1000.0;

impl Speeds {
    /// The number of cores.
    #[must_use]
    pub fn cores(&self) -> usize {
        self.0.len()
    }

    /// The speed of all cores together.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.0.iter().sum()
    }

    /// The speed of each core.
    #[must_use]
    pub fn of_cores(&self) -> &[f64] {
        &self.0
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; `as` saturates")]
    #[inline]
    pub(crate) fn time_ps(&self, core: usize, service_ps: u64) -> u64 {
        libm::round(service_ps as f64 / self.0[core]) as u64
    }

    fn part(text: &str) -> Option<impl Iterator<Item = f64>> {
        let (count, speed) = text.split_once('x').unwrap_or(("1", text));
        let count: u16 = count.trim().parse().ok().filter(|&count| count > 0)?;
        let speed: f64 = speed.trim().parse().ok().filter(|speed| RANGE.contains(speed))?;
        Some(std::iter::repeat_n(speed, count.into()))
    }
}

impl FromStr for Speeds {
    type Err = SimError;

    fn from_str(text: &str) -> Result<Self, SimError> {
        let parts: Option<Vec<_>> = text.split(',').map(Self::part).collect();
        let parts = parts.ok_or_else(|| SimError::SpeedsText { text: text.to_owned() })?;
        Ok(Self(parts.into_iter().flatten().collect()))
    }
}

/// Shows equal neighbors together: `4x1,12x0.5`.
impl fmt::Display for Speeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, equal) in self.0.chunk_by(|one, next| one == next).enumerate() {
            let comma = if index > 0 { "," } else { "" };
            match equal.len() {
                1 => write!(f, "{comma}{}", equal[0])?,
                count => write!(f, "{comma}{count}x{}", equal[0])?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_read_one_by_one_or_counted() {
        assert_eq!("1,1,0.5".parse::<Speeds>().unwrap(), "2x1,0.5".parse().unwrap());
        assert_eq!("1, 1,2x0.5 ".parse::<Speeds>().unwrap().to_string(), "2x1,2x0.5");
        for wrong in ["", "fast", "0", "-1", "0x1", "2x", "1,,1", "NaN", "1e9"] {
            assert!(wrong.parse::<Speeds>().is_err(), "{wrong}");
        }
    }
}

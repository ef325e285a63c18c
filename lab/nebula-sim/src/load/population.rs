//! The flow and the key of an RPC, where many RPCs share either.

use crate::bounds::POPULATION_MAX;
use crate::error::SimError;
use nebula_workload::Keys;
use std::fmt;
use std::str::FromStr;

/// A number of flows or keys, and how the RPCs are spread over them: `N` or `zipf:THETA` or
/// `zipf:THETA,N`.
///
/// # Examples
///
/// ```
/// use nebula_sim::Population;
///
/// let keys: Population = "zipf:1,3".parse()?;
/// let percent: Vec<_> = keys.shares().map(|share| (share * 100.0).round()).collect();
/// assert_eq!(percent, [55.0, 27.0, 18.0]);
/// assert_eq!("zipf:0.99".parse::<Population>()?.to_string(), "zipf:0.99,1000000");
/// # Ok::<(), nebula_sim::SimError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Population {
    /// How many there are, from 1 to [`POPULATION_MAX`].
    pub count: u32,
    /// How popular each is.
    pub popularity: Keys,
}

/// Flows or keys under `zipf:THETA` without a number.
const COUNT: u32 = 1_000_000;

impl Population {
    /// `count` of them, all equally popular.
    #[must_use]
    pub const fn uniform(count: u32) -> Self {
        Self { count, popularity: Keys::Uniform }
    }

    /// The share of the RPCs that each has, the most popular one first. Takes two powers for each.
    pub fn shares(&self) -> impl Iterator<Item = f64> + use<> {
        let theta = if let Keys::Zipf { theta } = self.popularity { theta } else { 0.0 };
        let weight = move |rank: u32| if theta == 0.0 { 1.0 } else { libm::pow(rank.into(), -theta) };
        let ranks = 1..=self.count;
        let all: f64 = ranks.clone().map(weight).sum();
        ranks.map(move |rank| weight(rank) / all)
    }

    pub(super) fn validate(&self) -> Result<(), SimError> {
        if !(1..=POPULATION_MAX).contains(&self.count) {
            return Err(SimError::Population { got: self.count });
        }
        self.popularity.over(self.count.into())?;
        Ok(())
    }
}

impl FromStr for Population {
    type Err = SimError;

    fn from_str(text: &str) -> Result<Self, SimError> {
        let wrong = || SimError::PopulationText { text: text.to_owned() };
        let (popularity, count) = match text.strip_prefix("zipf:") {
            Some(zipf) => match zipf.split_once(',') {
                Some((theta, count)) => (format!("zipf:{theta}").parse()?, count.parse().map_err(|_| wrong())?),
                None => (text.parse()?, COUNT),
            },
            None => (Keys::Uniform, text.parse().map_err(|_| wrong())?),
        };
        let population = Self { count, popularity };
        population.validate()?;
        Ok(population)
    }
}

impl fmt::Display for Population {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.popularity {
            Keys::Zipf { theta } => write!(f, "zipf:{theta},{}", self.count),
            _ => write!(f, "{}", self.count),
        }
    }
}

/// Which flow an RPC belongs to; `rss` and `static` choose its core by the flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Flows {
    /// Each RPC is a separate flow, so that RSS spreads them by chance.
    #[default]
    EachRpc,
    /// Each client of a closed loop is a flow.
    Clients,
    /// The RPCs are spread over so many flows.
    Among(Population),
}

impl FromStr for Flows {
    type Err = SimError;

    fn from_str(text: &str) -> Result<Self, SimError> {
        if text == "clients" { Ok(Self::Clients) } else { text.parse().map(Self::Among) }
    }
}

impl fmt::Display for Flows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EachRpc => f.write_str("each-rpc"),
            Self::Clients => f.write_str("clients"),
            Self::Among(population) => population.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_the_same() {
        for text in ["1", "64", "zipf:0.99,1000000", "zipf:1.2,50", "clients"] {
            assert_eq!(text.parse::<Flows>().unwrap().to_string(), text);
        }
        for wrong in ["", "0", "-1", "many", "zipf:", "zipf:0", "zipf:1,0", "zipf:99,5", "zipf:1,2,3", "20000000"] {
            assert!(wrong.parse::<Flows>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn shares_add_up() {
        for population in ["1", "7", "zipf:0.5,1000", "zipf:1.3,10"] {
            let shares: Vec<f64> = population.parse::<Population>().unwrap().shares().collect();
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9 && shares.is_sorted_by(|one, next| one >= next));
        }
    }
}

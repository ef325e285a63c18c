//! Trained thresholds of `altocumulus:G` as a file: the load that they were trained for, and one
//! row a load. The laboratory trains them; its simulator and a server read them.

use std::fmt::Write as _;
use std::path::Path;

use nebula_nic::Span;
use nebula_nic::schedule::{ThresholdRow, Thresholds, ThresholdsError};
use serde::{Deserialize, Deserializer};

use crate::arrivals::Arrivals;
use crate::from_toml::{spelled, toml_reason};
use crate::rng::Seed;
use crate::service::ServiceTime;

/// The tables that ship, by name.
const SHIPPED: &[(&str, &str)] = &[
    ("exponential-15", include_str!("../data/thresholds/exponential-15.toml")),
    ("bimodal-15", include_str!("../data/thresholds/bimodal-15.toml")),
    ("fixed-15", include_str!("../data/thresholds/fixed-15.toml")),
];

/// A trained table and the load that it was trained for.
///
/// # Examples
///
/// ```
/// use nebula_workload::thresholds::ThresholdFile;
///
/// let file = ThresholdFile::named("exponential-15").expect("it ships with Nebula");
/// assert_eq!((file.workers, file.bound), (15, 2));
/// assert!(file.thresholds()?.at(900) < 151);
/// # Ok::<(), nebula_nic::schedule::ThresholdsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThresholdFile {
    /// Cores of a group that serve RPCs.
    pub workers: u16,
    /// Most RPCs dispatched to a worker.
    pub bound: u32,
    /// Service times.
    #[serde(deserialize_with = "spelled")]
    pub service: ServiceTime,
    /// When RPCs arrive at the group.
    #[serde(default = "poisson", deserialize_with = "spelled")]
    pub arrivals: Arrivals,
    /// The latency above which an RPC is late.
    #[serde(deserialize_with = "spelled")]
    pub slo: Span,
    /// RPCs of each replication.
    pub rpcs: u64,
    /// Replications of each load.
    pub replications: u32,
    /// Seed of all random draws.
    #[serde(deserialize_with = "seed")]
    pub seed: Seed,
    /// Load in thousandths of the workers' capacity, and how many may wait.
    #[serde(deserialize_with = "rows")]
    pub rows: Vec<ThresholdRow>,
}

const fn poisson() -> Arrivals {
    Arrivals::Poisson
}

fn seed<'de, D: Deserializer<'de>>(number: D) -> Result<Seed, D::Error> {
    u64::deserialize(number).map(Seed)
}

fn rows<'de, D: Deserializer<'de>>(pairs: D) -> Result<Vec<ThresholdRow>, D::Error> {
    let pairs = Vec::<(u32, u32)>::deserialize(pairs)?;
    Ok(pairs.into_iter().map(|(load_permille, waiting)| ThresholdRow { load_permille, waiting }).collect())
}

impl ThresholdFile {
    /// The names of the tables that ship.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|&(name, _)| name)
    }

    /// The table of this name; `None` if none ships.
    ///
    /// # Panics
    ///
    /// If the shipped file is invalid; a test reads each.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let (_, text) = SHIPPED.iter().find(|&&(shipped, _)| shipped == name)?;
        Some(Self::parse(text).unwrap_or_else(|error| panic!("data/thresholds/{name}.toml: {error}")))
    }

    /// The table of the flag `--thresholds`: the name of a shipped one, or a file.
    ///
    /// # Errors
    ///
    /// It is neither, or the file is no table; one line.
    pub fn find(text: &str) -> Result<Self, String> {
        if let Some(shipped) = Self::named(text) {
            return Ok(shipped);
        }
        let path = Path::new(text);
        if !path.is_file() {
            let shipped: Vec<&str> = Self::names().collect();
            return Err(format!(
                "--thresholds: {text:?} is neither a file nor a name that ships with Nebula: write one with nebula thresholds --write, or give one of {}",
                shipped.join(", ")
            ));
        }
        let read = nebula_files::text(path);
        let read = read.map_err(|error| format!("--thresholds: cannot read {}: {error}", path.display()))?;
        Self::parse(&read).map_err(|reason| format!("{}: this is not a table of thresholds: {reason}", path.display()))
    }

    /// Reads a table from TOML.
    ///
    /// # Errors
    ///
    /// The line and the reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| toml_reason(text, &error))
    }

    /// The thresholds for a manager, by load.
    ///
    /// # Errors
    ///
    /// [`ThresholdsError`] if the rows are not a valid table.
    pub fn thresholds(&self) -> Result<Thresholds, ThresholdsError> {
        Thresholds::try_from_rows(self.rows.clone())
    }

    /// The table as TOML, which [`parse`](Self::parse) reads.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let Self { workers, bound, service, arrivals, slo, rpcs, replications, seed, .. } = self;
        let slo_ns = slo.as_ns();
        let arrivals = match arrivals {
            Arrivals::Poisson => String::new(),
            arrivals => format!("arrivals = \"{arrivals}\"\n"),
        };
        let mut text = format!(
            "workers = {workers}\nbound = {bound}\nservice = \"{service}\"\n{arrivals}slo = \"{slo_ns}ns\"\n\
             rpcs = {rpcs}\nreplications = {replications}\nseed = {}\n\n\
             # Load in thousandths of the workers' capacity, and how many may wait.\nrows = [\n",
            seed.0
        );
        for ThresholdRow { load_permille, waiting } in &self.rows {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  [{load_permille}, {waiting}],");
        }
        text.push_str("]\n");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_table_that_ships_is_read_and_written_as_it_was() {
        for name in ThresholdFile::names() {
            let file = ThresholdFile::named(name).unwrap();
            assert!(file.thresholds().is_ok(), "{name}");
            assert_eq!(ThresholdFile::parse(&file.to_toml()), Ok(file), "{name}");
        }
        assert_eq!(ThresholdFile::named("pareto-15"), None);
    }

    #[test]
    fn a_file_with_another_setting_is_none() {
        let text = ThresholdFile::named("fixed-15").unwrap().to_toml();
        let error = ThresholdFile::parse(&format!("cores = 1\n{text}")).unwrap_err();
        assert!(error.starts_with("line 1: unknown field `cores`"), "{error}");
    }
}

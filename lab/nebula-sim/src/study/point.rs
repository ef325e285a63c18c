//! One operating point of the queueing level.

use super::detail::Detail;
use super::found::{AtSlo, AtTier, Figures, Found};
use super::over_time::OverTime;
use crate::error::SimError;
use crate::experiment::{Effort, estimate};
use crate::load::{Load, Source};
use crate::search::{HighestLoad, highest_load};
use crate::system::System;
use nebula_nic::Span;
use nebula_workload::Seed;

/// A system, a load, and what to find out.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Name in a table of several points: its policy, or its system.
    pub name: String,
    /// The servers.
    pub system: System,
    /// The load; in a search, everything except its height.
    pub load: Load,
    /// The bound on the p99.
    pub slo: Span,
    /// What to find out.
    pub ask: Ask,
    /// How much to simulate; the seed of a run replaces its seed.
    pub effort: Effort,
}

/// What to find out about a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Its results at the given load.
    Measure,
    /// The highest load that meets the SLO, and its results there.
    FindLoad,
}

impl Point {
    /// Runs the point with `seed`. The same arguments give the same result on every machine and any
    /// number of threads.
    ///
    /// # Errors
    ///
    /// [`SimError`] if the point cannot be simulated, or a queue grows without limit. That no load
    /// meets the SLO is a result, not an error.
    ///
    /// # Cost
    ///
    /// That of [`estimate`](crate::estimate); a search costs about ten times as much.
    pub fn run(&self, seed: Seed) -> Result<Found, SimError> {
        self.run_with(seed, &|| ())
    }

    /// [`run`](Self::run) that calls `progress` after each replication.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    pub fn run_with(&self, seed: Seed, progress: &(dyn Fn() + Sync)) -> Result<Found, SimError> {
        let seeded = Self { effort: self.effort.seed(seed), ..self.clone() };
        match self.ask {
            Ask::Measure => seeded.show(progress),
            Ask::FindLoad => seeded.search(progress),
        }
    }

    /// The share of capacity that an open loop offers; `None` for a closed loop.
    #[must_use]
    pub const fn offered(&self) -> Option<f64> {
        match self.load.source {
            Source::Open { utilization, .. } => Some(utilization),
            Source::Closed { .. } => None,
        }
    }

    fn show(&self, progress: &(dyn Fn() + Sync)) -> Result<Found, SimError> {
        let shown = estimate(&self.system, &self.load, &self.effort, progress)?;
        let over_time = self.load.over_time.as_ref().zip(shown.tally.over_time.as_ref());
        let over_time = over_time.map(|(profile, tally)| OverTime::of(profile, tally, shown.by_run(), self.slo));
        let tiers = AtTier::all(self, &shown);
        let figures = Some(Figures::of(self, &shown)?);
        Ok(Found { point: self.clone(), at_slo: None, figures, over_time, tiers, detail: Detail::of(&shown) })
    }

    /// Searches; the results are those at the load that was found.
    fn search(&self, progress: &(dyn Fn() + Sync)) -> Result<Found, SimError> {
        let bracket = self.system.bracket(&self.load.service);
        let found = match highest_load(&self.system, &self.load, self.slo, bracket, &self.effort, progress) {
            Err(SimError::Slo { .. }) => {
                return Ok(Found {
                    point: self.clone(),
                    at_slo: None,
                    figures: None,
                    over_time: None,
                    tiers: Vec::new(),
                    detail: Detail::default(),
                });
            }
            found => found?,
        };
        let HighestLoad { load, end, at } = found;
        let there = Self { load: self.load.clone().at(load.value), ..self.clone() };
        let figures = Figures::of(&there, &at)?;
        let at_slo = Some(AtSlo { load, served_rps: at.served_rps(), end });
        let tiers = AtTier::all(&there, &at);
        let detail = Detail::of(&at);
        Ok(Found { point: there, at_slo, figures: Some(figures), over_time: None, tiers, detail })
    }
}

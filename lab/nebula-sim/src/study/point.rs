//! One operating point of the queueing level.

use super::detail::Detail;
use super::found::{AtSlo, AtTier, Figures, Found};
use super::over_time::OverTime;
use crate::error::SimError;
use crate::experiment::{Effort, estimate};
use crate::load::{Load, Source};
use crate::search::{Highest, highest_load};
use crate::system::System;
use nebula_nic::Span;
use nebula_workload::Seed;

/// A system, a load, and the question.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Name in a table of several points: its policy, or its system.
    pub name: String,
    /// The servers.
    pub system: System,
    /// The load; a search replaces its height.
    pub load: Load,
    /// The bound on the p99.
    pub slo: Span,
    /// What to find out.
    pub ask: Ask,
    /// The effort; a run replaces its seed.
    pub effort: Effort,
}

/// The question about a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Its results at the given load.
    Measure,
    /// The highest load that meets the SLO, and its results there.
    FindLoad,
}

impl Point {
    /// Runs the point with `seed`. Neither the machine nor the number of threads changes the
    /// result.
    ///
    /// # Errors
    ///
    /// [`SimError`] for an impossible point or an unlimited queue; not if no load meets the SLO.
    ///
    /// # Cost
    ///
    /// That of [`estimate`](crate::estimate); about ten times as much for a search.
    pub fn run(&self, seed: Seed) -> Result<Found, SimError> {
        self.run_with(seed, &|| ())
    }

    /// [`run`](Self::run) that calls `progress` after each replication.
    pub fn run_with(&self, seed: Seed, progress: &(dyn Fn() + Sync)) -> Result<Found, SimError> {
        let seeded = Self { effort: self.effort.seed(seed), ..self.clone() };
        match self.ask {
            Ask::Measure => seeded.show(progress),
            Ask::FindLoad => seeded.search(progress),
        }
    }

    /// The share of capacity offered; `None` for a closed loop.
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
        let Highest { load, end, at } = found;
        let there = Self { load: self.load.clone().at(load.value), ..self.clone() };
        let figures = Figures::of(&there, &at)?;
        let at_slo = Some(AtSlo { load, served_rps: at.served_rps(), end });
        let tiers = AtTier::all(&there, &at);
        let detail = Detail::of(&at);
        Ok(Found { point: there, at_slo, figures: Some(figures), over_time: None, tiers, detail })
    }
}

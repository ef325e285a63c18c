//! One operating point of the queueing level.

use super::found::{AtSlo, Figures, Found};
use crate::error::SimError;
use crate::experiment::{Effort, estimate};
use crate::load::{Load, Source};
use crate::search::LoadAtSlo;
use crate::sizing::load_at_slo_to_precision;
use crate::system::System;
use nebula_nic::Span;
use nebula_workload::Seed;

/// What is simulated, under which load, and what is asked of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// What it is called beside others: its policy, or its system.
    pub name: String,
    /// The servers.
    pub system: System,
    /// What is asked of them; where a load is searched for, the shape of it.
    pub load: Load,
    /// The bound that 99 of 100 RPCs are to keep.
    pub slo: Span,
    /// What is asked of the point.
    pub ask: Ask,
    /// How much is simulated; its seed gives way to that of a run.
    pub effort: Effort,
}

/// What is asked of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// What it shows.
    Measure,
    /// The highest load that keeps the SLO, and what it shows there.
    FindLoad,
}

impl Point {
    /// What the point shows under `seed`: the same arguments give the same result on every machine and any number of threads.
    ///
    /// # Errors
    ///
    /// [`SimError`] for what cannot be simulated, and where a queue grows without end. That no load keeps the SLO is a result.
    ///
    /// # Cost
    ///
    /// That of [`estimate`](crate::estimate); of a search about eleven times as much.
    pub fn run(&self, seed: Seed) -> Result<Found, SimError> {
        self.run_with(seed, &|| ())
    }

    /// [`run`](Self::run), with `progress` told of each replication that has ended.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_with(&self, seed: Seed, progress: &(dyn Fn() + Sync)) -> Result<Found, SimError> {
        let seeded = Self { effort: self.effort.seed(seed), ..self.clone() };
        match self.ask {
            Ask::Measure => seeded.show(progress),
            Ask::FindLoad => seeded.search(progress),
        }
    }

    /// The share of capacity that an open loop offers; a closed loop offers what it achieves.
    #[must_use]
    pub const fn offered(&self) -> Option<f64> {
        match self.load.source {
            Source::Open { utilization, .. } => Some(utilization),
            Source::Closed { .. } => None,
        }
    }

    fn show(&self, progress: &(dyn Fn() + Sync)) -> Result<Found, SimError> {
        let shown = estimate(&self.system, &self.load, &self.effort, progress)?;
        Ok(Found { point: self.clone(), at_slo: None, figures: Some(Figures::of(self, &shown)?) })
    }

    /// Searches first, and then looks at what the load found shows.
    fn search(&self, progress: &(dyn Fn() + Sync)) -> Result<Found, SimError> {
        let at_slo = match load_at_slo_to_precision(&self.system, &self.load, self.slo, &self.effort, progress) {
            Err(SimError::Slo { .. }) => None,
            found => Some(found?),
        };
        let Some(LoadAtSlo { load, served_rps, .. }) = at_slo else {
            return Ok(Found { point: self.clone(), at_slo: None, figures: None });
        };
        let there = Self { load: self.load.clone().at(load.value), ..self.clone() };
        let mut found = there.show(progress)?;
        let bracket = self.system.bracket(&self.load.service);
        let is_lower_bound = load.value >= bracket.highest - bracket.width;
        found.at_slo = Some(AtSlo { load, served_rps: served_rps.value, is_lower_bound });
        if let Some(figures) = &mut found.figures {
            // By what the search has found; its p99 there lies on either side of the SLO, by chance.
            figures.outcome.meets_slo = true;
        }
        Ok(found)
    }
}

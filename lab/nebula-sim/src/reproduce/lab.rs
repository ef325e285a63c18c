//! The parameters of a reproduction: effort, seed, and the receiver of the progress.

use super::evaluation::memo::Memo;
use super::reproduction::ReproduceError;
use crate::experiment::{self, Effort as Runs, Estimate};
use crate::load::Load;
use crate::search::{self, Bracket, LoadAtSlo, Objective};
use crate::system::System;
use nebula_nic::Span;
use nebula_workload::Seed;

/// How much an entry simulates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// Seconds an entry: enough to detect a regression.
    Quick,
    /// Half a minute an entry.
    #[default]
    Normal,
    /// Minutes an entry: intervals narrow enough to publish.
    Full,
}

impl Effort {
    /// Selects the value for this effort.
    #[must_use]
    pub fn of<T>(self, [quick, normal, full]: [T; 3]) -> T {
        match self {
            Self::Quick => quick,
            Self::Normal => normal,
            Self::Full => full,
        }
    }
}

/// Receives the progress of an entry, from any thread.
pub trait Progress: Sync {
    /// The next steps belong to `what`.
    fn begin(&self, what: &'static str) {
        let _ = what;
    }
    /// `steps` more steps will follow.
    fn expect(&self, steps: u64);
    /// One step is done.
    fn step(&self);
}

impl Progress for () {
    fn expect(&self, _steps: u64) {}
    fn step(&self) {}
}

/// The parameters with which entries run.
#[derive(Clone, Copy)]
pub struct Lab<'a> {
    /// How much is simulated.
    pub effort: Effort,
    /// Seed of all random draws.
    pub seed: Seed,
    /// Receives the progress.
    pub progress: &'a dyn Progress,
    /// Results of earlier runs.
    pub memo: &'a Memo,
}

impl Lab<'_> {
    /// Runs with this lab's seed; each is one step of progress.
    pub(super) fn runs(&self, rpcs: u64, replications: u32) -> Runs {
        Runs::default().rpcs(rpcs).replications(replications).seed(self.seed)
    }

    pub(super) fn estimate(&self, system: &System, load: &Load, runs: &Runs) -> Result<Estimate, ReproduceError> {
        Ok(experiment::estimate(system, load, runs, &|| self.progress.step())?)
    }

    pub(super) fn load_at_slo(
        &self,
        system: &System,
        load: &Load,
        slo: Span,
        bracket: Bracket,
        runs: &Runs,
    ) -> Result<LoadAtSlo, ReproduceError> {
        Ok(search::load_at_slo(system, load, slo, bracket, runs, &|| self.progress.step())?)
    }

    pub(super) fn load_at_objective(
        &self,
        system: &System,
        load: &Load,
        objective: Objective,
        bracket: Bracket,
        runs: &Runs,
    ) -> Result<LoadAtSlo, ReproduceError> {
        Ok(search::load_at_objective(system, load, objective, bracket, runs, &|| self.progress.step())?)
    }

    pub(super) fn expect(&self, points: usize, replications: u32) {
        self.progress.expect(points as u64 * u64::from(replications));
    }
}

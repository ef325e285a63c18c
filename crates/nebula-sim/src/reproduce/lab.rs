//! Where entries run: how much is simulated, from which seed, and who is told of the progress.

use super::ReproduceError;
use super::evaluation::Memo;
use crate::experiment::{self, Effort as Runs, Estimate};
use crate::load::Load;
use crate::search::{self, Bracket, LoadAtSlo, Objective};
use crate::system::System;
use nebula_nic::Span;
use nebula_workload::Seed;

/// How much an entry simulates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// Seconds: enough to see that nothing broke.
    Quick,
    /// Half a minute an entry.
    #[default]
    Normal,
    /// Minutes an entry: the intervals that are worth quoting.
    Full,
}

impl Effort {
    /// What of three is meant for this effort.
    #[must_use]
    pub fn of<T>(self, [quick, normal, full]: [T; 3]) -> T {
        match self {
            Self::Quick => quick,
            Self::Normal => normal,
            Self::Full => full,
        }
    }
}

/// Who is told how far an entry has come, from whichever thread.
pub trait Progress: Sync {
    /// So many more steps are to come.
    fn expect(&self, steps: u64);
    /// One of them is done.
    fn step(&self);
}

/// Tells nobody.
impl Progress for () {
    fn expect(&self, _steps: u64) {}
    fn step(&self) {}
}

/// Where entries run.
#[derive(Clone, Copy)]
pub struct Lab<'a> {
    /// How much is simulated.
    pub effort: Effort,
    /// Seed of all random draws.
    pub seed: Seed,
    /// Who is told of the progress.
    pub progress: &'a dyn Progress,
    /// What has run already.
    pub memo: &'a Memo,
}

impl Lab<'_> {
    /// Runs of `rpcs` RPCs each under this lab's seed; each is a step of the progress.
    pub(super) fn runs(&self, rpcs: u64, replications: u32) -> Runs {
        Runs::default().rpcs(rpcs).replications(replications).seed(self.seed)
    }

    /// One operating point.
    pub(super) fn estimate(&self, system: &System, load: &Load, runs: &Runs) -> Result<Estimate, ReproduceError> {
        Ok(experiment::estimate(system, load, runs, &|| self.progress.step())?)
    }

    /// The highest load that keeps an SLO.
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

    /// The highest load that keeps an objective.
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

    /// Announces steps.
    pub(super) fn expect(&self, points: usize, replications: u32) {
        self.progress.expect(points as u64 * u64::from(replications));
    }
}

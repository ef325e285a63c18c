//! A design at a rate, or at the highest rate that keeps the SLO.

use super::found::{AtSlo, Figures, Findings, Found};
use crate::blocks::{BlocksError, Machine, RateAtSlo, RateBracket, Scenario, estimate, rate_at_slo};
use crate::executor::Executor;
use crate::experiment::Effort;
use nebula_nic::Span;
use nebula_workload::{Rate, Seed};
use std::sync::Arc;

/// What all points of a study have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// What every mechanism costs.
    pub machine: Machine,
    /// The application's name.
    pub application: String,
    /// Share of GETs and bytes of a value, of a key-value store.
    pub store: Option<(f64, u32)>,
    /// When RPCs come, as it is spelled.
    pub arrivals: String,
    /// What another program moves to and from DRAM, in 10⁹ bytes a second.
    pub hog_gb_per_s: f64,
    /// The bound that 99 of 100 RPCs are to keep.
    pub slo: Span,
    /// How much is simulated; its seed gives way to that of a run.
    pub effort: Effort,
    /// Whether the highest rate that keeps the SLO is searched for.
    pub searches: bool,
}

/// One design at one rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// What it has in common with the other points.
    pub setting: Arc<Setting>,
    /// What is simulated.
    pub scenario: Scenario,
    /// RPCs a second offered; `None` where the highest that keeps the SLO is searched for.
    pub rate: Option<Rate>,
}

/// What each point shows under `seed`; the findings stand in the order of the points.
///
/// `progress` is told of each replication that has ended, from whichever thread ran it.
///
/// # Errors
///
/// [`BlocksError`] of the first point that cannot be simulated.
pub fn run(
    setting: &Arc<Setting>,
    points: &[Point],
    seed: Seed,
    executor: &impl Executor,
    progress: &(dyn Fn() + Sync),
) -> Result<Findings, BlocksError> {
    let found = executor.map(points, |point| point.run_with(seed, progress));
    Ok(Findings { setting: setting.clone(), found: found.into_iter().collect::<Result<_, _>>()? })
}

impl Point {
    /// What the point shows under `seed`: the same arguments give the same result on every machine and any number of threads.
    ///
    /// # Errors
    ///
    /// [`BlocksError`] for what cannot be simulated. That no rate keeps the SLO is a result.
    ///
    /// # Cost
    ///
    /// That of [`estimate`]; of a search about nine times as much.
    pub fn run(&self, seed: Seed) -> Result<Found, BlocksError> {
        self.run_with(seed, &|| ())
    }

    /// [`run`](Self::run), with `progress` told of each replication that has ended.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_with(&self, seed: Seed, progress: &(dyn Fn() + Sync)) -> Result<Found, BlocksError> {
        match self.rate {
            Some(rate) => self.show(rate, seed, progress),
            None => self.search(seed, progress),
        }
    }

    fn show(&self, rate: Rate, seed: Seed, progress: &(dyn Fn() + Sync)) -> Result<Found, BlocksError> {
        let shown = estimate(&self.scenario, rate, &self.setting.effort.seed(seed), progress)?;
        Ok(Found {
            setting: self.setting.clone(),
            design: self.scenario.design.name.clone(),
            rate_rps: Some(rate.as_rps()),
            at_slo: None,
            figures: Some(Figures::of(self.setting.slo, &shown)),
        })
    }

    /// Searches first, and then looks at what the rate found shows.
    fn search(&self, seed: Seed, progress: &(dyn Fn() + Sync)) -> Result<Found, BlocksError> {
        let (scenario, slo) = (&self.scenario, self.setting.slo);
        let bracket = RateBracket::of(scenario, seed)?;
        let found = rate_at_slo(scenario, slo, bracket, &self.setting.effort.seed(seed), progress);
        let RateAtSlo { rate_rps, .. } = match found {
            Err(BlocksError::Slo { .. }) => {
                let (setting, design) = (self.setting.clone(), scenario.design.name.clone());
                return Ok(Found { setting, design, rate_rps: None, at_slo: None, figures: None });
            }
            found => found?,
        };
        let mut found = self.show(Rate::try_new(rate_rps.value)?, seed, progress)?;
        let is_lower_bound = rate_rps.value >= bracket.highest_rps - bracket.width_rps;
        found.at_slo = Some(AtSlo { rate_rps, is_lower_bound });
        if let Some(figures) = &mut found.figures {
            // By what the search has found; its p99 there lies on either side of the SLO, by chance.
            figures.outcome.meets_slo = true;
        }
        Ok(found)
    }
}

//! A design at a rate, or at the highest rate that meets the SLO.

use super::found::{AtSlo, Figures, Findings, Found};
use crate::blocks::{BlocksError, Machine, Scenario, estimate, highest_rate};
use crate::executor::Executor;
use crate::experiment::Effort;
use crate::search::Highest;
use nebula_nic::Span;
use nebula_workload::{Rate, Seed};
use std::sync::Arc;

/// The setting that all points of a study share.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The machine: the costs of every mechanism.
    pub machine: Machine,
    /// The application's name.
    pub application: String,
    /// For a key-value store: share of GETs, and bytes of a value.
    pub store: Option<(f64, u32)>,
    /// The arrival process, as text.
    pub arrivals: String,
    /// DRAM traffic of another program, in 10⁹ bytes per second.
    pub hog_gb_per_s: f64,
    /// The bound on the p99.
    pub slo: Span,
    /// The effort; a run replaces its seed.
    pub effort: Effort,
    /// Whether to search for the highest rate that meets the SLO.
    pub searches: bool,
}

/// One design at one rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The setting that it shares with the other points.
    pub setting: Arc<Setting>,
    /// What is simulated.
    pub scenario: Scenario,
    /// Offered RPCs per second; `None` to search for the highest rate that meets the SLO.
    pub rate: Option<Rate>,
}

/// Runs each point with `seed`, in order. A replication calls `progress` at its end, on its thread.
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
    /// Runs the point with `seed`. Neither the machine nor the number of threads changes the
    /// result.
    ///
    /// # Errors
    ///
    /// [`BlocksError`] if the point cannot be simulated. "No rate meets the SLO" is a result.
    ///
    /// # Cost
    ///
    /// That of [`estimate`]; a search costs about eight times as much, or seven times that.
    pub fn run(&self, seed: Seed) -> Result<Found, BlocksError> {
        self.run_with(seed, &|| ())
    }

    /// [`run`](Self::run) that calls `progress` after each replication.
    pub fn run_with(&self, seed: Seed, progress: &(dyn Fn() + Sync)) -> Result<Found, BlocksError> {
        match self.rate {
            Some(rate) => self.show(rate, seed, progress),
            None => self.search(seed, progress),
        }
    }

    fn show(&self, rate: Rate, seed: Seed, progress: &(dyn Fn() + Sync)) -> Result<Found, BlocksError> {
        let shown = estimate(&self.scenario, rate, &self.setting.effort.seed(seed), progress)?;
        let figures = Some(Figures::of(self.setting.slo, &shown));
        Ok(Found { rate_rps: Some(rate.as_rps()), figures, ..self.nothing_found() })
    }

    fn nothing_found(&self) -> Found {
        let Scenario { design, machine, .. } = &self.scenario;
        Found {
            setting: self.setting.clone(),
            design: design.name.clone(),
            receive_buffer_bytes: design.on(machine).deployment.receive_buffer_bytes,
            rate_rps: None,
            at_slo: None,
            figures: None,
        }
    }

    fn search(&self, seed: Seed, progress: &(dyn Fn() + Sync)) -> Result<Found, BlocksError> {
        let (scenario, slo) = (&self.scenario, self.setting.slo);
        let bracket = scenario.bracket(seed)?;
        let found = highest_rate(scenario, slo, bracket, &self.setting.effort.seed(seed), progress);
        let Highest { load: rate_rps, end, at } = match found {
            Err(BlocksError::Slo { .. }) => return Ok(self.nothing_found()),
            found => found?,
        };
        Ok(Found {
            rate_rps: Some(rate_rps.value),
            at_slo: Some(AtSlo { rate_rps, end }),
            figures: Some(Figures::of(slo, &at)),
            ..self.nothing_found()
        })
    }
}

//! All operating points, side by side on all cores: what each shows is small, whatever the number of RPCs.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nebula_nic::Span;
use nebula_sim::sizing::load_at_slo_to_precision;
use nebula_sim::{CoreTime, Effort, Estimate, Interval, Load, LoadAtSlo, SimError, System, estimate};
use rayon::prelude::*;

use super::plan;
use crate::output::Failure;

/// One operating point.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// What it is called beside others: its policy, or its system.
    pub(crate) name: String,
    pub(crate) system: System,
    pub(crate) load: Load,
    pub(crate) slo: Span,
    pub(crate) ask: Ask,
}

/// What is asked of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// What it shows.
    Measure,
    /// The highest load that keeps the SLO, and what it shows there.
    FindLoad,
}

/// A point and what it has shown.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) point: Point,
    pub(crate) effort: Effort,
    /// The highest load that keeps the SLO, with the RPCs served there a second, if that was searched for and there is one.
    pub(crate) at_slo: Option<AtSlo>,
    /// `None` where no load keeps the SLO.
    pub(crate) figures: Option<Figures>,
}

/// The highest load that keeps the SLO.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtSlo {
    pub(crate) load: Interval,
    pub(crate) served_rps: f64,
    /// The search ended at its highest load: the true one may be higher.
    pub(crate) is_lower_bound: bool,
}

/// What an operating point has shown, times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    /// Offered in an open loop, achieved in a closed one.
    pub(crate) load: f64,
    pub(crate) offered_rps: f64,
    pub(crate) served_rps: f64,
    pub(crate) accepted: f64,
    pub(crate) nacks: u64,
    pub(crate) meets_slo: bool,
    pub(crate) mean: f64,
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p99: Interval,
    pub(crate) p999: f64,
    pub(crate) queued_mean: f64,
    pub(crate) queued_p99: f64,
    pub(crate) depth_mean: Interval,
    pub(crate) depth_p99: Interval,
    pub(crate) core_time: CoreTime,
    pub(crate) replications: usize,
    pub(crate) is_precise: Option<bool>,
}

/// Threads that replications run on.
pub(crate) struct Pool(rayon::ThreadPool);

/// What all points have shown; of those that failed, the first failure.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) found: Vec<Found>,
    pub(crate) failure: Option<Failure>,
}

impl Pool {
    /// `threads` threads, or one a core.
    pub(crate) fn try_new(threads: Option<u16>) -> Result<Self, Failure> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0).into()).build();
        pool.map(Self).map_err(|error| Failure::fault(format!("cannot start threads: {error}")))
    }

    /// Runs all points; results stand in the order of the points.
    ///
    /// # Errors
    ///
    /// Bad input. A point whose queue outgrows all room ends no other: its failure comes with what the others have shown.
    pub(crate) fn measure(&self, points: &[Point], effort: &Effort) -> Result<Measured, Failure> {
        let searches = points.iter().filter(|point| point.ask == Ask::FindLoad).count();
        let bar = self.bar((points.len() + searches) as u64 * u64::from(effort.replications));
        let replicated = || advance(&bar);
        let one = |point: &Point| point.measure(effort, &replicated);
        let results: Vec<Result<Found, SimError>> = self.install(|| points.par_iter().map(one).collect());
        bar.finish_and_clear();
        let mut measured = Measured { found: Vec::new(), failure: None };
        for result in results {
            match result.map_err(Failure::from) {
                Ok(found) => measured.found.push(found),
                Err(fault @ Failure::Fault(_)) => measured.failure = measured.failure.or(Some(fault)),
                Err(failure) => return Err(failure),
            }
        }
        Ok(measured)
    }

    /// Runs `work` on these threads.
    pub(crate) fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.0.install(work)
    }

    /// A bar on a terminal; nothing in a pipe.
    pub(crate) fn bar(&self, replications: u64) -> ProgressBar {
        let target =
            if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template("simulating {bar:40} {pos} of {len} replications, {eta} to go");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::with_draw_target(Some(replications), target).with_style(style)
    }
}

/// One replication more has ended; a precision may have asked for more of them than were counted at first.
pub(crate) fn advance(bar: &ProgressBar) {
    if bar.length().is_some_and(|length| bar.position() >= length) {
        bar.inc_length(1);
    }
    bar.inc(1);
}

impl Point {
    fn measure(&self, effort: &Effort, replicated: &(dyn Fn() + Sync)) -> Result<Found, SimError> {
        match self.ask {
            Ask::Measure => self.show(effort, replicated),
            Ask::FindLoad => self.search(effort, replicated),
        }
    }

    fn show(&self, effort: &Effort, replicated: &(dyn Fn() + Sync)) -> Result<Found, SimError> {
        let shown = estimate(&self.system, &self.load, effort, replicated)?;
        let figures = Some(Figures::of(self, &shown)?);
        Ok(Found { point: self.clone(), effort: *effort, at_slo: None, figures })
    }

    /// Searches first, and then looks at what the load found shows.
    fn search(&self, effort: &Effort, replicated: &(dyn Fn() + Sync)) -> Result<Found, SimError> {
        let at_slo = match load_at_slo_to_precision(&self.system, &self.load, self.slo, effort, replicated) {
            Err(SimError::Slo { .. }) => None,
            found => Some(found?),
        };
        let Some(LoadAtSlo { load, served_rps, .. }) = at_slo else {
            return Ok(Found { point: self.clone(), effort: *effort, at_slo: None, figures: None });
        };
        let there = Self { load: self.load.clone().at(load.value), ..self.clone() };
        let mut found = there.show(effort, replicated)?;
        let bracket = self.system.bracket(&self.load.service);
        let is_lower_bound = load.value >= bracket.highest - bracket.width;
        found.at_slo = Some(AtSlo { load, served_rps: served_rps.value, is_lower_bound });
        if let Some(figures) = &mut found.figures {
            // By what the search has found; its p99 there lies on either side of the SLO, by chance.
            figures.meets_slo = true;
        }
        Ok(found)
    }
}

impl Figures {
    fn of(point: &Point, shown: &Estimate) -> Result<Self, SimError> {
        let tally = &shown.tally;
        let ns = |share: f64| tally.latency.quantile(share) / PS_PER_NS;
        let capacity_rps = f64::from(point.system.cores_total()) * 1e12 / point.load.service.mean_ps();
        let offered_rps = point.load.rate(&point.system)?.map_or(tally.offered_rps(), |rate| rate.as_rps());
        Ok(Self {
            load: plan::offered(&point.load).unwrap_or(tally.served_rps() / capacity_rps),
            offered_rps,
            served_rps: tally.served_rps(),
            accepted: tally.accepted(),
            nacks: tally.nacks,
            meets_slo: shown.meets(point.slo),
            mean: tally.latency.mean() / PS_PER_NS,
            p50: ns(0.5),
            p90: ns(0.9),
            p99: shown.p99().scaled(1.0 / PS_PER_NS),
            p999: ns(0.999),
            queued_mean: tally.queued.mean() / PS_PER_NS,
            queued_p99: tally.queued.quantile(0.99) / PS_PER_NS,
            depth_mean: Interval::of(&shown.depth_mean),
            depth_p99: Interval::of(&shown.depth_p99),
            core_time: tally.core_time(&point.system),
            replications: shown.replications(),
            is_precise: shown.is_precise,
        })
    }
}

const PS_PER_NS: f64 = 1000.0;

//! What a point of the queueing level has shown.

use super::outcome::{Outcome, PS_PER_NS};
use super::point::Point;
use super::text::load;
use super::units;
use crate::error::SimError;
use crate::experiment::Estimate;
use crate::interval::Interval;
use crate::tally::CoreTime;

/// A point and what it has shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The point, at the load that was found where one was searched for.
    pub point: Point,
    /// The highest load that keeps the SLO, if that was searched for and there is one.
    pub at_slo: Option<AtSlo>,
    /// `None` where no load keeps the SLO.
    pub figures: Option<Figures>,
}

/// The highest load that keeps the SLO.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtSlo {
    /// Share of the cores' capacity.
    pub load: Interval,
    /// RPCs served a second there.
    pub served_rps: f64,
    /// The search ended at its highest load: the true one may be higher.
    pub is_lower_bound: bool,
}

/// What an operating point has shown, times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Offered in an open loop, achieved in a closed one.
    pub load: f64,
    /// RPCs that came a second.
    pub offered_rps: f64,
    /// What became of them.
    pub outcome: Outcome,
    /// Mean time from arrival until a core began.
    pub queued_mean: f64,
    /// The time that 99 of 100 were begun within.
    pub queued_p99: f64,
    /// Mean of the RPCs that an arrival finds waiting.
    pub depth_mean: Interval,
    /// RPCs that 99 of 100 arrivals find waiting at most.
    pub depth_p99: Interval,
    /// What the cores' time went to.
    pub core_time: CoreTime,
}

impl Figures {
    pub(super) fn of(point: &Point, shown: &Estimate) -> Result<Self, SimError> {
        let tally = &shown.tally;
        let capacity_rps = f64::from(point.system.cores_total()) * 1e12 / point.load.service.mean_ps();
        let offered_rps = point.load.rate(&point.system)?.map_or(tally.offered_rps(), |rate| rate.as_rps());
        Ok(Self {
            load: point.offered().unwrap_or(tally.served_rps() / capacity_rps),
            offered_rps,
            outcome: Outcome::of(tally, shown.meets(point.slo), shown.replications(), shown.is_precise, shown.p99()),
            queued_mean: tally.queued.mean() / PS_PER_NS,
            queued_p99: tally.queued.quantile(0.99) / PS_PER_NS,
            depth_mean: Interval::of(&shown.depth_mean),
            depth_p99: Interval::of(&shown.depth_p99),
            core_time: tally.core_time(&point.system),
        })
    }
}

impl Found {
    /// What makes it doubtful, in one line.
    #[must_use]
    pub fn doubt(&self) -> Option<String> {
        let name = &self.point.name;
        match (self.figures, self.at_slo) {
            (None, _) => Some(format!("note: {name} keeps the SLO of {} at no load", units::span(self.point.slo))),
            (_, Some(at)) if at.is_lower_bound => {
                Some(format!("note: {name} keeps the SLO at the highest load that was tried, {}", load(at.load.value)))
            }
            (Some(figures), _) => {
                let at = format!("{name} at load {}", load(figures.load));
                figures.outcome.imprecision(&at, self.point.effort.precision)
            }
        }
    }
}

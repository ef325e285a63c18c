//! The figures of whole replications: of cores, of tiers, and of a load that changes.
//!
//! Replications are independent, so these intervals are made of them. A share is a sum over a sum.

use crate::interval::Interval;
use crate::interval::cells::Cells;
use crate::interval::quantile::{Tail, quantile};
use crate::interval::ratio::Ratio;
use crate::system::System;
use crate::tally::Tally;
use crate::tally::core_time::CoreTime;
use crate::tally::distribution::Distribution;
use crate::tally::of_tier::OfTier;

/// The replications, in their order. `value` is a figure of all of them together.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByRun(Vec<Run>);

/// A replication; times are in picoseconds.
#[derive(Clone, Debug)]
struct Run {
    window_ps: f64,
    core_time: CoreTime,
    hottest_ps: f64,
    /// RPCs of light flows that were served, and all of them.
    light: (f64, f64),
    tiers: Vec<Tier>,
    slots: Vec<Slot>,
}

/// A tier: its counts and, to save memory, only the cells of its latency that are not empty.
#[derive(Clone, Debug)]
struct Tier {
    counts: Counts,
    latency: Cells,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) calls: f64,
    pub(crate) copies: f64,
    pub(crate) late: f64,
    pub(crate) nacks: f64,
    /// Core time, and that of copies which answered first, in picoseconds.
    pub(crate) busy_ps: f64,
    pub(crate) useful_ps: f64,
    pub(crate) window_ps: f64,
}

impl Counts {
    fn of(tier: &OfTier, window_ps: f64) -> Self {
        Self {
            calls: tier.calls as f64,
            copies: tier.copies as f64,
            late: tier.late as f64,
            nacks: tier.nacks as f64,
            busy_ps: tier.busy_ps as f64,
            useful_ps: tier.useful_ps.min(tier.busy_ps) as f64,
            window_ps,
        }
    }
}

/// The RPCs that were sent in a part of the period.
#[derive(Clone, Debug)]
struct Slot {
    latency: Cells,
    given_up: u64,
}

impl ByRun {
    pub(super) fn take(&mut self, system: &System, tally: &Tally) {
        let window_ps = tally.window.as_ps() as f64;
        let tier = |tier: &OfTier| Tier {
            counts: Counts::of(tier, window_ps),
            latency: tier.latency.since(&mut Distribution::new()),
        };
        let slot = |slot: &crate::tally::over_time::Slot| Slot { latency: slot.by_cell(), given_up: slot.given_up };
        let light = tally.light.map_or((0, 0), |light| (light.served, light.served + light.given_up));
        self.0.push(Run {
            window_ps,
            core_time: tally.core_time(system),
            hottest_ps: tally.hottest_ps as f64,
            light: (light.0 as f64, light.1 as f64),
            tiers: tally.by_tier.iter().map(tier).collect(),
            slots: tally.over_time.iter().flat_map(crate::tally::over_time::OverTime::slots).map(slot).collect(),
        });
    }

    pub(crate) fn core_time(&self, value: f64, share: impl Fn(&CoreTime) -> f64) -> Interval {
        self.share(value, |run| (share(&run.core_time) * run.window_ps, run.window_ps))
    }

    pub(crate) fn hottest(&self, value: f64) -> Interval {
        self.share(value, |run| (run.hottest_ps, run.window_ps))
    }

    pub(crate) fn accepted_light(&self, value: f64) -> Interval {
        let refused = self.share(1.0 - value, |run| (run.light.1 - run.light.0, run.light.1));
        Interval { value, lo: 1.0 - refused.hi, hi: 1.0 - refused.lo }
    }

    pub(crate) fn of_tier(&self, tier: usize, value: f64, share: impl Fn(&Counts) -> (f64, f64)) -> Interval {
        self.share(value, |run| run.tiers.get(tier).map_or((0.0, 0.0), |tier| share(&tier.counts)))
    }

    /// The p99 of the calls of a tier that were answered, in picoseconds.
    pub(crate) fn tier_p99(&self, tier: usize) -> Interval {
        let tails: Vec<Tail<'_>> = self.0.iter().filter_map(|run| run.tiers.get(tier)).map(Tier::tail).collect();
        quantile(&tails, 0.99)
    }

    /// The p99, in picoseconds, of the RPCs sent in a part of the period; one given up is infinite.
    pub(crate) fn slot_p99(&self, slot: usize, value: f64) -> Interval {
        let tails: Vec<Tail<'_>> = self.0.iter().filter_map(|run| run.slots.get(slot)).map(Slot::tail).collect();
        match tails.iter().all(|tail| tail.is_empty()) {
            true => Interval::exact(value),
            false => within(quantile(&tails, 0.99), value),
        }
    }

    /// A sum over a sum that is at most 1, unless `value` is more.
    fn share(&self, value: f64, of_run: impl Fn(&Run) -> (f64, f64)) -> Interval {
        let Interval { lo, hi, .. } = match self.0.is_empty() {
            true => Interval::unknown(value),
            false => Ratio::of(&self.0.iter().map(of_run).collect::<Vec<_>>()).interval(),
        };
        within(Interval { value, lo, hi: hi.min(1.0) }, value)
    }
}

/// Widens an interval to hold its value.
fn within(found: Interval, value: f64) -> Interval {
    Interval { value, lo: found.lo.min(value), hi: found.hi.max(value) }
}

impl Tier {
    const fn tail(&self) -> Tail<'_> {
        Tail { cells: &self.latency, infinite: 0 }
    }
}

impl Slot {
    const fn tail(&self) -> Tail<'_> {
        Tail { cells: &self.latency, infinite: self.given_up }
    }
}

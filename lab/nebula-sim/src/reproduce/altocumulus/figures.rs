//! Code that Altocumulus's entries share.

use crate::altocumulus::ThresholdTable;
use crate::error::SimError;
use crate::executor::{replications as indices, try_each};
use crate::experiment::Effort as Runs;
use crate::interval::Interval;
use crate::load::Load;
use crate::reproduce::lab::Lab;
use crate::reproduce::reproduction::ReproduceError;
use crate::system::{Altocumulus, System};
use crate::tally::Tally;
use crate::world::run;
use nebula_nic::schedule::Thresholds;
use nebula_nic::{Groups, Policy};
use nebula_workload::ServiceTime;

/// Groups with a manager each. NICs are on the chip; only their messages take time.
pub(crate) fn grouped(cores: u16, group_cores: u16, options: Altocumulus) -> System {
    let groups = Groups::try_new(cores / group_cores).expect("a set-up has groups");
    System::new(Policy::Altocumulus(groups), cores).dedicated(groups.get()).altocumulus(options)
}

pub(crate) fn shipped(name: &str) -> Result<Thresholds, SimError> {
    let table = ThresholdTable::named(name).ok_or_else(|| SimError::NoThresholds { name: name.to_owned() })?;
    table.thresholds()
}

pub(crate) fn tallies(lab: &Lab<'_>, system: &System, load: &Load, runs: &Runs) -> Result<Vec<Tally>, ReproduceError> {
    let one = |&index: &u32| {
        let tally = run(system, load, runs.length(system, load), runs.seed.replica(index.into()));
        lab.progress.step();
        Ok(tally?)
    };
    try_each(&indices(0..runs.replications), one)
}

/// The mean over the replications of a figure that is not negative, with its interval.
pub(crate) fn over<T>(each: &[T], figure: impl Fn(&T) -> f64) -> Interval {
    Interval::of(&each.iter().map(figure).collect::<Vec<_>>()).not_negative()
}

/// [`over`] a percentage of a whole.
pub(crate) fn percent_over<T>(each: &[T], figure: impl Fn(&T) -> f64) -> Interval {
    over(each, figure).within(0.0, 100.0)
}

pub(crate) fn offered(service: &ServiceTime, cores: u16, rate_mrps: f64) -> Load {
    Load::open(service.clone(), rate_mrps * service.mean_ps() / 1e6 / f64::from(cores))
}

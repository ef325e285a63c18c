//! The costs of points with a NIC in hardware, from cycles counted in its RTL and a clock.
//!
//! An RPC is two inputs, its packet and its free, and keeps the NIC busy for the cycles of both. It
//! goes to a core the counted cycles after its decision, plus those that a decision of several
//! stages takes longer. The NIC knows of its end after the cycles of a decision. Means are charged:
//! docs/MODEL.md says what their distribution would change.

use std::path::Path;

use nebula_nic::{Policy, Span};
use nebula_sim::Costs;
use nebula_sim::study::Point;
use serde::Deserialize;

use crate::Failure;

/// A file of counted cycles, written by `cargo hw rtl --cycles`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cycles {
    nic: Vec<Counted>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counted {
    cores: u16,
    policy: String,
    mix: String,
    inputs: u64,
    inputs_per_cycle: f64,
    /// From the decision that allows a dispatch to the dispatch.
    dispatch_cycles: u32,
    /// Cycles of a decision, and the number of decisions with so many.
    decision_cycles: Vec<(u32, u64)>,
}

pub(super) fn with(points: Vec<Point>, file: &Path, ghz: f64, mix: &str) -> Result<Vec<Point>, Failure> {
    let cycles = read(file)?;
    let with = |point: Point| {
        if point.system.custom.is_some() {
            return Err(Failure::bad_input("--nic-cycles knows the built-in policies only: remove it, or the policy"));
        }
        let counted = cycles.of(point.system.policy, point.system.cores, mix)?;
        let costs = counted.costs(point.system.costs, ghz);
        Ok(Point { system: point.system.costs(costs), ..point })
    };
    points.into_iter().map(with).collect()
}

fn read(file: &Path) -> Result<Cycles, Failure> {
    let shown = file.display();
    let text = nebula_files::text(file)
        .map_err(|error| Failure::bad_input(format!("--nic-cycles: cannot read {shown}: {error}")))?;
    let cycles: Cycles = toml::from_str(&text).map_err(|error| Failure::bad_input(format!("{shown}: {error}")))?;
    match cycles.nic.iter().find(|counted| !counted.is_possible()) {
        Some(counted) => Err(Failure::bad_input(format!(
            "{shown}: {} on {} cores, {}: no such cycles are possible",
            counted.policy, counted.cores, counted.mix
        ))),
        None => Ok(cycles),
    }
}

impl Cycles {
    fn of(&self, policy: Policy, cores: u16, mix: &str) -> Result<&Counted, Failure> {
        let name = policy.to_string();
        let of_policy = || self.nic.iter().filter(|counted| counted.policy == name && counted.mix == mix);
        let fits = of_policy().filter(|counted| counted.cores >= cores).min_by_key(|counted| counted.cores);
        fits.ok_or_else(|| {
            let mut mixes: Vec<&str> = self.nic.iter().map(|counted| counted.mix.as_str()).collect();
            mixes.sort_unstable();
            mixes.dedup();
            let most = of_policy().map(|counted| counted.cores).max();
            Failure::bad_input(match most {
                Some(most) => format!("--nic-cycles: {name} was counted on at most {most} cores, not on {cores}"),
                None => format!(
                    "--nic-cycles: nothing was counted of {name} with the mix {mix:?}: give --nic-mix {}",
                    mixes.join(", or ")
                ),
            })
        })
    }
}

impl Counted {
    fn is_possible(&self) -> bool {
        let decided: u64 = self.decision_cycles.iter().map(|(_, inputs)| inputs).sum();
        self.inputs_per_cycle > 0.0 && self.inputs_per_cycle <= 1.0 && decided == self.inputs && self.inputs > 0
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean of few cycles")]
    fn decision_mean(&self) -> f64 {
        let all: u64 = self.decision_cycles.iter().map(|&(cycles, inputs)| u64::from(cycles) * inputs).sum();
        all as f64 / self.inputs as f64
    }

    fn costs(&self, costs: Costs, ghz: f64) -> Costs {
        let span = |cycles: f64| Span::from_ps(whole(cycles * 1000.0 / ghz));
        Costs {
            decision: span(2.0 / self.inputs_per_cycle),
            dispatch: span(f64::from(self.dispatch_cycles) + self.decision_mean() - 1.0 / self.inputs_per_cycle),
            notify: span(self.decision_mean()),
            ..costs
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "picoseconds of some cycles")]
fn whole(ps: f64) -> u64 {
    ps.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTED: &str = "
        [[nic]]
        cores = 16
        policy = \"jbsq:2\"
        mix = \"mixed\"
        inputs = 4
        inputs_per_cycle = 0.8
        dispatch_cycles = 1
        decision_cycles = [[1, 3], [2, 1]]
        [[nic]]
        cores = 64
        policy = \"jbsq:2\"
        mix = \"mixed\"
        inputs = 1
        inputs_per_cycle = 1.0
        dispatch_cycles = 2
        decision_cycles = [[1, 1]]
    ";

    #[test]
    fn cycles_are_times_at_a_clock() {
        let cycles: Cycles = toml::from_str(COUNTED).expect("a table");
        let costs = |cores, ghz| cycles.of(Policy::Jbsq(2), cores, "mixed").expect("counted").costs(Costs::ZERO, ghz);
        let small = costs(16, 1.0);
        assert_eq!((small.decision.as_ps(), small.dispatch.as_ps(), small.notify.as_ps()), (2500, 1000, 1250));
        let large = costs(17, 4.0);
        assert_eq!((large.decision.as_ps(), large.dispatch.as_ps(), large.notify.as_ps()), (500, 500, 250));
    }

    #[test]
    fn a_second_stage_delays_an_rpc_and_keeps_the_nic_no_longer() {
        let mut cycles: Cycles = toml::from_str(COUNTED).expect("a table");
        cycles.nic[1].decision_cycles = vec![(2, 1)];
        let costs = cycles.of(Policy::Jbsq(2), 64, "mixed").expect("counted").costs(Costs::ZERO, 1.0);
        assert_eq!((costs.decision.as_ps(), costs.dispatch.as_ps(), costs.notify.as_ps()), (2000, 3000, 2000));
    }

    #[test]
    fn what_was_not_counted_is_refused_with_what_was() {
        let cycles: Cycles = toml::from_str(COUNTED).expect("a table");
        let error = |policy, cores, mix| cycles.of(policy, cores, mix).expect_err("not counted").to_string();
        assert!(error(Policy::Jbsq(2), 65, "mixed").contains("at most 64 cores"));
        assert!(error(Policy::Rss, 16, "mixed").contains("nothing was counted of rss"));
        assert!(error(Policy::Jbsq(2), 16, "other").contains("--nic-mix mixed"));
    }

    #[test]
    fn cycles_that_do_not_add_up_are_none() {
        let mut cycles: Cycles = toml::from_str(COUNTED).expect("a table");
        assert!(cycles.nic.iter().all(Counted::is_possible));
        cycles.nic[0].inputs = 5;
        cycles.nic[1].inputs_per_cycle = 0.0;
        assert!(!cycles.nic.iter().any(Counted::is_possible));
    }
}

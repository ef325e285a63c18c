//! How many RPCs wait at 64 cores? NEBULA's equation 1, by formula and simulated.

use super::lab::Lab;
use super::paper::{self, Eq1};
use super::reproduction::{ReproduceError, Reproduction};
use super::row::{Judgment, Row};
use super::wording;
use crate::interval::Interval;
use crate::load::Load;
use crate::system::System;
use nebula_nic::{Policy, queue_depth_mean};

pub(super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let (paper, eq1) = (paper::nebula(), &paper::nebula().setup.eq1);
    let formula = queue_depth_mean(eq1.cores.into(), eq1.offered_erlangs);
    let simulated = simulate(lab, eq1)?;
    let differs = |ours: Interval| {
        (Judgment::Differs, format!("Erlang C gives {formula:.4}, the simulation {}", wording::with_interval(ours)))
    };
    let formula = Interval::exact(formula);
    let rows = vec![
        Row::judged(paper.figure("nebula/eq1/formula"), formula, differs(simulated)),
        Row::judged(paper.figure("nebula/eq1/simulated"), simulated, differs(simulated)),
    ];
    Ok(rows.into())
}

fn simulate(lab: &Lab<'_>, eq1: &Eq1) -> Result<Interval, ReproduceError> {
    let replications = lab.effort.of([4, 10, 20]);
    let runs = lab.runs(lab.effort.of([1_000_000, 2_000_000, 10_000_000]), replications);
    lab.expect(1, replications);
    let load = Load::open(eq1.service.clone(), eq1.offered_erlangs / f64::from(eq1.cores));
    let estimate = lab.estimate(&System::new(Policy::SingleQueue, eq1.cores), &load, &runs)?;
    Ok(Interval::of(&estimate.depth_mean))
}

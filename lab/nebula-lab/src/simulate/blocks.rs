//! `simulate --machine …`: NIC designs at given rates, on a machine whose memory is simulated block
//! by block.

pub(super) mod args;
mod files;
mod plan;
mod words;

use nebula_sim::study::fields;

use super::question::Question;
use super::{Simulated, Simulation};
use crate::{Answer, Failure, Progress, Workers};

pub(super) fn ask(
    args: &Question,
    machine: &str,
    workers: &Workers,
    progress: &dyn Progress,
) -> Result<Simulation, Failure> {
    let plan = workers.install(|| plan::plan(args, machine))?;
    let findings = plan.run(args.effort.seed(), workers, progress)?;
    let fields = fields::blocks();
    let rows = findings.found.iter().map(|found| fields.row(found)).collect();
    let answer = Answer { rows, notes: findings.doubts(), ..Answer::default() };
    Ok(Simulation { answer, of: Simulated::Blocks(Box::new(findings)) })
}

//! How does memory bandwidth end a server's throughput? NEBULA's figure 2: four designs, p99 and DRAM bandwidth against load.
//!
//! Judged are the runs with the arrivals of the published program, whose curves agree with the figure. Runs with the Poisson arrivals that the
//! paper's text names stand beside them as notes: what these do not give as well is not reproducible as published.
//!
//! Next: [`sweep`], the runs; [`rows`], what they say; [`picture`], what is drawn of them.

mod sweep;
mod rows;
mod picture;

use super::paper;
use super::{Lab, ReproduceError, Reproduction};
use sweep::{Model, Sweep};

pub(super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::nebula().setup.fig2;
    let artefact = Sweep::run(lab, setup, Model::artefact(setup))?;
    let textbook = Sweep::run(lab, setup, Model::textbook(setup))?;
    let pictures = [&artefact, &textbook].into_iter().flat_map(|sweep| picture::pictures(setup, sweep)).collect();
    Ok(Reproduction { rows: rows::rows(setup, &artefact, &textbook), pictures })
}

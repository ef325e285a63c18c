//! How does memory bandwidth limit a server? NEBULA's figure 2: four designs against load.
//!
//! The judged runs have the arrivals of the published program, whose curves agree with the figure.
//! The paper's text names Poisson arrivals; runs with these are notes. A value that only the former
//! give is not reproducible as published.
//!
//! Next: [`sweep`], the runs; [`rows`], their rows; [`picture`], their charts.

mod sweep;
mod rows;
mod picture;

use super::lab::Lab;
use super::paper;
use super::reproduction::{ReproduceError, Reproduction};
use sweep::{Model, Sweep};

pub(super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::nebula().setup.fig2;
    let artefact = Sweep::run(lab, setup, Model::artefact(setup))?;
    let textbook = Sweep::run(lab, setup, Model::textbook(setup))?;
    let pictures = [&artefact, &textbook].into_iter().flat_map(|sweep| picture::pictures(setup, sweep)).collect();
    Ok(Reproduction { rows: rows::rows(setup, &artefact, &textbook), pictures })
}

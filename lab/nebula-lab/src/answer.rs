//! What an answer holds.

use nebula_sim::study::Row;

use crate::failure::Failure;

/// The answer to a question: rows, and what must be said beside them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// A row for each point, in the order of the question.
    pub rows: Vec<Row>,
    /// The answer in sentences, where rows alone do not say it.
    pub said: Vec<String>,
    /// What to know before believing a row, a line each: too little simulated, or a search that
    /// ended at its own bound.
    pub notes: Vec<String>,
    /// The first point that could not be simulated to its end; the rows are those of the others.
    pub failure: Option<Failure>,
}

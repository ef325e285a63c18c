//! The answer to a question.

use nebula_sim::study::Row;

use nebula_ui::Failure;

/// Rows, with sentences and warnings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Rows in the order of the question's points.
    pub rows: Vec<Row>,
    /// The answer in sentences, if rows alone do not give it.
    pub said: Vec<String>,
    /// Warnings, a line each: too little simulated, or a search that ended at its bound.
    pub notes: Vec<String>,
    /// The first point that could not be simulated to its end; the rows are the others'.
    pub failure: Option<Failure>,
}

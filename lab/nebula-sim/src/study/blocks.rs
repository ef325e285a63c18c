//! Points of the block level: a design at a rate, and its result.
//!
//! `point` has what is simulated, `found` the results and their warnings, [`breakdown`] the time of
//! an RPC by stage, and DRAM traffic by part and cause.

pub mod breakdown;
mod found;
mod point;

pub use found::{AtSlo, Figures, Findings, Found};
pub use point::{Point, Setting, run};

pub(super) use breakdown::{CAUSE_FIELDS, stage_field};

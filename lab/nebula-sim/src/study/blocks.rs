//! Points of the level that simulates each block: a design at a rate, and its result.
//!
//! | file | what it holds |
//! |---|---|
//! | `point` | what is simulated |
//! | `found` | results, and warnings about them |
//! | [`breakdown`] | the time of an RPC by stage, and DRAM traffic by part and cause |

pub mod breakdown;
mod found;
mod point;

pub use found::{AtSlo, Figures, Findings, Found};
pub use point::{Point, Setting, run};

pub(super) use breakdown::{CAUSE_FIELDS, stage_field};

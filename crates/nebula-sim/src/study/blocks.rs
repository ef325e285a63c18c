//! Points of the level that simulates each block: a design at a rate, and what it shows.
//!
//! | file | what it holds |
//! |---|---|
//! | `point` | what is asked |
//! | `found` | what it has shown, and what makes that doubtful |
//! | [`breakdown`] | where the time of an RPC and each block of DRAM traffic went |

pub mod breakdown;
mod found;
mod point;

pub use found::{AtSlo, Figures, Findings, Found};
pub use point::{Point, Setting, run};

pub(super) use breakdown::{CAUSE_FIELDS, stage_field};

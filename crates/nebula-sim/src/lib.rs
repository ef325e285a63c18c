//! The laboratory: Nebula's mechanisms in simulated time.

#![forbid(unsafe_code)]

mod error;
mod system;
mod load;
mod calendar;
mod world;
mod tally;
mod interval;
mod experiment;
mod search;
pub mod sizing;
pub mod memory;
pub mod reproduce;

pub use calendar::Calendar;
pub use error::{LOAD_MAX, SimError};
pub use experiment::{Effort, Estimate, estimate};
pub use interval::Interval;
pub use load::{CLIENTS_MAX, Load, Source};
pub use search::{Bracket, LoadAtSlo, load_at_slo};
pub use system::{CORES_TOTAL_MAX, Costs, System};
pub use tally::{Depths, Distribution, Tally};
pub use world::{Length, run, run_with};

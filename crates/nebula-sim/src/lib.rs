//! The laboratory: Nebula's mechanisms in simulated time.

#![forbid(unsafe_code)]

mod error;
mod system;
mod load;
mod calendar;
mod world;
mod tally;

pub use calendar::Calendar;
pub use error::{LOAD_MAX, SimError};
pub use load::{CLIENTS_MAX, Load, Source};
pub use system::{CORES_TOTAL_MAX, Costs, System};
pub use tally::{Distribution, Tally};
pub use world::{Length, run};

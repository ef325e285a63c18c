//! The laboratory: Nebula's mechanisms in simulated time.

#![forbid(unsafe_code)]

mod calendar;

pub use calendar::Calendar;

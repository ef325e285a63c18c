//! Points, what they show, and what their fields are called.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod breakdown;
mod doubts;
mod fields;
mod points;
mod samples;

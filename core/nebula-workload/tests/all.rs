//! All tests of this crate that need no separate process, as one program, so that they are compiled
//! and linked once.
//!
//! `cargo test -p nebula-workload --test all NAME::` runs those of one file. Cargo.toml lists the
//! other programs.

mod any_text;
mod arrivals;
mod arrivals_bursty;
mod generator;
mod hiccup;
mod keys;
mod recorded_times;
mod recorder;
mod rng;
mod schedule;
mod service_law;
mod service_spelling;
mod service_types;
mod slo_search;
mod spelling;
mod trace;

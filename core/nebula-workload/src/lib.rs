//! The load generator and latency recorder, shared by the simulator and the runtime.
//!
//! Both follow the same schedules and use the same recorder, so that their figures are comparable.
//! Nothing here reads a clock, sleeps, prints or asks the operating system for entropy: time is an
//! argument, and every random draw comes from a [`Seed`]. The modules are in the order in which a
//! load is generated, sent and evaluated:
//!
//! | question | module |
//! |---|---|
//! | how fast, and at which rates? | [`rate`], [`sweep`] |
//! | when does the next RPC arrive? | [`arrivals`] |
//! | how long does an RPC occupy its core? | [`service`] |
//! | or: which times do papers use? | [`preset`] |
//! | which key, which operation? | [`keys`], [`mix`], [`operation`] |
//! | or: which recorded operations? | [`trace`] |
//! | what is due at this moment? | [`schedule`] |
//! | how long did each RPC take? | [`recorder`]; by operation: [`by_op`] |
//! | was it the machine and not the server? | [`hiccup`], [`gap_log`], [`gap_summary`], [`tails`] |
//! | the open-loop client as one state machine | [`generator`], [`report`] |
//! | which rate still meets the SLO? | [`slo_search`] |
//! | for which load were thresholds trained? | `thresholds`, with the feature `toml` |
//!
//! # Invariants
//!
//! - **No clock, no entropy.** *Enforced by* the signatures: every method that needs time takes a
//!   [`Timestamp`](nebula_nic::Timestamp).
//! - **No coordinated omission.** A latency counts from the moment at which the schedule intended
//!   to send. *Enforced by* [`Schedule`], which has no method that a reply could reach.
//! - **Nothing is allocated per RPC.** *Enforced by* `tests/no_allocation.rs`.

#![forbid(unsafe_code)]

mod error;
mod spelling;
mod column;
mod smooth;
mod whole;
pub mod rng;
pub mod streams;
pub mod rate;
pub mod sweep;
pub mod arrivals;
mod alias;
pub mod service;
mod service_log;
pub mod preset;
pub mod keys;
mod zipf;
pub mod mix;
pub mod operation;
pub mod trace;
pub mod schedule;
pub mod recorder;
pub mod hiccup;
pub mod gap_log;
pub mod gap_summary;
pub mod tails;
pub mod by_op;
mod outstanding;
pub mod generator;
pub mod report;
pub mod slo_search;
#[cfg(feature = "toml")]
pub mod from_toml;
#[cfg(feature = "toml")]
pub mod thresholds;

pub use arrivals::modulated::{Mmpp2, OnOff};
pub use arrivals::recorded::ArrivalTrace;
pub use arrivals::{ArrivalProcess, Arrivals};
pub use by_op::ByOp;
pub use column::{Column, Unit};
pub use error::WorkloadError;
pub use gap_log::{Gap, GapLog};
pub use gap_summary::{GapSummary, GapTally};
pub use generator::{Generator, GeneratorConfig};
pub use hiccup::GapDetector;
pub use keys::{KEY_BYTES, Key, KeyPicker, Keys, key_bytes};
pub use mix::Mix;
pub use operation::{Op, Operation};
pub use outstanding::Token;
pub use preset::{PRESETS, Preset};
pub use rate::Rate;
pub use recorder::{Latency, LatencyRecorder, LatencySummary};
pub use report::{Counts, LoadReport};
pub use rng::{Rng, Seed};
pub use schedule::{Length, Schedule, Workload};
pub use service::{ServiceTime, TypeId};
pub use service_log::{Endpoint, ServiceLog};
pub use slo_search::{SearchResult, SloSearch};
pub use streams::Streams;
pub use sweep::Sweep;
pub use tails::Tails;
pub use trace::{TraceReader, TraceWriter};

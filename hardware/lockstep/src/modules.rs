//! Each module against the state machine that is its twin, by itself: a difference in here says
//! where the one of the whole comes from.

mod buffer;
mod choosers;
mod manager;
mod queue;
mod reassembly;

use crate::model::{self, Model};
use crate::rng::mix;
use nebula_nic::Header;

/// A module and its check: inputs, the seed of those, and that of the registers. It returns the
/// first difference.
type Check = fn(&mut Model, u64, u64) -> Result<(), String>;

/// The modules by the names of their models.
const CHECKS: &[(&str, Check)] = &[
    ("buffer", buffer::check),
    ("jbsq", choosers::jbsq),
    ("queue", queue::arrival_queue),
    ("rss", choosers::rss),
    ("hash_ahead", choosers::hash_ahead),
    ("draw", choosers::draw),
    ("round_robin", choosers::round_robin),
    ("credit", queue::credit),
    ("admission", queue::admission),
    ("nack", reassembly::nack),
    ("reassembler", reassembly::reassembler),
    ("frontend", queue::frontend),
    ("manager", manager::check),
];

/// The modules that were compiled.
pub fn names() -> impl Iterator<Item = &'static str> {
    CHECKS.iter().map(|(name, _)| *name).filter(|name| model::names().any(|compiled| compiled == *name))
}

/// Feeds a module and its twin the same inputs.
///
/// # Errors
///
/// The first difference.
///
/// # Panics
///
/// If there is no such module.
pub fn check(name: &str, inputs: u64, seed: u64, x_seed: u64) -> Result<(), String> {
    let (_, check) = CHECKS.iter().find(|(module, _)| *module == name).expect("a module of the table");
    let mut model = Model::new(name, x_seed).expect("a model that was compiled");
    check(&mut model, inputs, seed)
}

/// The hash of an RPC by its sender and transfer.
fn hash_of(header: &Header, seed: u64) -> u64 {
    mix((u64::from(header.snid.0) << 32 | u64::from(header.tid.0)) ^ seed)
}

/// Nothing, if both say the same; else what differs.
fn same<T: PartialEq + std::fmt::Debug>(number: u64, what: &str, soft: T, rtl: T) -> Result<(), String> {
    if soft == rtl {
        return Ok(());
    }
    Err(format!("input {number} differs: {what}: the state machine {soft:?}, the hardware {rtl:?}"))
}

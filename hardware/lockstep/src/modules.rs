//! Compares each module alone with its state machine, to locate a difference of the whole.

mod buffer;
mod choosers;
mod manager;
mod queue;
mod reassembly;

use crate::model::{self, Model};
use crate::rng::mix;
use nebula_nic::Header;

/// A module's check with a number of inputs and their seed; returns the first difference.
type Check = fn(&mut Model, u64, u64) -> Result<(), String>;

/// By the names of their models.
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

/// The compiled modules.
pub fn names() -> impl Iterator<Item = &'static str> {
    CHECKS.iter().map(|(name, _)| *name).filter(|name| model::names().any(|compiled| compiled == *name))
}

/// Feeds a module and its state machine the same inputs.
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

fn hash_of(header: &Header, seed: u64) -> u64 {
    mix((u64::from(header.snid.0) << 32 | u64::from(header.tid.0)) ^ seed)
}

fn same<T: PartialEq + std::fmt::Debug>(number: u64, what: &str, soft: T, rtl: T) -> Result<(), String> {
    if soft == rtl {
        return Ok(());
    }
    Err(format!("input {number} differs: {what}: the state machine {soft:?}, the hardware {rtl:?}"))
}

//! The inputs of the fuzz target `backend_packets`: its seeds, and random ones. They are tiny
//! servers of every shape, with inputs that ordinary traffic lacks: sizes of 2³², slots outside
//! every buffer, several RPCs under one number.

use crate::rng::Rng;
use crate::rtl::Rtl;
use arbitrary::{Arbitrary, Unstructured};
use input::{Config, Op};
use nebula_nic::{Backend, CoreId, Decision, Dispatch, Input, LogLine, ScrubMode, SlotRange, Span, Timestamp};
use std::path::Path;

#[allow(missing_docs, unreachable_pub, dead_code, reason = "the fuzz target's own file")]
#[path = "../../../fuzz/fuzz_targets/backend_packets/input.rs"]
mod input;

/// Of a random input.
const BYTES: usize = 700;

/// The number of trials.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tried {
    /// Servers with a valid configuration.
    pub servers: u64,
    /// Inputs to them.
    pub inputs: u64,
}

/// Tries the files of a folder, and then `drawn` random inputs from `seed`.
///
/// # Errors
///
/// The first difference.
///
/// # Panics
///
/// If the folder cannot be read.
pub fn check(seeds: &Path, drawn: u64, seed: u64) -> Result<Tried, String> {
    let mut tried = Tried::default();
    let mut files: Vec<_> =
        std::fs::read_dir(seeds).expect("the seeds are there").filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    for file in files {
        let bytes = std::fs::read(&file).expect("a seed can be read");
        one(&bytes, seed, &mut tried).map_err(|what| format!("{}: {what}", file.display()))?;
    }
    let mut rng = Rng::new(seed);
    for number in 0..drawn {
        let bytes: Vec<u8> = (0..BYTES / 8).flat_map(|_| rng.word().to_le_bytes()).collect();
        one(&bytes, seed, &mut tried).map_err(|what| format!("byte string {number} of seed {seed}: {what}"))?;
    }
    Ok(tried)
}

fn one(bytes: &[u8], x_seed: u64, tried: &mut Tried) -> Result<(), String> {
    let mut unstructured = Unstructured::new(bytes);
    let Ok(config) = Config::arbitrary(&mut unstructured) else { return Ok(()) };
    let config = config.build().scrub(ScrubMode::Ahead);
    let Ok(mut soft) = Backend::try_new(config) else { return Ok(()) };
    // Skips a jbsq bound or a size beyond all compiled models.
    let Ok(mut rtl) = Rtl::try_new(config, x_seed) else { return Ok(()) };
    tried.servers += 1;
    let mut held: Vec<(CoreId, SlotRange)> = Vec::new();
    let mut at = Timestamp::ZERO;
    while let Ok(op) = Op::arbitrary(&mut unstructured) {
        if unstructured.is_empty() {
            break;
        }
        let input = match op {
            Op::Packet(packet) => Input::Packet(packet.header()),
            Op::FreeHeld { which } if !held.is_empty() => {
                let (core, slots) = held.swap_remove(usize::from(which) % held.len());
                Input::Free { core, slots }
            }
            Op::FreeHeld { .. } => Input::Poll,
            Op::Free { core, start, slots } => {
                let slots = input::range(start.into(), slots.into());
                held.retain(|&one| one != (CoreId(core.into()), slots));
                Input::Free { core: CoreId(core.into()), slots }
            }
            Op::Wait { ns } => {
                at += Span::from_ns(ns.into());
                Input::Timeout
            }
            Op::PeerGone { snid } => Input::PeerGone(input::node(snid)),
            Op::QueueBound { waiting } => Input::QueueBound(waiting.into()),
        };
        tried.inputs += 1;
        let (expected, made) = (LogLine::record(&mut soft, at, input), LogLine::record(&mut rtl, at, input));
        if expected != made {
            return Err(format!("differs: the state machine \"{expected}\", the hardware \"{made}\", {config}"));
        }
        for decision in &expected.decisions {
            if let Decision::Dispatch(Dispatch { core, arrival }) = decision {
                held.push((*core, arrival.slots));
            }
        }
    }
    Ok(())
}

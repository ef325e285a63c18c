//! How large are the receive buffer and the tables? NEBULA's examples, sized by the runtime's code.

use super::lab::Lab;
use super::paper::{self, Sizing as Setup};
use super::reproduction::{ReproduceError, Reproduction};
use super::row::{Judgment, Row};
use crate::interval::Interval;
use nebula_nic::{Sizing, queue_depth_mean};

const KIB: f64 = 1024.0;

pub(super) fn reproduce(_lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::nebula().setup.sizing;
    let (large, small) = (large(setup), small(setup));
    let values = [
        ("nebula/sizing/rpcs", large.buffer_bytes as f64 / f64::from(setup.rpc_bytes)),
        ("nebula/sizing/buffer_kib", large.buffer_bytes as f64 / KIB),
        ("nebula/sizing/bitvector_kib", large.bitvector_bytes as f64 / KIB),
        ("nebula/sizing/cam_entries", large.reassembler_entries as f64),
        ("nebula/sizing/small_buffer_kb", small.buffer_bytes as f64 / 1e3),
    ];
    let row = |(id, ours)| {
        let why = format!("ten times E[Nq] = {:.2} gives {ours:.2}", large.queue_depth_mean);
        Row::judged(paper::nebula().figure(id), Interval::exact(ours), (Judgment::Differs, why))
    };
    Ok(Vec::from(values.map(row)).into())
}

fn large(setup: &Setup) -> Sizing {
    sized(setup.cores, setup.offered_erlangs, setup.rpc_bytes)
}

/// The paper gives the small server's mean queue length; the load follows from it.
fn small(setup: &Setup) -> Sizing {
    sized(setup.small_cores, erlangs_at(setup.small_cores, setup.small_queue_depth_mean), setup.small_rpc_bytes)
}

fn sized(cores: u32, erlangs: f64, rpc_bytes: u32) -> Sizing {
    Sizing::new(cores, erlangs / f64::from(cores), rpc_bytes).expect("the published loads are below saturation")
}

/// The offered load at which `depth` RPCs wait on average.
fn erlangs_at(cores: u32, depth: f64) -> f64 {
    let (mut low, mut high) = (0.0, f64::from(cores));
    for _ in 0..BISECTIONS {
        let middle = (low + high) / 2.0;
        *if queue_depth_mean(cores, middle) < depth { &mut low } else { &mut high } = middle;
    }
    low
}

/// The bits of precision of an `f64`.
const BISECTIONS: u32 = 53;

//! Feeds any sequence of packets, frees, timeouts and lost peers to a small [`Backend`], and
//! compares it with a slow and simple model.
//!
//! Live slots never overlap. Only complete RPCs are delivered, and none twice. No core gets more
//! than its bound, every refusal has its stated reason, and dropped RPCs return their slots.
#![no_main]

#[path = "backend_packets/input.rs"]
mod input;
#[path = "backend_packets/model.rs"]
mod model;

use input::{Input, Op};
use libfuzzer_sys::fuzz_target;
use model::Model;
use nebula_nic::{Backend, CoreId, Span};

fuzz_target!(|input: Input| {
    let config = input.config.build();
    let Ok(backend) = Backend::try_new(config) else { return };
    let mut model = Model::new(backend);
    for op in &input.ops {
        apply(op, &mut model);
        model.drain();
        model.check();
    }
});

fn apply(op: &Op, model: &mut Model) {
    match *op {
        Op::Packet(packet) => model.packet(packet.header()),
        Op::FreeHeld { which } => model.free_held(usize::from(which)),
        Op::Free { core, start, slots } => {
            model.free(CoreId(u16::from(core)), input::range(u32::from(start), u32::from(slots)));
        }
        Op::Wait { ns } => model.wait(Span::from_ns(u64::from(ns))),
        Op::PeerGone { snid } => model.peer_gone(input::node(snid)),
        Op::QueueBound { waiting } => model.set_queue_bound(u32::from(waiting)),
    }
}

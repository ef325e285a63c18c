//! Any sequence of requests, repeats and ends into a small [`Retention`](nebula_nic::Retention),
//! compared with a memory that never forgets.
//!
//! An accepted or refused RPC is never new again, an RPC in the server is never forgotten, no reply
//! overwrites another that is still reported, and the floor never decreases.
#![no_main]

#[expect(dead_code, reason = "the tests of the crate use it all")]
#[path = "../../core/nebula-nic/tests/support/retention.rs"]
mod model;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use model::{Op, Pair};

#[derive(Debug, Arbitrary)]
struct Input {
    entries: u8,
    reply_bytes: u16,
    ops: Vec<Op>,
}

fuzz_target!(|input: Input| {
    let mut pair = Pair::new(u32::from(input.entries % 33), usize::from(input.reply_bytes % 4096));
    for &op in &input.ops {
        pair.apply(op);
    }
    pair.check_all();
});

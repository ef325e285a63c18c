//! Any bytes as a message or an answer of a replica: what is decoded survives encoding.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nebula_replication::machine::Room;
use nebula_replication::wire::{Sender, decode, decode_answer, encode, encode_answer};

const ROOM: Room = Room { items_max: 100, value_bytes_max: 16 };

fuzz_target!(|bytes: &[u8]| {
    if let Ok(message) = decode(bytes, ROOM) {
        let encoded = encode(Sender::Replica(ROOM), &message).expect("what was decoded encodes");
        let again = decode(&encoded, ROOM).expect("what was encoded decodes");
        assert_eq!(format!("{again:?}"), format!("{message:?}"));
    }
    if let Ok(answer) = decode_answer(bytes) {
        let again = decode_answer(&encode_answer(&answer)).expect("what was encoded decodes");
        assert_eq!(format!("{again:?}"), format!("{answer:?}"));
    }
});

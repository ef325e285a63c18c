//! Any sequence of registrations, revocations and one-sided operations, compared with a list and
//! carried out on memory: no byte outside the named region is read or written. Also any bytes as an
//! operation on the wire.
#![no_main]

#[path = "../../core/nebula-nic/tests/support/regions.rs"]
mod model;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use model::{Op, Pair};
use nebula_nic::{Access, AccessKind};
use nebula_sys::sync::{AtomicU64, Ordering};
use nebula_sys::window;

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    max: u8,
    ops: Vec<Op>,
    wire: &'a [u8],
}

/// Regions are parts of this memory. For a window beyond it only its place is compared.
const WORDS: usize = 512;

fuzz_target!(|input: Input<'_>| {
    if let Ok((access, data)) = Access::decode(input.wire) {
        assert_eq!([&access.encode()[..], data].concat(), input.wire);
    }
    let mut pair = Pair::new(u16::from(input.max % 9));
    let words: Vec<AtomicU64> = (0..WORDS).map(|word| AtomicU64::new(2 * word as u64)).collect();
    let mut bytes: Vec<u8> = (0..WORDS).flat_map(|word| (2 * word as u64).to_le_bytes()).collect();
    for &op in &input.ops {
        let Some((access, place)) = pair.apply(op) else { continue };
        let Ok(from) = usize::try_from(place.offset) else { continue };
        let Some(to) = from.checked_add(place.bytes as usize).filter(|&to| to <= bytes.len()) else { continue };
        match access.kind {
            AccessKind::Read { version_at } => {
                let mut read = vec![0; to - from];
                match version_at.and(place.version).and_then(|at| usize::try_from(at).ok()) {
                    Some(at) if at + 8 <= bytes.len() => {
                        let version = word_at(&bytes, at);
                        let found = window::load_whole(&words, at, from, &mut read);
                        assert_eq!(found, (version % 2 == 0).then_some(version));
                        if found.is_none() {
                            continue;
                        }
                    }
                    Some(_) => continue,
                    None => window::load(&words, from, &mut read),
                }
                assert_eq!(read, bytes[from..to]);
            }
            AccessKind::CompareSwap { expected, desired } => {
                let found = word_at(&bytes, from);
                assert_eq!(window::compare_swap(&words, from, expected, desired), found);
                if found == expected {
                    bytes[from..to].copy_from_slice(&desired.to_le_bytes());
                }
            }
            _ => {
                let data = vec![0xA5; to - from];
                window::store(&words, from, &data);
                bytes[from..to].copy_from_slice(&data);
            }
        }
    }
    let there: Vec<u8> = words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
    assert_eq!(there, bytes);
});

fn word_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

//! Every history of up to five steps on the smallest stores, with three keys of one bucket, two of
//! which share a tag.

use crate::model::{Model, Op, Tiny, check_all, check_exact, check_lossy};
use nebula_kvs::{Eviction, Mode, Store};

const STEPS: u32 = 5;
const KEYS: [u8; 3] = [0, 3, 5];
/// One fits the smallest item; the other outgrows it and is the longest for the smallest segment.
const VALUE_BYTES: [u8; 2] = [8, 48];

fn alphabet() -> Vec<Op> {
    let sets = KEYS.iter().flat_map(|&key| VALUE_BYTES.map(|value_bytes| Op::Set { key, value_bytes, fill: 0 }));
    sets.chain(KEYS.map(|key| Op::Delete { key })).collect()
}

fn run_all(tiny: Tiny, check: impl Fn(&Store, &mut Model, Op)) -> u64 {
    let alphabet = alphabet();
    let histories = (alphabet.len() as u64).pow(STEPS);
    for history in 0..histories {
        let store = tiny.store();
        let mut model = Model::new(tiny);
        let mut rest = history;
        for step in 0..STEPS {
            let op = alphabet[usize::try_from(rest % alphabet.len() as u64).expect("an index")];
            rest /= alphabet.len() as u64;
            check(&store, &mut model, with_fill(op, step));
            check_all(&store, &model);
        }
    }
    histories
}

/// Each step writes other bytes, so that a stale value does not pass for the latest.
fn with_fill(op: Op, step: u32) -> Op {
    match op {
        Op::Set { key, value_bytes, .. } => {
            Op::Set { key, value_bytes, fill: u8::try_from(step * 50).expect("few steps") }
        }
        other => other,
    }
}

const TINY: Tiny = Tiny {
    mode: Mode::Store,
    buckets: 1,
    extra_buckets: 0,
    log_bytes: 256,
    keys: 6,
    value_bytes_end: 49,
    eviction: Eviction::Oldest,
};

#[test]
fn all_short_histories_of_a_store_that_fills_up() {
    assert_eq!(run_all(TINY, check_exact), 59_049);
}

#[test]
fn all_short_histories_of_a_cache_that_wraps() {
    for eviction in [Eviction::Oldest, Eviction::Unread] {
        assert_eq!(run_all(Tiny { mode: Mode::Cache, eviction, ..TINY }, check_lossy), 59_049);
    }
}

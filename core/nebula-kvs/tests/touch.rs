//! The store touches exactly the blocks that `touch` describes.

use nebula_kvs::{
    KeyHash, Mode, Pages, Probe, Store, StoreConfig,
    touch::{Access, Op, Structure, Touch, touches},
};
use std::{cell::RefCell, collections::BTreeSet, ops::RangeInclusive};

type Seen = BTreeSet<(Structure, u32, Access)>;

#[derive(Default)]
struct Recorder(RefCell<Seen>);

impl Probe for Recorder {
    fn touch(&self, what: Structure, blocks: RangeInclusive<u32>, access: Access) {
        self.0.borrow_mut().extend(blocks.map(|block| (what, block, access)));
    }
}

const KEY_BYTES: [usize; 6] = [1, 8, 16, 48, 56, 255];
const VALUE_BYTES: [usize; 9] = [0, 1, 8, 40, 41, 64, 512, 1000, 5000];

fn set(store: &Store<Recorder>, key: &[u8], value_bytes: usize) {
    store.set(KeyHash::of(key), key, &vec![7; value_bytes]).expect("room");
}

/// Prepares the store so that `op` has its outcome, runs it, and returns what it touched.
fn touched(op: Op, mode: Mode, key_bytes: usize, value_bytes: usize) -> Seen {
    let config = StoreConfig { buckets: 4, log_bytes: 1 << 20, mode, extra_buckets: 1, pages: Pages::Base };
    let store = Store::try_with_probe(config, Recorder::default()).expect("a small store");
    let key = vec![3; key_bytes];
    match op {
        Op::GetHit | Op::SetInPlace | Op::DeleteHit => set(&store, &key, value_bytes),
        // An item of one granule at the very start, which every longer one outgrows.
        Op::SetAppend => set(&store, &key, 0),
        Op::GetMiss | Op::SetInsert | Op::DeleteMiss => {}
    }
    store.probe().0.take();
    let hash = KeyHash::of(&key);
    match op {
        Op::GetHit => assert!(store.get(hash, &key, &mut Vec::new())),
        Op::GetMiss => assert!(!store.get(hash, &key, &mut Vec::new())),
        Op::SetInPlace | Op::SetInsert | Op::SetAppend => set(&store, &key, value_bytes),
        Op::DeleteHit => assert!(store.delete(hash, &key)),
        Op::DeleteMiss => assert!(!store.delete(hash, &key)),
    }
    store.probe().0.take()
}

fn described(op: Op, mode: Mode, key_bytes: usize, value_bytes: usize) -> Vec<Touch> {
    touches(op, mode, key_bytes, value_bytes).collect()
}

/// Whether a value of `value_bytes` bytes outgrows the item of an empty value.
fn outgrows(key_bytes: usize, value_bytes: usize) -> bool {
    let bytes = 8 + key_bytes.next_multiple_of(8);
    let room = if bytes <= 32 { 32 } else { bytes.next_multiple_of(64) };
    bytes + value_bytes.next_multiple_of(8) > room
}

#[test]
fn the_store_touches_what_is_described_and_nothing_else() {
    for mode in [Mode::Cache, Mode::Store] {
        for op in Op::ALL {
            for key_bytes in KEY_BYTES {
                for value_bytes in VALUE_BYTES {
                    if op == Op::SetAppend && !outgrows(key_bytes, value_bytes) {
                        continue;
                    }
                    let described = described(op, mode, key_bytes, value_bytes);
                    let set: Seen = described.iter().map(|t| (t.what, t.block, t.access)).collect();
                    let case = format!("{op:?} {mode:?} {key_bytes} {value_bytes}");
                    assert_eq!(touched(op, mode, key_bytes, value_bytes), set, "{case}");
                    assert_eq!(described.len(), set.len(), "{case}: a touch is listed twice");
                }
            }
        }
    }
}

#[test]
fn only_the_found_items_first_block_waits_for_the_touch_before_it() {
    for op in Op::ALL {
        let touches = described(op, Mode::Cache, 16, 512);
        for (i, touch) in touches.iter().enumerate() {
            let is_first_of_found = touch.what == Structure::LogItem
                && touch.access == Access::Read
                && touches[i - 1].what == Structure::Bucket;
            assert_eq!(touch.depends_on_previous, is_first_of_found, "{op:?} {touch:?}");
        }
    }
}

#[test]
fn the_papers_pairs_take_as_many_lines_as_in_the_paper() {
    let log_lines = |op, value_bytes| {
        let is_of_item = |t: &Touch| matches!(t.what, Structure::LogItem | Structure::AppendedItem);
        let blocks: BTreeSet<u32> =
            described(op, Mode::Cache, 16, value_bytes).iter().filter(|t| is_of_item(t)).map(|t| t.block).collect();
        blocks.len()
    };
    assert_eq!(log_lines(Op::GetHit, 512), 9);
    assert_eq!(log_lines(Op::SetInPlace, 512), 9);
    assert_eq!(log_lines(Op::SetInsert, 512), 9);
    assert_eq!(log_lines(Op::GetHit, 8), 1);
    assert_eq!(log_lines(Op::GetMiss, 512), 0);
}

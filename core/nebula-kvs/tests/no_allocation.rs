//! Creating the store is its last allocation.
#![cfg(not(loom))]

use nebula_kvs::{Mode, SliceSink, Store, StoreConfig};
use nebula_testing::allocations::{Counting, allocations, made_by};

#[global_allocator]
static ALLOCATOR: Counting = Counting::new();

fn key(number: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&number.to_le_bytes());
    key
}

/// Runs SETs, GETs and DELETEs through overflowing buckets and, in a cache, several laps of the
/// log.
fn use_up(store: &Store, buffer: &mut [u8]) -> usize {
    let mut found = 0;
    for number in 0..100_000_u64 {
        let key = key(number % 5000);
        let hash = Store::hash(&key);
        let _ = store.set(hash, &key, &[1; 100][..usize::try_from(number % 100).expect("small")]);
        found += usize::from(store.get(hash, &key, &mut SliceSink::new(buffer)));
        if number % 3 == 0 {
            store.delete(hash, &key);
        }
    }
    let keys: [_; 40] = std::array::from_fn(|number| key(number as u64));
    store.get_each(&keys, 100, &mut SliceSink::new(buffer), |_, is_found, _| found += usize::from(is_found));
    found
}

#[test]
fn no_operation_allocates() {
    for mode in [Mode::Cache, Mode::Store] {
        let config = StoreConfig { mode, buckets: 256, log_bytes: 256 << 10, ..StoreConfig::for_items(1000, 16, 100) };
        let store = Store::try_new(config).expect("a small store");
        let mut buffer = [0; 128];
        let before = allocations();
        let found = use_up(&store, &mut buffer);
        assert_eq!(allocations(), before);
        assert!(found > 1000, "{found} found in {mode:?}");
    }
}

#[test]
fn the_counter_counts() {
    assert_eq!(made_by(|| drop(std::hint::black_box(Box::new(7)))), 1);
}

//! How many items a cache keeps in a given memory, whatever its longest value.

use nebula_kvs::{Mode, Put, Store, StoreConfig, VALUE_BYTES_MAX};

/// What a server with `--memory 64MiB` leaves to the store: all but a 40th for receive buffers.
const STORE_BYTES: usize = (64 << 20) / 40 * 39;
/// Items of 100 B that memcached 1.6.18 with `-m 64` keeps.
const MEMCACHED_KEEPS: usize = 349_504;

fn put(store: &Store, number: u64, value: &[u8]) {
    let key = format!("key{number}");
    store.put(Store::hash(key.as_bytes()), key.as_bytes(), value, Put::default()).expect("a cache takes all");
}

fn cache(value_bytes: usize) -> Store {
    Store::try_new(StoreConfig::within(STORE_BYTES, Mode::Cache, 16, value_bytes)).expect("a small store")
}

#[test]
fn short_items_are_kept_as_memcached_keeps_them_whatever_the_longest_value() {
    let store = cache(VALUE_BYTES_MAX);
    // The log wraps.
    (0..420_000).for_each(|number| put(&store, number, &[1; 100]));
    let kept = store.items_live();
    assert!(kept >= MEMCACHED_KEEPS / 10 * 9, "{kept}");
    assert!(store.stats().log_wraps > 0 && store.stats().extra_buckets_used > 10_000, "{:?}", store.stats());
}

#[test]
fn what_has_room_is_kept_to_the_last_item() {
    let store = cache(VALUE_BYTES_MAX);
    (0..300_000).for_each(|number| put(&store, number, &[1; 60]));
    assert_eq!((store.items_live(), store.stats().evicted), (300_000, 0));
}

#[test]
fn the_index_takes_no_more_than_it_needs_and_the_newest_items_stay() {
    let store = cache(VALUE_BYTES_MAX);
    (0..7_000).for_each(|number| put(&store, number, &[1; 10_000]));
    assert_eq!(store.stats().extra_buckets_used, 0, "long items need none");
    (0..300_000).for_each(|number| put(&store, number, &[2; 20]));
    let kept = (0..300_000).filter(|&number| {
        let key = format!("key{number}");
        let mut value = Vec::new();
        store.get(Store::hash(key.as_bytes()), key.as_bytes(), &mut value) && value == [2; 20]
    });
    let kept = kept.count();
    // Some are evicted from full buckets before the log reaches the end of a segment.
    assert!(kept > 296_000, "{kept}");
}

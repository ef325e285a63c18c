//! A cache that keeps items that are read.

use nebula_kvs::{Eviction, Mode, Pages, Put, Store, StoreConfig, StoreOptions};

fn cache(eviction: Eviction, log_bytes: usize) -> Store {
    let config = StoreConfig { buckets: 4096, log_bytes, mode: Mode::Cache, extra_buckets: 0, pages: Pages::Base };
    Store::try_with(config, StoreOptions { eviction, ..StoreOptions::default() }).expect("a small cache")
}

fn key(number: u32) -> [u8; 8] {
    u64::from(number).to_le_bytes()
}

fn put(store: &Store, number: u32, put: Put) {
    store.put(Store::hash(&key(number)), &key(number), &[7; 64], put).expect("a cache takes all");
}

fn is_there(store: &Store, number: u32) -> bool {
    store.get_item(Store::hash(&key(number)), &key(number), 0, &mut Vec::new()).is_some()
}

/// Stores many more items than fit while reading the first ten from time to time; how many of those
/// remain.
fn kept(eviction: Eviction, store_one: impl Fn(&Store, u32)) -> usize {
    let store = cache(eviction, 64 << 10);
    (0..10).for_each(|number| store_one(&store, number));
    for number in 10..20_000 {
        store_one(&store, number);
        is_there(&store, number % 10);
    }
    (0..10).filter(|&number| is_there(&store, number)).count()
}

#[test]
fn items_that_are_read_outlive_many_rounds_of_the_log() {
    let with_metadata = |store: &Store, number| put(store, number, Put::default());
    let plain = |store: &Store, number| {
        store.set(Store::hash(&key(number)), &key(number), &[7; 20]).expect("a cache takes all");
    };
    assert_eq!((kept(Eviction::Unread, with_metadata), kept(Eviction::Unread, plain)), (10, 10));
    assert_eq!((kept(Eviction::Oldest, with_metadata), kept(Eviction::Oldest, plain)), (0, 0));
}

#[test]
fn items_that_expired_are_not_carried_over_though_they_were_read() {
    let store = cache(Eviction::Unread, 64 << 10);
    for number in 0..200 {
        put(&store, number, Put { expires: 10, now: 1, ..Put::default() });
        is_there(&store, number);
    }
    for number in 200..2_000 {
        put(&store, number, Put { now: 20, ..Put::default() });
    }
    assert_eq!(store.stats().carried, 0);
}

#[test]
fn where_everything_is_read_new_items_still_find_room() {
    let store = cache(Eviction::Unread, 32 << 10);
    for number in 0..20_000 {
        put(&store, number, Put::default());
        assert!(is_there(&store, number), "item {number} was just stored");
        let found = (number.saturating_sub(300)..number).filter(|&number| is_there(&store, number)).count();
        assert!(found > 20 || number < 100, "only {found} of the last 300");
    }
    assert!(store.stats().carried > 10_000);
}

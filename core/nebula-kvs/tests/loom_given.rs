//! Loom: a segment that a cache's log gives to the index, concurrent with readers and writers of
//! the items that were in it.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod tiny;

use nebula_kvs::{Mode, Pages, Store, StoreConfig};
use tiny::{get, race, set, value};

/// One bucket, and four segments of seven items each, of which the index may get one.
fn store() -> Store {
    let config = StoreConfig { buckets: 1, log_bytes: 1024, mode: Mode::Cache, extra_buckets: 0, pages: Pages::Base };
    Store::try_new(config).expect("a tiny store")
}

fn set_of(store: &Store, key: u8) {
    set(store, &[key], &value(key));
}

fn check(store: &Store, keys: std::ops::Range<u8>) -> usize {
    let found = keys.filter(|&key| get(store, &[key]).inspect(|&found| assert_eq!(found, key)).is_some());
    found.count()
}

/// A full bucket, and no segment given: the log is in its first lap.
fn full() -> Store {
    let store = store();
    (1..8).for_each(|key| set_of(&store, key));
    store
}

#[test]
fn two_writers_that_need_a_bucket_at_once_get_one_and_lose_nothing() {
    let at_end = |store: &Store, (), ()| {
        assert_eq!((check(store, 1..10), store.stats().extra_buckets_used), (9, 1));
    };
    race(2, full, |s| set_of(s, 8), |s| set_of(s, 9), at_end);
}

#[test]
fn a_get_finds_its_item_while_its_chain_grows() {
    let at_end = |_: &Store, seen, ()| assert_eq!(seen, Some(3));
    race(3, full, |s| get(s, &[3]), |s| set_of(s, 8), at_end);
}

/// The tail is in its second lap, at the end of the first segment, and the index has asked for a
/// segment. The next append gives away that with item 9, and drops item 16 in the next.
fn about_to_give() -> Store {
    let store = store();
    (1..33).for_each(|key| {
        set_of(&store, key);
        if !matches!(key, 8 | 9 | 16 | 29..) {
            tiny::delete(&store, &[key]);
        }
    });
    // The eighth item, for which 8 is evicted.
    set_of(&store, 33);
    [32, 33].iter().for_each(|&key| assert!(tiny::delete(&store, &[key])));
    (34..36).for_each(|key| set_of(&store, key));
    assert_eq!((check(&store, 1..36), store.stats().extra_buckets_used), (7, 0));
    store
}

#[test]
fn a_get_of_an_item_whose_segment_is_given_sees_all_of_it_or_nothing() {
    let at_end = |store: &Store, seen, ()| {
        assert!(matches!(seen, None | Some(9)), "{seen:?}");
        assert_eq!((get(store, &[9]), get(store, &[36])), (None, Some(36)));
        (37..39).for_each(|key| set_of(store, key));
        assert_eq!((check(store, 1..40), store.stats().extra_buckets_used), (8, 1));
    };
    race(2, about_to_give, |s| get(s, &[9]), |s| set_of(s, 36), at_end);
}

#[test]
fn two_appends_of_which_one_gives_a_segment_that_the_other_opens_do_not_overlap() {
    let at_end = |store: &Store, (), ()| {
        assert_eq!(check(store, 36..38), 2);
        set_of(store, 38);
        assert!(check(store, 1..40) >= 8);
    };
    race(2, about_to_give, |s| set_of(s, 36), |s| set_of(s, 37), at_end);
}

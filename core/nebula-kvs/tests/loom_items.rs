//! Loom: items with metadata, read, noted as read, stored under a condition and evicted at the same
//! time.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod tiny;

use nebula_kvs::{Condition, Mode, Put, PutOutcome, Store};
use tiny::{AWAY, AWAY_TOO, KEY, hash, long_value, race, set, store, value};

fn put(store: &Store, key: &[u8], value: &[u8], put: Put) -> PutOutcome {
    store.put(hash(key), key, value, put).expect("room")
}

/// Which write a GET returned, by its value and its flags.
fn get_item(store: &Store, key: &[u8]) -> Option<u8> {
    let mut value = Vec::new();
    let meta = store.get_item(hash(key), key, 0, &mut value)?;
    assert!(
        value.iter().all(|byte| *byte == value[0]) && meta.flags == u32::from(value[0]),
        "torn: {value:?} {meta:?}"
    );
    assert!(meta.cas > 0);
    Some(value[0])
}

fn write(store: &Store, key: &[u8], write: u8) -> PutOutcome {
    put(store, key, &value(write), Put { flags: u32::from(write), ..Put::default() })
}

fn with_key(mode: Mode) -> Store {
    let store = store(mode);
    write(&store, KEY, 1);
    store
}

#[test]
fn a_get_during_a_store_sees_value_and_metadata_of_one_write() {
    let at_end = |store: &Store, seen, _| {
        assert!(matches!(seen, Some(1 | 2)), "{seen:?}");
        assert_eq!(get_item(store, KEY), Some(2));
    };
    race(2, || with_key(Mode::Cache), |s| get_item(s, KEY), |s| write(s, KEY, 2), at_end);
}

#[test]
fn of_two_stores_that_name_the_same_number_one_happens() {
    fn only_if_first(store: &Store, with: u8) -> PutOutcome {
        let condition = Condition::Cas(1);
        put(store, KEY, &value(with), Put { flags: u32::from(with), condition, ..Put::default() })
    }
    let at_end = |store: &Store, one, two| {
        let is_stored = [one, two].map(|outcome| matches!(outcome, PutOutcome::Stored { .. }));
        assert!(is_stored[0] ^ is_stored[1], "{one:?} {two:?}");
        assert_eq!(get_item(store, KEY), Some(if is_stored[0] { 2 } else { 3 }));
    };
    race(2, || with_key(Mode::Store), |s| only_if_first(s, 2), |s| only_if_first(s, 3), at_end);
}

#[test]
fn a_read_that_is_noted_while_its_item_is_recycled_writes_into_no_other() {
    let set_up = || {
        let store = with_key(Mode::Cache);
        set(&store, AWAY, &long_value(7));
        store
    };
    let at_end = |store: &Store, seen, ()| {
        assert!(matches!(seen, None | Some(1)), "{seen:?}");
        assert_eq!(tiny::get(store, AWAY_TOO), Some(8));
    };
    race(2, set_up, |s| get_item(s, KEY), |s| set(s, AWAY_TOO, &long_value(8)), at_end);
}

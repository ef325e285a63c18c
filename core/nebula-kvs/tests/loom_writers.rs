//! Loom: two writers of one bucket.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod tiny;

use nebula_kvs::{Mode, Store};
use tiny::{KEY, OTHER, delete, get, race, set, store, value};

fn store_with_key(mode: Mode) -> Store {
    let store = store(mode);
    set(&store, KEY, &value(1));
    store
}

#[test]
fn two_first_sets_of_one_key_leave_one_of_the_values() {
    let at_end = |store: &Store, (), ()| {
        assert!(matches!(get(store, KEY), Some(1 | 2)));
        assert_eq!(store.items_live(), 1);
    };
    race(3, || store(Mode::Cache), |s| set(s, KEY, &value(1)), |s| set(s, KEY, &value(2)), at_end);
}

#[test]
fn two_updates_of_one_key_leave_one_of_the_values() {
    let at_end = |store: &Store, (), ()| assert!(matches!(get(store, KEY), Some(2 | 3)));
    race(3, || store_with_key(Mode::Cache), |s| set(s, KEY, &value(2)), |s| set(s, KEY, &value(3)), at_end);
}

#[test]
fn two_sets_of_two_keys_leave_both() {
    for mode in [Mode::Cache, Mode::Store] {
        let at_end = |store: &Store, (), ()| {
            assert_eq!((get(store, KEY), get(store, OTHER)), (Some(1), Some(2)));
        };
        race(3, move || store(mode), |s| set(s, KEY, &value(1)), |s| set(s, OTHER, &value(2)), at_end);
    }
}

#[test]
fn of_two_deletes_one_finds_the_key() {
    let at_end = |store: &Store, one: bool, two: bool| {
        assert!(one ^ two);
        assert_eq!(get(store, KEY), None);
    };
    race(3, || store_with_key(Mode::Store), |s| delete(s, KEY), |s| delete(s, KEY), at_end);
}

#[test]
fn a_delete_and_a_set_of_one_key_happen_in_some_order() {
    let at_end = |store: &Store, (), was_there: bool| {
        assert!(was_there);
        assert!(matches!(get(store, KEY), None | Some(2)));
    };
    race(3, || store_with_key(Mode::Cache), |s| set(s, KEY, &value(2)), |s| delete(s, KEY), at_end);
}

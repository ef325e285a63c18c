//! Loom: a GET concurrent with a SET or a DELETE of the same key.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod tiny;

use nebula_kvs::{Mode, Store};
use tiny::{KEY, delete, get, long_value, race, set, store, value};

fn store_with_key(mode: Mode) -> Store {
    let store = store(mode);
    set(&store, KEY, &value(1));
    store
}

#[test]
fn a_get_during_an_update_in_place_sees_one_value_or_the_other() {
    for mode in [Mode::Cache, Mode::Store] {
        let at_end = |store: &Store, seen, ()| {
            assert!(matches!(seen, Some(1 | 2)), "{seen:?}");
            assert_eq!(get(store, KEY), Some(2));
            assert_eq!(store.stats().updated_in_place, 1);
        };
        race(3, move || store_with_key(mode), |s| get(s, KEY), |s| set(s, KEY, &value(2)), at_end);
    }
}

#[test]
fn a_get_during_an_update_that_moves_the_item_sees_one_value_or_the_other() {
    for mode in [Mode::Cache, Mode::Store] {
        let at_end = |store: &Store, seen, ()| {
            assert!(matches!(seen, Some(1 | 2)), "{seen:?}");
            assert_eq!(get(store, KEY), Some(2));
            assert_eq!(store.stats().appended, 1);
        };
        race(3, move || store_with_key(mode), |s| get(s, KEY), |s| set(s, KEY, &long_value(2)), at_end);
    }
}

#[test]
fn a_get_during_the_first_set_sees_nothing_or_the_value() {
    let at_end = |store: &Store, seen, ()| {
        assert!(matches!(seen, None | Some(1)), "{seen:?}");
        assert_eq!(get(store, KEY), Some(1));
    };
    race(3, || store(Mode::Cache), |s| get(s, KEY), |s| set(s, KEY, &value(1)), at_end);
}

#[test]
fn a_get_during_a_delete_sees_the_value_or_nothing_and_afterwards_nothing() {
    let at_end = |store: &Store, seen, was_there| {
        assert!(was_there && matches!(seen, None | Some(1)), "{seen:?}");
        assert_eq!(get(store, KEY), None);
    };
    race(3, || store_with_key(Mode::Cache), |s| get(s, KEY), |s| delete(s, KEY), at_end);
}

#[test]
fn of_two_successive_gets_the_second_never_sees_an_older_value() {
    let at_end = |_: &Store, seen: [Option<u8>; 2], ()| assert!(seen[0] <= seen[1], "{seen:?}");
    race(3, || store_with_key(Mode::Cache), |s| [get(s, KEY), get(s, KEY)], |s| set(s, KEY, &value(2)), at_end);
}

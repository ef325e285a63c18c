//! Loom: an operation on an item that is carried over at the same time because it was read.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod tiny;

use nebula_kvs::Store;
use tiny::{AWAY, KEY, delete, get, keeping, race, set, value};

/// A cache whose first segment is full. The next append opens the second segment and then recycles
/// the first, which carries over `KEY`'s item of half a line.
fn about_to_carry() -> Store {
    let store = keeping();
    set(&store, KEY, &value(1));
    set(&store, b"x", &value(3));
    set(&store, b"y", &value(4));
    assert_eq!(get(&store, KEY), Some(1));
    store
}

fn append(store: &Store) {
    set(store, AWAY, &value(7));
}

#[test]
fn a_get_of_an_item_that_is_carried_over_finds_it() {
    let at_end = |store: &Store, seen, ()| {
        assert_eq!(seen, Some(1));
        assert_eq!((store.stats().carried, get(store, KEY), get(store, AWAY)), (1, Some(1), Some(7)));
    };
    race(3, about_to_carry, |s| get(s, KEY), append, at_end);
}

#[test]
fn an_update_of_an_item_that_is_carried_over_is_not_undone() {
    let at_end = |store: &Store, (), ()| assert_eq!(get(store, KEY), Some(2));
    race(2, about_to_carry, |s| set(s, KEY, &value(2)), append, at_end);
}

#[test]
fn an_item_that_is_deleted_while_it_is_carried_over_does_not_come_back() {
    let at_end = |store: &Store, was_there: bool, ()| {
        assert!(was_there);
        assert_eq!(get(store, KEY), None);
    };
    race(2, about_to_carry, |s| delete(s, KEY), append, at_end);
}

#[test]
fn an_item_that_is_carried_over_while_its_segment_is_recycled_is_whole_or_gone() {
    let fill = |store: &Store| {
        set(store, b"p", &value(8));
        set(store, b"t", &value(9));
        set(store, b"u", &value(6));
    };
    let at_end = |store: &Store, (), ()| {
        assert!(matches!(get(store, KEY), None | Some(1)));
        assert!(matches!(get(store, b"u"), None | Some(6)));
    };
    race(1, about_to_carry, |s| set(s, b"q", &value(7)), fill, at_end);
}

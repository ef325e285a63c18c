//! Loom: a GET of an item that is deleted at the same time and whose space another item takes.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod tiny;

use nebula_kvs::{KeyHash, Mode, Store};
use tiny::{AWAY, KEY, delete, get, race, race_of_three, set, store, value};

fn with_key() -> Store {
    let store = store(Mode::Store);
    set(&store, KEY, &value(1));
    store
}

#[test]
fn a_get_while_its_item_is_deleted_and_its_space_taken_sees_all_of_it_or_nothing() {
    let replace = |s: &Store| {
        assert!(delete(s, KEY));
        set(s, AWAY, &value(7));
    };
    let at_end = |store: &Store, seen, ()| {
        assert!(matches!(seen, None | Some(1)), "{seen:?}");
        assert_eq!((get(store, KEY), get(store, AWAY)), (None, Some(7)));
    };
    race(3, with_key, |s| get(s, KEY), replace, at_end);
}

#[test]
fn two_writers_never_take_the_same_space() {
    let set_up = || {
        let store = with_key();
        assert!(delete(&store, KEY));
        store
    };
    let at_end = |store: &Store, (), ()| assert_eq!((get(store, b"q"), get(store, b"r")), (Some(5), Some(6)));
    race(2, set_up, |s| set(s, b"q", &value(5)), |s| set(s, b"r", &value(6)), at_end);
}

#[test]
fn a_get_sees_nothing_of_space_that_one_thread_frees_and_another_takes() {
    let at_end = |store: &Store, seen| {
        assert!(matches!(seen, None | Some(1)), "{seen:?}");
        assert_eq!(get(store, AWAY), Some(7));
    };
    let others: [fn(&Store); 2] = [|s| assert!(delete(s, KEY)), |s| set(s, AWAY, &value(7))];
    race_of_three(1, with_key, |s| get(s, KEY), others, at_end);
}

/// A key stored under two hashes: the second item takes the first one's place.
#[test]
fn a_get_does_not_take_an_item_of_its_key_in_another_bucket_for_its_own() {
    const HERE: KeyHash = KeyHash(1 << 16 | 9);
    const ELSEWHERE: KeyHash = KeyHash(2 << 16 | 9);
    let set_up = || {
        let store = store(Mode::Store);
        store.set(HERE, b"self!", &value(1)).expect("room");
        store
    };
    let get_here = |s: &Store| {
        let mut value = Vec::new();
        s.get(HERE, b"self!", &mut value).then(|| value[0])
    };
    let replace = |s: &Store| {
        assert!(s.delete(HERE, b"self!"));
        s.set(ELSEWHERE, b"self!", &value(8)).expect("room");
    };
    let at_end = |_: &Store, seen: Option<u8>, ()| assert!(matches!(seen, None | Some(1)), "{seen:?}");
    race(3, set_up, get_here, replace, at_end);
}

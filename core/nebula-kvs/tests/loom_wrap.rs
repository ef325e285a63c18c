//! Loom: an operation on an item concurrent with appends, from another bucket, that recycle the
//! item's segment.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod tiny;

use nebula_kvs::{KeyHash, Mode, Store};
use tiny::{AWAY, AWAY_TOO, KEY, delete, get, long_value, race, race_of_three, set, store, value};

/// A cache whose next append recycles the segment of `KEY`'s item: the tail is in the other
/// segment, after `AWAY`'s item.
fn about_to_recycle() -> Store {
    let store = store(Mode::Cache);
    set(&store, KEY, &long_value(1));
    set(&store, AWAY, &long_value(7));
    store
}

fn recycle(store: &Store) {
    set(store, AWAY_TOO, &long_value(8));
}

#[test]
fn a_get_while_its_item_is_recycled_sees_all_of_it_or_nothing() {
    let at_end = |store: &Store, seen, ()| {
        assert!(matches!(seen, None | Some(1)), "{seen:?}");
        assert_eq!((get(store, KEY), get(store, AWAY), get(store, AWAY_TOO)), (None, Some(7), Some(8)));
    };
    race(3, about_to_recycle, |s| get(s, KEY), recycle, at_end);
}

#[test]
fn an_update_while_its_item_is_recycled_never_writes_into_the_next() {
    let at_end = |store: &Store, (), ()| {
        // Either the update came first, in place, and was recycled; or its item was already gone,
        // and either append recycled the other segment.
        let seen = (get(store, KEY), get(store, AWAY), get(store, AWAY_TOO));
        assert!(matches!(seen, (None, Some(7), Some(8)) | (Some(2), None, _)), "{seen:?}");
        assert!(seen.2.is_none_or(|write| write == 8), "{seen:?}");
    };
    race(3, about_to_recycle, |s| set(s, KEY, &long_value(2)), recycle, at_end);
}

#[test]
fn a_delete_while_its_item_is_recycled_deletes_nothing_else() {
    let at_end = |store: &Store, _, ()| {
        assert_eq!((get(store, KEY), get(store, AWAY), get(store, AWAY_TOO)), (None, Some(7), Some(8)));
    };
    race(3, about_to_recycle, |s| delete(s, KEY), recycle, at_end);
}

#[test]
fn two_appends_that_open_the_same_segment_do_not_overlap() {
    let at_end = |store: &Store, (), ()| {
        // Each append fills a segment, so only the later one is certain to remain.
        let seen = (get(store, b"m"), get(store, AWAY_TOO));
        assert!(matches!(seen, (Some(9), None | Some(8)) | (None, Some(8))), "{seen:?}");
        assert_eq!(get(store, KEY), None);
    };
    race(2, about_to_recycle, |s| set(s, b"m", &long_value(9)), recycle, at_end);
}

#[test]
fn a_stalled_append_is_not_overwritten_by_two_that_wrap_the_log() {
    let at_end = |store: &Store, (), ()| {
        let seen = [(get(store, b"m"), 9), (get(store, AWAY), 4), (get(store, AWAY_TOO), 8)];
        assert!(seen.iter().all(|&(found, write)| found.is_none_or(|found| found == write)), "{seen:?}");
    };
    let go_round = |s: &Store| {
        recycle(s);
        delete(s, AWAY);
        set(s, AWAY, &long_value(4));
    };
    race(2, about_to_recycle, |s| set(s, b"m", &long_value(9)), go_round, at_end);
}

#[test]
fn a_get_sees_no_append_of_a_thread_that_found_the_segment_open() {
    let at_end = |store: &Store, seen| {
        assert!(matches!(seen, None | Some(1)), "{seen:?}");
        assert_eq!((get(store, b"q"), get(store, b"r")), (Some(5), Some(6)));
    };
    // Two items of half a line in different buckets: one thread opens the segment, the other
    // overwrites half of the item that the GET reads.
    let append: [fn(&Store); 2] = [|s| set(s, b"q", &value(5)), |s| set(s, b"r", &value(6))];
    let set_up = || {
        let store = about_to_recycle();
        set(&store, b"x", &value(3));
        store
    };
    race_of_three(1, set_up, |s| get(s, KEY), append, at_end);
}

/// The bucket and tag of two keys.
const HERE: KeyHash = KeyHash(1 << 16 | 9);
/// Another bucket, under which the second key is appended at the first item's old place.
const ELSEWHERE: KeyHash = KeyHash(2 << 16 | 9);

fn append_elsewhere(store: &Store) {
    store.set(ELSEWHERE, b"self!", &long_value(8)).expect("room");
}

/// The first key alone: its item is the next to be recycled.
fn with_other() -> Store {
    let store = store(Mode::Cache);
    store.set(HERE, b"other", &long_value(1)).expect("room");
    set(&store, AWAY, &long_value(7));
    store
}

/// Both keys; only the first one's item is about to be recycled.
fn with_other_and_self() -> Store {
    let store = store(Mode::Cache);
    store.set(HERE, b"other", &long_value(1)).expect("room");
    store.set(HERE, b"self!", &long_value(7)).expect("room");
    store
}

fn get_at(store: &Store, hash: KeyHash) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    store.get(hash, b"self!", &mut value).then_some(value)
}

#[test]
fn a_delete_does_not_mistake_an_item_in_recycled_space_for_its_own() {
    let at_end = |store: &Store, was_there: bool, ()| {
        assert!(!was_there);
        assert_eq!(get_at(store, ELSEWHERE), Some(long_value(8).to_vec()));
    };
    race(3, with_other, |s| s.delete(HERE, b"self!"), append_elsewhere, at_end);
}

#[test]
fn a_get_skips_such_an_item_and_finds_its_own() {
    let at_end = |_: &Store, seen: Option<Vec<u8>>, ()| assert_eq!(seen, Some(long_value(7).to_vec()));
    race(3, with_other_and_self, |s| get_at(s, HERE), append_elsewhere, at_end);
}

#[test]
fn an_update_skips_such_an_item_and_leaves_no_second_entry() {
    let at_end = |store: &Store, (), ()| {
        assert_eq!(get_at(store, HERE), Some(value(9).to_vec()));
        assert!(store.delete(HERE, b"self!"));
        assert_eq!(get_at(store, HERE), None);
    };
    // Short enough that an append would also fit after the other thread's item and leave the old
    // item valid.
    let update = |s: &Store| assert!(s.set(HERE, b"self!", &value(9)).is_ok());
    race(3, with_other_and_self, update, append_elsewhere, at_end);
}

//! Loom: two writers of one bucket.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod tiny;

use loom::thread;
use nebula_kvs::Mode;
use tiny::{KEY, OTHER, check, get, hash, long_value, set, store, value};

#[test]
fn two_sets_of_one_key_leave_one_of_the_values() {
    check(3, || {
        let store = store(Mode::Cache);
        let writer = thread::spawn({
            let store = store.clone();
            move || set(&store, KEY, &value(1))
        });
        set(&store, KEY, &value(2));
        writer.join().expect("the writer's checks hold");
        assert!(matches!(get(&store, KEY), Some(1 | 2)));
        assert_eq!(store.items_live(), 1);
    });
}

#[test]
fn two_sets_of_two_keys_leave_both() {
    for mode in [Mode::Cache, Mode::Store] {
        check(3, move || {
            let store = store(mode);
            let writer = thread::spawn({
                let store = store.clone();
                move || set(&store, KEY, &value(1))
            });
            set(&store, OTHER, &value(2));
            writer.join().expect("the writer's checks hold");
            assert_eq!((get(&store, KEY), get(&store, OTHER)), (Some(1), Some(2)));
        });
    }
}

#[test]
fn two_appends_that_open_the_same_segment_do_not_overlap() {
    check(2, || {
        let store = store(Mode::Cache);
        set(&store, b"f", &long_value(3));
        let writer = thread::spawn({
            let store = store.clone();
            move || set(&store, KEY, &value(1))
        });
        set(&store, OTHER, &value(2));
        writer.join().expect("the writer's checks hold");
        assert_eq!((get(&store, KEY), get(&store, OTHER)), (Some(1), Some(2)));
    });
}

#[test]
fn a_get_beside_a_delete_sees_the_value_or_nothing_and_afterwards_nothing() {
    check(3, || {
        let store = store(Mode::Cache);
        set(&store, KEY, &value(1));
        let deleter = thread::spawn({
            let store = store.clone();
            move || store.delete(hash(KEY), KEY)
        });
        assert!(matches!(get(&store, KEY), None | Some(1)));
        assert!(deleter.join().expect("the deleter's checks hold"));
        assert_eq!(get(&store, KEY), None);
    });
}

#[test]
fn of_two_deletes_one_finds_the_key() {
    check(3, || {
        let store = store(Mode::Store);
        set(&store, KEY, &value(1));
        let deleter = thread::spawn({
            let store = store.clone();
            move || store.delete(hash(KEY), KEY)
        });
        let here = store.delete(hash(KEY), KEY);
        assert!(here ^ deleter.join().expect("the deleter's checks hold"));
        assert_eq!(get(&store, KEY), None);
    });
}

#[test]
fn a_delete_and_a_set_of_one_key_happen_in_some_order() {
    check(3, || {
        let store = store(Mode::Cache);
        set(&store, KEY, &value(1));
        let deleter = thread::spawn({
            let store = store.clone();
            move || store.delete(hash(KEY), KEY)
        });
        set(&store, KEY, &value(2));
        assert!(deleter.join().expect("the deleter's checks hold"));
        assert!(matches!(get(&store, KEY), None | Some(2)));
    });
}

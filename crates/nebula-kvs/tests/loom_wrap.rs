//! Loom: a GET, or a SET in place, beside appends that recycle the very segment.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod tiny;

use loom::thread;
use nebula_kvs::Mode;
use tiny::{KEY, OTHER, check, get, long_value, set, store};

/// Appends two items of a segment each: the second goes where `KEY`'s item was.
fn recycle(store: &nebula_kvs::Store) {
    set(store, OTHER, &long_value(7));
    store.delete(tiny::hash(OTHER), OTHER);
    set(store, OTHER, &long_value(8));
}

#[test]
fn a_get_beside_the_recycling_of_its_item_sees_it_whole_or_not_at_all() {
    check(2, || {
        let store = store(Mode::Cache);
        set(&store, KEY, &long_value(1));
        let writer = thread::spawn({
            let store = store.clone();
            move || recycle(&store)
        });
        assert!(matches!(get(&store, KEY), None | Some(1)));
        writer.join().expect("the writer's checks hold");
        assert_eq!(get(&store, KEY), None);
        assert_eq!(get(&store, OTHER), Some(8));
    });
}

#[test]
fn an_update_beside_the_recycling_of_its_item_never_writes_into_the_next() {
    check(2, || {
        let store = store(Mode::Cache);
        set(&store, KEY, &long_value(1));
        let writer = thread::spawn({
            let store = store.clone();
            move || recycle(&store)
        });
        set(&store, KEY, &long_value(2));
        writer.join().expect("the writer's checks hold");
        assert!(matches!(get(&store, KEY), None | Some(2)));
        assert!(matches!(get(&store, OTHER), None | Some(8)));
    });
}

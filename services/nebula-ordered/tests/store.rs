//! The store against a map of the standard library, its bound, and readers beside writers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use nebula_ordered::{ITEM_OVERHEAD_BYTES, OrderedStore};
use nebula_testing::seeded;

const ROOMY: u64 = 1 << 30;

fn scanned(store: &OrderedStore, from: &[u8], items: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut pairs = Vec::new();
    let accepted = store.scan(from, items, |key, value| {
        pairs.push((key.to_vec(), value.to_vec()));
        true
    });
    assert_eq!(accepted, pairs.len());
    pairs
}

#[test]
fn it_answers_as_a_sorted_map_does() {
    seeded(|u| {
        let (store, mut model) = (OrderedStore::new(ROOMY), BTreeMap::<Vec<u8>, Vec<u8>>::new());
        while !u.is_empty() {
            // Few keys of few bytes, so that operations meet and prefixes of others are among them.
            let mut key: Vec<u8> = u.arbitrary::<[u8; 3]>()?.iter().map(|byte| byte % 3).collect();
            key.truncate(u.int_in_range(1..=3)?);
            match u.int_in_range(0..=3)? {
                0 => {
                    let value: [u8; 4] = u.arbitrary()?;
                    store.set(&key, &value).expect("there is room");
                    model.insert(key, value.to_vec());
                }
                1 => assert_eq!(store.delete(&key), model.remove(&key).is_some()),
                2 => assert_eq!(store.get(&key, <[u8]>::to_vec).as_ref(), model.get(&key)),
                _ => {
                    let items = u.int_in_range(0..=8)?;
                    let expected =
                        model.range(key.clone()..).take(items).map(|(key, value)| (key.clone(), value.clone()));
                    assert_eq!(scanned(&store, &key, items), expected.collect::<Vec<_>>());
                }
            }
            assert_eq!((store.len(), store.is_empty()), (model.len(), model.is_empty()));
        }
        Ok(())
    })
    .size_max(4_000)
    .runs(300);
}

#[test]
fn a_scan_ends_where_its_visitor_has_no_more_room() {
    let store = OrderedStore::new(ROOMY);
    (0..10_u8).for_each(|key| store.set(&[key], &[key]).expect("there is room"));
    let mut seen = Vec::new();
    let accepted = store.scan(&[3], 100, |key, _| {
        seen.push(key[0]);
        key[0] < 6
    });
    assert_eq!((accepted, seen), (3, vec![3, 4, 5, 6]));
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let item = ITEM_OVERHEAD_BYTES + 1 + 10;
    let store = OrderedStore::new(2 * item);
    store.set(b"a", &[1; 10]).expect("there is room for two");
    store.set(b"b", &[2; 10]).expect("there is room for two");
    let full = store.set(b"c", &[3; 10]).expect_err("there is room for two only");
    assert_eq!((full.item_bytes, full.used_bytes, full.bytes_max), (item, 2 * item, 2 * item));
    assert_eq!((store.len(), store.used_bytes()), (2, 2 * item));
    assert!(store.set(b"a", &[4; 11]).is_err(), "the old value is there until the new one is");
    assert_eq!(store.get(b"a", <[u8]>::to_vec), Some(vec![1; 10]));
}

#[test]
fn what_was_deleted_makes_room_again() {
    let store = OrderedStore::new(64 * (ITEM_OVERHEAD_BYTES + 1 + 64));
    for round in 0..10_000_u32 {
        let key = [round.to_le_bytes()[0] % 16];
        // What was replaced or deleted is freed when there is no room, once no thread of the
        // process reads from before.
        let mut tries = 0;
        while store.set(&key, &[1; 64]).is_err() {
            tries += 1;
            assert!(tries < 1_000_000, "{} bytes stay used", store.used_bytes());
            std::thread::yield_now();
        }
        if round % 5 == 0 {
            store.delete(&key);
        }
    }
    assert!(store.len() <= 16);
}

#[test]
fn readers_see_whole_values_in_order_beside_writers() {
    let store = OrderedStore::new(ROOMY);
    let is_over = AtomicBool::new(false);
    let check =
        |key: &[u8], value: &[u8]| assert!(value.len() == 64 && value.iter().all(|&byte| byte % 8 == key[0] % 8));
    std::thread::scope(|scope| {
        for writer in 0..2_u8 {
            let (store, is_over) = (&store, &is_over);
            scope.spawn(move || {
                for round in 0..20_000_u32 {
                    let key = round.to_le_bytes()[0] % 32;
                    // Each writer has its own values for the same keys, alike in what a reader can
                    // check.
                    store.set(&[key], &[key % 8 + 8 * writer; 64]).expect("there is room");
                    if round % 7 == 0 {
                        store.delete(&[key]);
                    }
                }
                is_over.store(true, Ordering::Release);
            });
        }
        while !is_over.load(Ordering::Acquire) {
            let mut last = None;
            store.scan(&[0], 32, |key, value| {
                check(key, value);
                assert!(last.replace(key[0]).is_none_or(|last| last < key[0]), "ascending");
                true
            });
            store.get(&[5], |value| check(&[5], value));
        }
    });
}

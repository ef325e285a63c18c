//! A full store reuses the space of deleted, moved and expired items.

use nebula_kvs::{Mode, Pages, Put, SetError, Store, StoreConfig};
use nebula_testing::seeded;

const LOG_BYTES: usize = 64 << 10;

fn store() -> Store {
    let config =
        StoreConfig { buckets: 256, log_bytes: LOG_BYTES, mode: Mode::Store, extra_buckets: 256, pages: Pages::Base };
    Store::try_new(config).expect("a small store")
}

fn key(number: usize) -> [u8; 8] {
    (number as u64).to_le_bytes()
}

fn set(store: &Store, number: usize, value_bytes: usize) -> bool {
    let fill = u8::try_from(number % 251).expect("a byte");
    match store.set(Store::hash(&key(number)), &key(number), &vec![fill; value_bytes]) {
        Ok(_) => true,
        Err(SetError::Full) => false,
        Err(other) => panic!("{other}"),
    }
}

fn delete(store: &Store, number: usize) -> bool {
    store.delete(Store::hash(&key(number)), &key(number))
}

fn check(store: &Store, number: usize, value_bytes: Option<usize>) {
    let mut value = Vec::new();
    let is_found = store.get(Store::hash(&key(number)), &key(number), &mut value);
    assert_eq!(is_found.then_some(value.len()), value_bytes, "item {number}");
    assert!(!is_found || value.iter().all(|&byte| usize::from(byte) == number % 251), "item {number}");
}

/// Fills the store with values of `value_bytes`; how many fit.
fn fill(store: &Store, value_bytes: usize) -> usize {
    (0..).take_while(|&number| set(store, number, value_bytes)).count()
}

#[test]
fn a_store_that_is_emptied_takes_as_much_again_whatever_the_sizes() {
    let store = store();
    for value_bytes in [8, 500, 16, 40, 5000, 8, 29_936, 100] {
        let taken = fill(&store, value_bytes);
        let granules = (16 + value_bytes.next_multiple_of(8)).div_ceil(32);
        let item_bytes = if granules == 1 { 32 } else { granules.next_multiple_of(2) * 32 };
        assert_eq!(taken, LOG_BYTES / item_bytes, "of {value_bytes} bytes");
        (0..taken).for_each(|number| check(&store, number, Some(value_bytes)));
        // In an order that seldom frees neighbors one after another.
        let deleted = (0..7).flat_map(|rest| (0..taken).filter(move |number| number % 7 == rest));
        assert!({ deleted }.all(|number| delete(&store, number)));
    }
}

#[test]
fn a_full_store_takes_one_item_for_each_of_its_size_that_is_deleted() {
    let store = store();
    let taken = fill(&store, 100);
    for round in 0..10_000 {
        let (gone, came) = (round, taken + round);
        assert!(delete(&store, gone) && set(&store, came, 100), "round {round}");
        assert!(!set(&store, taken + round + 1, 100));
        check(&store, gone, None);
        check(&store, came, Some(100));
    }
}

#[test]
fn values_that_outgrow_their_place_leave_it_to_others() {
    let store = store();
    for round in 0..2_000 {
        assert!(set(&store, 1, 8) && set(&store, 1, 900) && delete(&store, 1), "round {round}");
    }
}

#[test]
fn a_store_of_mixed_sizes_that_stays_half_empty_is_never_full() {
    seeded(|u| {
        let store = store();
        let mut sizes: Vec<Option<usize>> = vec![None; 60];
        while !u.is_empty() {
            let (number, value_bytes): (u8, u16) = u.arbitrary()?;
            let (number, value_bytes) = (usize::from(number) % 60, usize::from(value_bytes) % 400);
            if sizes[number].is_some() {
                assert!(delete(&store, number));
                sizes[number] = None;
            } else {
                assert!(set(&store, number, value_bytes), "{sizes:?}");
                sizes[number] = Some(value_bytes);
            }
        }
        sizes.iter().enumerate().for_each(|(number, &size)| check(&store, number, size));
        Ok(())
    })
    .size_max(30_000)
    .runs(100);
}

#[test]
fn a_full_store_makes_room_of_what_has_expired() {
    let store = store();
    let put = |number: usize, expires, now| {
        let put = Put { expires, now, ..Put::default() };
        store.put(Store::hash(&key(number)), &key(number), &[7; 100], put)
    };
    let taken =
        (0..).take_while(|&number| put(number, 10 + u32::try_from(number % 2).expect("small"), 1).is_ok()).count();
    assert_eq!(put(taken, 0, 2), Err(SetError::Full));
    let again = (taken..).take_while(|&number| put(number, 0, 10).is_ok()).count();
    assert_eq!((again, store.stats().expired), (taken.div_ceil(2), taken.div_ceil(2) as u64));
    // A read of an expired item also frees it.
    let gone = store.get_item(Store::hash(&key(1)), &key(1), 11, &mut Vec::new());
    assert!(gone.is_none() && put(9_999, 0, 11).is_ok());
    store.flush_all(0, 12);
    assert_eq!((taken..).take_while(|&number| put(number, 0, 12).is_ok()).count(), taken);
}

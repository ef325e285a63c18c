//! A table knows what a list of entries with their times knows.

use nebula_nf::table::Table;
use nebula_nic::{Span, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

const ENTRIES_MAX: u32 = 4;

#[test]
fn it_knows_what_a_list_knows_and_gives_no_place_twice() {
    nebula_testing::seeded(|u| {
        let mut table = Table::new(ENTRIES_MAX);
        let mut model: BTreeMap<u8, (u32, u32, Timestamp)> = BTreeMap::new();
        let mut now = Timestamp::ZERO;
        while !u.is_empty() {
            now += Span::from_ns(u.int_in_range(0..=4)?);
            model.retain(|_, entry| entry.2 > now);
            let (key, value): (u8, u32) = (u.int_in_range(0..=6)?, u.arbitrary()?);
            if u.arbitrary()? {
                let until = now + Span::from_ns(u.int_in_range(0..=9)?);
                let place = table.insert(now, (key, value), until);
                let has_room = model.contains_key(&key) || model.len() < ENTRIES_MAX as usize;
                assert_eq!(place.is_some(), has_room, "{model:?}");
                if let Some(place) = place {
                    model.insert(key, (place, value, until));
                }
            } else {
                let known = table.get(now, key).map(|(place, value)| (place, *value));
                assert_eq!(known, model.get(&key).map(|entry| (entry.0, entry.1)));
            }
            let places: BTreeSet<u32> = model.values().map(|entry| entry.0).collect();
            assert!(places.len() == model.len() && places.iter().all(|&place| place < ENTRIES_MAX));
            assert!(table.len() <= ENTRIES_MAX as usize);
        }
        Ok(())
    });
}

#[test]
fn a_place_that_was_given_up_is_the_last_to_be_given_out() {
    let (mut table, at) = (Table::new(3), Timestamp::from_ps);
    let first = table.insert(at(0), (1, ()), at(10)).unwrap();
    table.insert(at(0), (2, ()), at(1000)).unwrap();
    assert_eq!(table.get(at(20), 1), None);
    assert_ne!(table.insert(at(20), (3, ()), at(1000)).unwrap(), first);
    assert_eq!(table.insert(at(20), (4, ()), at(1000)), Some(first));
    assert_eq!(table.insert(at(20), (5, ()), at(1000)), None);
}

//! Loom: a GET by one thread concurrent with writes by the partition's owner.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod tiny;

use loom::thread;
use nebula_kvs::{Access, Mode, Pages, Partition, StoreConfig};
use tiny::{AWAY, KEY, OTHER, builder, hash, long_value, value};

/// Two partitions as small as the stores of the other suites; the first has every key.
fn partitions() -> [Partition; 2] {
    let config = StoreConfig { buckets: 8, log_bytes: 512, mode: Mode::Cache, extra_buckets: 2, pages: Pages::Base };
    let partitions = Partition::divide(config, Access::Crew, 2, |_, _| 0).expect("tiny stores");
    partitions.try_into().ok().expect("two")
}

/// Which write a GET returned, if any; a value mixed from two writes fails the test.
fn get(partition: &Partition, key: &[u8]) -> Option<u8> {
    let mut value = Vec::new();
    let is_found = partition.get(hash(key), key, &mut value).expect("all may read");
    is_found.then(|| {
        assert!(value.iter().all(|byte| *byte == value[0]), "torn: {value:?}");
        value[0]
    })
}

/// Tries every interleaving of a GET with `writes` to the key's partition; `seen` gets the GET's
/// result and the final content.
fn race(preemptions: usize, set_up: fn(&Partition), writes: fn(&Partition), seen: fn(Option<u8>, Option<u8>)) {
    builder(preemptions).check(move || {
        let [writer, reader] = partitions();
        let filled = thread::spawn(move || {
            writer.set(hash(KEY), KEY, &value(1)).expect("room");
            set_up(&writer);
            writer
        });
        let writer = filled.join().expect("its checks hold");
        let reading = thread::spawn(move || (get(&reader, KEY), reader));
        let writing = thread::spawn(move || writes(&writer));
        writing.join().expect("its checks hold");
        let (got, reader) = reading.join().expect("its checks hold");
        seen(got, get(&reader, KEY));
    });
}

#[test]
fn a_get_during_an_update_in_place_sees_one_value_or_the_other() {
    let update = |partition: &Partition| {
        partition.set(hash(KEY), KEY, &value(2)).expect("room");
    };
    race(
        3,
        |_| (),
        update,
        |got, at_end| assert!(matches!(got, Some(1 | 2)) && at_end == Some(2), "{got:?} {at_end:?}"),
    );
}

#[test]
fn a_get_during_an_update_that_moves_the_item_sees_one_value_or_the_other() {
    let update = |partition: &Partition| {
        partition.set(hash(KEY), KEY, &long_value(2)).expect("room");
    };
    race(
        3,
        |_| (),
        update,
        |got, at_end| assert!(matches!(got, Some(1 | 2)) && at_end == Some(2), "{got:?} {at_end:?}"),
    );
}

#[test]
fn a_get_during_a_delete_sees_the_value_or_nothing() {
    let delete = |partition: &Partition| assert_eq!(partition.delete(hash(KEY), KEY), Ok(true));
    race(
        3,
        |_| (),
        delete,
        |got, at_end| assert!(matches!(got, None | Some(1)) && at_end.is_none(), "{got:?} {at_end:?}"),
    );
}

#[test]
fn a_get_while_the_log_wraps_over_its_item_sees_all_of_it_or_nothing() {
    let fill = |partition: &Partition| {
        partition.set(hash(OTHER), OTHER, &long_value(1)).expect("room");
    };
    // Opens the segment of the item that is read.
    let wrap = |partition: &Partition| {
        partition.set(hash(AWAY), AWAY, &long_value(2)).expect("room");
    };
    race(2, fill, wrap, |got, at_end| assert!(matches!(got, None | Some(1)) && at_end.is_none(), "{got:?} {at_end:?}"));
}

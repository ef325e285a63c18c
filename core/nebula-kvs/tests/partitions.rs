//! Partitions: which thread may read and write, and the same answers as a map.

use arbitrary::Arbitrary;
use nebula_kvs::{Access, KeyHash, Mode, OtherPartition, Partition, PartitionSetError, SetError, Store, StoreConfig};
use nebula_testing::seeded;
use std::collections::HashMap;

/// A partition by bits that the buckets do not use alone.
fn by_hash(hash: KeyHash, partitions: u16) -> u16 {
    u16::try_from((hash.0 >> 32) % u64::from(partitions)).expect("below a u16")
}

fn divided(access: Access, partitions: u16) -> Vec<Partition> {
    let config = StoreConfig { mode: Mode::Store, ..StoreConfig::for_items(4_000, 8, 40) };
    Partition::divide(config, access, partitions, by_hash).expect("some memory")
}

fn get(partition: &Partition, key: &[u8]) -> Result<Option<Vec<u8>>, OtherPartition> {
    let mut value = Vec::new();
    partition.get(Store::hash(key), key, &mut value).map(|is_found| is_found.then_some(value))
}

/// One operation of a history: the number of its key, the partition, and the value of a SET.
#[derive(Arbitrary, Debug)]
struct Step {
    key: u8,
    asked: u8,
    what: What,
}

#[derive(Arbitrary, Debug)]
enum What {
    Get,
    Set { byte: u8, bytes: u8 },
    Delete,
}

fn check(partitions: &[Partition], access: Access, map: &mut HashMap<[u8; 2], Vec<u8>>, step: &Step) {
    let key = [b'k', step.key];
    let hash = Store::hash(&key);
    let asked = &partitions[usize::from(step.asked) % partitions.len()];
    let other = OtherPartition { of: by_hash(hash, 3), asked: asked.index() };
    let is_its = other.of == other.asked;
    match step.what {
        What::Set { byte, bytes } => {
            let value = vec![byte; usize::from(bytes % 41)];
            let set = asked.set(hash, &key, &value).map(drop);
            assert_eq!(set, if is_its { Ok(()) } else { Err(PartitionSetError::Other(other)) });
            if is_its {
                map.insert(key, value);
            }
        }
        What::Delete => {
            let expected = if is_its { Ok(map.remove(&key).is_some()) } else { Err(other) };
            assert_eq!(asked.delete(hash, &key), expected);
        }
        What::Get => {
            let may = is_its || access == Access::Crew;
            assert_eq!(get(asked, &key), if may { Ok(map.get(&key).cloned()) } else { Err(other) });
        }
    }
}

#[test]
fn any_history_of_partitions_is_that_of_a_map() {
    for access in [Access::Crew, Access::Erew] {
        seeded(|u| {
            let (partitions, mut map) = (divided(access, 3), HashMap::new());
            while !u.is_empty() {
                check(&partitions, access, &mut map, &u.arbitrary()?);
            }
            let items: u64 = partitions[0].stats().read().map(|stats| stats.items).sum();
            assert_eq!(items, map.len() as u64);
            Ok(())
        })
        .size_max(4_000)
        .runs(48);
    }
}

#[test]
fn a_full_partition_refuses_while_another_has_room() {
    let partitions = divided(Access::Erew, 2);
    let keys = |partition| (0u64..).filter(move |&key| by_hash(Store::hash(&key.to_le_bytes()), 2) == partition);
    let set = |partition: u16, key: u64| {
        let key = key.to_le_bytes();
        partitions[usize::from(partition)].set(Store::hash(&key), &key, &[7; 40])
    };
    let stored = keys(0).take(100_000).take_while(|&key| set(0, key).is_ok()).count();
    let refused = keys(0).nth(stored).expect("there are more keys");
    assert_eq!(set(0, refused), Err(PartitionSetError::Set(SetError::Full)));
    assert!((2_000..100_000).contains(&stored), "{stored}");
    assert!(set(1, keys(1).next().expect("there is one")).is_ok());
}

#[test]
fn one_thread_writes_while_others_read_whole_values() {
    let mut partitions = divided(Access::Crew, 2);
    let (reader, writer) = (partitions.pop().expect("two"), partitions.pop().expect("two"));
    let key = (0u64..).map(u64::to_le_bytes).find(|key| by_hash(Store::hash(key), 2) == 0).expect("there is one");
    let hash = Store::hash(&key);
    std::thread::scope(|scope| {
        let reading = scope.spawn(move || {
            let mut found = 0;
            while found < 2_000 {
                let Ok(Some(value)) = get(&reader, &key) else { continue };
                assert!(value.iter().all(|byte| *byte == value[0]), "torn: {value:?}");
                found += 1;
            }
        });
        for write in 0u32.. {
            let bytes = if write.is_multiple_of(5) { 33 } else { 16 };
            writer.set(hash, &key, &vec![write.to_le_bytes()[0]; bytes]).expect("room");
            if reading.is_finished() {
                break;
            }
        }
    });
}

//! GETs by reading the store's memory, compared with the store's own: the same values, always
//! complete, even during writes.

use nebula_kvs::{MAP_BYTES, Mode, Put, RemoteGet, RemoteMap, RemoteStep, Store, StoreConfig, StoreOptions};
use nebula_sys::shared::SharedMemory;
use nebula_sys::window;
use nebula_testing::wait::Limit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

struct Reader {
    memory: Arc<SharedMemory>,
    map: RemoteMap,
    get: RemoteGet,
    reads: u32,
}

impl Reader {
    fn new(memory: Arc<SharedMemory>) -> Self {
        let mut map = [0; MAP_BYTES];
        window::load(memory.words(), 0, &mut map);
        let map = RemoteMap::decode(&map).expect("a map");
        Self { memory, map, get: RemoteGet::default(), reads: 0 }
    }

    /// The value; `None` for no such key, and an error if the server must be asked.
    fn get(&mut self, key: &[u8], item_bytes: usize) -> Result<Option<Vec<u8>>, ()> {
        let mut step = self.get.begin(&self.map, Store::hash(key), key, item_bytes);
        self.reads = 0;
        loop {
            self.reads += 1;
            step = match step {
                RemoteStep::Whole { version_at, at, bytes } => {
                    let mut read = vec![0; bytes as usize];
                    let [version_at, at] = [version_at, at].map(|at| usize::try_from(at).expect("an index"));
                    match window::load_whole(self.memory.words(), version_at, at, &mut read) {
                        Some(version) => self.get.take_whole(&self.map, version, &read),
                        None => self.get.again(),
                    }
                }
                RemoteStep::Word { at } => {
                    let mut word = [0; 8];
                    window::load(self.memory.words(), usize::try_from(at).expect("an index"), &mut word);
                    self.get.take_word(u64::from_le_bytes(word))
                }
                RemoteStep::Found => return Ok(Some(self.get.value().to_vec())),
                RemoteStep::Absent => return Ok(None),
                RemoteStep::Ask => return Err(()),
            }
        }
    }
}

fn shared(config: StoreConfig) -> (Store, Reader) {
    let (store, memory) = Store::try_shared(config, StoreOptions::default()).expect("memory");
    (store, Reader::new(memory))
}

fn value_of(key: u32, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| u8::try_from((key as usize * 31 + at * 7) % 251).expect("below 251")).collect()
}

#[test]
fn every_key_is_found_as_the_store_finds_it_and_no_other() {
    for mode in [Mode::Store, Mode::Cache] {
        // Few buckets, so that GETs follow chains.
        let extra_buckets = if mode == Mode::Store { 64 } else { 2 };
        let config = StoreConfig { mode, buckets: 8, extra_buckets, ..StoreConfig::for_items(400, 8, 600) };
        let (store, mut reader) = shared(config);
        for key in 0..200_u32 {
            let bytes = [0, 1, 8, 100, 600][key as usize % 5];
            let name = key.to_le_bytes();
            store.set(Store::hash(&name), &name, &value_of(key, bytes)).expect("room");
        }
        assert!(store.stats().extra_buckets_used > 8, "{mode:?}");
        for key in 0..300_u32 {
            let name = key.to_le_bytes();
            let mut expected = Vec::new();
            let is_there = store.get(Store::hash(&name), &name, &mut expected);
            for item_bytes in [0, 64, 4096] {
                assert_eq!(reader.get(&name, item_bytes), Ok(is_there.then(|| expected.clone())), "{key}, {mode:?}");
            }
        }
        let name = 7_u32.to_le_bytes();
        // A cache may have evicted it already.
        let _ = store.delete(Store::hash(&name), &name);
        assert_eq!(reader.get(&name, 64), Ok(None));
    }
}

#[test]
fn a_get_takes_two_reads_and_one_of_the_head_in_a_cache() {
    for (mode, reads) in [(Mode::Store, 2), (Mode::Cache, 3)] {
        let (store, mut reader) = shared(StoreConfig { mode, ..StoreConfig::for_items(100, 16, 512) });
        store.set(Store::hash(b"key"), b"key", &[7; 512]).expect("room");
        assert_eq!(reader.get(b"key", 8 + 8 + 512), Ok(Some(vec![7; 512])));
        // The last step reads nothing.
        assert_eq!(reader.reads - 1, reads, "{mode:?}");
    }
}

#[test]
fn an_item_with_metadata_is_for_the_server() {
    let (store, mut reader) = shared(StoreConfig::for_items(100, 16, 64));
    store.put(Store::hash(b"key"), b"key", b"value", Put { flags: 1, ..Put::default() }).expect("room");
    assert_eq!(reader.get(b"key", 64), Err(()));
}

#[test]
fn values_are_complete_while_they_are_replaced_moved_and_recycled() {
    for mode in [Mode::Store, Mode::Cache] {
        // With a log that wraps and few buckets, readers meet every kind of change.
        let config = match mode {
            Mode::Store => StoreConfig { mode, ..StoreConfig::for_items(64, 8, 400) },
            Mode::Cache => StoreConfig { mode, buckets: 16, log_bytes: 16 << 10, ..StoreConfig::for_items(64, 8, 400) },
        };
        let (store, mut reader) = shared(config);
        let (store, is_over) = (Arc::new(store), Arc::new(AtomicBool::new(false)));
        let writer = {
            let (store, is_over) = (store.clone(), is_over.clone());
            std::thread::spawn(move || {
                let mut round = 0_u32;
                while !is_over.load(Ordering::Relaxed) {
                    let key = (round % 40).to_le_bytes();
                    let value = vec![u8::try_from(round % 251).unwrap(); 40 + (round as usize * 37) % 360];
                    let _ = store.set(Store::hash(&key), &key, &value);
                    if round.is_multiple_of(7) {
                        store.delete(Store::hash(&key), &key);
                    }
                    round += 1;
                }
            })
        };
        let mut found = 0;
        let limit = Limit::new("values that are found");
        for round in 0_u32.. {
            // On a busy machine the writer may begin long after the reader.
            if round >= 40_000 && found > 1000 {
                break;
            }
            limit.check();
            let key = (round % 40).to_le_bytes();
            if let Ok(Some(value)) = reader.get(&key, 200) {
                assert!(value.len() >= 40 && value.iter().all(|&byte| byte == value[0]), "{value:?}, {mode:?}");
                found += 1;
            }
        }
        is_over.store(true, Ordering::Relaxed);
        writer.join().expect("the writer");
    }
}

#[test]
fn any_bytes_are_read_as_a_map_and_as_buckets_without_a_panic() {
    nebula_testing::seeded(|draw| {
        let (store, _) = shared(StoreConfig::for_items(10, 8, 8));
        drop(store);
        let bytes: [u8; MAP_BYTES] = draw.arbitrary()?;
        assert_eq!(RemoteMap::decode(&bytes), None, "the magic was not drawn");
        let (_, reader) = shared(StoreConfig { mode: Mode::Store, ..StoreConfig::for_items(10, 8, 8) });
        let mut get = RemoteGet::default();
        let mut step = get.begin(&reader.map, Store::hash(b"key"), b"key", draw.arbitrary::<u16>()?.into());
        for _ in 0..100 {
            let read: Vec<u8> = draw.arbitrary()?;
            step = match step {
                RemoteStep::Whole { .. } => get.take_whole(&reader.map, draw.arbitrary::<u64>()? % 2 * 2, &read),
                RemoteStep::Word { .. } => get.take_word(draw.arbitrary()?),
                RemoteStep::Found | RemoteStep::Absent | RemoteStep::Ask => break,
            };
        }
        Ok(())
    })
    .runs(60)
    .size_max(4096);
}

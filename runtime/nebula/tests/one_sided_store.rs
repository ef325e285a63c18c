//! GETs of a key-value store by one-sided reads and by RPC while others write: values are always
//! complete.

use nebula::{AccessRefusal, CallError, Client, Region, RegionId, Registered, Reply, Rights, Server, ServerConfig};
use nebula_kvs::{MAP_BYTES, Mode, RemoteGet, RemoteMap, RemoteStep, Store, StoreConfig, StoreOptions};
use nebula_testing::wait::Limit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::patient_client;

const STORE: RegionId = RegionId(0);
const KEYS: u32 = 50;

/// A value repeats one byte.
fn is_complete(value: &[u8]) -> bool {
    value.len() >= 40 && value.iter().all(|&byte| byte == value[0])
}

/// The value by reading the store's memory; `None` for no such key, and an error if the client must
/// ask the server.
fn read(client: &mut Client, map: &RemoteMap, get: &mut RemoteGet, key: &[u8]) -> Result<Option<Vec<u8>>, ()> {
    let mut step = get.begin(map, Store::hash(key), key, 256);
    loop {
        let ticket = match step {
            RemoteStep::Whole { version_at, at, bytes } => client.read_whole(STORE, version_at, at, bytes),
            RemoteStep::Word { at } => client.read(STORE, at, 8),
            RemoteStep::Found => return Ok(Some(get.value().to_vec())),
            RemoteStep::Absent => return Ok(None),
            RemoteStep::Ask => return Err(()),
        };
        step = match client.finish(ticket.expect("room")) {
            Ok(bytes) => match bytes.split_first_chunk().expect("a word") {
                (word, []) => get.take_word(u64::from_le_bytes(*word)),
                (version, bytes) => get.take_whole(map, u64::from_le_bytes(*version), bytes),
            },
            Err(CallError::Refused { refusal: AccessRefusal::Torn }) => get.again(),
            Err(error) => panic!("{error}"),
        };
    }
}

/// GETs both ways from a store of this mode, with these rights to its memory.
fn gets(endpoint: &str, mode: Mode, rights: Rights) {
    let config = match mode {
        Mode::Store => StoreConfig { mode, ..StoreConfig::for_items(100, 8, 400) },
        // A log that wraps again and again.
        Mode::Cache => StoreConfig { mode, buckets: 16, log_bytes: 16 << 10, ..StoreConfig::for_items(100, 8, 400) },
    };
    let (store, memory) = Store::try_shared(config, StoreOptions::default()).expect("memory");
    let (store, is_over) = (Arc::new(store), Arc::new(AtomicBool::new(false)));
    let (served, written, stop) = (store.clone(), store.clone(), is_over.clone());
    let service = move |key: &[u8], reply: &mut Reply<'_>| {
        let mut value = Vec::new();
        let is_found = served.get(Store::hash(key), key, &mut value);
        reply.write(if is_found { &value } else { &[] });
    };
    let config = ServerConfig::default().inline(true).regions(vec![Registered::new(Region::of(memory), rights)]);
    let server = Server::bind(endpoint).config(config).serve(service).expect("a server");
    let mut client =
        Client::connect_with(server.endpoint().clone(), patient_client().one_sided(true)).expect("a client");
    let ticket = client.read(STORE, 0, u32::try_from(MAP_BYTES).expect("64")).expect("room");
    let map = RemoteMap::decode(client.finish(ticket).expect("allowed").try_into().expect("64 bytes")).expect("a map");
    let write = move |round: u32| {
        let key = (round % KEYS).to_le_bytes();
        let value = vec![u8::try_from(round % 251).expect("below 251"); 40 + (round as usize * 37) % 360];
        let _ = written.set(Store::hash(&key), &key, &value);
    };
    // Each key is stored before the first GET, however late the writer begins.
    (0..KEYS).for_each(&write);
    let writer = std::thread::spawn(move || {
        for round in KEYS.. {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            write(round);
            std::thread::yield_now();
        }
    });
    let (mut get, mut found) = (RemoteGet::default(), [0; 2]);
    let limit = Limit::new("values both ways");
    for round in 0_u32.. {
        if round >= 2000 && found.iter().all(|&found| found > 500) {
            break;
        }
        limit.check();
        let key = (round % KEYS).to_le_bytes();
        if let Ok(Some(value)) = read(&mut client, &map, &mut get, &key) {
            assert!(is_complete(&value), "{value:?}, {mode:?}, {rights}");
            found[0] += 1;
        }
        let value = client.call(&key).expect("a reply");
        assert!(value.is_empty() || is_complete(value), "{value:?}, {mode:?}");
        found[1] += u32::from(!value.is_empty());
    }
    is_over.store(true, Ordering::Relaxed);
    writer.join().expect("the writer");
    let key = u32::MAX.to_le_bytes();
    assert_eq!(read(&mut client, &map, &mut get, &key), Ok(None));
    server.stop();
}

#[test]
fn values_are_complete_over_mapped_memory() {
    for mode in [Mode::Store, Mode::Cache] {
        let endpoint = format!("shm://one-sided-store-mapped-{mode:?}-{}", std::process::id());
        gets(&endpoint, mode, Rights::READ | Rights::MAP);
    }
}

#[test]
fn values_are_complete_by_the_engine_over_shared_memory() {
    for mode in [Mode::Store, Mode::Cache] {
        let endpoint = format!("shm://one-sided-store-engine-{mode:?}-{}", std::process::id());
        gets(&endpoint, mode, Rights::READ);
    }
}

#[test]
fn values_are_complete_over_udp() {
    for mode in [Mode::Store, Mode::Cache] {
        gets("udp://127.0.0.1:0", mode, Rights::READ);
    }
}

//! The requests that a store accepts and refuses, and the items that it keeps.

use nebula_kvs::{
    End, GROUP, KEY_BYTES_MAX, Mode, Pages, Put, SetError, SetOutcome, SliceSink, SnapshotError, Store, StoreConfig,
    StoreError, StoreOptions, VALUE_BYTES_MAX,
};

fn store(mode: Mode, buckets: usize, log_bytes: usize) -> Store {
    Store::try_new(StoreConfig { buckets, log_bytes, mode, extra_buckets: 1, pages: Pages::Base }).expect("a store")
}

fn set(store: &Store, key: &[u8], value: &[u8]) -> Result<SetOutcome, SetError> {
    store.set(Store::hash(key), key, value)
}

fn get(store: &Store, key: &[u8]) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    store.get(Store::hash(key), key, &mut value).then_some(value)
}

#[test]
fn the_longest_key_and_value_come_back() {
    let key = [0xAB; KEY_BYTES_MAX];
    let value: Vec<u8> = (0..VALUE_BYTES_MAX).map(|i| u8::try_from(i % 251).expect("a byte")).collect();
    for mode in [Mode::Cache, Mode::Store] {
        let store = store(mode, 1, 16 << 20);
        assert_eq!(set(&store, &key, &value), Ok(SetOutcome::Inserted));
        assert!(get(&store, &key).is_some_and(|found| found == value));
    }
}

#[test]
fn an_empty_value_is_a_value() {
    let store = store(Mode::Cache, 1, 4096);
    assert_eq!(set(&store, b"k", b""), Ok(SetOutcome::Inserted));
    assert_eq!(get(&store, b"k"), Some(Vec::new()));
}

#[test]
fn keys_and_values_outside_their_limits_are_refused_and_never_found() {
    let store = store(Mode::Cache, 1, 16 << 20);
    let long_key = [1; KEY_BYTES_MAX + 1];
    assert_eq!(set(&store, b"", b"v"), Err(SetError::KeyBytes { got: 0 }));
    assert_eq!(set(&store, &long_key, b"v"), Err(SetError::KeyBytes { got: 256 }));
    let long_value = vec![0; VALUE_BYTES_MAX + 1];
    assert_eq!(
        set(&store, b"k", &long_value),
        Err(SetError::ValueBytes { got: VALUE_BYTES_MAX + 1, max: VALUE_BYTES_MAX })
    );
    for key in [&b""[..], &long_key, b"k"] {
        assert_eq!(get(&store, key), None);
        assert!(!store.delete(Store::hash(key), key));
    }
}

#[test]
fn no_operation_stores_a_value_longer_than_was_said() {
    let config = StoreConfig::for_items(100, 16, 64);
    let options = StoreOptions { value_bytes_max: 64, ..StoreOptions::default() };
    let store = Store::try_with(config, options).expect("a small store");
    let (hash, too_long) = (Store::hash(b"k"), Err(SetError::ValueBytes { got: 65, max: 64 }));
    assert_eq!(store.set(hash, b"k", &[1; 65]).map(drop), too_long);
    assert_eq!(store.put(hash, b"k", &[1; 65], Put::default()).map(drop), too_long);
    assert!(store.put(hash, b"k", &[1; 64], Put::default()).is_ok());
    assert_eq!(store.concat(hash, b"k", b"1", End::Back, None, 0).map(drop), too_long);
    assert_eq!(get(&store, b"k"), Some(vec![1; 64]));
    let mut snapshot = Vec::new();
    let other = Store::try_new(config).expect("a small store");
    other.set(hash, b"k", &[1; 65]).expect("room");
    other.snapshot(&mut snapshot).expect("bytes");
    assert!(matches!(
        store.load(&snapshot[..], 0),
        Err(SnapshotError::Store { cause: SetError::ValueBytes { .. }, .. })
    ));
}

#[test]
fn an_item_too_long_for_a_segment_is_refused_and_the_old_value_kept() {
    let store = store(Mode::Cache, 1, 4096);
    assert_eq!(set(&store, b"k", &[1; 400]), Ok(SetOutcome::Inserted));
    assert_eq!(set(&store, b"k", &[2; 512]), Err(SetError::ItemBytes { got: 528, max: 448 }));
    assert_eq!(get(&store, b"k"), Some(vec![1; 400]));
}

#[test]
fn a_full_store_keeps_every_value_and_still_updates_in_place() {
    let store = store(Mode::Store, 1, 64 << 10);
    let keys: Vec<[u8; 1]> = (0..15).map(|number| [number]).collect();
    for key in &keys[..14] {
        assert_eq!(set(&store, key, key), Ok(SetOutcome::Inserted));
    }
    assert_eq!(set(&store, &keys[14], b"v"), Err(SetError::Full), "seven entries, and seven of the one extra bucket");
    assert_eq!(set(&store, &keys[3], b"w"), Ok(SetOutcome::UpdatedInPlace));
    assert!(store.delete(Store::hash(&keys[5]), &keys[5]));
    assert_eq!(set(&store, &keys[14], b"v"), Ok(SetOutcome::Inserted));
    assert_eq!(store.items_live(), 14);
}

#[test]
fn a_cache_evicts_the_oldest_entry_of_a_chain_of_eight_buckets() {
    let store = store(Mode::Cache, 1, 64 << 10);
    for number in 0..58_u8 {
        assert_eq!(set(&store, &[number], &[number]), Ok(SetOutcome::Inserted));
    }
    let found: Vec<u8> = (0..58).filter(|&number| get(&store, &[number]).is_some()).collect();
    assert_eq!(found, (2..58).collect::<Vec<_>>());
    assert_eq!(store.stats().evicted, 2);
}

#[test]
fn a_cache_sized_for_its_items_keeps_them_all() {
    for (items, value_bytes) in [(1, 8), (7, 100), (1000, 8), (1000, 512), (3001, 40), (200, 5000)] {
        let config = StoreConfig::for_items(items, 8, value_bytes);
        let store = Store::try_new(StoreConfig { buckets: config.buckets * 8, ..config }).expect("a store");
        for number in 0..items {
            set(&store, &number.to_le_bytes(), &vec![1; value_bytes]).expect("a cache accepts everything");
        }
        let found = (0..items).filter(|number| get(&store, &number.to_le_bytes()).is_some()).count() as u64;
        assert_eq!(found, items, "of {value_bytes} bytes");
    }
}

#[test]
fn a_short_buffer_gets_the_length_and_no_bytes() {
    let store = store(Mode::Cache, 1, 4096);
    set(&store, b"k", &[7; 100]).expect("room");
    let mut buffer = [9; 99];
    let mut sink = SliceSink::new(&mut buffer);
    assert!(store.get(Store::hash(b"k"), b"k", &mut sink));
    assert_eq!((sink.bytes(), sink.value()), (100, None));
    assert_eq!(buffer, [9; 99]);
}

#[test]
fn grouped_gets_return_what_single_gets_return() {
    let store = store(Mode::Store, 64, 64 << 10);
    let keys: Vec<[u8; 2]> = (0..u8::try_from(3 * GROUP - 1).expect("few")).map(|number| [number, 1]).collect();
    for key in keys.iter().filter(|key| key[0] % 3 == 0) {
        set(&store, key, &[key[0]; 20]).expect("room");
    }
    let mut served = Vec::new();
    store.get_each(&keys, 22, &mut Vec::new(), |index, is_found, value: &mut Vec<u8>| {
        served.push((index, is_found.then(|| value.clone())));
    });
    let singly: Vec<_> = keys.iter().map(|key| get(&store, key)).enumerate().collect();
    assert_eq!(served, singly);
}

#[test]
fn sizes_that_an_entry_cannot_address_are_refused() {
    let config = StoreConfig::for_items(1, 1, 1);
    let refused = |config| Store::try_new(config).err();
    let buckets = refused(StoreConfig { buckets: (1 << 40) + 1, ..config });
    assert!(matches!(buckets, Some(StoreError::TooManyBuckets { .. })), "{buckets:?}");
    let extra = refused(StoreConfig { extra_buckets: 1 << 32, ..config });
    assert!(matches!(extra, Some(StoreError::TooManyBuckets { .. })), "{extra:?}");
    let log = refused(StoreConfig { log_bytes: (1 << 48) + 1, ..config });
    assert!(matches!(log, Some(StoreError::LogTooLarge { .. })), "{log:?}");
}

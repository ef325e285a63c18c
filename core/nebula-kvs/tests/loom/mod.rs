//! The smallest stores, and values that reveal a torn read, for loom.
#![allow(dead_code, reason = "each suite uses its part")]

use loom::{sync::Arc, thread};
use nebula_kvs::{Eviction, KeyHash, Mode, Pages, Store, StoreConfig, StoreOptions};

/// Two keys of one bucket.
pub(crate) const KEY: &[u8] = b"k";
pub(crate) const OTHER: &[u8] = b"o";
/// Two keys of another bucket.
pub(crate) const AWAY: &[u8] = b"p";
pub(crate) const AWAY_TOO: &[u8] = b"t";

/// The low two bits of a key's first byte are its bucket; each key has its own tag.
pub(crate) fn hash(key: &[u8]) -> KeyHash {
    KeyHash(u64::from(key[0]) << 16 | u64::from(key[0]))
}

/// Four buckets and, in a cache, two segments, each with space for one item of a line and one of
/// half a line.
pub(crate) fn store(mode: Mode) -> Store {
    let config = StoreConfig { buckets: 4, log_bytes: 256, mode, extra_buckets: 1, pages: Pages::Base };
    Store::try_new(config).expect("a tiny store")
}

pub(crate) fn keeping() -> Store {
    let config = StoreConfig { buckets: 4, log_bytes: 256, mode: Mode::Cache, extra_buckets: 1, pages: Pages::Base };
    let options = StoreOptions { eviction: Eviction::Unread, hash_of: hash, ..StoreOptions::default() };
    Store::try_with(config, options).expect("a tiny store")
}

/// A value of two words that identify the same write; its item takes half a line.
pub(crate) fn value(write: u8) -> [u8; 16] {
    [write; 16]
}

/// A value of five words; its item takes a line.
pub(crate) fn long_value(write: u8) -> [u8; 40] {
    [write; 40]
}

pub(crate) fn set(store: &Store, key: &[u8], value: &[u8]) {
    store.set(hash(key), key, value).expect("room");
}

pub(crate) fn delete(store: &Store, key: &[u8]) -> bool {
    store.delete(hash(key), key)
}

/// Which write a GET returned, if any; a value mixed from two writes fails the test.
pub(crate) fn get(store: &Store, key: &[u8]) -> Option<u8> {
    let mut value = Vec::new();
    store.get(hash(key), key, &mut value).then(|| {
        assert!(value.iter().all(|byte| *byte == value[0]), "torn: {value:?}");
        value[0]
    })
}

/// Tries every interleaving of `one` and `two` on a fresh store with at most `preemptions`
/// preemptions, then checks the final state.
///
/// A third thread sets up the store: loom assumes that a thread that has spun no longer reads its
/// own old stores, and would omit the stale reads under test.
pub(crate) fn race<A: 'static, B: 'static>(
    preemptions: usize,
    set_up: impl Fn() -> Store + Send + Sync + 'static,
    one: fn(&Store) -> A,
    two: fn(&Store) -> B,
    at_end: impl Fn(&Store, A, B) + Send + Sync + 'static,
) {
    builder(preemptions).check(move || {
        let store = Arc::new(set_up());
        let [first, second] = [store.clone(), store.clone()];
        let one = thread::spawn(move || one(&first));
        let two = thread::spawn(move || two(&second));
        let (one, two) = (one.join().expect("its checks hold"), two.join().expect("its checks hold"));
        at_end(&store, one, two);
    });
}

pub(crate) fn race_of_three<A: 'static>(
    preemptions: usize,
    set_up: impl Fn() -> Store + Send + Sync + 'static,
    one: fn(&Store) -> A,
    others: [fn(&Store); 2],
    at_end: impl Fn(&Store, A) + Send + Sync + 'static,
) {
    builder(preemptions).check(move || {
        let store = Arc::new(set_up());
        let first = store.clone();
        let one = thread::spawn(move || one(&first));
        let others = others.map(|other| {
            let store = store.clone();
            thread::spawn(move || other(&store))
        });
        let one = one.join().expect("its checks hold");
        others.into_iter().for_each(|other| other.join().expect("its checks hold"));
        at_end(&store, one);
    });
}

pub(crate) fn builder(preemptions: usize) -> loom::model::Builder {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder
}

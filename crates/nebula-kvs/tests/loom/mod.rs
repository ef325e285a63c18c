//! The smallest stores, and values that give a torn read away, for loom.
#![allow(dead_code, reason = "each suite uses its part")]

use loom::sync::Arc;
use nebula_kvs::{KeyHash, Mode, Pages, Store, StoreConfig};

pub(crate) const KEY: &[u8] = b"k";
pub(crate) const OTHER: &[u8] = b"o";

/// All keys share the one bucket; each has its own tag.
pub(crate) fn hash(key: &[u8]) -> KeyHash {
    KeyHash(u64::from(key[0]))
}

/// One bucket and, in a cache, two segments of which each takes one item of a line or three of half a line.
pub(crate) fn store(mode: Mode) -> Arc<Store> {
    let config = StoreConfig { buckets: 1, log_bytes: 256, mode, extra_buckets: 1, pages: Pages::Base };
    Arc::new(Store::try_new(config).expect("a tiny store"))
}

/// A value of two words that name the same write.
pub(crate) fn value(write: u8) -> [u8; 16] {
    [write; 16]
}

/// A value of five words, which takes an item of a whole line.
pub(crate) fn long_value(write: u8) -> [u8; 40] {
    [write; 40]
}

pub(crate) fn set(store: &Store, key: &[u8], value: &[u8]) {
    store.set(hash(key), key, value).expect("room");
}

/// Which write a GET returned, if any; a value mixed from two fails the test.
pub(crate) fn get(store: &Store, key: &[u8]) -> Option<u8> {
    let mut value = Vec::new();
    store.get(hash(key), key, &mut value).then(|| {
        assert!(value.iter().all(|byte| *byte == value[0]), "torn: {value:?}");
        value[0]
    })
}

/// Tries every interleaving with at most `preemptions` preemptions.
pub(crate) fn check(preemptions: usize, test: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(test);
}

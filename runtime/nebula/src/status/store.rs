//! Counters of the service's store and of the pool. Their owners write them, not the engine.

use super::layout::Layout;
use super::pool::PoolStatus;
use crate::rpc::store_counters::StoreCounters;
use nebula_sys::shared::SharedMemory;
use nebula_sys::sync::Ordering;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct PoolPage {
    memory: Arc<SharedMemory>,
    at: usize,
}

impl PoolPage {
    pub(crate) fn new(memory: Arc<SharedMemory>, layout: Layout) -> Self {
        Self { memory, at: layout.pool_at() }
    }

    pub(crate) fn put(&self, status: &PoolStatus) {
        for (word, value) in self.memory.words()[self.at..].iter().zip(status.to_words()) {
            word.store(value, Ordering::Relaxed);
        }
    }
}

const WORDS: usize = 10;

impl StoreCounters {
    pub(super) fn to_words(self) -> [u64; WORDS] {
        let Self { hits, misses, sets, deletes, evictions, expired, items, bytes_used, bytes_max } = self;
        // The first word marks that there are counters.
        [1, hits, misses, sets, deletes, evictions, expired, items, bytes_used, bytes_max]
    }

    pub(super) fn from_words(word: impl Fn(usize) -> u64) -> Option<Self> {
        (word(0) == 1).then(|| Self {
            hits: word(1),
            misses: word(2),
            sets: word(3),
            deletes: word(4),
            evictions: word(5),
            expired: word(6),
            items: word(7),
            bytes_used: word(8),
            bytes_max: word(9),
        })
    }
}

const _: () = assert!(WORDS <= super::layout::POOL_WORDS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_store_says_survives_the_page_and_nothing_said_is_nothing() {
        let said = StoreCounters {
            hits: 1,
            misses: 2,
            sets: 3,
            deletes: 4,
            evictions: 5,
            expired: 6,
            items: 7,
            bytes_used: 8,
            bytes_max: 9,
        };
        let words = said.to_words();
        assert_eq!(StoreCounters::from_words(|at| words[at]), Some(said));
        assert_eq!(StoreCounters::from_words(|_| 0), None);
    }
}

//! Threads that read and write the same few buckets, and a log that wraps all the time.
//!
//! Every value consists of equal words made of key, sequence number and length. So a value mixed
//! from two writes, or of another key, is detected. Each key has one writer, so no thread may see
//! its sequence number decrease.

use nebula_kvs::{Eviction, Mode, Pages, Store, StoreConfig, StoreOptions};
use std::thread;

const KEYS: u64 = 48;

#[derive(Clone, Copy)]
struct Case {
    mode: Mode,
    threads: u64,
    operations: u64,
    /// Values have fewer words than this.
    words_end: u64,
    log_bytes: usize,
    eviction: Eviction,
}

fn key(number: u64) -> [u8; 16] {
    let mut key = [0xC3; 16];
    key[..8].copy_from_slice(&number.to_le_bytes());
    key
}

/// A word that identifies its write.
fn word(number: u64, sequence: u64, words: u64) -> u64 {
    number << 48 | words << 40 | sequence
}

fn value(number: u64, sequence: u64, words_end: u64) -> Vec<u8> {
    let words = 1 + sequence * 7 % (words_end - 1);
    word(number, sequence, words).to_le_bytes().repeat(usize::try_from(words).expect("few words"))
}

/// Checks that a value is consistent and belongs to key `number`; returns its sequence number.
fn sequence_of(number: u64, value: &[u8]) -> u64 {
    let (words, rest) = value.as_chunks::<8>();
    let first = u64::from_le_bytes(words[0]);
    assert!(rest.is_empty() && words.iter().all(|word| *word == words[0]), "torn value of key {number}: {value:x?}");
    let sequence = first & ((1 << 40) - 1);
    assert_eq!(first, word(number, sequence, words.len() as u64), "value of another key or length under {number}");
    sequence
}

struct Thread<'a> {
    case: Case,
    id: u64,
    store: &'a Store,
    random: u64,
    /// The newest sequence number seen of each key.
    newest: Vec<u64>,
    /// Per key of this thread: the number last written, or `None` after a DELETE.
    written: Vec<Option<u64>>,
    hits: u64,
}

impl Thread<'_> {
    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random >> 3
    }

    fn run(mut self) -> u64 {
        for sequence in 1..=self.case.operations {
            let number = self.random() % KEYS;
            match self.random() % 8 {
                0..3 => self.set(number - number % self.case.threads, sequence),
                3 => self.delete(number - number % self.case.threads),
                _ => self.get(number),
            }
        }
        self.hits
    }

    fn set(&mut self, number: u64, sequence: u64) {
        let number = number + self.id;
        let value = value(number, sequence, self.case.words_end);
        self.store.set(Store::hash(&key(number)), &key(number), &value).expect("room");
        self.written[usize::try_from(number).expect("a key")] = Some(sequence);
        self.get(number);
    }

    fn delete(&mut self, number: u64) {
        let number = number + self.id;
        let written = self.written[usize::try_from(number).expect("a key")].take();
        let was_there = self.store.delete(Store::hash(&key(number)), &key(number));
        assert!(written.is_some() || !was_there, "key {number} was deleted twice");
        assert!(self.case.mode == Mode::Cache || written.is_some() == was_there, "key {number} was lost");
        self.get(number);
    }

    fn get(&mut self, number: u64) {
        let at = usize::try_from(number).expect("a key");
        let mut value = Vec::new();
        let is_found = self.store.get(Store::hash(&key(number)), &key(number), &mut value);
        let sequence = is_found.then(|| sequence_of(number, &value));
        if let Some(sequence) = sequence {
            assert!(sequence >= self.newest[at], "key {number} went back from {} to {sequence}", self.newest[at]);
            self.newest[at] = sequence;
            self.hits += 1;
        }
        if number % self.case.threads == self.id {
            let is_right = sequence == self.written[at] || (self.case.mode == Mode::Cache && sequence.is_none());
            assert!(is_right, "the writer of key {number} wrote {:?} and found {sequence:?}", self.written[at]);
        }
    }
}

fn run(case: Case, buckets: usize) -> Store {
    assert_eq!(KEYS % case.threads, 0);
    let &Case { mode, log_bytes, .. } = &case;
    let config = StoreConfig { buckets, log_bytes, mode, extra_buckets: 16, pages: Pages::Base };
    let store = Store::try_with(config, StoreOptions { eviction: case.eviction, ..StoreOptions::default() });
    let store = store.expect("a small store");
    let hits: u64 = thread::scope(|scope| {
        let threads: Vec<_> = (0..case.threads)
            .map(|id| {
                let (newest, written) = (vec![0; 48], vec![None; 48]);
                let thread = Thread { case, id, store: &store, random: 0x9E37_79B9 + id, newest, written, hits: 0 };
                scope.spawn(move || thread.run())
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("the thread's checks hold")).sum()
    });
    assert!(hits > case.operations / 10, "only {hits} hits");
    store
}

#[test]
fn no_value_is_torn_while_a_small_cache_wraps_under_two_threads() {
    let case = Case {
        mode: Mode::Cache,
        threads: 2,
        operations: 400_000,
        words_end: 12,
        log_bytes: 4 << 10,
        eviction: Eviction::Oldest,
    };
    let stats = run(case, 4).stats();
    assert!(stats.log_wraps > 1000 && stats.updated_in_place > 1000, "{stats:?}");
}

#[test]
fn no_value_is_torn_while_four_threads_share_one_bucket_and_its_chain() {
    let case = Case {
        mode: Mode::Cache,
        threads: 4,
        operations: 100_000,
        words_end: 12,
        log_bytes: 8 << 10,
        eviction: Eviction::Oldest,
    };
    let stats = run(case, 1).stats();
    assert!(stats.log_wraps > 100 && stats.extra_buckets_used > 1, "{stats:?}");
}

#[test]
fn no_long_value_is_torn_while_three_threads_recycle_segments_of_one_item() {
    let case = Case {
        mode: Mode::Cache,
        threads: 3,
        operations: 60_000,
        words_end: 200,
        log_bytes: 16 << 10,
        eviction: Eviction::Oldest,
    };
    let stats = run(case, 16).stats();
    assert!(stats.log_wraps > 1000, "{stats:?}");
}

#[test]
fn no_value_is_lost_or_torn_in_a_store_under_three_threads() {
    let case = Case {
        mode: Mode::Store,
        threads: 3,
        operations: 100_000,
        words_end: 40,
        log_bytes: 64 << 20,
        eviction: Eviction::Oldest,
    };
    let stats = run(case, 2).stats();
    assert!(stats.extra_buckets_used > 2 && stats.updated_in_place > 1000, "{stats:?}");
}

#[test]
fn no_value_is_torn_or_outdated_while_items_that_are_read_are_carried_over() {
    for (threads, buckets, words_end, log_bytes) in [(2, 16, 12, 8 << 10), (4, 32, 40, 16 << 10), (3, 64, 12, 8 << 10)]
    {
        let eviction = Eviction::Unread;
        let case = Case { mode: Mode::Cache, threads, operations: 100_000, words_end, log_bytes, eviction };
        let stats = run(case, buckets).stats();
        assert!(stats.log_wraps > 100 && stats.carried > 1000, "{stats:?}");
    }
}

//! The simple model store, and the histories that it and the real one run.
#![allow(dead_code, reason = "each suite uses its part")]

use arbitrary::Arbitrary;
use nebula_kvs::{Eviction, KeyHash, Mode, Pages, SetError, SetOutcome, Store, StoreConfig, StoreOptions};
use std::collections::BTreeMap;

#[derive(Arbitrary, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Set { key: u8, value_bytes: u8, fill: u8 },
    Delete { key: u8 },
    Get { key: u8 },
}

/// Sizes of a store so small that its limits are reached often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tiny {
    pub(crate) mode: Mode,
    pub(crate) buckets: usize,
    pub(crate) extra_buckets: usize,
    pub(crate) log_bytes: usize,
    /// Keys in use; a few of them share each tag.
    pub(crate) keys: u8,
    /// Values are shorter than this.
    pub(crate) value_bytes_end: u8,
    pub(crate) eviction: Eviction,
}

impl Tiny {
    pub(crate) fn config(&self) -> StoreConfig {
        let &Self { mode, buckets, extra_buckets, log_bytes, .. } = self;
        StoreConfig { buckets, log_bytes, mode, extra_buckets, pages: Pages::Base }
    }

    pub(crate) fn store(&self) -> Store {
        let options =
            StoreOptions { eviction: self.eviction, hash_of: |key| hash(key[0] - 1), ..StoreOptions::default() };
        Store::try_with(self.config(), options).expect("a tiny store")
    }

    /// Maps an arbitrary step into range.
    pub(crate) fn fit(&self, op: Op) -> Op {
        match op {
            Op::Set { key, value_bytes, fill } => {
                Op::Set { key: key % self.keys, value_bytes: value_bytes % self.value_bytes_end, fill }
            }
            Op::Delete { key } => Op::Delete { key: key % self.keys },
            Op::Get { key } => Op::Get { key: key % self.keys },
        }
    }
}

/// Keys of 1 to 13 bytes, so that some end within a word.
pub(crate) fn key(number: u8) -> Vec<u8> {
    vec![number + 1; 1 + usize::from(number % 13)]
}

/// A hash that sends neighboring keys to different buckets and gives every third key the same tag.
pub(crate) fn hash(number: u8) -> KeyHash {
    KeyHash(u64::from(number) << 16 | u64::from(number % 3))
}

pub(crate) fn value(value_bytes: u8, fill: u8) -> Vec<u8> {
    (0..value_bytes).map(|i| fill.wrapping_add(i)).collect()
}

#[derive(Clone, Debug)]
struct Item {
    value: Vec<u8>,
    granules: u64,
    /// Granules appended up to and including this item.
    appended_at: u64,
}

/// The part that is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    Index,
    Log,
}

/// The model: a map, and arithmetic for the free space.
pub(crate) struct Model {
    tiny: Tiny,
    items: BTreeMap<u8, Item>,
    tail: u64,
    chained: BTreeMap<u8, usize>,
    appended: u64,
    /// Whether the store has found space unknown to the model; it may then have less at the tail.
    is_reused: bool,
}

fn granules(key_bytes: usize, value_bytes: usize) -> u64 {
    let bytes = 8 + key_bytes.next_multiple_of(8) + value_bytes.next_multiple_of(8);
    if bytes <= 32 { 1 } else { bytes.div_ceil(64) as u64 * 2 }
}

impl Model {
    pub(crate) fn new(tiny: Tiny) -> Self {
        Self { tiny, items: BTreeMap::new(), tail: 0, chained: BTreeMap::new(), appended: 0, is_reused: false }
    }

    pub(crate) fn value(&self, key: u8) -> Option<&[u8]> {
        self.items.get(&key).map(|item| &item.value[..])
    }

    pub(crate) fn keys(&self) -> usize {
        self.items.len()
    }

    /// The exact result of a SET on a `Mode::Store` whose log is filled once.
    pub(crate) fn set(&mut self, number: u8, value: Vec<u8>) -> Result<SetOutcome, Full> {
        let needed = granules(key(number).len(), value.len());
        let bytes = 8 + key(number).len().next_multiple_of(8) + value.len().next_multiple_of(8);
        if let Some(item) = self.items.get_mut(&number)
            && bytes as u64 <= item.granules * 32
        {
            item.value = value;
            return Ok(SetOutcome::UpdatedInPlace);
        }
        let is_there = self.items.contains_key(&number);
        if !is_there && !self.find_place(number) {
            return Err(Full::Index);
        }
        let start = if needed == 1 { self.tail } else { self.tail.next_multiple_of(2) };
        if start + needed > self.tiny.log_bytes as u64 / 32 {
            return Err(Full::Log);
        }
        self.tail = start + needed;
        self.note(number, value, needed);
        Ok(if is_there { SetOutcome::Appended } else { SetOutcome::Inserted })
    }

    fn find_place(&mut self, number: u8) -> bool {
        let bucket = |number: u8| number % u8::try_from(self.tiny.buckets).expect("few buckets");
        let entries = self.items.keys().filter(|&&other| bucket(other) == bucket(number)).count();
        let chained = self.chained.values().sum::<usize>();
        let mine = self.chained.entry(bucket(number)).or_default();
        if entries < 7 * (1 + *mine) {
            return true;
        }
        let is_left = chained < self.tiny.extra_buckets;
        *mine += usize::from(is_left);
        is_left
    }

    fn note(&mut self, number: u8, value: Vec<u8>, granules: u64) {
        self.appended += granules;
        self.items.insert(number, Item { value, granules, appended_at: self.appended });
    }

    /// Records a cache's result of a SET, which it may not refuse.
    pub(crate) fn note_set(&mut self, number: u8, value: Vec<u8>, outcome: SetOutcome) {
        let needed = granules(key(number).len(), value.len());
        match (outcome, self.items.get_mut(&number)) {
            (SetOutcome::UpdatedInPlace, Some(item)) => item.value = value,
            (SetOutcome::UpdatedInPlace, None) => panic!("key {number} was updated in place but is absent"),
            (SetOutcome::Inserted | SetOutcome::Appended, _) => self.note(number, value, needed),
        }
    }

    fn take_back(&mut self, number: u8, before: Option<Item>) {
        match before {
            Some(item) => self.items.insert(number, item),
            None => self.items.remove(&number),
        };
    }

    /// Granules appended since `number`'s item was, if it has one.
    pub(crate) fn age(&self, number: u8) -> Option<u64> {
        self.items.get(&number).map(|item| self.appended - item.appended_at)
    }

    pub(crate) fn delete(&mut self, key: u8) -> bool {
        self.items.remove(&key).is_some()
    }
}

pub(crate) fn get(store: &Store, number: u8) -> Option<Vec<u8>> {
    let mut value = vec![0xAA; 3];
    store.get(hash(number), &key(number), &mut value).then_some(value)
}

/// Runs one step on a [`Mode::Store`] and its model; every result must equal the model's.
pub(crate) fn check_exact(store: &Store, model: &mut Model, op: Op) {
    match op {
        Op::Set { key: number, value_bytes, fill } => {
            let value = value(value_bytes, fill);
            let outcome = store.set(hash(number), &key(number), &value);
            let before = model.items.get(&number).cloned();
            match (model.set(number, value.clone()), outcome) {
                // The model fills its log once; the store may reuse space.
                (Err(Full::Log), Ok(outcome)) => {
                    model.is_reused = true;
                    model.note_set(number, value, outcome);
                }
                (Ok(_), Err(SetError::Full)) if model.is_reused => model.take_back(number, before),
                (expected, outcome) => assert_eq!(outcome, expected.map_err(|_| SetError::Full), "{op:?}"),
            }
        }
        Op::Delete { key: number } => {
            assert_eq!(store.delete(hash(number), &key(number)), model.delete(number), "{op:?}")
        }
        Op::Get { key } => assert_eq!(get(store, key).as_deref(), model.value(key), "{op:?}"),
    }
    assert_eq!(store.stats().items, model.keys() as u64, "after {op:?}");
}

/// Runs one step on a [`Mode::Cache`] and its model: misses are allowed, wrong results are not.
pub(crate) fn check_lossy(store: &Store, model: &mut Model, op: Op) {
    match op {
        Op::Set { key: number, value_bytes, fill } => {
            let value = value(value_bytes, fill);
            let outcome =
                store.set(hash(number), &key(number), &value).expect("a cache accepts every item that fits its log");
            model.note_set(number, value, outcome);
            assert_eq!(get(store, number).as_deref(), model.value(number), "right after {op:?}");
        }
        Op::Delete { key: number } => {
            let was_there = store.delete(hash(number), &key(number));
            assert!(model.delete(number) || !was_there, "{op:?} of a key that is absent");
            assert_eq!(get(store, number), None, "after {op:?}");
        }
        Op::Get { key } => check_hit_or_miss(store, model, key),
    }
    assert!(store.items_live() <= model.keys(), "after {op:?}");
}

fn check_hit_or_miss(store: &Store, model: &Model, key: u8) {
    if let Some(found) = get(store, key) {
        assert_eq!(Some(&found[..]), model.value(key), "key {key}");
    }
}

pub(crate) fn check_all(store: &Store, model: &Model) {
    for key in 0..model.tiny.keys {
        match model.tiny.mode {
            Mode::Store => assert_eq!(get(store, key).as_deref(), model.value(key), "key {key}"),
            Mode::Cache => check_hit_or_miss(store, model, key),
        }
    }
}

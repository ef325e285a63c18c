//! Long random histories of items with metadata, compared with a map after each step.

use crate::model::{hash, key};
use nebula_kvs::{
    Condition, DeleteOutcome, Delta, End, Mode, NumberOutcome, Pages, Put, PutOutcome, Store, StoreConfig,
};
use nebula_testing::{arbitrary, arbitrary::Arbitrary, seeded};
use std::collections::BTreeMap;

const KEYS: u8 = 24;

#[derive(Arbitrary, Clone, Copy, Debug)]
enum When {
    Always,
    Absent,
    Present,
    Cas { is_right: bool },
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Op {
    Put { key: u8, value_bytes: u8, flags: u32, lives_s: u8, when: When },
    Set { key: u8, value_bytes: u8 },
    Number { key: u8, digits: u8 },
    Get { key: u8 },
    Plain { key: u8 },
    Touch { key: u8, lives_s: u8 },
    Concat { key: u8, bytes: u8, is_front: bool },
    Add { key: u8, delta: i16 },
    Delete { key: u8, is_right: bool },
    Flush { in_s: u8 },
    Wait { seconds: u8 },
}

#[derive(Clone, Debug)]
struct Item {
    value: Vec<u8>,
    flags: u32,
    expires: u32,
    cas: u64,
}

struct Both {
    store: Store,
    mode: Mode,
    items: BTreeMap<u8, Item>,
    now: u32,
    flush_at: u32,
    fill: u8,
}

impl Both {
    fn value(&mut self, value_bytes: u8) -> Vec<u8> {
        self.fill = self.fill.wrapping_add(1);
        vec![self.fill; usize::from(value_bytes)]
    }

    /// The model's item, after comparing it with the store's. A cache may have evicted it.
    fn item(&mut self, number: u8) -> Option<Item> {
        let (mut value, key, now) = (Vec::new(), key(number), self.now);
        let found = self.store.get_item(hash(number), &key, now, &mut value);
        if found.is_none() && self.mode == Mode::Cache {
            self.items.remove(&number);
        }
        let item = self.items.get(&number);
        assert_eq!(found.is_some(), item.is_some(), "key {number} at {now}: {item:?}");
        let (meta, item) = (found?, item?);
        assert_eq!((&value, meta.flags, meta.expires, meta.cas), (&item.value, item.flags, item.expires, item.cas));
        assert_eq!(usize::try_from(meta.value_bytes), Ok(value.len()));
        Some(item.clone())
    }

    fn put(&mut self, number: u8, value: Vec<u8>, flags: u32, lives_s: u8, when: When) {
        let item = self.item(number);
        let expires = if lives_s == 0 { 0 } else { self.now + u32::from(lives_s) };
        let (condition, expected) = match (when, &item) {
            (When::Always, _) => (Condition::Always, None),
            (When::Absent, item) => (Condition::Absent, item.as_ref().map(|_| PutOutcome::NotStored)),
            (When::Present, item) => (Condition::Present, item.is_none().then_some(PutOutcome::NotStored)),
            (When::Cas { .. }, None) => (Condition::Cas(1), Some(PutOutcome::NotFound)),
            (When::Cas { is_right: true }, Some(item)) if item.cas > 0 => (Condition::Cas(item.cas), None),
            (When::Cas { .. }, Some(item)) => (Condition::Cas(item.cas + 1), Some(PutOutcome::Exists)),
        };
        let put = Put { condition, flags, expires, now: self.now, ..Put::default() };
        let outcome = self.store.put(hash(number), &key(number), &value, put).expect("room");
        match (outcome, expected) {
            (PutOutcome::Stored { cas }, None) => self.note(number, Item { value, flags, expires, cas }),
            (outcome, expected) => assert_eq!(Some(outcome), expected),
        }
    }

    fn note(&mut self, number: u8, item: Item) {
        let latest = self.items.values().map(|item| item.cas).max();
        assert!(latest.is_none_or(|latest| latest < item.cas), "a CAS number twice");
        self.items.insert(number, item);
        self.item(number);
    }

    fn concat(&mut self, number: u8, bytes: &[u8], end: End) {
        let item = self.item(number);
        let outcome = self.store.concat(hash(number), &key(number), bytes, end, None, self.now).expect("room");
        match (outcome, item) {
            (PutOutcome::Stored { cas }, Some(item)) => {
                let value =
                    if end == End::Front { [bytes, &item.value].concat() } else { [&item.value, bytes].concat() };
                self.note(number, Item { value, cas, ..item });
            }
            (outcome, item) => assert_eq!((outcome, item.is_none()), (PutOutcome::NotStored, true)),
        }
    }

    fn add(&mut self, number: u8, delta: i16) {
        let item = self.item(number);
        let by = u64::from(delta.unsigned_abs());
        let delta = if delta < 0 { Delta::Down(by) } else { Delta::Up(by) };
        let outcome = self.store.add_to_number(hash(number), &key(number), delta, None, self.now).expect("room");
        let text = |item: &Item| String::from_utf8(item.value.clone()).ok();
        let old = item.as_ref().and_then(text).and_then(|text| text.trim_end().parse::<u64>().ok());
        match (outcome, item, old) {
            (NumberOutcome::Stored { number: sum, cas }, Some(item), Some(old)) => {
                let expected = if let Delta::Down(by) = delta { old.saturating_sub(by) } else { old.wrapping_add(by) };
                assert_eq!(sum, expected);
                let value = format!("{sum:<width$}", width = item.value.len()).into_bytes();
                self.note(number, Item { value, cas, ..item });
            }
            (NumberOutcome::NotANumber, Some(_), None) | (NumberOutcome::NotFound, None, _) => {}
            other => panic!("{other:?}"),
        }
    }

    fn delete(&mut self, number: u8, is_right: bool) {
        let item = self.item(number);
        let cas = item.as_ref().map(|item| if is_right { item.cas } else { item.cas + 1 });
        let outcome = self.store.delete_item(hash(number), &key(number), cas, self.now);
        let expected = match item {
            None => DeleteOutcome::NotFound,
            Some(_) if is_right => DeleteOutcome::Deleted,
            Some(_) => DeleteOutcome::Exists,
        };
        assert_eq!(outcome, expected);
        if is_right {
            self.items.remove(&number);
        }
    }

    fn wait(&mut self, seconds: u8) {
        self.now += u32::from(seconds);
        let now = self.now;
        if self.flush_at > 0 && self.flush_at <= now {
            self.items.clear();
            self.flush_at = 0;
        }
        self.items.retain(|_, item| item.expires == 0 || now < item.expires);
    }

    fn run(&mut self, op: Op) {
        let now = self.now;
        match op {
            Op::Put { key, value_bytes, flags, lives_s, when } => {
                let value = self.value(value_bytes % 130);
                self.put(key % KEYS, value, flags, lives_s, when);
            }
            Op::Number { key, digits } => {
                self.put(key % KEYS, vec![b'1'; 1 + usize::from(digits % 19)], 0, 0, When::Always);
            }
            Op::Set { key: number, value_bytes } => {
                let (value, number) = (self.value(value_bytes % 130), number % KEYS);
                // A SET has no time, so first apply a due flush.
                self.item(number);
                self.store.set(hash(number), &key(number), &value).expect("room");
                let meta = self.store.peek(hash(number), &key(number), now).expect("just set");
                self.items.insert(number, Item { value, flags: 0, expires: 0, cas: meta.cas });
                self.item(number);
            }
            Op::Get { key } => drop(self.item(key % KEYS)),
            Op::Plain { key: number } => {
                let (number, mut value) = (number % KEYS, Vec::new());
                let item = self.item(number);
                let is_found = self.store.get(hash(number), &key(number), &mut value);
                assert_eq!(is_found.then_some(value), item.map(|item| item.value));
            }
            Op::Touch { key: number, lives_s } => {
                let (number, expires) = (number % KEYS, now + u32::from(lives_s) + 1);
                let item = self.item(number);
                assert_eq!(self.store.touch(hash(number), &key(number), expires, now), item.is_some());
                if let Some(item) = self.items.get_mut(&number).filter(|item| item.cas > 0) {
                    item.expires = expires;
                }
            }
            Op::Concat { key, bytes, is_front } => {
                let bytes = vec![b'2'; usize::from(bytes % 40)];
                self.concat(key % KEYS, &bytes, if is_front { End::Front } else { End::Back });
            }
            Op::Add { key, delta } => self.add(key % KEYS, delta),
            Op::Delete { key, is_right } => self.delete(key % KEYS, is_right),
            Op::Flush { in_s } => {
                let at = if in_s < 128 { 0 } else { now + u32::from(in_s) - 120 };
                self.store.flush_all(at, now);
                self.flush_at = if at > now { at } else { 0 };
                if at <= now {
                    self.items.clear();
                }
            }
            Op::Wait { seconds } => self.wait(seconds % 16),
        }
    }
}

fn histories(mode: Mode, log_bytes: usize) {
    seeded(|u| {
        let config = StoreConfig { buckets: 2, log_bytes, mode, extra_buckets: 8, pages: Pages::Base };
        let store = Store::try_new(config).expect("a small store");
        let mut both = Both { store, mode, items: BTreeMap::new(), now: 1, flush_at: 0, fill: 0 };
        while !u.is_empty() {
            both.run(u.arbitrary()?);
        }
        for number in 0..KEYS {
            both.item(number);
        }
        arbitrary::Result::Ok(())
    })
    .size_max(20_000)
    .runs(200);
}

#[test]
fn a_store_with_metadata_behaves_exactly_as_a_map() {
    histories(Mode::Store, 1 << 20);
}

#[test]
fn a_cache_with_metadata_forgets_and_never_returns_anything_else() {
    histories(Mode::Cache, 4 << 10);
}

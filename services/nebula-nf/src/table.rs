//! The memory of flows: a map with a bound on its entries, each of which expires when idle.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use nebula_nic::{Span, Timestamp};

/// Entries that an insertion checks for expiry; the second if the map is full.
const LOOKS: u32 = 2;
const LOOKS_WHEN_FULL: u32 = 64;

/// A bounded map whose entries expire. An entry keeps its place, below
/// [`entries_max`](Self::entries_max), for its whole life. The place that has been free longest is
/// reused first.
///
/// # Cost
///
/// O(log entries). A tree has no bad keys, which an attacker could choose.
#[derive(Clone, Debug)]
pub struct Table<K, V> {
    index: BTreeMap<K, u32>,
    entries: Vec<Option<Entry<K, V>>>,
    free: VecDeque<u32>,
    /// The next entry to check.
    hand: u32,
    entries_max: u32,
}

#[derive(Clone, Debug)]
struct Entry<K, V> {
    key: K,
    value: V,
    until: Timestamp,
}

impl<K: Ord + Copy, V> Table<K, V> {
    /// A map of at most `entries_max` entries.
    #[must_use]
    pub fn new(entries_max: u32) -> Self {
        Self { index: BTreeMap::new(), entries: Vec::new(), free: VecDeque::new(), hand: 0, entries_max }
    }

    /// The most entries.
    #[must_use]
    pub const fn entries_max(&self) -> u32 {
        self.entries_max
    }

    /// Entries, including expired ones that are not removed yet.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// The place and value of `key`.
    pub fn get(&mut self, now: Timestamp, key: K) -> Option<(u32, &mut V)> {
        let place = *self.index.get(&key)?;
        let (_, value) = self.at(now, place)?;
        Some((place, value))
    }

    /// The key and value at a place.
    pub fn at(&mut self, now: Timestamp, place: u32) -> Option<(K, &mut V)> {
        self.expire(now, place);
        let Entry { key, value, .. } = self.entries.get_mut(place as usize)?.as_mut()?;
        Some((*key, value))
    }

    /// Extends the life of the entry at a place to `until`.
    pub fn keep(&mut self, place: u32, until: Timestamp) {
        if let Some(Some(entry)) = self.entries.get_mut(place as usize) {
            entry.until = until;
        }
    }

    /// Adds an entry, or replaces that of `key`. Returns its place, or `None` if the map is full.
    pub fn insert(&mut self, now: Timestamp, (key, value): (K, V), until: Timestamp) -> Option<u32> {
        self.sweep(now, LOOKS);
        let known = self.index.get(&key).copied();
        let place = known.or_else(|| self.place(now))?;
        self.entries[place as usize] = Some(Entry { key, value, until });
        self.index.insert(key, place);
        Some(place)
    }

    /// All entries, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.index
            .values()
            .filter_map(|&place| self.entries[place as usize].as_ref())
            .map(|entry| (&entry.key, &entry.value))
    }

    fn place(&mut self, now: Timestamp) -> Option<u32> {
        let grown = u32::try_from(self.entries.len()).ok().filter(|&len| len < self.entries_max);
        if let Some(place) = grown {
            self.entries.push(None);
            return Some(place);
        }
        if self.free.is_empty() {
            self.sweep(now, LOOKS_WHEN_FULL);
        }
        self.free.pop_front()
    }

    fn sweep(&mut self, now: Timestamp, looks: u32) {
        for _ in 0..looks {
            self.expire(now, self.hand);
            self.hand = if self.hand as usize + 1 < self.entries.len() { self.hand + 1 } else { 0 };
        }
    }

    fn expire(&mut self, now: Timestamp, place: u32) {
        let Some(slot) = self.entries.get_mut(place as usize) else { return };
        if let Some(entry) = slot.take_if(|entry| entry.until <= now) {
            self.index.remove(&entry.key);
            self.free.push_back(place);
        }
    }
}

/// When an entry expires that stays idle from now on.
pub(crate) fn until(now: Timestamp, idle: Span) -> Timestamp {
    now + idle
}

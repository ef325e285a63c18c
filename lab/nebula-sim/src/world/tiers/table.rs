//! A table with keys that never find a later entry at the same place.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    place: u32,
    serial: u64,
}

/// Entries by key; the key of a removed entry finds nothing.
#[derive(Debug)]
pub(super) struct Table<T> {
    entries: Vec<Option<(u64, T)>>,
    unused: Vec<u32>,
    serial: u64,
}

impl<T> Table<T> {
    pub(super) const fn new() -> Self {
        Self { entries: Vec::new(), unused: Vec::new(), serial: 0 }
    }

    pub(super) fn insert(&mut self, entry: T) -> Key {
        self.serial += 1;
        let serial = self.serial;
        let place = self.unused.pop().unwrap_or_else(|| {
            self.entries.push(None);
            u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX)
        });
        self.entries[place as usize] = Some((serial, entry));
        Key { place, serial }
    }

    pub(super) fn get(&mut self, key: Key) -> Option<&mut T> {
        let entry = self.entries[key.place as usize].as_mut();
        entry.filter(|(serial, _)| *serial == key.serial).map(|(_, entry)| entry)
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<T> {
        self.get(key)?;
        self.unused.push(key.place);
        self.entries[key.place as usize].take().map(|(_, entry)| entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_finds_its_entry_and_no_later_one_at_its_place() {
        let mut table = Table::new();
        let (first, second) = (table.insert('a'), table.insert('b'));
        assert_eq!((table.remove(first), table.remove(first)), (Some('a'), None));
        let third = table.insert('c');
        assert_eq!((first.place, table.get(first)), (third.place, None));
        assert_eq!((table.get(second).copied(), table.get(third).copied()), (Some('b'), Some('c')));
        assert_eq!(table.entries.len(), 2);
    }
}

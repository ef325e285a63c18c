//! Finds an entry by its key, usually by reading one cache line and not the entry.
//!
//! A line has eight places, each with 15 bits of a key's hash and the entry's number. Nearly every
//! request is new, and its line shows that: no place has its bits. A key belongs in one line; if
//! that is full, it goes into the next line with space. The line counts its displaced keys: at 0, a
//! search ends there. With all entries used, a line has two keys on average, and about one key in
//! some thousands is displaced.
//!
//! A node numbers its transfers consecutively, so they belong in consecutive lines of one page,
//! which a processor prefetches as a sequence. The seed determines where a page begins.

use super::entry::{Entry, EntryId, RetentionKey};
use crate::hash::mix;
use crate::id::{RpcKey, TransferId};
use alloc::boxed::Box;
use alloc::vec;

/// Lines of a page of 4 KiB.
const LINES_PER_PAGE: u32 = 64;
const PLACES: usize = 8;
/// Average number of entries per line when all are used: a quarter of the places. Pages overlap at
/// random, and where many overlap, keys are displaced far: with half of the places used, that
/// happens to one key in fifty.
const ENTRIES_PER_LINE: u32 = 2;
/// Set in the mark of every key; a place of mark 0 is free.
const IS_TAKEN: u16 = 1 << 15;

#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Line {
    /// Adjacent, so that all are compared at once.
    marks: [u16; PLACES],
    entries: [u32; PLACES],
    /// Keys that belong here and are in a later line.
    displaced: u32,
    /// The largest distance in lines of any of them, since there were none.
    reach: u32,
}

const _: () = assert!(size_of::<Line>() == 64);

impl Line {
    #[inline]
    fn find(&self, entries: &[Entry], mark: u16, key: RetentionKey) -> Option<EntryId> {
        let mut places = equal(&self.marks, mark);
        while places != 0 {
            let number = self.entries[first(places)];
            if entries[number as usize].key == key {
                return Some(EntryId(number));
            }
            places &= places - 1;
        }
        None
    }

    #[inline]
    fn insert(&mut self, mark: u16, id: EntryId) -> bool {
        let free = equal(&self.marks, 0);
        if free == 0 {
            return false;
        }
        let place = first(free);
        self.marks[place] = mark;
        self.entries[place] = id.0;
        true
    }

    #[inline]
    fn remove(&mut self, mark: u16, id: EntryId) -> bool {
        let mut places = equal(&self.marks, mark);
        while places != 0 {
            let place = first(places);
            if self.entries[place] == id.0 {
                self.marks[place] = 0;
                return true;
            }
            places &= places - 1;
        }
        false
    }
}

#[inline]
fn equal(marks: &[u16; PLACES], mark: u16) -> u32 {
    marks.iter().zip(0..).fold(0, |places, (&other, place)| places | u32::from(other == mark) << place)
}

#[inline]
const fn first(places: u32) -> usize {
    (places.trailing_zeros() as usize) & (PLACES - 1)
}

#[derive(Clone, Debug)]
pub(super) struct Index {
    /// A power of two.
    lines: Box<[Line]>,
    seed: u64,
}

#[derive(Clone, Copy)]
struct Home {
    line: usize,
    mark: u16,
}

impl Index {
    /// An empty index for at most `entries` entries, a power of two.
    pub(super) fn new(entries: u32, seed: u64) -> Self {
        let lines = entries.div_ceil(ENTRIES_PER_LINE) as usize;
        // The reach of a line without displaced keys is never read; not all zeros, for the same
        // reason as the entries.
        let empty = Line { reach: 1, ..Line::default() };
        Self { lines: vec![empty; lines].into(), seed }
    }

    #[inline(always)]
    pub(super) fn find(&self, entries: &[Entry], key: RetentionKey) -> Option<EntryId> {
        let home = self.home(key);
        let line = &self.lines[home.line];
        let found = line.find(entries, home.mark, key);
        if found.is_none() && line.displaced > 0 { self.find_displaced(entries, home, key) } else { found }
    }

    #[inline]
    pub(super) fn insert(&mut self, key: RetentionKey, id: EntryId) {
        let home = self.home(key);
        if !self.lines[home.line].insert(home.mark, id) {
            self.displace(home, id);
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, key: RetentionKey, id: EntryId) {
        let home = self.home(key);
        if !self.lines[home.line].remove(home.mark, id) {
            self.remove_displaced(home, id);
        }
    }

    #[cold]
    fn find_displaced(&self, entries: &[Entry], home: Home, key: RetentionKey) -> Option<EntryId> {
        let reach = self.lines[home.line].reach;
        (1..=reach).find_map(|distance| self.lines[self.behind(home, distance)].find(entries, home.mark, key))
    }

    #[cold]
    fn displace(&mut self, home: Home, id: EntryId) {
        // There are more places than entries, so one is free.
        let mut distance = 1;
        while !self.lines[self.behind(home, distance)].insert(home.mark, id) {
            distance += 1;
        }
        let line = &mut self.lines[home.line];
        line.reach = if line.displaced == 0 { distance } else { line.reach.max(distance) };
        line.displaced += 1;
    }

    #[cold]
    fn remove_displaced(&mut self, home: Home, id: EntryId) {
        let reach = self.lines[home.line].reach;
        let was_there = (1..=reach).any(|distance| self.lines[self.behind(home, distance)].remove(home.mark, id));
        debug_assert!(was_there, "only inserted entries are removed");
        self.lines[home.line].displaced -= 1;
    }

    #[inline]
    const fn behind(&self, home: Home, distance: u32) -> usize {
        (home.line + distance as usize) & (self.lines.len() - 1)
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "masked to the number of lines; the other end is 16 bits")]
    const fn home(&self, key: RetentionKey) -> Home {
        let bits = key.rpc.to_bits() ^ self.seed ^ (key.tag as u64) << 16;
        let (page, line) = (key.rpc.tid.0 / LINES_PER_PAGE, key.rpc.tid.0 % LINES_PER_PAGE);
        let of_page = RpcKey { snid: key.rpc.snid, tid: TransferId(page) };
        let start = mix(!of_page.to_bits() ^ self.seed ^ (key.tag as u64) << 16);
        let line = (start as usize).wrapping_add(line as usize) & (self.lines.len() - 1);
        Home { line, mark: (mix(bits) >> 48) as u16 | IS_TAKEN }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::NodeId;

    #[test]
    fn places_of_a_mark_are_those_and_no_others() {
        let marks = [0, 0x8000, 0x8001, 0xffff, 0x8000, 0, 0x8001, 0xfffe];
        for wanted in [0, 0x8000, 0x8001, 0x8002, 0xffff, 0xfffe] {
            let places = equal(&marks, wanted);
            for (place, &mark) in marks.iter().enumerate() {
                assert_eq!(places >> place & 1, u32::from(mark == wanted), "{place} of {wanted:#x}");
            }
        }
        assert_eq!(first(equal(&marks, 0xffff)), 3);
    }

    fn key(tid: u32) -> RetentionKey {
        RetentionKey { rpc: RpcKey { snid: NodeId(1), tid: TransferId(tid) }, tag: 0 }
    }

    #[test]
    fn an_index_whose_keys_come_and_go_finds_all_that_are_there() {
        const ENTRIES: u32 = 1 << 10;
        // Of half the size, so that lines are full and keys displaced.
        let mut index = Index::new(ENTRIES / 2, 3);
        let mut entries: Box<[Entry]> = (0..ENTRIES).map(|tid| Entry { key: key(tid), ..Entry::default() }).collect();
        (0..ENTRIES).for_each(|number| index.insert(key(number), EntryId(number)));
        let mut displaced_max = 0;
        for tid in ENTRIES..64 * ENTRIES {
            // Out of order, so that a line has places again while keys of it are displaced.
            let id = EntryId(tid.wrapping_mul(0x9e37_79b1) % ENTRIES);
            let gone = entries[id.index()].key;
            index.remove(gone, id);
            entries[id.index()].key = key(tid);
            index.insert(key(tid), id);
            assert_eq!((index.find(&entries, gone), index.find(&entries, key(tid))), (None, Some(id)));
            if tid % 64 == 0 {
                let is_found =
                    |number: u32| index.find(&entries, entries[number as usize].key) == Some(EntryId(number));
                assert!((0..ENTRIES).all(is_found), "after {tid}");
            }
            displaced_max = displaced_max.max(index.lines.iter().map(|line| line.displaced).max().unwrap_or(0));
        }
        assert!(displaced_max > 1, "no line has displaced two");
    }

    #[test]
    fn an_index_displaces_none_in_turn_and_half_full_few_and_forgets_them_again() {
        let mut index = Index::new(1 << 14, 3);
        (0..1 << 14).for_each(|number| index.insert(key(number), EntryId(number)));
        assert_eq!(index.lines.iter().map(|line| line.displaced).sum::<u32>(), 0);
        // Twice as many keys as it is for.
        let mut index = Index::new(1 << 13, 3);
        let entries: Box<[Entry]> = (0..1 << 14).map(|tid| Entry { key: key(tid), ..Entry::default() }).collect();
        (0..1 << 14).for_each(|number| index.insert(key(number), EntryId(number)));
        let displaced = |index: &Index| index.lines.iter().map(|line| line.displaced).sum::<u32>();
        assert!((1..400).contains(&displaced(&index)), "{}", displaced(&index));
        for number in 0..1 << 14 {
            assert_eq!(index.find(&entries, key(number)), Some(EntryId(number)));
            assert_eq!(index.find(&entries, key(number + (1 << 14))), None);
        }
        (0..1 << 14).for_each(|number| index.remove(key(number), EntryId(number)));
        assert!(displaced(&index) == 0 && index.lines.iter().all(|line| line.marks == [0; PLACES]));
    }
}

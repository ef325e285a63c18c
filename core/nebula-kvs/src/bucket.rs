//! One bucket of the index: a cache line with a version, a link and seven entries.
//!
//! ```text
//! word 0   next_extra 32 | version 32     odd version: a writer holds the bucket and its chain
//! word 1   tag 16 | reads 2 | position 46 0: empty
//!  ...
//! word 7   tag 16 | reads 2 | position 46
//! ```
//! A writer locks the bucket by making the version odd. Readers never write: they read the version,
//! then entries and items, then the version again, and retry if it changed (a seqlock). A writer
//! that changes nothing restores the version, so it makes no reader retry.

use crate::backoff::Backoff;
use crate::index_of::index_of;
use nebula_sys::{
    search,
    sync::{AtomicU64, Ordering, fence, spin_loop},
};

pub(crate) const BUCKET_WORDS: usize = 8;
pub(crate) type Bucket = [AtomicU64; BUCKET_WORDS];

pub(crate) const POSITION_BITS: u32 = 46;
const TAG_SHIFT: u32 = 48;
/// The item was read once since it was written, or carried over and not read since.
const READ_ONCE: u64 = 1 << POSITION_BITS;
const READ_OFTEN: u64 = 2 << POSITION_BITS;
const VERSION_MASK: u64 = u32::MAX as u64;
const HELD: u64 = 1;
/// The tries of `try_hold`: some hundred nanoseconds.
const TRIES: u32 = if cfg!(loom) { 1 } else { 64 };

/// A tag and a position, or empty.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry(pub(crate) u64);

impl Entry {
    pub(crate) const EMPTY: Self = Self(0);

    /// Stores the low 46 bits of `position`; [`Window`](crate::log::Window) compares modulo 2⁴⁶.
    #[inline]
    pub(crate) fn new(tag: u16, position: u64) -> Self {
        Self(u64::from(tag) << TAG_SHIFT | position & ((1 << POSITION_BITS) - 1))
    }

    #[cfg(not(any(loom, miri)))]
    pub(crate) fn has_tag(self, tag: u16) -> bool {
        self.0 >> TAG_SHIFT == u64::from(tag)
    }

    /// Whether another read changes nothing.
    #[inline(always)]
    pub(crate) fn is_read_often(self) -> bool {
        self.0 & READ_OFTEN != 0
    }

    /// 0 if the item was not read, 1 if once, 2 if more often.
    #[inline]
    pub(crate) fn reads(self) -> u64 {
        self.0 >> POSITION_BITS & 3
    }

    /// The entry after one more read.
    #[inline]
    pub(crate) fn read(self) -> Self {
        let reads = if self.reads() == 0 { READ_ONCE } else { READ_OFTEN };
        Self(self.0 & !(READ_ONCE | READ_OFTEN) | reads)
    }

    /// The entry with the most reads.
    pub(crate) fn read_often(self) -> Self {
        self.read().read()
    }

    /// The entry of the item at another place, with one read less.
    pub(crate) fn carried_to(self, position: u64) -> Self {
        let tag = self.0 >> TAG_SHIFT << TAG_SHIFT;
        let place = position & ((1 << POSITION_BITS) - 1);
        Self(tag | self.reads().saturating_sub(1) << POSITION_BITS | place)
    }

    #[inline(always)]
    pub(crate) fn position(self) -> u64 {
        self.0 & ((1 << POSITION_BITS) - 1)
    }
}

#[inline(always)]
pub(crate) fn entry(bucket: &Bucket, slot: usize) -> Entry {
    Entry(bucket[slot].load(Ordering::Relaxed))
}

/// The entries of a bucket with their slots 1..=7.
#[inline(always)]
pub(crate) fn entries(bucket: &Bucket) -> impl Iterator<Item = (usize, Entry)> {
    (1..BUCKET_WORDS).map(|slot| (slot, entry(bucket, slot)))
}

/// The entries of a bucket that have `tag`.
///
/// Compares all seven tags without a branch before it returns the first result: the matching slot
/// is random, and a mispredicted branch costs more than seven comparisons.
#[inline(always)]
pub(crate) fn entries_with_tag(bucket: &Bucket, tag: u16) -> impl Iterator<Item = (usize, Entry)> {
    search::words_with_tag(bucket, tag).except(0).map(|slot| (slot, entry(bucket, slot)))
}

/// Records that the item of `entry` was read, unless the entry has changed since. Readers may call
/// it: the version does not cover reads.
#[cold]
pub(crate) fn mark_read(word: &AtomicU64, entry: Entry) {
    // Relaxed: a hint for eviction.
    let _ = word.compare_exchange(entry.0, entry.read().0, Ordering::Relaxed, Ordering::Relaxed);
}

#[inline]
pub(crate) fn next_extra(bucket: &Bucket) -> Option<usize> {
    // Acquire: pairs with the Release of `Held::link`; the extra bucket is seen empty or later.
    let link = bucket[0].load(Ordering::Acquire) >> 32;
    (link > 0).then(|| index_of(link - 1))
}

/// Empties a bucket that no chain has.
pub(crate) fn clear(bucket: &Bucket) {
    bucket.iter().for_each(|word| word.store(0, Ordering::Relaxed));
}

#[cfg(not(any(loom, miri)))]
pub(crate) fn cut(bucket: &Bucket) {
    bucket[0].fetch_and(VERSION_MASK, Ordering::Relaxed);
}

/// Frees a bucket whose holder is gone, in memory without other users; returns whether it was held.
#[cfg(not(any(loom, miri)))]
pub(crate) fn mend(home: &Bucket) -> bool {
    home[0].fetch_and(!HELD, Ordering::Relaxed) & HELD != 0
}

/// Begins an optimistic read: the word for [`is_unchanged`]; `None` while a writer holds the
/// bucket.
#[inline(always)]
pub(crate) fn begin_read(home: &Bucket) -> Option<u64> {
    // Acquire: pairs with the Release store in `Held::drop`; the entries and items published under
    // this version are visible.
    let word = home[0].load(Ordering::Acquire);
    (word & HELD == 0).then_some(word)
}

/// Ends an optimistic read: whether all reads since [`begin_read`] are of one version. After
/// `fence(Acquire)`.
#[inline(always)]
pub(crate) fn is_unchanged(home: &Bucket, begun: u64) -> bool {
    home[0].load(Ordering::Relaxed) == begun
}

/// Exclusive write access to a bucket and its chain.
pub(crate) struct Held<'a> {
    home: &'a Bucket,
    /// Word 0 as first read, with the link kept up to date.
    word: u64,
    has_changed: bool,
}

#[inline]
pub(crate) fn hold(home: &Bucket) -> Held<'_> {
    let mut backoff = Backoff::default();
    loop {
        let word = home[0].load(Ordering::Relaxed);
        // Acquire: pairs with the Release in `Held::drop`; the last holder's changes are visible.
        let taken = word & HELD == 0
            && home[0].compare_exchange_weak(word, word | HELD, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if taken {
            // Release fence: pairs with the reader's Acquire fence. A reader that sees any later
            // store also sees the odd version when it checks again.
            fence(Ordering::Release);
            return Held { home, word, has_changed: false };
        }
        backoff.wait();
    }
}

/// Locks the bucket where no other thread writes, without an atomic read-modify-write.
#[inline]
pub(crate) fn hold_alone(home: &Bucket) -> Held<'_> {
    let word = home[0].load(Ordering::Relaxed);
    home[0].store(word | HELD, Ordering::Relaxed);
    // As in `hold`, for readers.
    fence(Ordering::Release);
    Held { home, word, has_changed: false }
}

/// Locks the bucket unless another writer holds it for longer than some spins.
pub(crate) fn try_hold(home: &Bucket) -> Option<Held<'_>> {
    for _ in 0..TRIES {
        let word = home[0].load(Ordering::Relaxed);
        // Acquire and the fence: as in `hold`.
        let taken = word & HELD == 0
            && home[0].compare_exchange(word, word | HELD, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if taken {
            fence(Ordering::Release);
            return Some(Held { home, word, has_changed: false });
        }
        spin_loop();
    }
    None
}

impl<'a> Held<'a> {
    #[inline]
    pub(crate) fn home(&self) -> &'a Bucket {
        self.home
    }

    #[inline]
    pub(crate) fn set(&mut self, entry: &AtomicU64, to: Entry) {
        self.has_changed = true;
        // A reader's `mark_read` comes directly after its load of the entry, so a store suffices:
        // if the reader misses the store, its mark comes first. Loom does not know that of a
        // read-modify-write.
        #[cfg(not(loom))]
        entry.store(to.0, Ordering::Relaxed);
        #[cfg(loom)]
        entry.swap(to.0, Ordering::Relaxed);
    }

    /// Records that an item of this bucket is about to change in place.
    #[inline]
    pub(crate) fn will_change(&mut self) {
        self.has_changed = true;
    }

    /// Links extra bucket `extra` after `last`, a bucket of this chain. A link never changes
    /// afterwards.
    pub(crate) fn link(&mut self, last: &Bucket, extra: usize) {
        let link = (extra as u64 + 1) << 32;
        if std::ptr::eq(last, self.home) {
            self.word |= link;
            self.has_changed = true;
            last[0].store(self.word | HELD, Ordering::Release);
        } else {
            last[0].store(link, Ordering::Release);
        }
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        let version = self.word.wrapping_add(u64::from(self.has_changed) * 2) & VERSION_MASK;
        // Release: pairs with the Acquire loads of `begin_read` and `hold`.
        self.home[0].store(self.word & !VERSION_MASK | version, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn bucket(words: [u64; BUCKET_WORDS]) -> Bucket {
        words.map(AtomicU64::new)
    }

    #[test]
    fn a_holder_that_changes_nothing_leaves_the_version() {
        let home = bucket([4, 0, 0, 0, 0, 0, 0, 0]);
        drop(hold(&home));
        assert_eq!(begin_read(&home), Some(4));
    }

    #[test]
    fn a_holder_that_changes_an_entry_moves_the_version_on() {
        let home = bucket([4, 0, 0, 0, 0, 0, 0, 0]);
        let mut held = hold(&home);
        assert_eq!(begin_read(&home), None);
        held.set(&home[3], Entry::new(1, 2));
        drop(held);
        assert_eq!(begin_read(&home), Some(6));
        assert!(!is_unchanged(&home, 4));
    }

    #[test]
    fn a_version_that_wraps_leaves_the_link_alone() {
        let home = bucket([7 << 32 | 0xFFFF_FFFE, 0, 0, 0, 0, 0, 0, 0]);
        hold(&home).will_change();
        assert_eq!(begin_read(&home), Some(7 << 32));
        assert_eq!(next_extra(&home), Some(6));
    }

    #[test]
    fn entries_are_found_by_their_tag_in_order() {
        let home = bucket([0, Entry::new(9, 1).0, 0, Entry::new(8, 2).0, Entry::new(9, 3).0, 0, 0, Entry::new(9, 4).0]);
        let found: Vec<_> = entries_with_tag(&home, 9).map(|(slot, entry)| (slot, entry.position())).collect();
        assert_eq!(found, [(1, 1), (4, 3), (7, 4)]);
        assert_eq!(entries_with_tag(&home, 7).count(), 0);
    }
}

//! Any bytes of memory that threads or processes access concurrently, for one-sided operations.
//!
//! Each aligned word is read and written atomically; a range of several words may mix old and new
//! ones. A write within a word leaves the word's other bytes to concurrent writers.
//!
//! # Objects that are read consistently
//!
//! An object may have a **version word**: even while the object is stable, odd while it is being
//! written, and changed by each write. A reader copies between two reads of the word, and has one
//! version's bytes if both agree (SABRes, MICRO 2016; a seqlock).
//!
//! ```
//! use nebula_sys::{sync::AtomicU64, window};
//! let words: Vec<AtomicU64> = (0..8).map(|_| AtomicU64::new(0)).collect();
//! window::store_whole(&words, 0, 8, b"an object");
//! let mut copy = [0; 9];
//! assert_eq!(window::load_whole(&words, 0, 8, &mut copy), Some(2));
//! assert_eq!(&copy, b"an object");
//! ```

use crate::copy::{load_bytes, store_bytes};
use crate::sync::{AtomicU64, Ordering, fence, spin_loop};

/// Copies `into.len()` bytes from byte `offset` on.
///
/// # Panics
///
/// When the range is not within `words`.
///
/// # Cost
///
/// O(bytes / 16) if `offset` is a multiple of 8.
#[inline]
pub fn load(words: &[AtomicU64], offset: usize, into: &mut [u8]) {
    let words = &words[offset / 8..];
    let skip = offset % 8;
    if skip == 0 {
        return load_bytes(words, into);
    }
    let (head, rest) = into.split_at_mut(into.len().min(8 - skip));
    if !head.is_empty() {
        let word = words[0].load(Ordering::Relaxed).to_le_bytes();
        head.copy_from_slice(&word[skip..skip + head.len()]);
    }
    if !rest.is_empty() {
        load_bytes(&words[1..], rest);
    }
}

/// Writes `bytes` from byte `offset` on.
///
/// # Panics
///
/// When the range is not within `words`.
///
/// # Cost
///
/// O(bytes / 16), and a compare-and-swap for a partly written word.
#[inline]
pub fn store(words: &[AtomicU64], offset: usize, bytes: &[u8]) {
    let skip = offset % 8;
    let (head, rest) = bytes.split_at(bytes.len().min((8 - skip) % 8));
    let (whole, tail) = rest.split_at(rest.len() / 8 * 8);
    let mut at = offset / 8;
    if !head.is_empty() {
        patch(&words[at], skip, head);
    }
    at += usize::from(skip > 0);
    if !whole.is_empty() {
        store_bytes(&words[at..], whole);
    }
    if !tail.is_empty() {
        patch(&words[at + whole.len() / 8], 0, tail);
    }
}

/// Replaces some bytes of a word and leaves the others to concurrent writers.
fn patch(word: &AtomicU64, skip: usize, bytes: &[u8]) {
    let mut before = word.load(Ordering::Relaxed);
    loop {
        let mut patched = before.to_le_bytes();
        patched[skip..skip + bytes.len()].copy_from_slice(bytes);
        match word.compare_exchange_weak(before, u64::from_le_bytes(patched), Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => before = now,
        }
    }
}

/// Replaces the word at byte `offset` by `desired` if it is `expected`; returns the old word.
///
/// # Panics
///
/// When `offset` is not a multiple of 8, or the word is not within `words`.
#[inline]
pub fn compare_swap(words: &[AtomicU64], offset: usize, expected: u64, desired: u64) -> u64 {
    assert!(offset.is_multiple_of(8), "a compare-and-swap begins on a word");
    // AcqRel: it may take or release a lock over other words.
    match words[offset / 8].compare_exchange(expected, desired, Ordering::AcqRel, Ordering::Acquire) {
        Ok(found) | Err(found) => found,
    }
}

/// As [`load`], between two reads of the version word at byte `version_at`. Returns the bytes'
/// version, or `None` if the object was being written.
///
/// # Panics
///
/// As [`load`], and when `version_at` is not a multiple of 8.
#[inline]
pub fn load_whole(words: &[AtomicU64], version_at: usize, offset: usize, into: &mut [u8]) -> Option<u64> {
    assert!(version_at.is_multiple_of(8), "a version word begins on a word");
    let version = &words[version_at / 8];
    // Acquire: pairs with the last store of `store_whole`; this version's bytes are visible.
    let before = version.load(Ordering::Acquire);
    if before % 2 == 1 {
        return None;
    }
    load(words, offset, into);
    // Acquire fence: pairs with the Release fence in `store_whole`. If a copied byte is of a later
    // version, the load below sees that version's odd word.
    fence(Ordering::Acquire);
    (version.load(Ordering::Relaxed) == before).then_some(before)
}

/// Writes an object so that [`load_whole`] never returns a part; waits for another writer.
///
/// # Panics
///
/// As [`store`], and when `version_at` is not a multiple of 8.
pub fn store_whole(words: &[AtomicU64], version_at: usize, offset: usize, bytes: &[u8]) {
    assert!(version_at.is_multiple_of(8), "a version word begins on a word");
    let version = &words[version_at / 8];
    let before = loop {
        let before = version.load(Ordering::Relaxed);
        // Acquire: pairs with the Release below of the writer before.
        let is_mine = before.is_multiple_of(2)
            && version.compare_exchange_weak(before, before + 1, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if is_mine {
            break before;
        }
        spin_loop();
    };
    // Release fence: a reader that sees a later store also sees the odd version.
    fence(Ordering::Release);
    store(words, offset, bytes);
    // Release: pairs with the Acquire in `load_whole` and above.
    version.store(before.wrapping_add(2), Ordering::Release);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn words(bytes: &[u8]) -> Vec<AtomicU64> {
        bytes.as_chunks::<8>().0.iter().map(|word| AtomicU64::new(u64::from_le_bytes(*word))).collect()
    }

    fn bytes_of(words: &[AtomicU64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect()
    }

    #[test]
    fn every_range_is_read_and_written_and_nothing_beside_it() {
        let before: Vec<u8> = (0..48).collect();
        for offset in 0..=48 {
            for len in 0..=48 - offset {
                let there = words(&before);
                let mut read = vec![0xEE; len];
                load(&there, offset, &mut read);
                assert_eq!(read, before[offset..offset + len], "{len} bytes at {offset}");
                let written: Vec<u8> = (100..).take(len).collect();
                store(&there, offset, &written);
                let mut expected = before.clone();
                expected[offset..offset + len].copy_from_slice(&written);
                assert_eq!(bytes_of(&there), expected, "{len} bytes at {offset}");
            }
        }
    }

    #[test]
    fn a_swap_shows_what_was_there_and_is_made_only_if_that_was_expected() {
        let there = words(&[0; 16]);
        assert_eq!(compare_swap(&there, 8, 1, 5), 0);
        assert_eq!(compare_swap(&there, 8, 0, 5), 0);
        assert_eq!(compare_swap(&there, 8, 0, 6), 5);
        assert_eq!(bytes_of(&there)[8], 5);
    }

    #[test]
    fn an_object_that_is_being_written_is_not_read() {
        let there = words(&[0; 16]);
        store_whole(&there, 0, 8, &[7; 8]);
        let mut read = [0; 8];
        assert_eq!((load_whole(&there, 0, 8, &mut read), read), (Some(2), [7; 8]));
        there[0].store(3, Ordering::Relaxed);
        assert_eq!(load_whole(&there, 0, 8, &mut read), None);
    }

    #[test]
    #[should_panic(expected = "out of range")]
    fn a_range_past_the_end_is_a_callers_mistake() {
        load(&words(&[0; 8]), 16, &mut [0; 1]);
    }
}

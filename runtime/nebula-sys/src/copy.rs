//! Copies from and to memory that other threads or processes may write at the same time.
//!
//! The other side of each copy is `&[AtomicU64]`: memory shared with another process, or a store's
//! log that other cores append to. A copy behaves as one relaxed load or store per word, in no
//! particular order: it may mix old and new words but never tears a word. A caller that needs a
//! consistent value checks a version, or copies into private memory and validates there.
//!
//! On x86-64, words move 16 bytes at a time: each 8-byte half of an aligned 16-byte access is
//! single-copy atomic there, so one vector instruction gives the guarantees of two relaxed word
//! accesses at twice the speed. Other targets copy one word at a time.

use crate::sync::{AtomicU64, Ordering};

/// Copies `dst.len()` bytes from the start of `src`.
///
/// # Panics
///
/// When `src` holds fewer bytes than `dst`.
///
/// # Cost
///
/// O(bytes / 16).
#[inline(always)]
pub fn load_bytes(src: &[AtomicU64], dst: &mut [u8]) {
    assert!(dst.len() <= src.len() * 8, "copy of more bytes than the words hold");
    let whole = dst.len() / 8;
    moving::load(src, &mut dst[..whole * 8]);
    let rest = dst.len() % 8;
    if rest > 0 {
        let last = src[whole].load(Ordering::Relaxed).to_le_bytes();
        dst[whole * 8..].copy_from_slice(&last[..rest]);
    }
}

/// The unit that [`load_units`] copies.
pub const UNIT_BYTES: usize = 16;

/// Copies the units of 16 bytes that hold the first `bytes` bytes of `src`, so that the last unit
/// needs no separate treatment.
///
/// # Panics
///
/// When `src` or `dst` does not hold those units.
///
/// # Cost
///
/// One load and one store a unit.
#[inline(always)]
pub fn load_units(src: &[AtomicU64], dst: &mut [u8], bytes: usize) {
    let bytes = bytes.next_multiple_of(UNIT_BYTES);
    assert!(bytes <= src.len() * 8, "copy of more bytes than the words hold");
    moving::load(src, &mut dst[..bytes]);
}

/// Copies all of `src` to the start of `dst`; the last word is padded with zeros.
///
/// # Panics
///
/// When `dst` holds fewer bytes than `src`.
///
/// # Cost
///
/// O(bytes / 16).
#[inline(always)]
pub fn store_bytes(dst: &[AtomicU64], src: &[u8]) {
    assert!(src.len() <= dst.len() * 8, "copy of more bytes than the words hold");
    let whole = src.len() / 8;
    moving::store(dst, &src[..whole * 8]);
    let rest = src.len() % 8;
    if rest > 0 {
        let mut last = [0; 8];
        last[..rest].copy_from_slice(&src[whole * 8..]);
        dst[whole].store(u64::from_le_bytes(last), Ordering::Relaxed);
    }
}

/// As [`store_bytes`], with `tail` behind `src`.
///
/// # Panics
///
/// When `dst` holds fewer bytes than both.
///
/// # Cost
///
/// O(bytes / 16). A register joins the two, so no load waits for stores that it spans.
#[inline(always)]
pub fn store_bytes_and(dst: &[AtomicU64], src: &[u8], tail: [u8; 4]) {
    assert!(src.len() + tail.len() <= dst.len() * 8, "copy of more bytes than the words hold");
    let whole = src.len() / 8;
    moving::store(dst, &src[..whole * 8]);
    let rest = &src[whole * 8..];
    let (bits, tail) = (8 * short_len(rest), u64::from(u32::from_le_bytes(tail)));
    dst[whole].store(low_bytes(rest) | tail << bits, Ordering::Relaxed);
    if rest.len() > 4 {
        dst[whole + 1].store(tail >> (64 - bits), Ordering::Relaxed);
    }
}

/// Stores the 8 bytes of `word`, little-endian, from byte `at` of `dst` on, which may be in the
/// middle of a word. Returns `false` and stores nothing unless they lie within `dst`.
///
/// For memory that is not read before it is published: a reader could see the two parts of a word
/// separately.
///
/// # Cost
///
/// One store, without a dependency on the store before except `at`.
#[inline(always)]
#[must_use]
pub fn store_word_at(dst: &[AtomicU64], at: usize, word: u64) -> bool {
    let is_within = size_of_val(dst).checked_sub(size_of::<u64>()).is_some_and(|last| at <= last);
    if is_within {
        moving::store_word(dst, at, word);
    }
    is_within
}

/// As [`store_bytes_at`], but returns `false` and stores nothing unless the last word lies within
/// `dst` as a whole.
///
/// # Cost
///
/// A load and a store a word, and no call.
#[inline(always)]
#[must_use]
pub fn store_bytes_within(dst: &[AtomicU64], at: usize, src: &[u8]) -> bool {
    let room = size_of_val(dst).checked_sub(src.len().next_multiple_of(size_of::<u64>()));
    let is_within = room.is_some_and(|last| at <= last);
    if is_within {
        let (words, rest) = src.as_chunks();
        let mut at = at;
        for word in words {
            moving::store_word(dst, at, u64::from_le_bytes(*word));
            at += size_of::<u64>();
        }
        if !rest.is_empty() {
            moving::store_word(dst, at, low_bytes(rest));
        }
    }
    is_within
}

/// Stores `src` from byte `at` of `dst` on, which may be in the middle of a word. Returns `false`
/// and stores nothing unless it lies within `dst`.
///
/// For memory that is not read before it is published, as [`store_word_at`], and for short values:
/// word by word, so that no load spans stores of several fields. It changes up to 7 bytes behind
/// `src`, within `dst`.
///
/// # Cost
///
/// A load and a store a word.
#[inline(always)]
#[must_use]
pub fn store_bytes_at(dst: &[AtomicU64], at: usize, src: &[u8]) -> bool {
    let is_within = size_of_val(dst).checked_sub(src.len()).is_some_and(|last| at <= last);
    if is_within {
        let (words, rest) = src.as_chunks();
        let mut at = at;
        for word in words {
            moving::store_word(dst, at, u64::from_le_bytes(*word));
            at += size_of::<u64>();
        }
        if !rest.is_empty() && !store_word_at(dst, at, low_bytes(rest)) {
            return store_low_bytes_at(dst, at, low_bytes(rest), rest.len());
        }
    }
    is_within
}

/// As [`store_word_at`], of the low `bytes` bytes of `word`, 8 at most: for the end of `dst`.
///
/// # Cost
///
/// A load and a store a byte.
#[cold]
#[must_use]
pub fn store_low_bytes_at(dst: &[AtomicU64], at: usize, word: u64, bytes: usize) -> bool {
    let is_within = bytes <= size_of::<u64>() && at.checked_add(bytes).is_some_and(|end| end <= size_of_val(dst));
    if is_within {
        for (at, byte) in (at..).zip(&word.to_le_bytes()[..bytes]) {
            let (to, bits) = (&dst[at / 8], 8 * (at % 8));
            let others = to.load(Ordering::Relaxed) & !(0xFF << bits);
            to.store(others | u64::from(*byte) << bits, Ordering::Relaxed);
        }
    }
    is_within
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "below 8")]
const fn short_len(rest: &[u8]) -> u32 {
    rest.len() as u32 & 7
}

/// The bytes of `rest`, fewer than 8, in a word, little-endian: read by fours, twos and ones, so
/// that no load spans stores of several fields.
///
/// # Panics
///
/// In debug builds, when there are 8 or more.
///
/// # Cost
///
/// Three loads at most.
#[inline(always)]
#[must_use]
pub fn low_bytes(mut rest: &[u8]) -> u64 {
    debug_assert!(rest.len() < 8, "a whole word has no rest");
    let (mut word, mut bits) = (0, 0);
    if let Some((four, behind)) = rest.split_first_chunk() {
        (word, bits, rest) = (u64::from(u32::from_le_bytes(*four)), 32, behind);
    }
    if let Some((two, behind)) = rest.split_first_chunk() {
        word |= u64::from(u16::from_le_bytes(*two)) << bits;
        (bits, rest) = (bits + 16, behind);
    }
    word | rest.first().map_or(0, |&one| u64::from(one) << bits)
}

/// Copies the words that hold `bytes` bytes from `src` to `dst`. Other threads may write both
/// meanwhile.
///
/// # Panics
///
/// When either side holds fewer than `bytes` bytes.
///
/// # Cost
///
/// O(bytes / 16).
#[inline(always)]
pub fn copy_words(dst: &[AtomicU64], src: &[AtomicU64], bytes: usize) {
    let words = bytes.div_ceil(8);
    assert!(words <= dst.len() && words <= src.len(), "copy of more bytes than the words hold");
    moving::copy(&dst[..words], src);
}

/// Whether `src` begins with `bytes`.
///
/// # Cost
///
/// O(bytes / 8); stops at the first word that differs.
#[inline(always)]
#[must_use]
pub fn eq_bytes(src: &[AtomicU64], bytes: &[u8]) -> bool {
    if bytes.len() > src.len() * 8 {
        return false;
    }
    let (whole, rest) = bytes.as_chunks::<8>();
    let mut index = 0;
    while index < whole.len() {
        if src[index].load(Ordering::Relaxed) != u64::from_le_bytes(whole[index]) {
            return false;
        }
        index += 1;
    }
    rest.is_empty() || src[whole.len()].load(Ordering::Relaxed).to_le_bytes()[..rest.len()] == *rest
}

/// Copies whole words on x86-64. The public functions have checked the lengths.
#[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
mod moving {
    use super::{AtomicU64, Ordering};
    use crate::pair::{self, PAIR_BYTES as PAIR};
    use std::arch::asm;
    use std::arch::x86_64::{_mm_loadu_si128, _mm_storeu_si128};

    /// Payloads shorter than this are stored word by word.
    const SHORT: usize = 64;

    #[inline(always)]
    pub(super) fn load(src: &[AtomicU64], dst: &mut [u8]) {
        debug_assert!(dst.len() <= src.len() * 8);
        let from = src.as_ptr().cast::<u8>();
        let (pairs, rest) = dst.as_chunks_mut::<PAIR>();
        for (i, pair) in pairs.iter_mut().enumerate() {
            // SAFETY: `src` holds as many bytes as `dst`, so these 16 too.
            let value = unsafe { pair::load(from.add(i * PAIR)) };
            // SAFETY: 16 bytes that are borrowed mutably; the store needs no alignment.
            unsafe { _mm_storeu_si128(pair.as_mut_ptr().cast(), value) };
        }
        if let Some(word) = rest.as_chunks_mut::<8>().0.first_mut() {
            *word = src[pairs.len() * 2].load(Ordering::Relaxed).to_le_bytes();
        }
    }

    #[inline(always)]
    pub(super) fn store(dst: &[AtomicU64], src: &[u8]) {
        debug_assert!(src.len() <= dst.len() * 8);
        // A short message has usually just been built with stores of a word or less. A load that
        // spans several stores cannot be forwarded from the store buffer: it waits until they have
        // drained to the cache.
        if src.len() < SHORT {
            // SAFETY: `dst` holds as many bytes as `src`, of which these are parts.
            return unsafe { store_short(dst, src) };
        }
        let to = dst.as_ptr().cast::<u8>().cast_mut();
        let (pairs, rest) = src.as_chunks::<PAIR>();
        for (i, pair) in pairs.iter().enumerate() {
            // SAFETY: 16 bytes that are borrowed; the load needs no alignment.
            let value = unsafe { _mm_loadu_si128(pair.as_ptr().cast()) };
            // SAFETY: `dst` holds as many bytes as `src`, so these 16 too, and is atomics, which
            // may be written through a shared reference.
            unsafe { pair::store(to.add(i * PAIR), value) };
        }
        if let Some(word) = rest.as_chunks::<8>().0.first() {
            dst[pairs.len() * 2].store(u64::from_le_bytes(*word), Ordering::Relaxed);
        }
    }

    /// Stores whole words of fewer than [`SHORT`] bytes: the first ones and the last ones, which
    /// may overlap, so that two branches do for most lengths.
    ///
    /// # Safety
    ///
    /// `dst` holds as many bytes as `src`.
    #[inline(always)]
    unsafe fn store_short(dst: &[AtomicU64], src: &[u8]) {
        let (to, from, words) = (dst.as_ptr(), src.as_ptr(), src.len() / 8);
        // SAFETY: each arm stores words below `words`, which both sides hold, as the caller
        // guarantees.
        unsafe {
            if words >= 4 {
                store_words::<4>(to, from);
                if words > 6 {
                    store_words::<1>(to.add(4), from.add(4 * 8));
                }
                store_words::<2>(to.add(words - 2), from.add((words - 2) * 8));
            } else if words >= 2 {
                store_words::<2>(to, from);
                store_words::<1>(to.add(words - 1), from.add((words - 1) * 8));
            } else if words == 1 {
                store_words::<1>(to, from);
            }
        }
    }

    /// Stores `N` words.
    ///
    /// # Safety
    ///
    /// Both sides hold them, and nobody writes those of `from`.
    #[inline(always)]
    unsafe fn store_words<const N: usize>(to: *const AtomicU64, from: *const u8) {
        for word in 0..N {
            // SAFETY: the caller's guarantee. Atomics may be written through a shared reference;
            // the load needs no alignment.
            unsafe { (*to.add(word)).store(from.add(word * 8).cast::<u64>().read_unaligned(), Ordering::Relaxed) };
        }
    }

    #[inline(always)]
    pub(super) fn store_word(dst: &[AtomicU64], at: usize, word: u64) {
        debug_assert!(at + 8 <= dst.len() * 8);
        // SAFETY: the caller has compared `at` and the 8 bytes behind it with the length of `dst`,
        // which is atomics and may be written through a shared reference. Inline assembly keeps the
        // compiler from assuming that no other thread writes there.
        unsafe {
            let to = dst.as_ptr();
            asm!("mov qword ptr [{to} + {at}], {word}", to = in(reg) to, at = in(reg) at, word = in(reg) word, options(nostack, preserves_flags));
        }
    }

    #[inline(always)]
    pub(super) fn copy(dst: &[AtomicU64], src: &[AtomicU64]) {
        debug_assert!(dst.len() <= src.len());
        let (from, to) = (src.as_ptr().cast::<u8>(), dst.as_ptr().cast::<u8>().cast_mut());
        for i in 0..dst.len() / 2 {
            // SAFETY: `src` holds as many words as `dst`, which is atomics and may be written
            // through a shared reference.
            unsafe { pair::store(to.add(i * PAIR), pair::load(from.add(i * PAIR))) };
        }
        if let Some(odd) = dst.len().checked_sub(1).filter(|last| last % 2 == 0) {
            dst[odd].store(src[odd].load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}

/// Copies whole words one at a time: on other targets, under loom and under Miri.
#[cfg(not(all(target_arch = "x86_64", not(any(miri, loom)))))]
mod moving {
    use super::{AtomicU64, Ordering};

    pub(super) fn load(src: &[AtomicU64], dst: &mut [u8]) {
        for (word, part) in src.iter().zip(dst.as_chunks_mut::<8>().0) {
            *part = word.load(Ordering::Relaxed).to_le_bytes();
        }
    }

    pub(super) fn store(dst: &[AtomicU64], src: &[u8]) {
        for (word, part) in dst.iter().zip(src.as_chunks::<8>().0) {
            word.store(u64::from_le_bytes(*part), Ordering::Relaxed);
        }
    }

    pub(super) fn store_word(dst: &[AtomicU64], at: usize, word: u64) {
        let _ = super::store_low_bytes_at(dst, at, word, 8);
    }

    pub(super) fn copy(dst: &[AtomicU64], src: &[AtomicU64]) {
        for (to, from) in dst.iter().zip(src) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn words(n: usize) -> Vec<AtomicU64> {
        (0..n).map(|_| AtomicU64::new(u64::MAX)).collect()
    }

    #[test]
    fn a_tail_stands_behind_every_length_and_touches_nothing_else() {
        for len in 0..=70_usize {
            let src: Vec<u8> = (1..=len).map(|i| u8::try_from(i).unwrap()).collect();
            let expected = [&src[..], &[0xA1, 0xB2, 0xC3, 0xD4]].concat();
            let dst = words(expected.len().div_ceil(8) + 1);
            store_bytes_and(&dst, &src, [0xA1, 0xB2, 0xC3, 0xD4]);
            let mut out = vec![0; expected.len()];
            load_bytes(&dst, &mut out);
            assert_eq!(out, expected);
            assert_eq!(dst.last().unwrap().load(Ordering::Relaxed), u64::MAX, "{len} bytes");
        }
    }

    #[test]
    fn a_word_is_stored_at_any_byte_or_not_at_all() {
        let word = 0x0807_0605_0403_0201_u64;
        for at in (0..=40).chain([usize::MAX - 7, usize::MAX]) {
            for bytes in 0..=8_usize {
                let dst = words(4);
                let stored =
                    if bytes == 8 { store_word_at(&dst, at, word) } else { store_low_bytes_at(&dst, at, word, bytes) };
                assert_eq!(stored, at.checked_add(bytes).is_some_and(|end| end <= 32), "{bytes} bytes at {at}");
                let mut out = [0; 32];
                load_bytes(&dst, &mut out);
                let mut expected = [0xFF; 32];
                if stored {
                    expected[at..at + bytes].copy_from_slice(&word.to_le_bytes()[..bytes]);
                }
                assert_eq!(out, expected, "{bytes} bytes at {at}");
            }
        }
        assert!(!store_low_bytes_at(&words(4), 0, word, 9) && !store_word_at(&[], 0, word));
    }

    #[test]
    fn bytes_are_stored_at_any_byte_or_not_at_all() {
        for (at, len) in (0..40).flat_map(|at| (0..40).map(move |len| (at, len))) {
            let src: Vec<u8> = (1..=len).map(|i| u8::try_from(i).unwrap()).collect();
            let dst = words(4);
            assert_eq!(store_bytes_at(&dst, at, &src), at + len <= 32, "{len} bytes at {at}");
            let mut out = [0; 32];
            load_bytes(&dst, &mut out);
            if at + len <= 32 {
                assert_eq!(out[at..at + len], src, "at {at}");
                assert!(
                    out[..at].iter().chain(&out[(at + len.next_multiple_of(8)).min(32)..]).all(|&byte| byte == 0xFF)
                );
            } else {
                assert_eq!(out, [0xFF; 32]);
            }
        }
    }

    #[test]
    fn bytes_are_stored_in_whole_words_within_the_room_or_not_at_all() {
        for (at, len) in (0..40).flat_map(|at| (0..40).map(move |len| (at, len))) {
            let src: Vec<u8> = (1..=len).map(|i| u8::try_from(i).unwrap()).collect();
            let (dst, end) = (words(4), at + usize::next_multiple_of(len, 8));
            assert_eq!(store_bytes_within(&dst, at, &src), end <= 32, "{len} bytes at {at}");
            let mut out = [0; 32];
            load_bytes(&dst, &mut out);
            if end <= 32 {
                assert_eq!(out[at..at + len], src, "at {at}");
                assert!(out[..at].iter().chain(&out[end..]).all(|&byte| byte == 0xFF));
            } else {
                assert_eq!(out, [0xFF; 32]);
            }
        }
    }

    #[test]
    fn every_length_arrives_whole_and_touches_nothing_else() {
        for len in 0..=70_usize {
            let src: Vec<u8> = (1..=len).map(|i| u8::try_from(i).unwrap()).collect();
            let there = words(10);
            store_bytes(&there, &src);
            let mut back = vec![0xEE; len];
            load_bytes(&there, &mut back);
            assert_eq!(back, src);
            assert!(eq_bytes(&there, &src));
            assert!(there[len.div_ceil(8)..].iter().all(|w| w.load(Ordering::Relaxed) == u64::MAX));
            let mut units = [0xEE; 80];
            load_units(&there, &mut units, len);
            assert_eq!(units[..len], src);
            assert!(units[len.next_multiple_of(UNIT_BYTES)..].iter().all(|&byte| byte == 0xEE));
            let copied = words(10);
            copy_words(&copied, &there, len);
            assert!(eq_bytes(&copied, &src));
            assert!(copied[len.div_ceil(8)..].iter().all(|w| w.load(Ordering::Relaxed) == u64::MAX));
        }
    }

    #[test]
    fn a_difference_in_any_byte_is_seen() {
        let src: Vec<u8> = (0..37).collect();
        let there = words(5);
        store_bytes(&there, &src);
        for i in 0..src.len() {
            let mut other = src.clone();
            other[i] ^= 1;
            assert!(!eq_bytes(&there, &other), "byte {i}");
        }
        assert!(!eq_bytes(&there, &[0; 41]));
    }

    #[test]
    #[should_panic(expected = "copy of more bytes than the words hold")]
    fn a_copy_past_the_end_is_a_callers_mistake() {
        load_bytes(&words(1), &mut [0; 9]);
    }
}

//! Copies from and to memory that others may write at the same time.
//!
//! The other side of each copy is `&[AtomicU64]`: shared memory of another process, or a store's log that other cores append to.
//! A copy behaves as one relaxed load or store per 64-bit word, in no particular order: it may mix old and new words, never tear a
//! word. Whoever needs more (a whole value, or none) checks a version or copies into private memory and validates there.
//!
//! On x86-64 the words move 16 bytes at a time: each 8-byte half of an aligned 16-byte access is single-copy atomic there, so the
//! vector instruction is as good as two relaxed word accesses, and twice as fast. Elsewhere they move word by word.

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
#[inline]
pub fn load_bytes(src: &[AtomicU64], dst: &mut [u8]) {
    assert!(dst.len() <= src.len() * 8, "copy of {} bytes from {} words", dst.len(), src.len());
    let (pairs, rest) = dst.as_chunks_mut::<16>();
    for (i, pair) in pairs.iter_mut().enumerate() {
        let [low, high] = load_pair(&src[2 * i..]);
        pair[..8].copy_from_slice(&low.to_le_bytes());
        pair[8..].copy_from_slice(&high.to_le_bytes());
    }
    let done = pairs.len() * 2;
    for (word, part) in src[done..].iter().zip(rest.chunks_mut(8)) {
        let bytes = word.load(Ordering::Relaxed).to_le_bytes();
        part.copy_from_slice(&bytes[..part.len()]);
    }
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
#[inline]
pub fn store_bytes(dst: &[AtomicU64], src: &[u8]) {
    assert!(src.len() <= dst.len() * 8, "copy of {} bytes to {} words", src.len(), dst.len());
    let (pairs, rest) = src.as_chunks::<16>();
    for (i, pair) in pairs.iter().enumerate() {
        let halves = pair.as_chunks::<8>().0;
        store_pair(&dst[2 * i..], [u64::from_le_bytes(halves[0]), u64::from_le_bytes(halves[1])]);
    }
    let done = pairs.len() * 2;
    for (word, part) in dst[done..].iter().zip(rest.chunks(8)) {
        let mut bytes = [0; 8];
        bytes[..part.len()].copy_from_slice(part);
        word.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
    }
}

/// Copies the words that hold `bytes` bytes from `src` to `dst`, both of which others may write at the same time.
///
/// # Panics
///
/// When either side holds fewer than `bytes` bytes.
///
/// # Cost
///
/// O(bytes / 16).
#[inline]
pub fn copy_words(dst: &[AtomicU64], src: &[AtomicU64], bytes: usize) {
    let words = bytes.div_ceil(8);
    let (dst, src) = (&dst[..words], &src[..words]);
    for i in 0..words / 2 {
        store_pair(&dst[2 * i..], load_pair(&src[2 * i..]));
    }
    if words % 2 == 1 {
        dst[words - 1].store(src[words - 1].load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// Whether the first `bytes.len()` bytes of `src` equal `bytes`.
///
/// False when `src` is shorter.
///
/// # Cost
///
/// O(bytes / 8), ends at the first word that differs.
#[inline]
#[must_use]
pub fn eq_bytes(src: &[AtomicU64], bytes: &[u8]) -> bool {
    if bytes.len() > src.len() * 8 {
        return false;
    }
    let (whole, rest) = bytes.as_chunks::<8>();
    let same = whole.iter().zip(src).all(|(part, word)| word.load(Ordering::Relaxed) == u64::from_le_bytes(*part));
    same && (rest.is_empty() || src[whole.len()].load(Ordering::Relaxed).to_le_bytes()[..rest.len()] == *rest)
}

#[inline(always)]
fn load_pair(src: &[AtomicU64]) -> [u64; 2] {
    let pair = &src[..2];
    #[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
    {
        let value: std::arch::x86_64::__m128i;
        // SAFETY: the slice holds two words. The load reads each of them once, as two relaxed atomic loads would, which any
        // concurrent store may race with; the assembly keeps the compiler from assuming the memory to be still.
        unsafe {
            std::arch::asm!("movdqu {}, [{}]", out(xmm_reg) value, in(reg) pair.as_ptr(), options(nostack, preserves_flags, readonly));
            std::mem::transmute::<std::arch::x86_64::__m128i, [u64; 2]>(value)
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(miri, loom)))))]
    [pair[0].load(Ordering::Relaxed), pair[1].load(Ordering::Relaxed)]
}

#[inline(always)]
fn store_pair(dst: &[AtomicU64], value: [u64; 2]) {
    let pair = &dst[..2];
    #[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
    // SAFETY: the slice holds two words behind `&AtomicU64`, so writing them through a shared reference is allowed; the store writes
    // each once, as two relaxed atomic stores would.
    unsafe {
        let value = std::mem::transmute::<[u64; 2], std::arch::x86_64::__m128i>(value);
        std::arch::asm!("movdqu [{}], {}", in(reg) pair.as_ptr(), in(xmm_reg) value, options(nostack, preserves_flags));
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(miri, loom)))))]
    {
        pair[0].store(value[0], Ordering::Relaxed);
        pair[1].store(value[1], Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn words(n: usize) -> Vec<AtomicU64> {
        (0..n).map(|_| AtomicU64::new(u64::MAX)).collect()
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
    #[should_panic(expected = "copy of 9 bytes from 1 words")]
    fn a_copy_past_the_end_is_a_callers_mistake() {
        load_bytes(&words(1), &mut [0; 9]);
    }
}

//! Searches the words of one cache line, all at once.

use crate::sync::AtomicU64;

const WORDS: usize = 8;
/// The lowest of a word's uppermost 16 bits.
#[cfg(any(test, not(target_arch = "x86_64"), miri, loom))]
const TAG_BIT: u32 = 48;

/// The indices of the words of `line` whose uppermost 16 bits are `tag`, in order. Each word is
/// read once, relaxed, and may have changed when this returns.
///
/// # Cost
///
/// Some twenty instructions on x86-64, without a branch that depends on the line.
#[inline(always)]
#[must_use]
pub fn words_with_tag(line: &[AtomicU64; WORDS], tag: u16) -> WordsWithTag {
    WordsWithTag(matching::bits(line, tag))
}

/// The indices of the words found, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordsWithTag(u32);

impl WordsWithTag {
    /// Bits of the mask for each word; only the last one is used.
    const BITS: u32 = 4;

    /// The set without word `index`.
    #[inline(always)]
    #[must_use]
    pub const fn except(self, index: u32) -> Self {
        Self(self.0 & !(1 << (index * Self::BITS + Self::BITS - 1)))
    }
}

impl Iterator for WordsWithTag {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let found = (self.0 > 0).then_some((self.0.trailing_zeros() / Self::BITS) as usize);
        self.0 &= self.0.wrapping_sub(1);
        found
    }
}

#[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
mod matching {
    use super::{AtomicU64, WORDS};
    use crate::pair::{self, PAIR_BYTES};
    use std::arch::x86_64::{_mm_cmpeq_epi16, _mm_movemask_epi8, _mm_packs_epi16, _mm_set1_epi16};

    /// A bit for each 16 bits of the line; only the uppermost of each word are kept.
    #[inline(always)]
    pub(super) fn bits(line: &[AtomicU64; WORDS], tag: u16) -> u32 {
        const UPPERMOST: u32 = 0x8888_8888;
        let from = line.as_ptr().cast::<u8>();
        // SAFETY: SSE2 is part of x86-64; the line holds four pairs of words, which are atomics.
        unsafe {
            let tag = _mm_set1_epi16(tag.cast_signed());
            let equal = |pair: usize| _mm_cmpeq_epi16(pair::load(from.add(pair * PAIR_BYTES)), tag);
            let half = |first| _mm_movemask_epi8(_mm_packs_epi16(equal(first), equal(first + 1))).cast_unsigned();
            (half(0) | half(2) << 16) & UPPERMOST
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(any(miri, loom)))))]
mod matching {
    use super::{AtomicU64, TAG_BIT, WORDS, WordsWithTag};
    use crate::sync::Ordering;

    pub(super) fn bits(line: &[AtomicU64; WORDS], tag: u16) -> u32 {
        let is_match = |word: &AtomicU64| word.load(Ordering::Relaxed) >> TAG_BIT == u64::from(tag);
        let bit = |index: usize| 1 << (index as u32 * WordsWithTag::BITS + WordsWithTag::BITS - 1);
        line.iter().enumerate().filter(|(_, word)| is_match(word)).map(|(index, _)| bit(index)).sum()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A line in which `tags[i]` is the tag of word i, and the other bits are those of `rest`.
    fn line(tags: [u16; WORDS], rest: u64) -> [AtomicU64; WORDS] {
        tags.map(|tag| AtomicU64::new(u64::from(tag) << TAG_BIT | rest & ((1 << TAG_BIT) - 1)))
    }

    #[test]
    fn each_set_of_words_is_found_whatever_else_they_hold() {
        for set in 0..256_usize {
            for (tag, other) in [(0x8001, 0x0180), (0, 1), (u16::MAX, 0x7FFF), (1, 0)] {
                for rest in [0, u64::MAX, 0x8001_8001_8001_8001, 0x7FFF_7FFF_7FFF] {
                    let tags = std::array::from_fn(|word| if set >> word & 1 != 0 { tag } else { other });
                    let found: Vec<_> = words_with_tag(&line(tags, rest), tag).collect();
                    let expected: Vec<_> = (0..WORDS).filter(|word| set >> word & 1 != 0).collect();
                    assert_eq!(found, expected, "tag {tag:#x} beside {other:#x}, rest {rest:#x}");
                }
            }
        }
    }

    #[test]
    fn a_word_can_be_left_out() {
        let all = words_with_tag(&line([7; WORDS], 0), 7);
        assert_eq!(all.except(0).except(7).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    }
}

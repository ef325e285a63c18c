//! Seven bits of each tag in two words: a search compares all, and then nearly always one tag or
//! none.
//!
//! ```text
//!   ways 0 to 7     0ppppppp 0ppppppp … 0ppppppp      p: a print, seven bits that depend on the complete tag
//!   ways 8 to 15    0ppppppp 0ppppppp … 0ppppppp
//! ```
//!
//! Comparing the tags in vectors takes more instructions, unless these are named.

use super::order::ROOM;
use crate::block::Block;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prints([[u8; 8]; 2]);

const _: () = assert!(ROOM == 16, "two words of eight bytes");

const ONES: u64 = 0x0101_0101_0101_0101;
/// The bit of each byte that no print uses.
const FREE: u64 = ONES << 7;

impl Prints {
    pub(super) const EMPTY: Self = Self([[0; 8]; 2]);

    #[inline(always)]
    pub(super) const fn put(&mut self, way: usize, block: Block) {
        self.0[way / 8 % 2][way % 8] = print(block);
    }

    #[inline(always)]
    pub(super) fn way_of(&self, tags: &[u32; ROOM], block: Block) -> Option<usize> {
        // The addition sets the free bit of a byte that differs, and stays within the byte.
        let wanted = u64::from(print(block)) * ONES;
        let differ = |word| ((u64::from_le_bytes(word) ^ wanted) + (FREE - ONES)) & FREE;
        let mut same = ((differ(self.0[0]) >> 7) | differ(self.0[1])) ^ (ONES | FREE);
        while same != 0 {
            let at = same.trailing_zeros() as usize;
            let way = at / 8 + at % 8 / 7 * 8;
            if tags[way % ROOM] == block.0 {
                return Some(way);
            }
            // Another block has the same print.
            same &= same - 1;
        }
        None
    }
}

#[inline(always)]
const fn print(block: Block) -> u8 {
    (block.0.wrapping_mul(0x9e37_79b1) >> 25) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_workload::Seed;

    #[test]
    fn a_block_is_found_where_a_plain_search_finds_it() {
        let mut rng = Seed(5).stream("tags");
        let (mut tags, mut prints) = ([Block::NONE.0; ROOM], Prints::EMPTY);
        for _ in 0..20_000 {
            // A few hundred blocks, so that many are present and many have the print of another.
            let block = Block(u32::try_from(rng.below(300)).unwrap() << 12);
            let expected = tags.iter().position(|&tag| tag == block.0);
            assert_eq!(prints.way_of(&tags, block), expected);
            if expected.is_none() {
                let way = usize::try_from(rng.below(ROOM as u64)).unwrap();
                tags[way] = block.0;
                prints.put(way, block);
            }
        }
    }
}

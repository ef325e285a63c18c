//! Every core's first-level data cache: tags only, set-associative, least recently used replacement.
//!
//! Copies are clean: the line in the last-level cache has the dirty bit. The tags of a set are in the order of their
//! last use.

use crate::block::Block;
use crate::config::L1Config;

pub(crate) struct L1s {
    /// `[core][set][age]`, the most recent first.
    tags: Box<[u32]>,
    ways: usize,
    /// Tags of one core.
    stride: usize,
    set_mask: u32,
}

/// A set of one L1: where its tags begin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place(usize);

impl L1s {
    pub(crate) fn new(config: &L1Config, cores: u16) -> Self {
        let blocks = usize::try_from(config.bytes / u64::from(Block::BYTES)).unwrap_or(usize::MAX);
        let ways = config.ways as usize;
        let sets = u32::try_from(blocks / ways).unwrap_or(u32::MAX);
        let tags = vec![Block::NONE.0; blocks * usize::from(cores)].into();
        Self { tags, ways, stride: blocks, set_mask: sets - 1 }
    }

    /// The set of `core` that `block` is in, if it is in its L1.
    #[inline(always)]
    pub(crate) fn place(&self, core: u16, block: Block) -> Place {
        Place(usize::from(core) * self.stride + (block.0 & self.set_mask) as usize * self.ways)
    }

    /// Makes `block` the most recently used of its set; returns whether it was present.
    #[inline(always)]
    pub(crate) fn touch(&mut self, place: Place, block: Block) -> bool {
        match self.set(place) {
            // Most have two ways.
            [first, second] => {
                if *first != block.0 && *second == block.0 {
                    std::mem::swap(first, second);
                }
                *first == block.0
            }
            set => touch_any(set, block),
        }
    }

    /// Whether `core` has `block`; changes nothing.
    #[inline]
    pub(crate) fn has(&self, core: u16, block: Block) -> bool {
        let Place(from) = self.place(core, block);
        self.tags[from..from + self.ways].contains(&block.0)
    }

    /// Inserts `block`, which is not present; evicts the least recently used block of the set.
    #[inline(always)]
    pub(crate) fn insert(&mut self, place: Place, block: Block) {
        match self.set(place) {
            [first, second] => (*first, *second) = (block.0, *first),
            set => push_front(set, block.0),
        }
    }

    /// Removes `block`; returns whether it was present.
    #[inline(always)]
    pub(crate) fn drop_copy(&mut self, core: u16, block: Block) -> bool {
        match self.set(self.place(core, block)) {
            [first, second] => {
                if *first == block.0 {
                    (*first, *second) = (*second, Block::NONE.0);
                    return true;
                }
                let is_there = *second == block.0;
                *second = if is_there { Block::NONE.0 } else { *second };
                is_there
            }
            set => drop_any(set, block),
        }
    }

    #[inline(always)]
    fn set(&mut self, Place(from): Place) -> &mut [u32] {
        &mut self.tags[from..from + self.ways]
    }
}

/// [`L1s::touch`] for any number of ways.
fn touch_any(set: &mut [u32], block: Block) -> bool {
    let Some(age) = set.iter().position(|&tag| tag == block.0) else { return false };
    push_front(&mut set[..=age], block.0);
    true
}

/// [`L1s::drop_copy`] for any number of ways.
fn drop_any(set: &mut [u32], block: Block) -> bool {
    let Some(age) = set.iter().position(|&tag| tag == block.0) else { return false };
    set[age..].rotate_left(1);
    set[set.len() - 1] = Block::NONE.0;
    true
}

/// Inserts `word` at the front and shifts the others back by one; the last is dropped. A loop, because there are few
/// words.
#[inline]
fn push_front(words: &mut [u32], word: u32) {
    words.iter_mut().fold(word, |word, place| std::mem::replace(place, word));
}

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

impl L1s {
    pub(crate) fn new(config: &L1Config, cores: u16) -> Self {
        let blocks = usize::try_from(config.bytes / u64::from(Block::BYTES)).unwrap_or(usize::MAX);
        let ways = config.ways as usize;
        let sets = u32::try_from(blocks / ways).unwrap_or(u32::MAX);
        let tags = vec![Block::NONE.0; blocks * usize::from(cores)].into();
        Self { tags, ways, stride: blocks, set_mask: sets - 1 }
    }

    /// Makes `block` the most recently used of its set; returns whether it was present.
    #[inline]
    pub(crate) fn touch(&mut self, core: u16, block: Block) -> bool {
        let set = self.set(core, block);
        let Some(age) = set.iter().position(|&tag| tag == block.0) else { return false };
        push_front(&mut set[..=age], block.0);
        true
    }

    /// Whether `core` has `block`; changes nothing.
    #[inline]
    pub(crate) fn has(&self, core: u16, block: Block) -> bool {
        let from = self.from(core, block);
        self.tags[from..from + self.ways].contains(&block.0)
    }

    /// Inserts `block`, which the core does not have; evicts the least recently used block of the set.
    #[inline]
    pub(crate) fn insert(&mut self, core: u16, block: Block) {
        push_front(self.set(core, block), block.0);
    }

    /// Removes `block`; returns whether it was present.
    #[inline]
    pub(crate) fn drop_copy(&mut self, core: u16, block: Block) -> bool {
        let set = self.set(core, block);
        let Some(age) = set.iter().position(|&tag| tag == block.0) else { return false };
        set[age..].rotate_left(1);
        set[set.len() - 1] = Block::NONE.0;
        true
    }

    #[inline]
    fn set(&mut self, core: u16, block: Block) -> &mut [u32] {
        let from = self.from(core, block);
        &mut self.tags[from..from + self.ways]
    }

    #[inline]
    fn from(&self, core: u16, block: Block) -> usize {
        usize::from(core) * self.stride + (block.0 & self.set_mask) as usize * self.ways
    }
}

/// Inserts `word` at the front and shifts the others back by one; the last is dropped. A loop, because there are few
/// words.
#[inline]
fn push_front(words: &mut [u32], word: u32) {
    words.iter_mut().fold(word, |word, place| std::mem::replace(place, word));
}

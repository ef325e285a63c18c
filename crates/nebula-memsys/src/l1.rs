//! Every core's first-level data cache: tags alone, set-associative, least recently used out first.
//!
//! Copies are clean: the line in the last-level cache carries the dirty bit. A set's tags stand in the order of their
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

    /// Makes `block` the core's most recent of its set; whether it is there.
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

    /// Puts in `block`, which the core does not have; the least recent of its set goes.
    #[inline]
    pub(crate) fn insert(&mut self, core: u16, block: Block) {
        push_front(self.set(core, block), block.0);
    }

    /// Takes `block` out; whether it was there.
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

/// Puts `word` first and moves the others one back; the last goes. A loop, as there are only a few words.
#[inline]
fn push_front(words: &mut [u32], word: u32) {
    words.iter_mut().fold(word, |word, place| std::mem::replace(place, word));
}

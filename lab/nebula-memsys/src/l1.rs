//! All cores' first-level data caches: tags only, set-associative, least recently used replacement.
//!
//! Copies are clean, since the last-level cache has the dirty bit. Tags are in order of last use.

use crate::block::Block;
use crate::config::L1Config;

pub(crate) struct L1s {
    /// `[core][set]`, the latest tag first, if sets have two ways, as most do; else empty.
    pairs: Box<[[u32; 2]]>,
    /// `[core][set][age]`, the latest first, for any other number of ways.
    tags: Box<[u32]>,
    ways: usize,
    sets: usize,
    set_mask: u32,
}

/// A set by its number over all cores.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place(usize);

impl L1s {
    pub(crate) fn new(config: &L1Config, cores: u16) -> Self {
        let blocks = usize::try_from(config.bytes / u64::from(Block::BYTES)).unwrap_or(usize::MAX);
        let ways = config.ways as usize;
        let sets = blocks / ways;
        let set_mask = u32::try_from(sets).unwrap_or(u32::MAX) - 1;
        let all = sets * usize::from(cores);
        let (pairs, tags) = if ways == 2 { (all, 0) } else { (0, all * ways) };
        let (pairs, tags) = (vec![[Block::NONE.0; 2]; pairs].into(), vec![Block::NONE.0; tags].into());
        Self { pairs, tags, ways, sets, set_mask }
    }

    #[inline(always)]
    pub(crate) fn place(&self, core: u16, block: Block) -> Place {
        Place(usize::from(core) * self.sets + (block.0 & self.set_mask) as usize)
    }

    /// Makes `block` the most recently used of its set; returns whether it was present.
    #[inline(always)]
    pub(crate) fn touch(&mut self, place: Place, block: Block) -> bool {
        let Some([first, second]) = self.pair(place) else { return touch_any(self.set(place), block) };
        if *first == block.0 {
            return true;
        }
        if *second == block.0 {
            (*first, *second) = (*second, *first);
            return true;
        }
        false
    }

    #[inline]
    pub(crate) fn has(&self, core: u16, block: Block) -> bool {
        let Place(place) = self.place(core, block);
        match self.pairs.get(place) {
            Some(pair) => pair.contains(&block.0),
            None => self.tags[place * self.ways..][..self.ways].contains(&block.0),
        }
    }

    /// Inserts `block`, which is not present; evicts the least recently used block of the set.
    #[inline(always)]
    pub(crate) fn insert(&mut self, place: Place, block: Block) {
        match self.pair(place) {
            Some(pair) => *pair = [block.0, pair[0]],
            None => push_front(self.set(place), block.0),
        }
    }

    #[inline(always)]
    pub(crate) fn drop_copy(&mut self, core: u16, block: Block) -> bool {
        let place = self.place(core, block);
        let Some([first, second]) = self.pair(place) else { return drop_any(self.set(place), block) };
        if *first == block.0 {
            (*first, *second) = (*second, Block::NONE.0);
            return true;
        }
        let is_there = *second == block.0;
        if is_there {
            *second = Block::NONE.0;
        }
        is_there
    }

    #[inline(always)]
    fn pair(&mut self, Place(place): Place) -> Option<&mut [u32; 2]> {
        self.pairs.get_mut(place)
    }

    #[inline(never)]
    fn set(&mut self, Place(place): Place) -> &mut [u32] {
        &mut self.tags[place * self.ways..][..self.ways]
    }
}

fn touch_any(set: &mut [u32], block: Block) -> bool {
    let Some(age) = set.iter().position(|&tag| tag == block.0) else { return false };
    push_front(&mut set[..=age], block.0);
    true
}

fn drop_any(set: &mut [u32], block: Block) -> bool {
    let Some(age) = set.iter().position(|&tag| tag == block.0) else { return false };
    set[age..].rotate_left(1);
    set[set.len() - 1] = Block::NONE.0;
    true
}

/// Inserts `word` at the front and drops the last. A loop, since there are few words.
#[inline]
fn push_front(words: &mut [u32], word: u32) {
    words.iter_mut().fold(word, |word, place| std::mem::replace(place, word));
}

//! The last-level cache: set-associative, true least-recently-used order, one word of directory a line.
//!
//! A set is a run of tags in the order of their last use and a run of [`Meta`] in the same order; sixteen tags fill one
//! cache line of the machine that simulates, and are compared by its vector instructions. A line keeps the number of the
//! way it is in, so that a limit on the ways of an agent means the same lines each time, as in hardware.

use crate::block::Block;
use crate::config::LlcConfig;
use crate::line::Meta;
use crate::modulus::Modulus;

/// What an insertion pushes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Victim {
    pub(crate) block: Block,
    pub(crate) meta: Meta,
}

/// A set of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SetId(pub(crate) u32);

pub(crate) struct Llc {
    /// `[set]{[age] tags, [age] meta}`.
    words: Box<[u32]>,
    ways: usize,
    sets: Modulus,
}

impl Llc {
    pub(crate) fn new(config: &LlcConfig) -> Self {
        let sets = u32::try_from(config.bytes / u64::from(Block::BYTES) / u64::from(config.ways)).unwrap_or(u32::MAX);
        let tags = std::iter::repeat_n(Block::NONE.0, config.ways as usize);
        let set: Vec<u32> = tags.chain((0..config.ways).map(|way| Meta::empty(way).0)).collect();
        Self { words: set.repeat(sets as usize).into(), ways: config.ways as usize, sets: Modulus::new(sets) }
    }

    /// The set that `block` belongs in.
    ///
    /// Folding the upper bits in keeps any aligned run of blocks spread evenly, and regions that begin at round addresses
    /// apart.
    #[inline]
    pub(crate) const fn set_of(&self, block: Block) -> SetId {
        SetId(self.sets.remainder(block.0 ^ (block.0 >> 14) ^ (block.0 >> 23)))
    }

    /// Makes `block` the most recent of its set; whether it is there.
    #[inline]
    pub(crate) fn touch(&mut self, set: SetId, block: Block) -> bool {
        let (tags, metas) = self.set(set);
        let Some(age) = age_of(tags, block) else { return false };
        to_front(tags, age);
        to_front(metas, age);
        true
    }

    /// Whether `block` is there; changes nothing.
    #[inline]
    pub(crate) fn has(&self, set: SetId, block: Block) -> bool {
        let from = set.0 as usize * self.ways * 2;
        age_of(&self.words[from..from + self.ways], block).is_some()
    }

    /// Puts in `block`, which is not there, as a clean line in a way below `ways`; returns what had to go for it.
    #[inline]
    pub(crate) fn insert(&mut self, set: SetId, block: Block, ways: u32) -> Option<Victim> {
        let (tags, metas) = self.set(set);
        let oldest = metas.len() - 1;
        let age = metas.iter().rposition(|&meta| Meta(meta).way() < ways).unwrap_or(oldest);
        let victim = Victim { block: Block(tags[age]), meta: Meta(metas[age]) };
        to_front(tags, age);
        to_front(metas, age);
        tags[0] = block.0;
        metas[0] = Meta::clean().with_way(victim.meta.way()).0;
        (victim.block != Block::NONE).then_some(victim)
    }

    /// The line used last.
    #[inline]
    pub(crate) fn front(&self, set: SetId) -> Meta {
        Meta(self.words[(set.0 as usize * 2 + 1) * self.ways])
    }

    /// Changes the line used last.
    #[inline]
    pub(crate) fn set_front(&mut self, set: SetId, meta: Meta) {
        self.words[(set.0 as usize * 2 + 1) * self.ways] = meta.0;
    }

    /// All lines that hold a block.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Victim> {
        self.words.chunks_exact(self.ways * 2).flat_map(|set| {
            let (tags, metas) = set.split_at(self.ways);
            let lines = tags.iter().zip(metas).filter(|&(&tag, _)| tag != Block::NONE.0);
            lines.map(|(&tag, &meta)| Victim { block: Block(tag), meta: Meta(meta) })
        })
    }

    #[inline]
    fn set(&mut self, set: SetId) -> (&mut [u32], &mut [u32]) {
        let from = set.0 as usize * self.ways * 2;
        self.words[from..from + self.ways * 2].split_at_mut(self.ways)
    }
}

/// Where `block` stands in the order of use.
#[inline]
fn age_of(tags: &[u32], block: Block) -> Option<usize> {
    if let Ok(tags) = <&[u32; 16]>::try_from(tags) {
        return age_in_16(tags, block);
    }
    tags.iter().position(|&tag| tag == block.0)
}

/// Compares all sixteen without a branch.
#[inline]
fn age_in_16(tags: &[u32; 16], block: Block) -> Option<usize> {
    let found = tags.iter().zip(0..).fold(0_u32, |mask, (&tag, age)| mask | (u32::from(tag == block.0) << age));
    (found != 0).then(|| found.trailing_zeros() as usize)
}

/// Moves the word at `age` to the front, those before it one back.
#[inline]
fn to_front(words: &mut [u32], age: usize) {
    let word = words[age];
    words.copy_within(..age, 1);
    words[0] = word;
}

//! The last-level cache: set-associative, true least-recently-used order, one word of directory per
//! line.
//!
//! A set has its tags and a [`Meta`] for each by way, and the order of their last use in one word
//! ([`Order`]). Sixteen tags fill one cache line of the host, whose vector instructions compare all
//! of them; a set with fewer ways leaves the rest empty. A line stays in its way, so that a limit
//! on an agent's ways always refers to the same lines, as in hardware.

mod order;
mod prints;

use crate::block::Block;
use crate::config::LlcConfig;
use crate::line::Meta;
use crate::modulus::Modulus;
use order::{Order, ROOM};
use prints::Prints;

const _: () = assert!(size_of::<Set>() == 128 && align_of::<Set>() == 128, "two lines of the host");

/// Tags and metadata of a set's lines by way, and the order of their last use.
#[derive(Debug, Clone, Copy)]
#[repr(align(128))]
struct Set {
    tags: [u32; ROOM],
    metas: [Meta; ROOM],
    order: Order,
    prints: Prints,
}

/// What an insertion evicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Victim {
    pub(crate) block: Block,
    pub(crate) meta: Meta,
}

/// A set of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SetId(pub(crate) u32);

/// A line of the cache: its set and its way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    set: SetId,
    way: usize,
}

pub(crate) struct Llc {
    sets: Box<[Set]>,
    ways: usize,
    modulus: Modulus,
    is_far: bool,
}

/// Bytes of sets that a host has near: half of the last-level cache of a large processor.
const NEAR_BYTES: usize = 16 << 20;

impl Llc {
    pub(crate) fn new(config: &LlcConfig) -> Self {
        let sets = u32::try_from(config.bytes / u64::from(Block::BYTES) / u64::from(config.ways)).unwrap_or(u32::MAX);
        let empty = Set {
            tags: [Block::NONE.0; ROOM],
            metas: [Meta::EMPTY; ROOM],
            order: Order::BY_WAY,
            prints: Prints::EMPTY,
        };
        Self {
            sets: vec![empty; sets as usize].into(),
            ways: config.ways as usize,
            modulus: Modulus::new(sets),
            is_far: sets as usize * size_of::<Set>() > NEAR_BYTES,
        }
    }

    /// The set of `block`.
    ///
    /// XORing in the upper bits spreads any aligned run of blocks evenly, and separates regions
    /// that begin at round addresses.
    #[inline]
    pub(crate) const fn set_of(&self, block: Block) -> SetId {
        SetId(self.modulus.remainder(block.0 ^ (block.0 >> 14) ^ (block.0 >> 23)))
    }

    /// Makes `block` the most recently used of its set; returns where it is and its metadata, if it
    /// was present.
    #[inline(always)]
    pub(crate) fn touch(&mut self, set: SetId, block: Block) -> Option<(Line, Meta)> {
        let lines = self.set(set);
        let first = lines.order.first();
        // Often it was used last: what one agent writes another reads next.
        let way = if lines.tags[first] == block.0 {
            first
        } else {
            let way = lines.prints.way_of(&lines.tags, block)?;
            lines.order.use_way(way);
            way
        };
        Some((Line { set, way }, lines.metas[way]))
    }

    /// The way of `block` in its set, if it is present; changes nothing.
    #[inline(always)]
    pub(crate) fn way_of(&self, set: SetId, block: Block) -> Option<usize> {
        let set = &self.sets[set.0 as usize];
        set.prints.way_of(&set.tags, block)
    }

    /// Makes the block in a way the most recently used of its set; returns where it is and its
    /// metadata.
    #[inline(always)]
    pub(crate) fn touch_way(&mut self, set: SetId, way: usize) -> (Line, Meta) {
        let lines = self.set(set);
        lines.order.use_way(way);
        (Line { set, way }, lines.metas[way % ROOM])
    }

    /// Inserts `block`, which is not present, in a way below `ways`; returns what was evicted.
    #[inline(always)]
    pub(crate) fn insert(&mut self, set: SetId, block: Block, meta: Meta, ways: usize) -> Option<Victim> {
        let all = self.ways;
        let lines = self.set(set);
        let way = lines.order.replace(all, ways);
        let victim = Victim { block: Block(lines.tags[way]), meta: lines.metas[way] };
        lines.tags[way] = block.0;
        lines.metas[way] = meta;
        lines.prints.put(way, block);
        (victim.block != Block::NONE).then_some(victim)
    }

    /// Whether the sets are more than what a host has of them in its caches.
    #[inline(always)]
    pub(crate) const fn is_far(&self) -> bool {
        self.is_far
    }

    /// A word of the set whose value says nothing: to read it is the purpose.
    #[inline(always)]
    pub(crate) fn expect(&self, set: SetId) -> u32 {
        self.sets[set.0 as usize].tags[0]
    }

    /// Changes the metadata of a line.
    #[inline(always)]
    pub(crate) fn set_meta(&mut self, line: Line, meta: Meta) {
        self.set(line.set).metas[line.way % ROOM] = meta;
    }

    /// All lines that hold a block.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Victim> {
        self.sets.iter().flat_map(|set| {
            let lines = set.tags.iter().zip(&set.metas).filter(|&(&tag, _)| tag != Block::NONE.0);
            lines.map(|(&tag, &meta)| Victim { block: Block(tag), meta })
        })
    }

    #[inline(always)]
    fn set(&mut self, set: SetId) -> &mut Set {
        &mut self.sets[set.0 as usize]
    }
}

//! The last-level cache: set-associative, true LRU, one word of directory per line.
//!
//! A set has by way its tags and [`Meta`]s, and the [`Order`] of their last use in one word.
//! Sixteen tags fill one cache line of the host; a set with fewer ways leaves the rest empty. A
//! line stays in its way, so that a limit on an agent's ways covers the same lines, as in hardware.

mod order;
mod prints;

use crate::block::Block;
use crate::config::LlcConfig;
use crate::line::Meta;
use crate::modulus::Modulus;
use order::{Order, ROOM};
use prints::Prints;

const _: () = assert!(size_of::<Set>() == 128 && align_of::<Set>() == 128, "two lines of the host");

#[derive(Debug, Clone, Copy)]
#[repr(align(128))]
struct Set {
    tags: [u32; ROOM],
    metas: [Meta; ROOM],
    order: Order,
    prints: Prints,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Victim {
    pub(crate) block: Block,
    pub(crate) meta: Meta,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SetId(pub(crate) u32);

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

/// Bytes of sets that count as near for a host: half of a large processor's last-level cache.
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

    /// The set of `block`. XORing in the upper bits spreads any aligned run of blocks evenly, and
    /// separates regions that begin at round addresses.
    #[inline]
    pub(crate) const fn set_of(&self, block: Block) -> SetId {
        SetId(self.modulus.remainder(block.0 ^ (block.0 >> 14) ^ (block.0 >> 23)))
    }

    /// Makes `block` the latest of its set; returns its line and metadata, if present.
    #[inline(always)]
    pub(crate) fn touch(&mut self, set: SetId, block: Block) -> Option<(Line, Meta)> {
        let lines = self.set(set);
        let first = lines.order.first();
        // Often it was used last: an agent reads what another wrote.
        let way = if lines.tags[first] == block.0 {
            first
        } else {
            let way = lines.prints.way_of(&lines.tags, block)?;
            lines.order.use_way(way);
            way
        };
        Some((Line { set, way }, lines.metas[way]))
    }

    #[inline(always)]
    pub(crate) fn way_of(&self, set: SetId, block: Block) -> Option<usize> {
        let set = &self.sets[set.0 as usize];
        set.prints.way_of(&set.tags, block)
    }

    /// Makes the block in a way the latest of its set; returns its line and metadata.
    #[inline(always)]
    pub(crate) fn touch_way(&mut self, set: SetId, way: usize) -> (Line, Meta) {
        let lines = self.set(set);
        lines.order.use_way(way);
        (Line { set, way }, lines.metas[way % ROOM])
    }

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

    /// Whether the sets exceed the host's caches.
    #[inline(always)]
    pub(crate) const fn is_far(&self) -> bool {
        self.is_far
    }

    /// Reads a word of the set, whose value means nothing, to prefetch it.
    #[inline(always)]
    pub(crate) fn expect(&self, set: SetId) -> u32 {
        self.sets[set.0 as usize].tags[0]
    }

    #[inline(always)]
    pub(crate) fn set_meta(&mut self, line: Line, meta: Meta) {
        self.set(line.set).metas[line.way % ROOM] = meta;
    }

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

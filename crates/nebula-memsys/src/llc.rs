//! The last-level cache: set-associative, true least-recently-used order, one word of directory per line.
//!
//! A set has its tags and a [`Meta`] for each by way, and the order of their last use in one word ([`Order`]). Sixteen tags fill one
//! cache line of the host, whose vector instructions compare all of them; a set with fewer ways leaves the rest empty. A line stays in
//! its way, so that a limit on an agent's ways always refers to the same lines, as in hardware.

mod order;

use crate::block::Block;
use crate::config::{LlcConfig, WAYS_MAX};
use crate::line::Meta;
use crate::modulus::Modulus;
use order::Order;

/// The capacity of a set in ways.
const ROOM: usize = WAYS_MAX as usize;

const _: () = assert!(size_of::<Set>() == 128 && align_of::<Set>() == 128, "two lines of the host");

/// Tags and metadata of a set's lines by way, and the order of their last use.
#[derive(Debug, Clone, Copy)]
#[repr(align(128))]
struct Set {
    tags: [u32; ROOM],
    metas: [Meta; ROOM],
    order: Order,
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

pub(crate) struct Llc {
    sets: Box<[Set]>,
    ways: usize,
    modulus: Modulus,
}

impl Llc {
    pub(crate) fn new(config: &LlcConfig) -> Self {
        let sets = u32::try_from(config.bytes / u64::from(Block::BYTES) / u64::from(config.ways)).unwrap_or(u32::MAX);
        let empty = Set { tags: [Block::NONE.0; ROOM], metas: [Meta::EMPTY; ROOM], order: Order::BY_WAY };
        Self { sets: vec![empty; sets as usize].into(), ways: config.ways as usize, modulus: Modulus::new(sets) }
    }

    /// The set of `block`.
    ///
    /// XORing in the upper bits spreads any aligned run of blocks evenly, and separates regions that begin at round
    /// addresses.
    #[inline]
    pub(crate) const fn set_of(&self, block: Block) -> SetId {
        SetId(self.modulus.remainder(block.0 ^ (block.0 >> 14) ^ (block.0 >> 23)))
    }

    /// Makes `block` the most recently used of its set; returns its line, if it was present.
    #[inline(always)]
    pub(crate) fn touch(&mut self, set: SetId, block: Block) -> Option<&mut Meta> {
        let set = self.set(set);
        let first = set.order.first();
        if set.tags[first] == block.0 {
            return Some(&mut set.metas[first]);
        }
        let way = way_of(&set.tags, block)?;
        set.order.use_way(way);
        Some(&mut set.metas[way])
    }

    /// Whether `block` is present; changes nothing.
    #[inline]
    pub(crate) fn has(&self, set: SetId, block: Block) -> bool {
        way_of(&self.sets[set.0 as usize].tags, block).is_some()
    }

    /// Inserts `block`, which is not present, as a clean line in a way below `ways`; returns what was evicted.
    #[inline]
    pub(crate) fn insert(&mut self, set: SetId, block: Block, ways: usize) -> Option<Victim> {
        let all = self.ways;
        let set = self.set(set);
        let way = set.order.replace(all, ways);
        let victim = Victim { block: Block(set.tags[way]), meta: set.metas[way] };
        set.tags[way] = block.0;
        set.metas[way] = Meta::EMPTY;
        (victim.block != Block::NONE).then_some(victim)
    }

    /// Reads a word of the set whose value is not used.
    #[inline]
    pub(crate) fn expect(&self, set: SetId) {
        std::hint::black_box(self.sets[set.0 as usize].tags[0]);
    }

    /// The most recently used line, to change it.
    #[inline]
    pub(crate) fn front_mut(&mut self, set: SetId) -> &mut Meta {
        let set = self.set(set);
        &mut set.metas[set.order.first()]
    }

    /// All lines that hold a block.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Victim> {
        self.sets.iter().flat_map(|set| {
            let lines = set.tags.iter().zip(&set.metas).filter(|&(&tag, _)| tag != Block::NONE.0);
            lines.map(|(&tag, &meta)| Victim { block: Block(tag), meta })
        })
    }

    #[inline]
    fn set(&mut self, set: SetId) -> &mut Set {
        &mut self.sets[set.0 as usize]
    }
}

/// The way of `block`. Compares all tags without a branch.
///
/// By index: iterators over pieces become calls where nothing is optimized across crates.
#[inline(always)]
fn way_of(tags: &[u32; ROOM], block: Block) -> Option<usize> {
    // Four lanes, as wide as the narrowest vector of any host.
    let mut lanes = [0_u32; 4];
    for at in 0..ROOM {
        lanes[at % 4] |= if tags[at] == block.0 { 1 << at } else { 0 };
    }
    let found = lanes[0] | lanes[1] | lanes[2] | lanes[3];
    (found != 0).then(|| found.trailing_zeros() as usize)
}

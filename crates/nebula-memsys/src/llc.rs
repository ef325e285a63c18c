//! The last-level cache: set-associative, true least-recently-used order, one word of directory per line.
//!
//! A set has its tags in the order of their last use, and a [`Meta`] for each in the same order. Sixteen tags fill one
//! cache line of the host, whose vector instructions compare and move all of them; a set with fewer ways leaves the
//! rest empty. A line keeps the number of its way, so that a limit on an agent's ways always refers to the same lines,
//! as in hardware.

use crate::block::Block;
use crate::config::{LlcConfig, WAYS_MAX};
use crate::line::Meta;
use crate::modulus::Modulus;

/// The capacity of a set in ways.
const ROOM: usize = WAYS_MAX as usize;

const _: () = assert!(size_of::<Set>() == 128 && align_of::<Set>() == 128, "two lines of the host");

/// Tags and metadata of a set's lines, most recently used first.
#[derive(Debug, Clone, Copy)]
#[repr(align(128))]
struct Set {
    tags: [u32; ROOM],
    metas: [u32; ROOM],
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
        let empty = Set { tags: [Block::NONE.0; ROOM], metas: std::array::from_fn(|way| Meta::empty(way).0) };
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

    /// Makes `block` the most recently used of its set; returns whether it was present.
    #[inline]
    pub(crate) fn touch(&mut self, set: SetId, block: Block) -> bool {
        let set = self.set(set);
        if set.tags[0] == block.0 {
            return true;
        }
        let Some(age) = age_of(&set.tags, block) else { return false };
        to_front(&mut set.tags, age);
        to_front(&mut set.metas, age);
        true
    }

    /// Whether `block` is present; changes nothing.
    #[inline]
    pub(crate) fn has(&self, set: SetId, block: Block) -> bool {
        age_of(&self.sets[set.0 as usize].tags, block).is_some()
    }

    /// Inserts `block`, which is not present, as a clean line in a way below `ways`; returns what was evicted.
    #[inline]
    pub(crate) fn insert(&mut self, set: SetId, block: Block, ways: usize) -> Option<Victim> {
        let oldest = self.ways - 1;
        let set = self.set(set);
        let age = if ways > oldest { oldest } else { oldest_below(&set.metas[..=oldest], ways) };
        let victim = Victim { block: Block(set.tags[age]), meta: Meta(set.metas[age]) };
        if age == ROOM - 1 {
            // All of them move, by a fixed number of host instructions.
            set.tags.copy_within(..ROOM - 1, 1);
            set.metas.copy_within(..ROOM - 1, 1);
        } else {
            to_front(&mut set.tags, age);
            to_front(&mut set.metas, age);
        }
        set.tags[0] = block.0;
        set.metas[0] = Meta::empty(victim.meta.way()).0;
        (victim.block != Block::NONE).then_some(victim)
    }

    /// Reads a word of the set whose value is not used.
    #[inline]
    pub(crate) fn expect(&self, set: SetId) {
        std::hint::black_box(self.sets[set.0 as usize].tags[0]);
    }

    /// The most recently used line.
    #[inline]
    pub(crate) fn front(&self, set: SetId) -> Meta {
        Meta(self.sets[set.0 as usize].metas[0])
    }

    /// Changes the most recently used line.
    #[inline]
    pub(crate) fn set_front(&mut self, set: SetId, meta: Meta) {
        self.set(set).metas[0] = meta.0;
    }

    /// All lines that hold a block.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Victim> {
        self.sets.iter().flat_map(|set| {
            let lines = set.tags.iter().zip(&set.metas).filter(|&(&tag, _)| tag != Block::NONE.0);
            lines.map(|(&tag, &meta)| Victim { block: Block(tag), meta: Meta(meta) })
        })
    }

    #[inline]
    fn set(&mut self, set: SetId) -> &mut Set {
        &mut self.sets[set.0 as usize]
    }
}

/// The least recently used line among those in a way below `ways`.
fn oldest_below(metas: &[u32], ways: usize) -> usize {
    metas.iter().rposition(|&meta| Meta(meta).way() < ways).unwrap_or(metas.len() - 1)
}

/// The position of `block` in the order of use. Compares all tags without a branch.
///
/// By index: iterators over pieces become calls where nothing is optimized across crates.
#[inline(always)]
fn age_of(tags: &[u32; ROOM], block: Block) -> Option<usize> {
    // Four lanes, as wide as the narrowest vector of any host.
    let mut lanes = [0_u32; 4];
    for at in 0..ROOM {
        lanes[at % 4] |= if tags[at] == block.0 { 1 << at } else { 0 };
    }
    let found = lanes[0] | lanes[1] | lanes[2] | lanes[3];
    (found != 0).then(|| found.trailing_zeros() as usize)
}

/// Moves the word at `age` to the front and those before it back by one. Computes every word without a branch.
#[inline]
fn to_front(words: &mut [u32; ROOM], age: usize) {
    let mut moved = [words[age % ROOM]; ROOM];
    moved[1..].copy_from_slice(&words[..ROOM - 1]);
    for (at, (word, moved)) in words.iter_mut().zip(moved).enumerate() {
        *word = if at <= age { moved } else { *word };
    }
}

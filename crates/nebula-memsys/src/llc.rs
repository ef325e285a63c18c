//! The last-level cache: set-associative, true least-recently-used order, one word of directory a line.
//!
//! A set has its tags in the order of their last use, and a [`Meta`] for each in the same order. Sixteen tags fill one
//! cache line of the machine that simulates, and all are compared and moved by its vector instructions: a set of fewer
//! ways leaves the rest empty. A line keeps the number of the way it is in, so that a limit on the ways of an agent means
//! the same lines each time, as in hardware.

use crate::block::Block;
use crate::config::{LlcConfig, WAYS_MAX};
use crate::line::Meta;
use crate::modulus::Modulus;

/// Ways that a set has room for.
const ROOM: usize = WAYS_MAX as usize;

const _: () = assert!(size_of::<Set>() == 128 && align_of::<Set>() == 128, "two lines of the host");

/// Tags and what else is known of their lines, the line used last first.
#[derive(Debug, Clone, Copy)]
#[repr(align(128))]
struct Set {
    tags: [u32; ROOM],
    metas: [u32; ROOM],
}

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

    /// The set that `block` belongs in.
    ///
    /// Folding the upper bits in keeps any aligned run of blocks spread evenly, and regions that begin at round addresses
    /// apart.
    #[inline]
    pub(crate) const fn set_of(&self, block: Block) -> SetId {
        SetId(self.modulus.remainder(block.0 ^ (block.0 >> 14) ^ (block.0 >> 23)))
    }

    /// Makes `block` the most recent of its set; whether it is there.
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

    /// Whether `block` is there; changes nothing.
    #[inline]
    pub(crate) fn has(&self, set: SetId, block: Block) -> bool {
        age_of(&self.sets[set.0 as usize].tags, block).is_some()
    }

    /// Puts in `block`, which is not there, as a clean line in a way below `ways`; returns what had to go for it.
    #[inline]
    pub(crate) fn insert(&mut self, set: SetId, block: Block, ways: usize) -> Option<Victim> {
        let oldest = self.ways - 1;
        let set = self.set(set);
        let age = if ways > oldest { oldest } else { oldest_below(&set.metas[..=oldest], ways) };
        let victim = Victim { block: Block(set.tags[age]), meta: Meta(set.metas[age]) };
        if age == ROOM - 1 {
            // All of them move, by a fixed number of the host's instructions.
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

    /// Reads a word of the set that nobody uses.
    #[inline]
    pub(crate) fn expect(&self, set: SetId) {
        std::hint::black_box(self.sets[set.0 as usize].tags[0]);
    }

    /// The line used last.
    #[inline]
    pub(crate) fn front(&self, set: SetId) -> Meta {
        Meta(self.sets[set.0 as usize].metas[0])
    }

    /// Changes the line used last.
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

/// The line used longest ago among those in a way below `ways`.
fn oldest_below(metas: &[u32], ways: usize) -> usize {
    metas.iter().rposition(|&meta| Meta(meta).way() < ways).unwrap_or(metas.len() - 1)
}

/// Where `block` stands in the order of use. Compares all tags without a branch.
#[inline]
fn age_of(tags: &[u32; ROOM], block: Block) -> Option<usize> {
    // Four lanes, as wide as the least of the host's vectors.
    let mut lanes = [0_u32; 4];
    for (row, tags) in tags.chunks_exact(4).enumerate() {
        for (lane, (found, &tag)) in lanes.iter_mut().zip(tags).enumerate() {
            *found |= if tag == block.0 { 1 << (4 * row + lane) } else { 0 };
        }
    }
    let found = lanes[0] | lanes[1] | lanes[2] | lanes[3];
    (found != 0).then(|| found.trailing_zeros() as usize)
}

/// Moves the word at `age` to the front, those before it one back. Computes every word without a branch.
#[inline]
fn to_front(words: &mut [u32; ROOM], age: usize) {
    let mut moved = [words[age % ROOM]; ROOM];
    moved[1..].copy_from_slice(&words[..ROOM - 1]);
    for (at, (word, moved)) in words.iter_mut().zip(moved).enumerate() {
        *word = if at <= age { moved } else { *word };
    }
}

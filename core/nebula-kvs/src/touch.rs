//! The memory that each operation touches, in blocks of 64 bytes: for simulators, and as the
//! specification of the operation's cost.
//!
//! [`touches`] describes it; a test compares the store with it through a [`Probe`](crate::Probe).
//! It covers the common case: an item in its home bucket, no other entry with the same tag, no
//! concurrent change. It leaves out work that occurs once per segment of the log (moving the head,
//! checking that the pins have drained), items with metadata, eviction by reads, the lists of free
//! runs, and the counters behind [`Stats`](crate::Stats), which are local to the thread.
//!
//! A block that an operation first reads and later writes is listed for both; a block that it
//! writes first is listed once.

use crate::{mode::Mode, shape::Shape};
use std::ops::{Range, RangeInclusive};

/// The part of the store that is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Structure {
    /// The key's bucket. One block; a miss in every cache, with uniform keys.
    Bucket,
    /// The log's head. One block for the store, written once per segment: resident in each core's
    /// L1.
    LogHead,
    /// The pins of the calling thread's stripe: a few blocks, resident in its L1.
    SegmentPin,
    /// The log's tail. One block for the whole store, written by every append of any core.
    LogTail,
    /// The item that the key's entry leads to.
    LogItem,
    /// The item that the operation appends at the log's tail.
    AppendedItem,
}

/// Whether a touch reads or writes. An atomic read-modify-write writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// The block is needed in any readable state.
    Read,
    /// The block is needed exclusively.
    Write,
}

/// One access to one block of 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Touch {
    /// The part of the store.
    pub what: Structure,
    /// The block within that part, from 0.
    pub block: u32,
    /// Read or write.
    pub access: Access,
    /// Whether its address depends on the result of the previous touch, so that it cannot begin
    /// until that is complete.
    pub depends_on_previous: bool,
    /// Whether it writes all 64 bytes, so that the old contents are not needed.
    pub whole: bool,
}

/// An operation together with its outcome, which determines what it touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// GET of a key that is present.
    GetHit,
    /// GET of a key that is absent.
    GetMiss,
    /// SET of a key whose item has space for the value.
    SetInPlace,
    /// SET of a key that had no item.
    SetInsert,
    /// SET of a key whose item has too little space for the value.
    SetAppend,
    /// DELETE of a key that is present.
    DeleteHit,
    /// DELETE of a key that is absent.
    DeleteMiss,
}

impl Op {
    /// All operations.
    pub const ALL: [Self; 7] = [
        Self::GetHit,
        Self::GetMiss,
        Self::SetInPlace,
        Self::SetInsert,
        Self::SetAppend,
        Self::DeleteHit,
        Self::DeleteMiss,
    ];
}

/// The touches of `op`, in the order of their first occurrence, without allocation.
///
/// # Examples
///
/// ```
/// use nebula_kvs::{Mode, touch::{Op, Structure, touches}};
/// // A GET of NEBULA's 16 B/512 B pairs: a line of index, nine of log.
/// let of = |what| touches(Op::GetHit, Mode::Cache, 16, 512).filter(|touch| touch.what == what).count();
/// assert_eq!((of(Structure::Bucket), of(Structure::LogItem)), (1, 9));
/// ```
pub fn touches(op: Op, mode: Mode, key_bytes: usize, value_bytes: usize) -> impl Iterator<Item = Touch> {
    use Access::{Read, Write};
    let shape = Shape { key_bytes, value_bytes };
    let head = Some(Run::one(Structure::LogHead, Read));
    let bucket = |access| Some(Run::one(Structure::Bucket, access));
    let item_read = |words| Some(Run { depends_on_previous: true, ..Run::new(Structure::LogItem, 0..words, Read) });
    let key_read = item_read(shape.value_word());
    let pin = (mode == Mode::Cache).then(|| Run::one(Structure::SegmentPin, Write));
    let tail = Some(Run::one(Structure::LogTail, Write));
    let appended = Some(Run::new(Structure::AppendedItem, 0..shape.words(), Write));
    let [header, value] =
        shape.blocks_overwritten().map(|blocks| blocks.map(|b| Run::of(Structure::LogItem, b, shape.value(), Write)));
    let runs = match op {
        Op::GetHit => [head, bucket(Read), item_read(shape.words()), None, None, None],
        Op::GetMiss => [head, bucket(Read), None, None, None, None],
        Op::SetInPlace => [head, bucket(Write), key_read, pin, header, value],
        Op::SetInsert => [head, bucket(Write), pin, tail, appended, None],
        Op::SetAppend => [head, bucket(Write), key_read, pin, tail, appended],
        Op::DeleteHit => [head, bucket(Write), key_read, None, None, None],
        Op::DeleteMiss => [head, bucket(Write), None, None, None, None],
    };
    runs.into_iter().flatten().flat_map(Run::touches)
}

#[derive(Clone)]
struct Run {
    what: Structure,
    blocks: RangeInclusive<u32>,
    /// The words touched; the blocks may hold more.
    words: Range<usize>,
    access: Access,
    depends_on_previous: bool,
}

impl Run {
    fn of(what: Structure, blocks: RangeInclusive<u32>, words: Range<usize>, access: Access) -> Self {
        Self { what, blocks, words, access, depends_on_previous: false }
    }

    fn new(what: Structure, words: Range<usize>, access: Access) -> Self {
        Self::of(what, blocks(words.clone()), words, access)
    }

    fn one(what: Structure, access: Access) -> Self {
        Self::of(what, 0..=0, 0..1, access)
    }

    /// Only the first waits for the previous touch: the others' addresses follow from the same
    /// value.
    fn touches(self) -> impl Iterator<Item = Touch> {
        let Self { what, blocks, words, access, depends_on_previous } = self;
        let first = *blocks.start();
        let depends = move |block| depends_on_previous && block == first;
        let whole = move |block: u32| {
            let begin = block as usize * BLOCK_WORDS;
            access == Access::Write && words.start <= begin && begin + BLOCK_WORDS <= words.end
        };
        blocks.map(move |block| Touch { what, block, access, depends_on_previous: depends(block), whole: whole(block) })
    }
}

const BLOCK_WORDS: usize = 8;

impl Shape {
    #[inline]
    fn value(self) -> Range<usize> {
        self.value_word()..self.words()
    }

    /// The blocks that an update in place writes: the header's, and the value's if another.
    #[inline]
    pub(crate) fn blocks_overwritten(self) -> [Option<RangeInclusive<u32>>; 2] {
        let value = blocks(self.value());
        if value.is_empty() {
            [Some(0..=0), None]
        } else if *value.start() == 0 {
            [Some(value), None]
        } else {
            [Some(0..=0), Some(value)]
        }
    }
}

/// The blocks of an item's words `words`.
#[inline]
pub(crate) fn blocks(words: Range<usize>) -> RangeInclusive<u32> {
    let block = |word: usize| u32::try_from(word / BLOCK_WORDS).unwrap_or(u32::MAX);
    if words.is_empty() { RangeInclusive::new(1, 0) } else { block(words.start)..=block(words.end - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blocks_between_the_first_and_the_last_of_a_value_are_written_whole() {
        let writes = |op| touches(op, Mode::Cache, 16, 512).filter(|touch| touch.access == Access::Write);
        let whole =
            |op, what| writes(op).filter(|touch| touch.what == what).map(|touch| touch.whole).collect::<Vec<_>>();
        // Header, key and value are 67 words: 8 blocks and 3 words; the value begins at word 3.
        let [middle, edge] = [true, false];
        let of_value = [[edge].as_slice(), &[middle; 7], &[edge]].concat();
        assert_eq!(whole(Op::SetInPlace, Structure::LogItem), of_value);
        assert_eq!(whole(Op::SetAppend, Structure::AppendedItem), [[middle; 8].as_slice(), &[edge]].concat());
        assert_eq!(whole(Op::SetInPlace, Structure::Bucket), [edge]);
        assert!(touches(Op::GetHit, Mode::Cache, 16, 512).all(|touch| !touch.whole));
    }
}

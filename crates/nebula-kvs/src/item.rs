//! One item of the log: how it is read and written. [`Shape`] says what it consists of.
//!
//! An item is one granule of 32 bytes, or a whole number of 64-byte lines that starts on a line boundary. So an item
//! never occupies more lines than its bytes need: 16 B/512 B takes nine lines, and two items of 16 B/8 B share one.
//! MICA stores the key's hash in the item too; Nebula never reads it there, and without it the small item fits half a
//! line.

use crate::{
    index_of,
    shape::{HEADER_WORDS, Shape, VALUE_BYTES_MAX},
};
use nebula_sys::{
    copy,
    sync::{AtomicU64, Ordering},
};

/// The unit of the log: half a line, the size of an item with a 16 B key and an 8 B value.
pub(crate) const GRANULE_BYTES: usize = 32;
pub(crate) const GRANULE_WORDS: usize = GRANULE_BYTES / 8;
const LINE_GRANULES: u64 = 2;

const _: () = assert!(GRANULE_BYTES * 2 == 64);

impl Shape {
    /// Granules that the item takes in the log.
    #[inline]
    pub(crate) fn granules(self) -> u64 {
        let granules = self.words().div_ceil(GRANULE_WORDS) as u64;
        if granules == 1 { 1 } else { granules.next_multiple_of(LINE_GRANULES) }
    }
}

/// The first position at or after `position` where an item of `granules` may start.
#[inline]
pub(crate) fn align(position: u64, granules: u64) -> u64 {
    if granules == 1 { position } else { position.next_multiple_of(LINE_GRANULES) }
}

/// The header word of an item. It is a single word, so it is never torn; but in recycled memory it can have any value.
#[derive(Clone, Copy)]
pub(crate) struct Header {
    pub(crate) shape: Shape,
    granules: u64,
}

impl Header {
    #[inline(always)]
    fn load(item: &[AtomicU64]) -> Option<Self> {
        let word = item.first()?.load(Ordering::Relaxed);
        let shape = Shape { key_bytes: index_of(word & 0xFF), value_bytes: index_of((word >> 8) & 0xFF_FFFF) };
        Some(Self { shape, granules: word >> 32 })
    }

    #[inline]
    fn store(self, item: &[AtomicU64]) {
        let word = self.shape.key_bytes as u64 | (self.shape.value_bytes as u64) << 8 | self.granules << 32;
        item[0].store(word, Ordering::Relaxed);
    }

    /// Whether an item of `shape` fits into the space of this one.
    #[inline]
    pub(crate) fn has_room_for(self, shape: Shape) -> bool {
        shape.words() as u64 <= self.granules * GRANULE_WORDS as u64
    }

    /// The words of the value, or `None` where the header is invalid, as it may be in recycled memory.
    #[inline(always)]
    pub(crate) fn value(self, item: &[AtomicU64]) -> Option<&[AtomicU64]> {
        let plausible = self.shape.value_bytes <= VALUE_BYTES_MAX;
        item.get(self.shape.value_word()..self.shape.words()).filter(|_| plausible)
    }
}

/// The header of the item that starts at `item[0]`, if its key is `key`.
#[inline(always)]
pub(crate) fn header_if_key(item: &[AtomicU64], key: &[u8]) -> Option<Header> {
    let header = Header::load(item)?;
    (header.shape.key_bytes == key.len() && copy::eq_bytes(&item[HEADER_WORDS..], key)).then_some(header)
}

/// Writes a complete item to the start of `item`.
#[inline]
pub(crate) fn write(item: &[AtomicU64], key: &[u8], value: &[u8]) {
    let shape = Shape { key_bytes: key.len(), value_bytes: value.len() };
    Header { shape, granules: shape.granules() }.store(item);
    copy::store_bytes(&item[HEADER_WORDS..], key);
    copy::store_bytes(&item[shape.value_word()..], value);
}

/// Replaces the value of the item under `header` by one that it [has room for](Header::has_room_for).
#[inline]
pub(crate) fn overwrite(item: &[AtomicU64], header: Header, value: &[u8]) {
    let shape = Shape { value_bytes: value.len(), ..header.shape };
    Header { shape, ..header }.store(item);
    copy::store_bytes(&item[shape.value_word()..], value);
}

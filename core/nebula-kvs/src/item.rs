//! One item of the log: reading and writing it. [`Shape`] has its parts.
//!
//! An item without metadata is one granule of 32 bytes, or a whole number of 64-byte lines that
//! starts on a line boundary. So it never occupies more lines than its bytes need: 16 B/512 B takes
//! nine lines, and two items of 16 B/8 B share one. MICA stores the key's hash in the item too;
//! Nebula does not need it, and without it the small item fits half a line.

use crate::{
    index_of::index_of,
    meta::{META_WORDS, Stamped, Words},
    mode::Mode,
    shape::{HEADER_WORDS, KEY_BYTES_MAX, Shape, VALUE_BYTES_MAX},
};
use nebula_sys::{
    copy,
    sync::{AtomicU64, Ordering, fence},
};

/// The unit of the log: half a line, the size of an item with a 16 B key and an 8 B value.
pub(crate) const GRANULE_BYTES: usize = 32;
pub(crate) const GRANULE_WORDS: usize = GRANULE_BYTES / 8;
const LINE_GRANULES: u64 = 2;

const _: () = assert!(GRANULE_BYTES * 2 == 64);

impl Shape {
    #[inline]
    pub(crate) fn granules(self) -> u64 {
        let granules = self.words().div_ceil(GRANULE_WORDS) as u64;
        if granules == 1 { 1 } else { granules.next_multiple_of(LINE_GRANULES) }
    }

    /// Granules that the item takes in the log with metadata: in a cache maybe an odd number.
    pub(crate) fn granules_extended(self, mode: Mode) -> u64 {
        let granules = (self.words() + META_WORDS).div_ceil(GRANULE_WORDS) as u64;
        if granules == 1 || mode == Mode::Cache { granules } else { granules.next_multiple_of(LINE_GRANULES) }
    }
}

/// The first position from `position` on for an item of `granules`: whole lines start on a line.
#[inline]
pub(crate) fn align(position: u64, granules: u64) -> u64 {
    if granules.is_multiple_of(LINE_GRANULES) { position.next_multiple_of(LINE_GRANULES) } else { position }
}

/// Bits of the header's field `value_bytes` above the longest value. No value has such a length, so
/// a GET of plain items notices them without a further comparison.
///
/// This one: metadata is in the last words of the item's space.
const EXTENDED: usize = 1 << 23;
/// A value is being overwritten. Seen only in the memory of a process that ended meanwhile.
const WRITING: usize = 1 << 22;

const _: () = assert!(VALUE_BYTES_MAX < WRITING);

/// The header word of an item. A word is never torn, but in recycled memory it has any value.
#[derive(Clone, Copy)]
pub(crate) struct Header {
    /// With the bits above in `value_bytes`, which [`Header::shape`] removes.
    pub(crate) raw: Shape,
    granules: u64,
}

impl Header {
    #[inline(always)]
    fn load(item: &[AtomicU64]) -> Option<Self> {
        let word = item.first()?.load(Ordering::Relaxed);
        let shape = Shape { key_bytes: index_of(word & 0xFF), value_bytes: index_of((word >> 8) & 0xFF_FFFF) };
        Some(Self { raw: shape, granules: word >> 32 })
    }

    #[inline]
    pub(crate) fn shape(self) -> Shape {
        Shape { value_bytes: self.raw.value_bytes & !(EXTENDED | WRITING), ..self.raw }
    }

    #[inline]
    pub(crate) fn is_extended(self) -> bool {
        self.raw.value_bytes & EXTENDED != 0
    }

    /// The same header with metadata and a value of `value_bytes`.
    fn extended(self, value_bytes: usize) -> Self {
        Self { raw: Shape { value_bytes: value_bytes | EXTENDED, ..self.raw }, ..self }
    }

    #[inline]
    fn store(self, item: &[AtomicU64]) {
        item[0].store(self.word(), Ordering::Relaxed);
    }

    #[inline]
    fn word(self) -> u64 {
        self.raw.key_bytes as u64 | (self.raw.value_bytes as u64) << 8 | self.granules << 32
    }

    /// Marks the value as incomplete, for a process that adopts the memory if this one ends.
    #[inline]
    fn begin_writing(self, item: &[AtomicU64]) {
        item[0].store(self.word() | (WRITING as u64) << 8, Ordering::Relaxed);
        // The words of the value follow; a process that ends among them leaves the mark.
        fence(Ordering::Release);
    }

    #[inline]
    fn end_writing(self, item: &[AtomicU64]) {
        item[0].store(self.word(), Ordering::Release);
    }

    /// Whether an item of `shape` fits into the space of this one.
    #[inline]
    pub(crate) fn has_room_for(self, shape: Shape) -> bool {
        shape.words() as u64 <= self.granules * GRANULE_WORDS as u64
    }

    #[inline]
    pub(crate) fn has_room_for_extended(self, shape: Shape) -> bool {
        (shape.words() + META_WORDS) as u64 <= self.granules * GRANULE_WORDS as u64
    }

    /// The value and any metadata of an item; `None` if the header is invalid (recycled memory).
    pub(crate) fn value_and_meta(self, item: &[AtomicU64]) -> Option<(&[AtomicU64], Option<&[AtomicU64]>)> {
        let shape = self.shape();
        let value = Self { raw: shape, ..self }.value(item)?;
        if !self.is_extended() {
            return Some((value, None));
        }
        let end = index_of(self.granules).checked_mul(GRANULE_WORDS)?;
        let meta = item.get(end.checked_sub(META_WORDS)?..end)?;
        (shape.words() + META_WORDS <= end).then_some((value, Some(meta)))
    }

    /// The words of the value; `None` if the header is invalid, as it may be in recycled memory.
    #[inline(always)]
    pub(crate) fn value(self, item: &[AtomicU64]) -> Option<&[AtomicU64]> {
        let plausible = self.raw.value_bytes <= VALUE_BYTES_MAX;
        item.get(self.raw.value_word()..self.raw.words()).filter(|_| plausible)
    }
}

/// The header of the item that starts at `item[0]`, if its key is `key`.
#[inline(always)]
pub(crate) fn header_if_key(item: &[AtomicU64], key: &[u8]) -> Option<Header> {
    let header = Header::load(item)?;
    (header.raw.key_bytes == key.len() && copy::eq_bytes(&item[HEADER_WORDS..], key)).then_some(header)
}

/// Fills one granule with an item without key, which leads a walk over the log to the next.
pub(crate) fn write_gap(item: &[AtomicU64]) {
    item[0].store(1 << 32, Ordering::Relaxed);
}

/// The granules and the key, copied to `to`, of the item that starts at `item[0]`, if it is
/// complete: no value was being written when its process ended, and all of it fits its granules.
#[cfg(not(any(loom, miri)))]
pub(crate) fn whole<'a>(item: &[AtomicU64], to: &'a mut [u8; KEY_BYTES_MAX]) -> Option<(u64, &'a [u8])> {
    let header = Header::load(item)?;
    let shape = header.shape();
    let is_written = header.raw.value_bytes & WRITING == 0 && shape.key_bytes > 0;
    let words = shape.words() + if header.is_extended() { META_WORDS } else { 0 };
    let fits = words as u64 <= header.granules.saturating_mul(GRANULE_WORDS as u64);
    header.value_and_meta(item).filter(|_| is_written && fits)?;
    key_of(item, to)
}

/// The granules of the item that starts at `item[0]`, and its key, copied to `to`.
pub(crate) fn key_of<'a>(item: &[AtomicU64], to: &'a mut [u8; KEY_BYTES_MAX]) -> Option<(u64, &'a [u8])> {
    let header = Header::load(item)?;
    let key = &mut to[..header.raw.key_bytes];
    let words = item.get(HEADER_WORDS..header.raw.value_word())?;
    copy::load_bytes(words, key);
    Some((header.granules, key))
}

pub(crate) fn granules(item: &[AtomicU64]) -> u64 {
    Header::load(item).map_or(0, |header| header.granules)
}

/// The value of the item that starts at `item[0]`, and its length in bytes.
pub(crate) fn value(item: &[AtomicU64]) -> Option<(&[AtomicU64], usize)> {
    let header = Header::load(item)?;
    let (value, _) = header.value_and_meta(item)?;
    Some((value, header.shape().value_bytes))
}

pub(crate) fn stamped(item: &[AtomicU64]) -> Option<Stamped> {
    let header = Header::load(item)?;
    let (_, meta) = header.value_and_meta(item)?;
    Some(Stamped::load(meta?, header.shape().value_bytes))
}

pub(crate) fn is_extended(item: &[AtomicU64]) -> bool {
    Header::load(item).is_some_and(Header::is_extended)
}

#[inline]
pub(crate) fn write(item: &[AtomicU64], key: &[u8], value: &[u8]) {
    let shape = Shape { key_bytes: key.len(), value_bytes: value.len() };
    Header { raw: shape, granules: shape.granules() }.store(item);
    copy::store_bytes(&item[HEADER_WORDS..], key);
    copy::store_bytes(&item[shape.value_word()..], value);
}

pub(crate) fn write_extended(item: &[AtomicU64], granules: u64, key: &[u8], value: &[u8], meta: &Words) {
    let shape = Shape { key_bytes: key.len(), value_bytes: value.len() };
    let header = Header { raw: shape, granules }.extended(value.len());
    header.store(item);
    copy::store_bytes(&item[HEADER_WORDS..], key);
    copy::store_bytes(&item[shape.value_word()..], value);
    header.store_meta(item, meta);
}

/// Replaces the value of the item under `header` by one that it [has room
/// for](Header::has_room_for).
#[inline]
pub(crate) fn overwrite(item: &[AtomicU64], header: Header, value: &[u8]) {
    let raw = Shape { value_bytes: value.len(), ..header.raw };
    let header = Header { raw, ..header };
    header.begin_writing(item);
    copy::store_bytes(&item[raw.value_word()..], value);
    header.end_writing(item);
}

/// The same with metadata, which it [has room for](Header::has_room_for_extended).
pub(crate) fn overwrite_extended(item: &[AtomicU64], header: Header, value: &[u8], meta: &Words) {
    let header = header.extended(value.len());
    header.begin_writing(item);
    copy::store_bytes(&item[header.raw.value_word()..], value);
    header.store_meta(item, meta);
    header.end_writing(item);
}

impl Header {
    pub(crate) fn store_meta(self, item: &[AtomicU64], meta: &Words) {
        let end = index_of(self.granules) * GRANULE_WORDS;
        for (word, to) in item[end - META_WORDS..end].iter().zip(meta) {
            word.store(*to, Ordering::Relaxed);
        }
    }
}

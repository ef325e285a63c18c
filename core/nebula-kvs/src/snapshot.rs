//! A snapshot: a store's items as bytes in a file. Reading it accepts any bytes.
//!
//! ```text
//! file     "NEBSNAP\0" 8 | version 4: 1 | 0 4 | chunks | end
//! chunk    bytes 4 | items 4 | CRC-32C of those eight bytes and the items 4 | items
//! end      a chunk of no bytes and no items | all items 8 | CRC-32C of that 4
//! item     key bytes 1: 1 to 255 | has metadata 1: 0 or 1 | 0 2 | value bytes 4: 0 to 1,048,575
//!          | metadata 24, if it has some | key | value
//! metadata flags 4 | expiry in Unix seconds or 0 4 | CAS number 8 | last access in Unix seconds 4 | 0 3
//!          | marks 1: fetched 1, won 2, stale 4
//! ```
//! Numbers are little-endian. Metadata are the three words of the log, without the generation.

use crate::meta::{META_WORDS, Stamped, Words};
use crate::shape::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use crate::store::set::SetError;
use std::io::{self, ErrorKind, Read, Write};

const MAGIC: [u8; 8] = *b"NEBSNAP\0";
const VERSION: u32 = 1;
/// A chunk is written once it has this many bytes; it has at most one item more.
const CHUNK_BYTES: usize = 256 << 10;
const CHUNK_BYTES_MAX: usize = CHUNK_BYTES + (2 << 20);
const ITEM_BYTES: usize = 8;
const META_BYTES: usize = META_WORDS * 8;

/// A snapshot could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The file could not be read or written.
    #[error("cannot read or write the snapshot: {0}")]
    Io(#[from] io::Error),
    /// The file does not begin like a snapshot.
    #[error("this is no snapshot of a store")]
    NotASnapshot,
    /// The snapshot is of another version.
    #[error("the snapshot has version {got}, and this program reads {VERSION}")]
    Version {
        /// Its version.
        got: u32,
    },
    /// Bytes differ from those written.
    #[error("chunk {chunk} of the snapshot is damaged: take another snapshot")]
    Damaged {
        /// The chunk, from 0.
        chunk: u64,
    },
    /// The end is missing.
    #[error("the snapshot ends within chunk {chunk}: it was not written to its end")]
    Cut {
        /// The chunk, from 0.
        chunk: u64,
    },
    /// Bytes follow the end.
    #[error("bytes follow the end of the snapshot: it is not as it was written")]
    Longer,
    /// The store did not take an item.
    #[error("the store did not take item {item} of the snapshot: {cause}")]
    Store {
        /// The item, from 0.
        item: u64,
        /// The reason.
        #[source]
        cause: SetError,
    },
}

/// The contents of a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Its items.
    pub items: u64,
    /// Items of those that had expired when it was loaded.
    pub expired: u64,
    /// Its bytes.
    pub bytes: u64,
}

pub(crate) struct Kept<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
    pub(crate) stamped: Option<Stamped>,
}

pub(crate) struct Writer<W> {
    to: W,
    chunk: Vec<u8>,
    in_chunk: u32,
    written: Snapshot,
}

impl<W: Write> Writer<W> {
    pub(crate) fn begin(mut to: W) -> Result<Self, SnapshotError> {
        to.write_all(&MAGIC)?;
        to.write_all(&VERSION.to_le_bytes())?;
        to.write_all(&[0; 4])?;
        let written = Snapshot { bytes: 16, ..Snapshot::default() };
        Ok(Self { to, chunk: Vec::new(), in_chunk: 0, written })
    }

    /// Adds an item; `fill` writes its value.
    pub(crate) fn add(&mut self, key: &[u8], words: Option<Words>, value_bytes: usize, fill: impl FnOnce(&mut [u8])) {
        let key_bytes = u8::try_from(key.len()).unwrap_or(u8::MAX);
        let value_length = u32::try_from(value_bytes).unwrap_or(u32::MAX);
        self.chunk.extend_from_slice(&[key_bytes, u8::from(words.is_some()), 0, 0]);
        self.chunk.extend_from_slice(&value_length.to_le_bytes());
        words.into_iter().flatten().for_each(|word| self.chunk.extend_from_slice(&word.to_le_bytes()));
        self.chunk.extend_from_slice(key);
        let begin = self.chunk.len();
        self.chunk.resize(begin + value_bytes, 0);
        fill(&mut self.chunk[begin..]);
        self.in_chunk += 1;
    }

    /// Writes the chunk if it is long enough. Not in [`add`](Self::add), which holds a bucket.
    pub(crate) fn write_if_long(&mut self) -> Result<(), SnapshotError> {
        if self.chunk.len() >= CHUNK_BYTES { self.write_chunk() } else { Ok(()) }
    }

    fn write_chunk(&mut self) -> Result<(), SnapshotError> {
        let bytes = u32::try_from(self.chunk.len()).unwrap_or(u32::MAX);
        let head = chunk_head(bytes, self.in_chunk);
        let check = crc32c::crc32c_append(crc32c::crc32c(&head), &self.chunk);
        self.to.write_all(&head)?;
        self.to.write_all(&check.to_le_bytes())?;
        self.to.write_all(&self.chunk)?;
        self.written.items += u64::from(self.in_chunk);
        self.written.bytes += 12 + u64::from(bytes);
        self.chunk.clear();
        self.in_chunk = 0;
        Ok(())
    }

    pub(crate) fn end(mut self) -> Result<Snapshot, SnapshotError> {
        if self.in_chunk > 0 {
            self.write_chunk()?;
        }
        self.write_chunk()?;
        let items = self.written.items.to_le_bytes();
        self.to.write_all(&items)?;
        self.to.write_all(&crc32c::crc32c(&items).to_le_bytes())?;
        self.to.flush()?;
        self.written.bytes += 12;
        Ok(self.written)
    }
}

fn chunk_head(bytes: u32, items: u32) -> [u8; 8] {
    let mut head = [0; 8];
    head[..4].copy_from_slice(&bytes.to_le_bytes());
    head[4..].copy_from_slice(&items.to_le_bytes());
    head
}

/// Reads a snapshot to its end and passes each item to `take`, after the check of its chunk.
pub(crate) fn read(
    mut from: impl Read,
    mut take: impl FnMut(Kept<'_>) -> Result<(), SetError>,
) -> Result<Snapshot, SnapshotError> {
    let mut begin = [0; 16];
    from.read_exact(&mut begin).map_err(|error| if_cut(error, SnapshotError::NotASnapshot))?;
    if begin[..8] != MAGIC {
        return Err(SnapshotError::NotASnapshot);
    }
    let got = number(&begin[8..12]);
    if got != VERSION {
        return Err(SnapshotError::Version { got });
    }
    if begin[12..] != [0; 4] {
        return Err(SnapshotError::Damaged { chunk: 0 });
    }
    let mut read = Snapshot { bytes: 16, ..Snapshot::default() };
    let mut chunk = Vec::new();
    for index in 0.. {
        let items = read_chunk(&mut from, index, &mut chunk)?;
        read.bytes += 12 + chunk.len() as u64;
        if chunk.is_empty() && items == 0 {
            read_end(&mut from, index, read.items)?;
            read.bytes += 12;
            check_end(&mut from)?;
            break;
        }
        let mut rest = &chunk[..];
        for _ in 0..items {
            let (item, behind) = split(rest).ok_or(SnapshotError::Damaged { chunk: index })?;
            take(item).map_err(|cause| SnapshotError::Store { item: read.items, cause })?;
            read.items += 1;
            rest = behind;
        }
        if !rest.is_empty() {
            return Err(SnapshotError::Damaged { chunk: index });
        }
    }
    Ok(read)
}

/// Reads a chunk whose check matches; returns its number of items.
fn read_chunk(from: &mut impl Read, index: u64, chunk: &mut Vec<u8>) -> Result<u32, SnapshotError> {
    let cut = |error| if_cut(error, SnapshotError::Cut { chunk: index });
    let mut head = [0; 12];
    from.read_exact(&mut head).map_err(cut)?;
    let (bytes, items) = (number(&head[..4]) as usize, number(&head[4..8]));
    if bytes > CHUNK_BYTES_MAX {
        return Err(SnapshotError::Damaged { chunk: index });
    }
    chunk.clear();
    chunk.resize(bytes, 0);
    from.read_exact(chunk).map_err(cut)?;
    let check = crc32c::crc32c_append(crc32c::crc32c(&head[..8]), chunk);
    if check == number(&head[8..]) { Ok(items) } else { Err(SnapshotError::Damaged { chunk: index }) }
}

fn read_end(from: &mut impl Read, index: u64, items: u64) -> Result<(), SnapshotError> {
    let mut end = [0; 12];
    from.read_exact(&mut end).map_err(|error| if_cut(error, SnapshotError::Cut { chunk: index }))?;
    let is_right = end[..8] == items.to_le_bytes() && crc32c::crc32c(&end[..8]) == number(&end[8..]);
    if is_right { Ok(()) } else { Err(SnapshotError::Damaged { chunk: index }) }
}

/// Nothing follows the end.
fn check_end(from: &mut impl Read) -> Result<(), SnapshotError> {
    match from.read_exact(&mut [0]) {
        Ok(()) => Err(SnapshotError::Longer),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn if_cut(error: io::Error, cut: SnapshotError) -> SnapshotError {
    if error.kind() == ErrorKind::UnexpectedEof { cut } else { error.into() }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte))
}

/// The first item of a chunk, and the bytes behind it.
fn split(chunk: &[u8]) -> Option<(Kept<'_>, &[u8])> {
    let (head, rest) = chunk.split_at_checked(ITEM_BYTES)?;
    let (key_bytes, has_meta, value_bytes) = (usize::from(head[0]), head[1], number(&head[4..]) as usize);
    let (meta, rest) = rest.split_at_checked(if has_meta == 1 { META_BYTES } else { 0 })?;
    let (key, rest) = rest.split_at_checked(key_bytes)?;
    let (value, rest) = rest.split_at_checked(value_bytes)?;
    let is_valid = (1..=KEY_BYTES_MAX).contains(&key_bytes) && value_bytes <= VALUE_BYTES_MAX && has_meta <= 1;
    let words = meta.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect::<Vec<_>>();
    let stamped = Words::try_from(words).ok().map(|words| Stamped::of(words, value_bytes));
    is_valid.then_some((Kept { key, value, stamped }, rest))
}

//! What a slot of the ring looks like.
//!
//! ```text
//!   word 0   position (32) | packet index (16) | span (12) | mark (4)    written last, with Release
//!   word 1   RPC bytes (32) | key hash, status or NACK reason (32)
//!   word 2…  payload of this packet, at most `mtu` bytes
//! ```
//!
//! A slot is whole cache lines, its header included: 48, 112, 176… bytes of payload.
//!
//! The first word alone says whether the slot holds what is looked for: the mark says who wrote,
//! the position says for which lap. An RPC of up to 48 bytes lies in one cache line with its
//! header.

use nebula_sys::copy::{copy_words, load_bytes, load_units, store_bytes};
use nebula_sys::sync::{AtomicU64, Ordering};

const _: () = assert!(HEADER_BYTES as usize == 8 * HEADER_WORDS, "two ways to say it");

/// Words of header before the payload.
pub(crate) const HEADER_WORDS: usize = 2;
/// Bytes of it.
const HEADER_BYTES: u32 = 16;
/// Bytes of a cache line.
const LINE_BYTES: u32 = 64;
/// Payload that lies in one line with the header.
pub(crate) const IN_LINE_BYTES: usize = (LINE_BYTES - HEADER_BYTES) as usize;
/// Largest number of slots that one RPC may span.
pub(crate) const SPAN_MAX: u32 = (1 << 12) - 1;

/// Largest payload of one slot.
pub(crate) const MTU_BYTES_MAX: u32 = mtu_for(1 << 20);

/// Who wrote a slot, and what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Request,
    Reply,
    Nack,
    Fault,
    /// A request that its client has taken back.
    Cancelled,
    /// A one-sided operation of the client's: no RPC.
    Operation,
}

impl Mark {
    const fn bits(self) -> u64 {
        match self {
            Mark::Request => 1,
            Mark::Reply => 2,
            Mark::Nack => 3,
            Mark::Fault => 4,
            Mark::Cancelled => 5,
            Mark::Operation => 9,
        }
    }

    const fn from_bits(bits: u64) -> Option<Self> {
        match bits {
            1 => Some(Mark::Request),
            2 => Some(Mark::Reply),
            3 => Some(Mark::Nack),
            4 => Some(Mark::Fault),
            5 => Some(Mark::Cancelled),
            9 => Some(Mark::Operation),
            _ => None,
        }
    }
}

/// The first word of the first slot of what spans `span` slots.
#[inline(always)]
pub(crate) const fn first_word(mark: Mark, position: u32, span: u32) -> u64 {
    position as u64 | (span as u64) << 48 | mark.bits() << 60
}

/// Whether a slot's first word says that it holds a packet of the client's for `position`: of a
/// request, taken back or not, or an operation.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the low half is the position")]
pub(crate) const fn is_request(first: u64, position: u32) -> bool {
    first as u32 == position && first >> 60 & BY_CLIENT == Mark::Request.bits()
}

/// The first word of the slot where the reply to an RPC goes: until that is published, it says
/// whether the client has taken the RPC back.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    word: &'a AtomicU64,
    position: u32,
}

impl<'a> Asked<'a> {
    /// Of the RPC at `position`, whose slot begins with `line`.
    #[inline(always)]
    pub(crate) const fn new(line: &'a Line, position: u32) -> Self {
        Self { word: &line[0], position }
    }

    /// Whether the client has taken the RPC back. Relaxed: nothing else is read by the word's
    /// leave.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the low half is the position")]
    pub fn is_cancelled(self) -> bool {
        let first = self.word.load(Ordering::Relaxed);
        first as u32 == self.position && first >> 60 == Mark::Cancelled.bits()
    }
}

/// Bits in which the marks that a client writes are the same, and no others.
const BY_CLIENT: u64 = 0b0011;

const _: () = assert!(Mark::Cancelled.bits() & BY_CLIENT == Mark::Request.bits());
const _: () = assert!(Mark::Operation.bits() & BY_CLIENT == Mark::Request.bits());

/// Writes the header of an RPC or a reply of one packet, whose payload lies in the slot that begins
/// with `line`.
#[inline(always)]
pub(crate) fn publish_whole(line: &Line, first: u64, sizes: u64) {
    line[1].store(sizes, Ordering::Relaxed);
    // Release: as in `Slots::publish`.
    line[0].store(first, Ordering::Release);
}

/// The header of a slot, as copied out of shared memory once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotHeader {
    pub(crate) mark: Mark,
    pub(crate) pkt_idx: u32,
    pub(crate) span: u32,
    pub(crate) rpc_bytes: u32,
    /// Request: the key's hash. Reply: 0. NACK: the reason. Fault: which.
    pub(crate) extra: u32,
}

/// The shape of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Slots of the ring, a power of two.
    pub(crate) slots: u32,
    /// Payload bytes of a slot, which has 16 bytes of header and is whole cache lines.
    pub(crate) mtu_bytes: u32,
    /// Cache lines of a slot.
    lines: u32,
}

/// The payload of the smallest slots that hold `bytes` bytes of it.
pub(crate) const fn mtu_for(bytes: u32) -> u32 {
    (bytes + HEADER_BYTES).next_multiple_of(LINE_BYTES) - HEADER_BYTES
}

impl Geometry {
    /// A ring of `slots` slots, a power of two, with `mtu_bytes` of payload each, as [`mtu_for`]
    /// gives them.
    pub(crate) const fn new(slots: u32, mtu_bytes: u32) -> Self {
        Self { slots, mtu_bytes, lines: (mtu_bytes + HEADER_BYTES) / LINE_BYTES }
    }

    /// The first line of the slot at `position`.
    #[inline(always)]
    const fn first_line(self, position: u32) -> usize {
        (position & (self.slots - 1)) as usize * self.lines as usize
    }

    /// The first position behind `position` that is the ring's first slot.
    #[inline(always)]
    pub(crate) const fn next_lap(self, position: u32) -> u32 {
        (position | (self.slots - 1)).wrapping_add(1)
    }

    /// Bytes of the ring.
    pub(crate) const fn bytes(self) -> usize {
        self.slots as usize * self.lines as usize * LINE_BYTES as usize
    }

    /// Packets that `bytes` bytes are cut into; an empty RPC is one packet.
    pub(crate) const fn packets(self, bytes: u32) -> u32 {
        if bytes <= self.mtu_bytes { 1 } else { bytes.div_ceil(self.mtu_bytes) }
    }
}

/// A cache line of a ring. The first one of a slot has its header, and the payload's first 48
/// bytes.
pub(crate) type Line = [AtomicU64; 8];

/// A ring of slots in memory that the other side may change at any moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots<'a> {
    lines: &'a [Line],
    geometry: Geometry,
}

impl<'a> Slots<'a> {
    /// A view of `words`, which must hold the whole ring.
    #[inline(always)]
    pub(crate) fn new(words: &'a [AtomicU64], geometry: Geometry) -> Self {
        debug_assert!(words.len() * 8 >= geometry.bytes());
        Self { lines: words.as_chunks().0, geometry }
    }

    #[inline(always)]
    pub(crate) fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The first line of the slot at `position`.
    #[inline(always)]
    pub(crate) fn line(&self, position: u32) -> &'a Line {
        &self.lines[self.geometry.first_line(position)]
    }

    #[inline(always)]
    fn slot(&self, position: u32) -> &'a [AtomicU64] {
        let first = self.geometry.first_line(position);
        self.lines[first..first + self.geometry.lines as usize].as_flattened()
    }

    /// The header of the slot at `position`, or `None` while it holds nothing for that position.
    ///
    /// The words are read once: what is returned is private.
    #[inline(always)]
    pub(crate) fn header(&self, position: u32) -> Option<SlotHeader> {
        let slot = self.slot(position);
        // Acquire: pairs with the Release in `publish`; the rest of the slot was written before.
        let first = slot[0].load(Ordering::Acquire);
        #[expect(clippy::cast_possible_truncation, reason = "the low half is the position")]
        if first as u32 != position {
            return None;
        }
        let second = slot[1].load(Ordering::Relaxed);
        let mark = Mark::from_bits(first >> 60)?;
        #[expect(clippy::cast_possible_truncation, reason = "each field is masked or shifted to its width")]
        Some(SlotHeader {
            mark,
            pkt_idx: (first >> 32) as u32 & 0xFFFF,
            span: (first >> 48) as u32 & SPAN_MAX,
            rpc_bytes: second as u32,
            extra: (second >> 32) as u32,
        })
    }

    /// The payload words of the slot at `position`.
    #[inline(always)]
    pub(crate) fn payload(&self, position: u32) -> &'a [AtomicU64] {
        &self.slot(position)[HEADER_WORDS..]
    }

    /// Writes the header of the slot at `position`; what was stored before becomes visible with it.
    #[inline(always)]
    pub(crate) fn publish(&self, position: u32, header: SlotHeader) {
        let slot = self.slot(position);
        slot[1].store(u64::from(header.rpc_bytes) | u64::from(header.extra) << 32, Ordering::Relaxed);
        let first =
            first_word(header.mark, position, header.span & SPAN_MAX) | u64::from(header.pkt_idx & 0xFFFF) << 32;
        // Release: pairs with the Acquire in `header`.
        slot[0].store(first, Ordering::Release);
    }

    /// Copies `bytes` into the payload of the slot at `position`.
    #[inline(always)]
    pub(crate) fn store(&self, position: u32, bytes: &[u8]) {
        store_bytes(self.payload(position), bytes);
    }

    /// Copies the payload of the slot at `position` out of shared memory.
    #[inline(always)]
    pub(crate) fn load(&self, position: u32, into: &mut [u8]) {
        load_bytes(self.payload(position), into);
    }

    /// The second word of the slot at `position`, if its first one is exactly `expected`: bytes of
    /// the RPC in the low half, the key's hash or a status in the high one.
    #[inline(always)]
    pub(crate) fn sizes_if(&self, position: u32, expected: u64) -> Option<u64> {
        let line = self.line(position);
        // Acquire: as in `header`.
        (line[0].load(Ordering::Acquire) == expected).then(|| line[1].load(Ordering::Relaxed))
    }

    /// Takes back the RPC at `position`, which spans `span` slots, if nothing is published there. A
    /// reply that comes after this overwrites the mark.
    #[inline]
    pub(crate) fn cancel(&self, position: u32, span: u32) -> bool {
        let marked = |mark| first_word(mark, position, span & SPAN_MAX);
        let (from, to) = (marked(Mark::Request), marked(Mark::Cancelled));
        // Release: who reads the mark reads the rest of the request, as if it had the request's
        // own.
        self.line(position)[0].compare_exchange(from, to, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Whether a client has written a packet for `position`.
    #[inline(always)]
    pub(crate) fn has_request(&self, position: u32) -> bool {
        // Acquire: as in `header`; and what was written to other slots before is visible too.
        is_request(self.line(position)[0].load(Ordering::Acquire), position)
    }

    /// Copies the first `bytes` payload bytes of the slot at `position`, which begins with `line`,
    /// to the start of `into`; some bytes behind them too.
    #[inline(always)]
    pub(crate) fn load_whole(&self, line: &Line, position: u32, into: &mut [u8], bytes: usize) {
        if bytes > IN_LINE_BYTES {
            return load_units(self.payload(position), into, bytes);
        }
        // All that a line can hold, whatever counts: that takes no loop.
        load_bytes(&line[HEADER_WORDS..], &mut into[..IN_LINE_BYTES]);
    }

    /// Writes `bytes` bytes at `offset` of the payload that starts at `position` and goes on in the
    /// slots after it.
    #[inline(never)]
    pub(crate) fn store_at(&self, position: u32, offset: usize, bytes: &[u8]) {
        self.scatter(position, offset, bytes.len(), |words, skip, done, len| {
            store_unaligned(words, skip, &bytes[done..done + len]);
        });
    }

    /// As [`store_at`](Self::store_at), from words that other cores may be changing.
    #[inline(never)]
    pub(crate) fn copy_at(&self, position: u32, offset: usize, src: &[AtomicU64], bytes: usize) {
        self.scatter(position, offset, bytes, |words, skip, done, len| {
            if skip == 0 && done % 8 == 0 && len % 8 == 0 {
                copy_words(words, &src[done / 8..], len);
            } else {
                copy_unaligned(words, skip, src, done, len);
            }
        });
    }

    /// Calls `write(words, bytes to skip in the first word, bytes done, bytes to write)` for each
    /// slot that the range falls into.
    #[inline(always)]
    fn scatter(
        &self,
        position: u32,
        offset: usize,
        bytes: usize,
        mut write: impl FnMut(&[AtomicU64], usize, usize, usize),
    ) {
        let mtu = self.geometry.mtu_bytes as usize;
        let (mut position, mut offset) = (position, offset);
        while offset >= mtu {
            position = position.wrapping_add(1);
            offset -= mtu;
        }
        let mut done = 0;
        while done < bytes {
            let len = (bytes - done).min(mtu - offset);
            write(&self.payload(position)[offset / 8..], offset % 8, done, len);
            done += len;
            offset = 0;
            position = position.wrapping_add(1);
        }
    }
}

/// Stores `bytes` from byte `skip` of the first word on; the bytes before and behind them stay.
#[inline]
pub(crate) fn store_unaligned(words: &[AtomicU64], skip: usize, bytes: &[u8]) {
    let (head, rest) = bytes.split_at(bytes.len().min((8 - skip) % 8));
    patch(words, skip, head);
    let words = &words[usize::from(skip > 0)..];
    let (whole, tail) = rest.split_at(rest.len() / 8 * 8);
    store_bytes(words, whole);
    patch(&words[whole.len() / 8..], 0, tail);
}

/// Replaces bytes within the first word.
fn patch(words: &[AtomicU64], skip: usize, bytes: &[u8]) {
    if !bytes.is_empty() {
        let mut word = words[0].load(Ordering::Relaxed).to_le_bytes();
        word[skip..skip + bytes.len()].copy_from_slice(bytes);
        words[0].store(u64::from_le_bytes(word), Ordering::Relaxed);
    }
}

/// Copies `len` bytes from byte `from` of `src`, a piece of 64 bytes at a time.
fn copy_unaligned(words: &[AtomicU64], skip: usize, src: &[AtomicU64], from: usize, len: usize) {
    let mut piece = [0; 64];
    let mut done = 0;
    while done < len {
        let at = from + done;
        let take = (64 - at % 8).min(len - done);
        let mut aligned = [0; 72];
        load_bytes(&src[at / 8..], &mut aligned[..(at % 8 + take).next_multiple_of(8)]);
        piece[..take].copy_from_slice(&aligned[at % 8..at % 8 + take]);
        let to = skip + done;
        store_unaligned(&words[to / 8..], to % 8, &piece[..take]);
        done += take;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(geometry: Geometry) -> Vec<AtomicU64> {
        (0..geometry.bytes() / 8).map(|_| AtomicU64::new(0)).collect()
    }

    const GEOMETRY: Geometry = Geometry::new(8, 112);

    #[test]
    fn a_header_is_seen_at_its_position_only() {
        let words = ring(GEOMETRY);
        let slots = Slots::new(&words, GEOMETRY);
        assert_eq!(slots.header(0), None, "zeros hold nothing");
        let header = SlotHeader { mark: Mark::Request, pkt_idx: 65535, span: SPAN_MAX, rpc_bytes: u32::MAX, extra: 7 };
        slots.publish(9, header);
        assert_eq!(slots.header(9), Some(header));
        assert_eq!(slots.header(1), None, "the lap before");
        assert_eq!(slots.header(17), None, "the lap after");
    }

    #[test]
    fn any_first_word_is_read_without_a_panic() {
        let words = ring(GEOMETRY);
        let slots = Slots::new(&words, GEOMETRY);
        for shift in 0..64 {
            words[0].store(1 << shift, Ordering::Relaxed);
            let _ = slots.header(0);
            words[0].store(u64::MAX << shift, Ordering::Relaxed);
            let _ = slots.header(0);
        }
    }

    #[test]
    fn pieces_of_any_length_land_one_after_the_other() {
        nebula_testing::seeded(|u| {
            let words = ring(GEOMETRY);
            let slots = Slots::new(&words, GEOMETRY);
            let mut expected: Vec<u8> = Vec::new();
            for _ in 0..u.int_in_range(1..=6)? {
                let piece: Vec<u8> = (0..u.int_in_range(0..=150_usize)?)
                    .map(|i| u8::try_from((i * 7 + expected.len()) % 251).unwrap())
                    .collect();
                if expected.len() + piece.len() > 5 * 112 {
                    break;
                }
                if u.arbitrary()? {
                    slots.store_at(6, expected.len(), &piece);
                } else {
                    let source: Vec<AtomicU64> = (0..piece.len().div_ceil(8)).map(|_| AtomicU64::new(0)).collect();
                    store_bytes(&source, &piece);
                    slots.copy_at(6, expected.len(), &source, piece.len());
                }
                expected.extend(piece);
            }
            let mut read = vec![0; expected.len()];
            for (position, part) in (6..).zip(read.chunks_mut(112)) {
                slots.load(position, part);
            }
            assert_eq!(read, expected);
            Ok(())
        });
    }
}

//! The layout of a slot of a client's ring.
//!
//! ```text
//!   word 0   position (32) | packet index (16) | span (12) | mark (4)    written last, with Release
//!   word 1   RPC bytes (32) | key hash, status or NACK reason (32)
//!   word 2…  payload of this packet, at most `mtu` bytes
//! ```
//!
//! A slot is whole cache lines, header included: 48, 112, 176… bytes of payload. So an RPC of up to
//! 48 bytes lies in one cache line with its header. The first two lines of all slots lie together,
//! and the rest of each slot behind them ([`Lines`]): lines two apart are fetched half as fast
//! again as lines ten apart. The first word alone says whether the slot holds the expected packet:
//! the mark says who wrote, the position says for which lap.

use super::numbered::numbered;
use nebula_sys::copy::{copy_words, load_bytes, load_units, store_bytes};
pub(crate) use nebula_sys::lines::Line;
use nebula_sys::lines::{HEAD_LINES, Lines, RingMemory};
use nebula_sys::shared::SharedMemory;
use nebula_sys::sync::{AtomicU64, Ordering};
use nebula_sys::window;

const _: () = assert!(HEADER_BYTES as usize == 8 * HEADER_WORDS, "two ways to say it");

pub(crate) const HEADER_WORDS: usize = 2;
const HEADER_BYTES: u32 = 16;
const LINE_BYTES: u32 = 64;
pub(crate) const IN_LINE_BYTES: usize = (LINE_BYTES - HEADER_BYTES) as usize;
/// The most slots of a ring: 64 GiB with the largest MTU, of which only used pages exist.
pub(crate) const SLOTS_MAX: u32 = 1 << 16;
pub(crate) const SPAN_MAX: u32 = (1 << 12) - 1;

/// The largest payload of one slot, in bytes.
pub(crate) const MTU_BYTES_MAX: u32 = mtu_for(1 << 20);

numbered! {
    pub(crate) enum Mark: u8 {
        Request = 1,
        Reply = 2,
        Nack = 3,
        Fault = 4,
        Cancelled = 5,
        /// A one-sided operation of the client, which is no RPC.
        Operation = 9,
    }
}

impl Mark {
    const fn bits(self) -> u64 {
        self as u64
    }
}

/// The first word of the first of `span` slots.
#[inline(always)]
pub(crate) const fn first_word(mark: Mark, position: u32, span: u32) -> u64 {
    position as u64 | (span as u64) << 48 | mark.bits() << 60
}

/// Whether a slot's first word marks a packet of the client for `position`: of a request, cancelled
/// or not, or an operation.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the low half is the position")]
pub(crate) const fn is_request(first: u64, position: u32) -> bool {
    first as u32 == position && first >> 60 & BY_CLIENT == Mark::Request.bits()
}

/// The first word of the slot for a reply: until the reply is published, it says whether the client
/// has cancelled the RPC.
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

    /// Whether the client has cancelled the RPC. Relaxed: no other read depends on it.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the low half is the position")]
    pub fn is_cancelled(self) -> bool {
        let first = self.word.load(Ordering::Relaxed);
        first as u32 == self.position && first >> 60 == Mark::Cancelled.bits()
    }
}

/// The bits that only the marks written by a client have in common.
const BY_CLIENT: u64 = 0b0011;

const _: () = assert!(Mark::Cancelled.bits() & BY_CLIENT == Mark::Request.bits());
const _: () = assert!(Mark::Operation.bits() & BY_CLIENT == Mark::Request.bits());

/// Writes the header of an RPC or a reply of one packet, whose slot begins with `line`.
#[inline(always)]
pub(crate) fn publish_whole(line: &Line, first: u64, sizes: u64) {
    line[1].store(sizes, Ordering::Relaxed);
    line[0].store(first, Ordering::Release);
}

/// The header of a slot, as copied out of shared memory once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotHeader {
    pub(crate) mark: Mark,
    pub(crate) pkt_idx: u32,
    pub(crate) span: u32,
    pub(crate) rpc_bytes: u32,
    /// Request: the key's hash. Reply: 0. NACK: the reason. Fault: its code.
    pub(crate) extra: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) slots: u32,
    pub(crate) mtu_bytes: u32,
}

/// The payload of the smallest slots that hold `bytes` bytes of it.
pub(crate) const fn mtu_for(bytes: u32) -> u32 {
    (bytes + HEADER_BYTES).next_multiple_of(LINE_BYTES) - HEADER_BYTES
}

impl Geometry {
    /// A ring of `slots` slots, a power of two, each with `mtu_bytes` from [`mtu_for`].
    pub(crate) const fn new(slots: u32, mtu_bytes: u32) -> Self {
        Self { slots, mtu_bytes }
    }

    /// The first position after `position` that is the ring's first slot.
    #[inline(always)]
    pub(crate) const fn next_lap(self, position: u32) -> u32 {
        (position | (self.slots - 1)).wrapping_add(1)
    }

    /// Cache lines of a slot.
    #[inline(always)]
    const fn lines(self) -> u32 {
        (self.mtu_bytes + HEADER_BYTES) / LINE_BYTES
    }

    /// The ring in `memory`.
    ///
    /// # Panics
    ///
    /// When the memory is shorter.
    pub(crate) fn of(self, memory: SharedMemory) -> RingMemory {
        RingMemory::new(memory, self.slots, self.lines())
    }

    pub(crate) const fn bytes(self) -> usize {
        self.slots as usize * self.lines() as usize * LINE_BYTES as usize
    }

    /// Packets of `bytes` bytes; an empty RPC is one packet.
    pub(crate) const fn packets(self, bytes: u32) -> u32 {
        if bytes <= self.mtu_bytes { 1 } else { bytes.div_ceil(self.mtu_bytes) }
    }
}

/// A ring of slots in memory that the other side may change at any moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots<'a> {
    lines: Lines<'a>,
    geometry: Geometry,
}

impl<'a> Slots<'a> {
    #[inline(always)]
    pub(crate) fn new(words: &'a [AtomicU64], geometry: Geometry) -> Self {
        Self { lines: Lines::new(words, geometry.slots, geometry.lines()), geometry }
    }

    /// Those of a memory from [`Geometry::of`].
    #[inline(always)]
    pub(crate) fn of(memory: &'a RingMemory, geometry: Geometry) -> Self {
        Self { lines: memory.lines(), geometry }
    }

    #[inline(always)]
    pub(crate) fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The first line of the slot at `position`: its header and the first 48 bytes of payload.
    #[inline(always)]
    pub(crate) fn line(&self, position: u32) -> &'a Line {
        self.lines.line(position)
    }

    /// The first bytes of a payload that lie in the head of its slot.
    #[inline(always)]
    fn in_head(&self) -> u32 {
        self.geometry.lines().min(HEAD_LINES) * LINE_BYTES - HEADER_BYTES
    }

    #[inline(always)]
    fn head(&self, position: u32) -> &'a [AtomicU64] {
        &self.lines.head(position)[HEADER_WORDS..]
    }

    /// The words of the payload from its beginning on that lie in one piece: 112 bytes, or 48; of a
    /// ring of one slot, all.
    #[inline(always)]
    pub(crate) fn front(&self, position: u32) -> &'a [AtomicU64] {
        &self.lines.front(position)[HEADER_WORDS..]
    }

    /// The two pieces of the first `bytes` payload bytes of a slot: where each begins, its words
    /// and its length in bytes. The second one may be empty.
    #[inline(always)]
    pub(crate) fn pieces(&self, position: u32, bytes: u32) -> [(u32, &'a [AtomicU64], u32); 2] {
        let in_head = self.in_head().min(bytes);
        [(0, self.head(position), in_head), (in_head, self.lines.tail(position), bytes - in_head)]
    }

    /// A private copy of the header at `position`; `None` if the slot has another position.
    #[inline(always)]
    pub(crate) fn header(&self, position: u32) -> Option<SlotHeader> {
        let line = self.line(position);
        // Acquire: pairs with the Release in `publish`; the rest of the slot was written before.
        let first = line[0].load(Ordering::Acquire);
        #[expect(clippy::cast_possible_truncation, reason = "the low half is the position")]
        if first as u32 != position {
            return None;
        }
        let second = line[1].load(Ordering::Relaxed);
        let mark = Mark::from_number(first.to_be_bytes()[0] >> 4)?;
        #[expect(clippy::cast_possible_truncation, reason = "each field is masked or shifted to its width")]
        Some(SlotHeader {
            mark,
            pkt_idx: (first >> 32) as u32 & 0xFFFF,
            span: (first >> 48) as u32 & SPAN_MAX,
            rpc_bytes: second as u32,
            extra: (second >> 32) as u32,
        })
    }

    #[inline(always)]
    pub(crate) fn publish(&self, position: u32, header: SlotHeader) {
        let line = self.line(position);
        line[1].store(u64::from(header.rpc_bytes) | u64::from(header.extra) << 32, Ordering::Relaxed);
        let first =
            first_word(header.mark, position, header.span & SPAN_MAX) | u64::from(header.pkt_idx & 0xFFFF) << 32;
        // Release: pairs with the Acquire in `header`.
        line[0].store(first, Ordering::Release);
    }

    #[inline(always)]
    pub(crate) fn store(&self, position: u32, bytes: &[u8]) {
        let (head, tail) = bytes.split_at(bytes.len().min(self.in_head() as usize));
        store_bytes(self.head(position), head);
        if !tail.is_empty() {
            store_bytes(self.lines.tail(position), tail);
        }
    }

    #[inline(always)]
    pub(crate) fn load(&self, position: u32, into: &mut [u8]) {
        let in_head = into.len().min(self.in_head() as usize);
        let (head, tail) = into.split_at_mut(in_head);
        load_bytes(self.head(position), head);
        if !tail.is_empty() {
            load_bytes(self.lines.tail(position), tail);
        }
    }

    /// The second word of the slot at `position`, if its first one is exactly `expected`: the RPC's
    /// bytes in the low half, the key's hash or a status in the high one.
    #[inline(always)]
    pub(crate) fn sizes_if(&self, position: u32, expected: u64) -> Option<u64> {
        let line = self.line(position);
        // Acquire: as in `header`.
        (line[0].load(Ordering::Acquire) == expected).then(|| line[1].load(Ordering::Relaxed))
    }

    /// Cancels the RPC at `position`, which spans `span` slots, unless its reply is published. A
    /// later reply overwrites the mark.
    #[inline]
    pub(crate) fn cancel(&self, position: u32, span: u32) -> bool {
        let marked = |mark| first_word(mark, position, span & SPAN_MAX);
        let (from, to) = (marked(Mark::Request), marked(Mark::Cancelled));
        // Release: a reader of this mark reads the rest of the request too.
        self.line(position)[0].compare_exchange(from, to, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    #[inline(always)]
    pub(crate) fn has_request(&self, position: u32) -> bool {
        // Acquire: as in `header`; earlier writes to other slots are visible too.
        is_request(self.line(position)[0].load(Ordering::Acquire), position)
    }

    /// Copies the first `bytes` payload bytes of the slot at `position`, which begins with `line`,
    /// to the start of `into`, and perhaps some more bytes.
    #[inline(always)]
    pub(crate) fn load_whole(&self, line: &Line, position: u32, into: &mut [u8], bytes: usize) {
        if bytes > IN_LINE_BYTES {
            if bytes > self.in_head() as usize {
                return self.load_longer(position, into, bytes);
            }
            return load_units(self.head(position), into, bytes);
        }
        // A whole line's payload whatever `bytes` is: a fixed length needs no loop.
        load_bytes(&line[HEADER_WORDS..], &mut into[..IN_LINE_BYTES]);
    }

    #[inline(never)]
    fn load_longer(&self, position: u32, into: &mut [u8], bytes: usize) {
        let in_head = self.in_head() as usize;
        load_units(self.head(position), into, in_head);
        load_units(self.lines.tail(position), &mut into[in_head..], bytes - in_head);
    }

    /// Writes `bytes` at `offset` of a payload that starts at `position` and spans slots.
    #[inline(never)]
    pub(crate) fn store_at(&self, position: u32, offset: usize, bytes: &[u8]) {
        self.scatter(position, offset, bytes.len(), |words, skip, done, len| {
            store_unaligned(words, skip, &bytes[done..done + len]);
        });
    }

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

    /// Calls `write(words, bytes to skip in the first, bytes done, bytes to write)` for each piece.
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
        let (in_head, mut done) = (self.in_head() as usize, 0);
        while done < bytes {
            let is_in_head = offset < in_head;
            let (words, begin, end) =
                if is_in_head { (self.head(position), 0, in_head) } else { (self.lines.tail(position), in_head, mtu) };
            let len = (bytes - done).min(end - offset);
            write(&words[(offset - begin) / 8..], (offset - begin) % 8, done, len);
            (done, offset) = (done + len, offset + len);
            if offset == mtu {
                (position, offset) = (position.wrapping_add(1), 0);
            }
        }
    }
}

/// Stores `bytes` from byte `skip` of the first word on; the bytes around them stay.
#[inline]
pub(crate) fn store_unaligned(words: &[AtomicU64], skip: usize, bytes: &[u8]) {
    let (head, rest) = bytes.split_at(bytes.len().min((8 - skip) % 8));
    patch(words, skip, head);
    let words = &words[usize::from(skip > 0)..];
    let (whole, tail) = rest.split_at(rest.len() / 8 * 8);
    store_bytes(words, whole);
    patch(&words[whole.len() / 8..], 0, tail);
}

fn patch(words: &[AtomicU64], skip: usize, bytes: &[u8]) {
    if !bytes.is_empty() {
        let mut word = words[0].load(Ordering::Relaxed).to_le_bytes();
        word[skip..skip + bytes.len()].copy_from_slice(bytes);
        words[0].store(u64::from_le_bytes(word), Ordering::Relaxed);
    }
}

fn copy_unaligned(words: &[AtomicU64], skip: usize, src: &[AtomicU64], from: usize, len: usize) {
    let mut piece = [0; 64];
    for done in (0..len).step_by(piece.len()) {
        let piece = &mut piece[..64.min(len - done)];
        window::load(src, from + done, piece);
        store_unaligned(&words[(skip + done) / 8..], (skip + done) % 8, piece);
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

//! Station 11 at the server: the handler writes the reply.
//!
//! Over shared memory the bytes go straight into the client's ring, over the slots of the request.
//! The header of the first slot is published last, and the client reads nothing before. So a reply
//! can be written in any order, and overwritten. Over a network the bytes go into a buffer that the
//! engine sends.

use super::answer::Caller;
use super::answer::{Answer, Asker, Ending, Fate, Keep};
use super::cancel::Cancel;
use super::fault::Fault;
use super::later::{LaterError, LaterReply, MayWait};
use super::safe_point;
use super::slot::{Asked, HEADER_WORDS, IN_LINE_BYTES, Line, Mark, SlotHeader, Slots, first_word, publish_whole};
use nebula_nic::{NackReason, NodeId, Timestamp};
use nebula_sys::clock::Clock;
use nebula_sys::copy::store_bytes_and;
use nebula_sys::copy::{copy_words, store_bytes};
use nebula_sys::sync::AtomicU64;

/// The reply to one RPC, as the handler writes it.
///
/// The client provisions the room for it. A longer reply becomes [`Fault::ReplyTooLarge`]. Only two
/// words differ between the RPCs of a run: fewer stores between two replies let more of them be in
/// flight to the client's core at once.
#[derive(Debug)]
pub struct Reply<'a> {
    /// The first line of the room: the slot's header and 48 bytes of payload.
    line: &'a Line,
    bytes: u32,
    position: u32,
    /// The room, of whole slots.
    slots: Slots<'a>,
    capacity: u32,
    /// The fate and the rest of the reply, unless it goes into a client's ring.
    ending: Option<&'a mut Ending>,
    laters: Option<&'a MayWait<'a>>,
}

/// In place of the length of a reply that is too large.
const TOO_LARGE: u32 = u32::MAX;
/// In place of the length, if the handler refuses the RPC. No reply is as long as either.
const REFUSED: u32 = u32::MAX - 1;

impl<'a> Reply<'a> {
    #[inline(always)]
    pub(crate) fn in_ring(slots: Slots<'a>, position: u32, span: u32) -> Self {
        let capacity = span * slots.geometry().mtu_bytes;
        Self { line: slots.line(position), bytes: 0, position, slots, capacity, ending: None, laters: None }
    }

    #[inline(always)]
    pub(crate) fn buffered(answer: &'a mut Answer) -> Self {
        let (slots, ending, capacity) = answer.room();
        Self { line: slots.line(0), bytes: 0, position: 0, slots, capacity, ending: Some(ending), laters: None }
    }

    #[inline(always)]
    pub(crate) fn with_laters(mut self, laters: Option<&'a MayWait<'a>>) -> Self {
        self.laters = laters;
        self
    }

    /// Takes the reply out of the handler, so that any thread can send it after the handler has
    /// returned. Bytes written here are discarded then.
    ///
    /// Copy what you need of the request: it is freed. The RPC keeps its slots of the receive
    /// buffer and its worker's credit, so a worker has at most
    /// [`later_max`](crate::ServerConfig::later_max) RPCs and two more. Further RPCs wait or are
    /// refused.
    ///
    /// # Errors
    ///
    /// [`LaterError`]: the server was not [configured](crate::ServerConfig::later_max) for it, or
    /// the reply was taken already.
    pub fn later(&mut self) -> Result<LaterReply, LaterError> {
        self.laters.ok_or(LaterError::NotConfigured)?.laters.take(self.capacity, || self.asker())
    }

    pub(crate) fn client(&self) -> Option<NodeId> {
        self.laters.map(|may_wait| may_wait.client)
    }

    /// Refuses the RPC: its client gets a NACK, as if the queue had been full, and may try another
    /// server. The handler must not have executed any of it. Bytes written before or after are not
    /// sent, unless the reply is [cleared](Self::clear).
    #[cold]
    pub fn refuse(&mut self) {
        self.bytes = REFUSED;
    }

    fn asker(&self) -> Option<Asker> {
        match &self.ending {
            Some(ending) => Some(ending.asker()),
            None => {
                let ring = self.laters?.ring?.share();
                Some(Asker::only(Cancel::in_ring(ring, self.position)))
            }
        }
    }

    /// Whether the client has stopped waiting: it has [cancelled](crate::Client::cancel) the RPC,
    /// or its deadline has passed. A long handler may check now and then, and give up: the client
    /// ignores its reply.
    ///
    /// Over shared memory the client writes the cancellation into the slot for the reply, and the
    /// deadline is not known. Over UDP the server's engine reads it; the engine of an
    /// [inline](crate::ServerConfig::inline) server runs after the handler, so only the deadline
    /// works there.
    ///
    /// # Cost
    ///
    /// A load, and a clock read if there is a deadline. Over shared memory the load fetches the
    /// client's cache line, so check about once in a microsecond at most.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        let now = || Timestamp::from_ps(Clock::new().now_ps());
        match &self.ending {
            Some(ending) => ending.over(now).is_some(),
            None => Asked::new(self.line, self.position).is_cancelled(),
        }
    }

    /// Reads whether the client has cancelled the RPC, for a reply that goes into its ring.
    #[doc(hidden)]
    #[inline(always)]
    pub fn asked(&self) -> Option<Asked<'a>> {
        if self.ending.is_none() { Some(Asked::new(self.line, self.position)) } else { None }
    }

    #[inline(always)]
    pub(crate) fn move_to(&mut self, position: u32) {
        (self.line, self.bytes, self.position) = (self.slots.line(position), 0, position);
    }

    #[inline(always)]
    pub(crate) fn begin_again(&mut self) {
        self.bytes = 0;
        if let Some(ending) = &mut self.ending {
            ending.begin_again();
        }
    }

    #[inline(always)]
    pub(crate) fn keep(&self, keeper: &mut dyn Keep) -> bool {
        self.ending.as_ref().is_none_or(|ending| keeper.keep(self.slots, ending))
    }

    /// Appends `bytes`.
    #[inline(always)]
    pub fn write(&mut self, bytes: &[u8]) {
        if self.bytes == 0 && bytes.len() <= IN_LINE_BYTES {
            store_bytes(&self.line[HEADER_WORDS..], bytes);
            self.bytes = shorter(bytes.len());
        } else {
            self.append(bytes);
        }
    }

    /// Apart, so that a short reply saves no registers for it.
    #[inline(never)]
    fn append(&mut self, bytes: &[u8]) {
        self.write_at(self.len(), bytes);
    }

    #[doc(hidden)]
    #[inline(always)]
    pub fn write_and(&mut self, bytes: &[u8], tail: [u8; 4]) {
        let end = bytes.len() + tail.len();
        if self.bytes == 0 && end <= IN_LINE_BYTES {
            store_bytes_and(&self.line[HEADER_WORDS..], bytes, tail);
            self.bytes = shorter(end);
        } else {
            self.write(bytes);
            self.write(&tail);
        }
    }

    /// Lets `put` write the whole reply into its first slot and return its length in bytes. Returns
    /// whether it did: nothing was written before, and `put` had room.
    #[doc(hidden)]
    #[inline(always)]
    pub fn write_whole(&mut self, put: impl FnOnce(&[AtomicU64]) -> Option<usize>) -> bool {
        let bytes = if self.bytes == 0 { put(self.slots.front(self.position)) } else { None };
        self.bytes = bytes.map_or(self.bytes, shorter);
        bytes.is_some()
    }

    /// Writes `bytes` at `offset`. If the reply is shorter, the gap holds zeros, or over shared
    /// memory unspecified bytes of the client's own request.
    #[inline(always)]
    pub fn write_at(&mut self, offset: usize, bytes: &[u8]) {
        match self.room(offset, bytes.len()) {
            Some(words) => store_bytes(words, bytes),
            None => self.write_behind(offset, bytes),
        }
    }

    /// As [`write_at`](Self::write_at), from words that other cores may change meanwhile, such as a
    /// store's log. They are copied once.
    #[inline(always)]
    pub fn write_words_at(&mut self, offset: usize, words: &[AtomicU64], bytes: usize) {
        match self.room(offset, bytes) {
            Some(room) => copy_words(room, words, bytes),
            None => self.write_words_behind(offset, words, bytes),
        }
    }

    /// The words for `bytes` bytes at `offset`, to which the reply is extended; `None` unless they
    /// are whole words of the first slot that lie in one piece.
    #[inline(always)]
    fn room(&mut self, offset: usize, bytes: usize) -> Option<&'a [AtomicU64]> {
        let (end, len) = (offset.saturating_add(bytes), self.bytes as usize);
        // The last word is written whole, which would overwrite later bytes of the reply. A buffer
        // has held other replies, so its gaps must be filled.
        let cuts_in = end < len && !end.is_multiple_of(8);
        let has_gap = offset > len && self.ending.is_some();
        let room = if end <= IN_LINE_BYTES { &self.line[HEADER_WORDS..] } else { self.slots.front(self.position) };
        if !offset.is_multiple_of(8) || end > size_of_val(room) || cuts_in || has_gap {
            return None;
        }
        self.bytes = self.bytes.max(shorter(end));
        Some(&room[offset / 8..])
    }

    #[inline(never)]
    fn write_behind(&mut self, offset: usize, bytes: &[u8]) {
        let Some(end) = self.reserve(offset, bytes.len()) else { return };
        match &mut self.ending {
            None => self.slots.store_at(self.position, offset, bytes),
            Some(ending) => {
                let first = self.slots.front(self.position);
                ending.fill_gap(first, self.bytes as usize, offset);
                ending.write(first, offset, bytes);
            }
        }
        self.bytes = self.bytes.max(end);
    }

    #[inline(never)]
    fn write_words_behind(&mut self, offset: usize, words: &[AtomicU64], bytes: usize) {
        let Some(end) = self.reserve(offset, bytes) else { return };
        match &mut self.ending {
            None => self.slots.copy_at(self.position, offset, words, bytes),
            Some(ending) => {
                let first = self.slots.front(self.position);
                ending.fill_gap(first, self.bytes as usize, offset);
                ending.write_words(first, offset, words, bytes);
            }
        }
        self.bytes = self.bytes.max(end);
    }

    fn reserve(&mut self, offset: usize, bytes: usize) -> Option<u32> {
        let end = offset.checked_add(bytes).filter(|&end| end <= self.capacity as usize);
        if end.is_none() && self.bytes != REFUSED {
            self.bytes = TOO_LARGE;
        }
        end.filter(|_| self.bytes < REFUSED).map(shorter)
    }

    /// A safe point of the handler: calls [`yield_if_due`](crate::yield_if_due).
    #[inline]
    pub fn yield_if_due(&self) {
        safe_point::yield_if_due();
    }

    /// Discards the written bytes.
    pub fn clear(&mut self) {
        self.bytes = 0;
    }

    /// Bytes written so far; 0 once a write did not fit, or the RPC was refused.
    #[must_use]
    #[inline(always)]
    pub fn len(&self) -> usize {
        if self.bytes >= REFUSED { 0 } else { self.bytes as usize }
    }

    /// Whether nothing is written so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the reply is empty, not too large and not refused.
    #[doc(hidden)]
    #[inline(always)]
    pub fn is_untouched(&self) -> bool {
        self.bytes == 0
    }

    #[doc(hidden)]
    #[inline(always)]
    pub const fn has_no_caller(&self) -> bool {
        self.ending.is_none()
    }

    #[doc(hidden)]
    #[inline(always)]
    pub fn take_caller(&mut self) -> Option<Caller> {
        self.ending.as_mut().map(|ending| ending.take_caller())
    }

    /// Gives back what [`take_caller`](Self::take_caller) moved out.
    #[doc(hidden)]
    #[cold]
    pub fn give_back(&mut self, caller: Caller) {
        if let Some(ending) = &mut self.ending {
            ending.cancel = caller.cancel;
        }
    }

    /// Room for the reply, in bytes.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity as usize
    }

    #[inline(never)]
    pub(crate) fn publish(&mut self) {
        match self.bytes {
            TOO_LARGE => return self.fail(Fault::ReplyTooLarge),
            REFUSED => return self.nack(NackReason::BY_SERVICE),
            _ => {}
        }
        match &mut self.ending {
            None => publish_in_ring(self.slots, self.position, self.bytes),
            Some(ending) => ending.reply(self.bytes),
        }
    }

    /// As [`publish`](Self::publish), for a reply that goes into a client's ring.
    #[inline(always)]
    pub(crate) fn publish_whole(&mut self) {
        if self.bytes > self.slots.geometry().mtu_bytes {
            return self.publish();
        }
        publish_whole(self.line, first_word(Mark::Reply, self.position, 1), self.bytes.into());
    }

    #[inline(never)]
    pub(crate) fn fail(&mut self, fault: Fault) {
        self.end(Mark::Fault, fault.code(), Fate::Faulted(fault));
    }

    #[cold]
    pub(crate) fn nack(&mut self, reason: NackReason) {
        self.end(Mark::Nack, reason.code().into(), Fate::Refused(reason));
    }

    fn end(&mut self, mark: Mark, extra: u32, fate: Fate) {
        match &mut self.ending {
            None => {
                let header = SlotHeader { mark, pkt_idx: 0, span: 1, rpc_bytes: 0, extra };
                self.slots.publish(self.position, header);
            }
            Some(ending) => ending.fate = fate,
        }
    }
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "at most the capacity, which is a u32")]
const fn shorter(bytes: usize) -> u32 {
    bytes as u32
}

fn publish_in_ring(slots: Slots<'_>, position: u32, rpc_bytes: u32) {
    let span = slots.geometry().packets(rpc_bytes);
    let header = SlotHeader { mark: Mark::Reply, pkt_idx: 0, span, rpc_bytes, extra: 0 };
    // The first slot last: the client polls it.
    for pkt_idx in (1..span).rev() {
        slots.publish(position.wrapping_add(pkt_idx), SlotHeader { pkt_idx, ..header });
    }
    slots.publish(position, header);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::slot::Geometry;
    use nebula_sys::sync::Ordering;

    const GEOMETRY: Geometry = Geometry::new(4, 112);

    fn ring() -> Vec<AtomicU64> {
        (0..GEOMETRY.bytes() / 8).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn nothing_is_seen_before_the_reply_is_published() {
        let words = ring();
        let slots = Slots::new(&words, GEOMETRY);
        let mut reply = Reply::in_ring(slots, 3, 2);
        reply.write(&[7; 200]);
        assert_eq!(slots.header(3), None);
        reply.publish();
        let header = slots.header(3).unwrap();
        assert_eq!((header.mark, header.rpc_bytes), (Mark::Reply, 200));
        let mut read = [0; 200];
        slots.load(3, &mut read[..112]);
        slots.load(4, &mut read[112..]);
        assert_eq!(read, [7; 200]);
    }

    #[test]
    fn what_does_not_fit_is_a_fault_and_writes_nothing() {
        let words = ring();
        let slots = Slots::new(&words, GEOMETRY);
        let mut reply = Reply::in_ring(slots, 0, 1);
        reply.write(&[1; 113]);
        reply.publish();
        let header = slots.header(0).unwrap();
        assert_eq!((header.mark, Fault::from_code(header.extra)), (Mark::Fault, Fault::ReplyTooLarge));
        assert!(words[2..16].iter().all(|word| word.load(Ordering::Relaxed) == 0));
    }

    #[test]
    fn one_that_is_refused_is_a_nack_whatever_is_written() {
        let words = ring();
        let slots = Slots::new(&words, GEOMETRY);
        let mut reply = Reply::in_ring(slots, 0, 1);
        reply.write(b"before");
        reply.refuse();
        reply.write(b"after");
        reply.write_at(8, &[1; 113]);
        assert_eq!(reply.len(), 0);
        reply.publish_whole();
        let header = slots.header(0).unwrap();
        assert_eq!((header.mark, header.extra), (Mark::Nack, NackReason::QueueBound.code().into()));
    }

    #[test]
    fn a_cleared_reply_begins_anew() {
        let words = ring();
        let slots = Slots::new(&words, GEOMETRY);
        let mut reply = Reply::in_ring(slots, 0, 1);
        reply.write(&[1; 113]);
        reply.clear();
        reply.write_at(8, b"value");
        reply.write_at(0, b"header__");
        assert_eq!((reply.len(), reply.is_empty(), reply.capacity()), (13, false, 112));
        reply.publish();
        let mut read = [0; 13];
        slots.load(0, &mut read);
        assert_eq!(&read, b"header__value");
    }
}

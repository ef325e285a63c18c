//! Station 11 at the server: the reply, as the handler writes it.
//!
//! Over shared memory the bytes go straight into the client's ring, over the slots of the request. The client reads them only after the
//! header of the first slot is published, which is done last. So a reply can be written in any order, and overwritten. Over a network
//! the bytes go into a buffer that the engine sends.

use crate::transport::shm::slot::{Mark, SlotHeader, Slots};
use crate::transport::{Answer, Fate};
use nebula_sys::copy::load_bytes;
use nebula_sys::sync::AtomicU64;

/// Why an RPC was begun and has no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The reply is larger than the room that the client provisioned for it. The handler has run.
    #[error("the reply is larger than the room that the client provisioned: connect with a larger reply_bytes_max")]
    ReplyTooLarge,
    /// The handler panicked. The server goes on.
    #[error("the handler panicked: the server's standard error says where")]
    HandlerPanicked,
    /// The worker dropped the RPC without a reply.
    #[error("the server dropped the RPC without a reply")]
    Unanswered,
}

impl Fault {
    pub(crate) const fn code(self) -> u32 {
        match self {
            Fault::ReplyTooLarge => 1,
            Fault::HandlerPanicked => 2,
            Fault::Unanswered => 3,
        }
    }

    pub(crate) const fn from_code(code: u32) -> Self {
        match code {
            1 => Fault::ReplyTooLarge,
            2 => Fault::HandlerPanicked,
            _ => Fault::Unanswered,
        }
    }
}

/// The reply to one RPC, as the handler writes it.
///
/// The client provisions the room for it. A reply that does not fit becomes [`Fault::ReplyTooLarge`].
#[derive(Debug)]
pub struct Reply<'a> {
    sink: Sink<'a>,
    capacity: u32,
    bytes: usize,
    is_too_large: bool,
}

/// Where a reply is written.
#[derive(Debug)]
enum Sink<'a> {
    /// Into the client's ring, over its request.
    Ring { slots: Slots<'a>, position: u32 },
    /// Into a buffer that the engine sends.
    Buffer(&'a mut Answer),
}

impl<'a> Reply<'a> {
    /// The reply to the RPC at `position`, which spans `span` slots.
    #[inline(always)]
    pub(crate) fn new(slots: Slots<'a>, position: u32, span: u32) -> Self {
        let capacity = span * slots.geometry().mtu_bytes;
        Self { sink: Sink::Ring { slots, position }, capacity, bytes: 0, is_too_large: false }
    }

    /// The reply that is written into `answer`.
    #[inline(always)]
    pub(crate) fn buffered(answer: &'a mut Answer) -> Self {
        Self { capacity: answer.capacity(), sink: Sink::Buffer(answer), bytes: 0, is_too_large: false }
    }

    /// Appends `bytes`.
    #[inline(always)]
    pub fn write(&mut self, bytes: &[u8]) {
        self.write_at(self.bytes, bytes);
    }

    /// Writes `bytes` at `offset`. A shorter reply is extended; the gap holds unspecified bytes of the client's own request.
    #[inline(always)]
    pub fn write_at(&mut self, offset: usize, bytes: &[u8]) {
        if let Some(end) = self.reserve(offset, bytes.len()) {
            match &mut self.sink {
                Sink::Ring { slots, position } => slots.store_at(*position, offset, bytes),
                Sink::Buffer(answer) => answer.write(offset, bytes),
            }
            self.bytes = self.bytes.max(end);
        }
    }

    /// As [`write_at`](Self::write_at), from words that other cores may change meanwhile, such as a store's log. They are copied once.
    #[inline(always)]
    pub fn write_words_at(&mut self, offset: usize, words: &[AtomicU64], bytes: usize) {
        if let Some(end) = self.reserve(offset, bytes) {
            match &mut self.sink {
                Sink::Ring { slots, position } => slots.copy_at(*position, offset, words, bytes),
                Sink::Buffer(answer) => load_bytes(words, answer.room(offset, bytes)),
            }
            self.bytes = self.bytes.max(end);
        }
    }

    #[inline(always)]
    fn reserve(&mut self, offset: usize, bytes: usize) -> Option<usize> {
        let end = offset.checked_add(bytes).filter(|&end| end <= self.capacity as usize);
        self.is_too_large |= end.is_none();
        end
    }

    /// A safe point of the handler: calls [`yield_if_due`](crate::yield_if_due).
    #[inline]
    pub fn yield_if_due(&self) {
        crate::worker::yield_if_due();
    }

    /// Discards what was written.
    pub fn clear(&mut self) {
        self.bytes = 0;
        self.is_too_large = false;
    }

    /// Bytes written so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether nothing is written so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Room for the reply, in bytes.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity as usize
    }

    /// Makes the reply visible to the client.
    #[inline(always)]
    pub(crate) fn publish(self) {
        if self.is_too_large {
            return self.fail(Fault::ReplyTooLarge);
        }
        match self.sink {
            Sink::Ring { slots, position } => publish_in_ring(slots, position, self.bytes),
            Sink::Buffer(answer) => answer.publish(self.bytes),
        }
    }

    /// Tells the client why there is no reply.
    pub(crate) fn fail(self, fault: Fault) {
        match self.sink {
            Sink::Ring { slots, position } => {
                let header = SlotHeader { mark: Mark::Fault, pkt_idx: 0, span: 1, rpc_bytes: 0, extra: fault.code() };
                slots.publish(position, header);
            }
            Sink::Buffer(answer) => answer.fate = Fate::Faulted(fault),
        }
    }
}

#[inline(always)]
fn publish_in_ring(slots: Slots<'_>, position: u32, bytes: usize) {
    #[expect(clippy::cast_possible_truncation, reason = "at most the capacity, which is a u32")]
    let rpc_bytes = bytes as u32;
    let span = slots.geometry().packets(rpc_bytes);
    let header = SlotHeader { mark: Mark::Reply, pkt_idx: 0, span, rpc_bytes, extra: 0 };
    // The first slot is published last: it is the one that the client looks at.
    for pkt_idx in (1..span).rev() {
        slots.publish(position.wrapping_add(pkt_idx), SlotHeader { pkt_idx, ..header });
    }
    slots.publish(position, header);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::shm::slot::Geometry;
    use nebula_sys::sync::Ordering;

    const GEOMETRY: Geometry = Geometry { slots: 4, mtu_bytes: 64 };

    fn ring() -> Vec<AtomicU64> {
        (0..GEOMETRY.bytes() / 8).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn nothing_is_seen_before_the_reply_is_published() {
        let words = ring();
        let slots = Slots::new(&words, GEOMETRY);
        let mut reply = Reply::new(slots, 3, 2);
        reply.write(&[7; 100]);
        assert_eq!(slots.header(3), None);
        reply.publish();
        let header = slots.header(3).unwrap();
        assert_eq!((header.mark, header.rpc_bytes), (Mark::Reply, 100));
        let mut read = [0; 100];
        slots.load(3, &mut read[..64]);
        slots.load(4, &mut read[64..]);
        assert_eq!(read, [7; 100]);
    }

    #[test]
    fn what_does_not_fit_is_a_fault_and_writes_nothing() {
        let words = ring();
        let slots = Slots::new(&words, GEOMETRY);
        let mut reply = Reply::new(slots, 0, 1);
        reply.write(&[1; 65]);
        reply.publish();
        let header = slots.header(0).unwrap();
        assert_eq!((header.mark, Fault::from_code(header.extra)), (Mark::Fault, Fault::ReplyTooLarge));
        assert!(words[2..10].iter().all(|word| word.load(Ordering::Relaxed) == 0));
    }

    #[test]
    fn a_cleared_reply_begins_anew() {
        let words = ring();
        let slots = Slots::new(&words, GEOMETRY);
        let mut reply = Reply::new(slots, 0, 1);
        reply.write(&[1; 65]);
        reply.clear();
        reply.write_at(8, b"value");
        reply.write_at(0, b"header__");
        assert_eq!((reply.len(), reply.is_empty(), reply.capacity()), (13, false, 64));
        reply.publish();
        let mut read = [0; 13];
        slots.load(0, &mut read);
        assert_eq!(&read, b"header__value");
    }
}

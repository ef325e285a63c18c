//! The answer to one RPC, if the transport has no memory of the client to write it into: a buffer
//! that goes with the RPC to its worker and comes back with the slots.

use super::cancel::Cancel;
use super::fault::Fault;
use super::recipient::Recipient;
use super::slot::{Geometry, Slots, mtu_for, store_unaligned};
use nebula_nic::ending::{NEVER, over};
use nebula_nic::{EntryId, NackReason, NodeId, Timestamp, TransferId};
use nebula_sys::clock::Clock;
use nebula_sys::copy::load_bytes;
use nebula_sys::sync::AtomicU64;
use std::fmt::Debug;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It has no answer yet.
    Open,
    Replied,
    Faulted(Fault),
    Refused(NackReason),
}

/// The caller, how long it waits, and the answer to it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) number: NodeId,
    pub(crate) tid: TransferId,
    /// The RPC's entry in the transport's memory.
    pub(crate) entry: EntryId,
    /// Slots of the request while it lacks packets, then 0.
    pub(crate) incomplete_slots: u32,
    capacity: u32,
    /// The beginning of the reply: a slot, as in a client's ring.
    first: Box<[AtomicU64]>,
    slot: Geometry,
    pub(crate) ending: Ending,
}

/// The caller, the RPC's fate, and the rest of its reply.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) recipient: Recipient,
    /// The client stops waiting then; `NEVER` without a deadline.
    pub(crate) deadline: Timestamp,
    /// Whether the client has cancelled it, if the transport can say.
    pub(crate) cancel: Option<Cancel>,
    pub(crate) fate: Fate,
    bytes: u32,
    more: Vec<u8>,
}

/// Keeps the answers to the RPCs of a run, which share one `Answer`.
pub(crate) trait Keep: Debug {
    /// Keeps the next answer: a reply begins in the slot `first`, and the rest is in `ending`.
    /// Returns whether the run goes on.
    fn keep(&mut self, first: Slots<'_>, ending: &Ending) -> bool;
}

/// The data of a caller that a handler may use.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// Its address, if it has one.
    pub peer: Option<std::net::SocketAddr>,
    /// The client stops waiting then; on the scale of the machine's clock.
    pub deadline: Option<Timestamp>,
    /// Whether it has cancelled the RPC, if the transport can say.
    pub cancel: Option<Cancel>,
}

#[derive(Clone, Debug)]
pub(crate) struct Asker {
    pub(crate) recipient: Recipient,
    pub(crate) deadline: Timestamp,
    pub(crate) cancel: Option<Cancel>,
}

impl Asker {
    /// A caller of which only its cancellation is known.
    pub(crate) fn only(cancel: Cancel) -> Self {
        Self { recipient: Recipient::none(), deadline: NEVER, cancel: Some(cancel) }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        let now = || Timestamp::from_ps(Clock::new().now_ps());
        over(self.deadline, self.cancel.as_ref().is_some_and(Cancel::is_set), now).is_some()
    }
}

const FIRST_BYTES: u32 = 1008;

impl Answer {
    /// An empty buffer for replies of up to `capacity` bytes; it grows as needed.
    pub(crate) fn new(capacity: u32) -> Self {
        let slot = Geometry::new(1, mtu_for(capacity.min(FIRST_BYTES)));
        Self {
            number: NodeId(0),
            tid: TransferId(0),
            entry: EntryId(0),
            incomplete_slots: 0,
            capacity,
            first: (0..slot.bytes() / 8).map(|_| AtomicU64::new(0)).collect(),
            slot,
            ending: Ending {
                recipient: Recipient::none(),
                deadline: NEVER,
                cancel: None,
                fate: Fate::Open,
                bytes: 0,
                more: Vec::new(),
            },
        }
    }

    #[inline(always)]
    pub(crate) fn reset(&mut self) {
        self.ending.begin_again();
        self.incomplete_slots = 0;
    }

    /// Resets the buffer for another RPC, with room for `capacity` bytes, and its caller.
    pub(crate) fn reset_for(&mut self, capacity: u32, asker: Option<Asker>) {
        self.reset();
        self.capacity = capacity;
        let nobody = || Asker { recipient: Recipient::none(), deadline: NEVER, cancel: None };
        let Asker { recipient, deadline, cancel } = asker.unwrap_or_else(nobody);
        (self.ending.recipient, self.ending.deadline, self.ending.cancel) = (recipient, deadline, cancel);
    }

    /// Room for the beginning of the reply, for the rest, and the capacity of both in bytes.
    #[inline(always)]
    pub(crate) fn room(&mut self) -> (Slots<'_>, &mut Ending, u32) {
        (Slots::new(&self.first, self.slot), &mut self.ending, self.capacity)
    }

    pub(crate) fn capacity(&self) -> u32 {
        self.capacity
    }

    #[inline(always)]
    pub(crate) fn reply_bytes(&self) -> u32 {
        self.ending.bytes
    }

    #[inline(always)]
    pub(crate) fn copy_reply(&self, into: &mut [u8]) {
        self.ending.copy_reply(Slots::new(&self.first, self.slot), into);
    }
}

impl Ending {
    #[inline(always)]
    pub(crate) fn begin_again(&mut self) {
        self.more.clear();
        (self.bytes, self.fate) = (0, Fate::Open);
    }

    #[inline(always)]
    pub(crate) const fn bytes(&self) -> u32 {
        self.bytes
    }

    #[inline(always)]
    pub(crate) fn copy_reply(&self, first: Slots<'_>, into: &mut [u8]) {
        let (head, more) = into.split_at_mut(into.len().min(first.geometry().mtu_bytes as usize));
        load_bytes(first.front(0), head);
        more.copy_from_slice(&self.more[..more.len()]);
    }

    #[inline(always)]
    pub(crate) fn has_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(Cancel::is_set)
    }

    pub(crate) fn asker(&self) -> Asker {
        Asker { recipient: self.recipient, deadline: self.deadline, cancel: self.cancel.clone() }
    }

    /// Why the client waits no more, if so. Reads the clock only if there is a deadline.
    #[inline(always)]
    pub(crate) fn over(&self, now: impl FnOnce() -> Timestamp) -> Option<NackReason> {
        over(self.deadline, self.has_cancelled(), now)
    }

    /// The client's address and deadline. Its cancellation is moved out.
    #[cold]
    pub(crate) fn take_caller(&mut self) -> Caller {
        let peer = Some(self.recipient.route.peer).filter(|peer| peer.port() > 0);
        let deadline = Some(self.deadline).filter(|&deadline| deadline != NEVER);
        Caller { peer, deadline, cancel: self.cancel.take() }
    }

    #[inline(always)]
    pub(crate) fn reply(&mut self, bytes: u32) {
        (self.bytes, self.fate) = (bytes, Fate::Replied);
    }

    /// Writes `bytes` at `offset`: into `first` as far as it reaches, then behind it.
    pub(crate) fn write(&mut self, first: &[AtomicU64], offset: usize, bytes: &[u8]) {
        let border = first.len() * 8;
        let (head, tail) = bytes.split_at(border.saturating_sub(offset).min(bytes.len()));
        if !head.is_empty() {
            store_unaligned(&first[offset / 8..], offset % 8, head);
        }
        if !tail.is_empty() {
            let from = offset.max(border) - border;
            if self.more.len() < from + tail.len() {
                self.more.resize(from + tail.len(), 0);
            }
            self.more[from..from + tail.len()].copy_from_slice(tail);
        }
    }

    /// As [`write`](Self::write), from words that other cores may be changing.
    pub(crate) fn write_words(&mut self, first: &[AtomicU64], offset: usize, words: &[AtomicU64], bytes: usize) {
        let mut piece = [0; PIECE_BYTES];
        for done in (0..bytes).step_by(PIECE_BYTES) {
            let piece = &mut piece[..PIECE_BYTES.min(bytes - done)];
            load_bytes(&words[done / 8..], piece);
            self.write(first, offset + done, piece);
        }
    }

    /// Fills the gap between `written` and `offset` with zeros: the buffer has held other replies.
    pub(crate) fn fill_gap(&mut self, first: &[AtomicU64], written: usize, offset: usize) {
        for done in (written..offset).step_by(PIECE_BYTES) {
            self.write(first, done, &[0; PIECE_BYTES][..PIECE_BYTES.min(offset - done)]);
        }
    }
}

/// Bytes copied at a time if source and destination have different alignments.
const PIECE_BYTES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::reply::Reply;

    fn written(answer: &Answer) -> Vec<u8> {
        let mut reply = vec![0xAA; answer.reply_bytes() as usize];
        answer.copy_reply(&mut reply);
        reply
    }

    #[test]
    fn pieces_of_any_length_at_any_place_are_one_reply() {
        nebula_testing::seeded(|u| {
            let mut answer = Answer::new(3000);
            let mut expected: Vec<u8> = Vec::new();
            // An earlier reply must not be visible.
            Reply::buffered(&mut answer).write(&[0xEE; 2999]);
            answer.reset();
            let mut reply = Reply::buffered(&mut answer);
            for _ in 0..u.int_in_range(1..=6)? {
                let (offset, len) = (u.int_in_range(0..=1500_usize)?, u.int_in_range(0..=1400_usize)?);
                let piece: Vec<u8> = (0..len).map(|i| u8::try_from((i * 7 + offset) % 251).unwrap()).collect();
                if u.arbitrary()? {
                    reply.write_at(offset, &piece);
                } else {
                    let words: Vec<AtomicU64> = (0..len.div_ceil(8)).map(|_| AtomicU64::new(0)).collect();
                    nebula_sys::copy::store_bytes(&words, &piece);
                    reply.write_words_at(offset, &words, len);
                }
                expected.resize(expected.len().max(offset + len), 0);
                expected[offset..offset + len].copy_from_slice(&piece);
            }
            reply.publish();
            assert_eq!(written(&answer), expected);
            Ok(())
        });
    }
}

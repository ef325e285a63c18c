//! The answer to one RPC where the transport has no room of the client's to write it into: a buffer
//! that goes with the RPC to its worker and comes back with the slots.

use super::cancel::Cancel;
use super::fault::Fault;
use super::recipient::Recipient;
use super::slot::{Geometry, Slots, mtu_for, store_unaligned};
use nebula_nic::{EntryId, NackReason, NodeId, Timestamp, TransferId};
use nebula_sys::clock::Clock;
use nebula_sys::copy::load_bytes;
use nebula_sys::sync::AtomicU64;
use std::fmt::Debug;

/// No deadline.
const NEVER: Timestamp = Timestamp::from_ps(u64::MAX);

/// What became of an RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nobody has answered it.
    Open,
    /// The reply has been written.
    Replied,
    Faulted(Fault),
    Refused(NackReason),
}

/// Who asked, how long the answer is of use, and the answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The client's number at the NIC.
    pub(crate) number: NodeId,
    pub(crate) tid: TransferId,
    /// The RPC, as the transport remembers it.
    pub(crate) entry: EntryId,
    /// Slots of the request while packets of it are still to come, then 0.
    pub(crate) incomplete_slots: u32,
    /// Longest reply.
    capacity: u32,
    /// The beginning of the reply: a slot, as in a client's ring.
    first: Box<[AtomicU64]>,
    slot: Geometry,
    pub(crate) ending: Ending,
}

/// Who waits for an RPC, what became of it, and how its reply goes on behind its beginning.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) recipient: Recipient,
    /// From then on nobody waits for the answer; the end of time for none.
    pub(crate) deadline: Timestamp,
    /// Whether the client has taken it back, where the transport can tell.
    pub(crate) cancel: Option<Cancel>,
    pub(crate) fate: Fate,
    bytes: u32,
    more: Vec<u8>,
}

/// Who keeps what was answered to the RPCs of a run, which share one answer.
pub(crate) trait Keep: Debug {
    /// The next RPC of the run is over: its reply begins in the slot `first`, and all else is in
    /// `ending`.
    fn keep(&mut self, first: Slots<'_>, ending: &Ending);
}

/// What a handler may know of who waits for its reply.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// Its address, where it is behind one.
    pub peer: Option<std::net::SocketAddr>,
    /// From then on nobody waits for the reply; on the scale of the machine's clock.
    pub deadline: Option<Timestamp>,
    /// Whether it has taken the RPC back, where the transport can tell.
    pub cancel: Option<Cancel>,
}

/// Who waits for a reply that another thread is to give, and how long.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    pub(crate) recipient: Recipient,
    pub(crate) deadline: Timestamp,
    pub(crate) cancel: Option<Cancel>,
}

impl Asker {
    /// One of whom only is known where it says that it has stopped waiting.
    pub(crate) fn only(cancel: Cancel) -> Self {
        Self { recipient: Recipient::none(), deadline: NEVER, cancel: Some(cancel) }
    }

    /// Whether it has stopped waiting.
    pub(crate) fn is_cancelled(&self) -> bool {
        let has_passed = || self.deadline <= Timestamp::from_ps(Clock::new().now_ps());
        self.cancel.as_ref().is_some_and(Cancel::is_set) || self.deadline != NEVER && has_passed()
    }
}

/// Bytes of a reply for which there is room from the start.
const FIRST_BYTES: u32 = 1008;

impl Answer {
    /// An empty buffer for replies of up to `capacity` bytes; it grows to what is written.
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

    /// The buffer for another RPC.
    #[inline(always)]
    pub(crate) fn reset(&mut self) {
        self.ending.begin_again();
        self.incomplete_slots = 0;
    }

    /// The buffer for another RPC, with room for `capacity` bytes, of who waits for it that long if
    /// that is known.
    pub(crate) fn reset_for(&mut self, capacity: u32, asker: Option<Asker>) {
        self.reset();
        self.capacity = capacity;
        let nobody = || Asker { recipient: Recipient::none(), deadline: NEVER, cancel: None };
        let Asker { recipient, deadline, cancel } = asker.unwrap_or_else(nobody);
        (self.ending.recipient, self.ending.deadline, self.ending.cancel) = (recipient, deadline, cancel);
    }

    /// Room for the beginning of the reply, for what follows it, and for how many bytes of both.
    #[inline(always)]
    pub(crate) fn room(&mut self) -> (Slots<'_>, &mut Ending, u32) {
        (Slots::new(&self.first, self.slot), &mut self.ending, self.capacity)
    }

    /// The longest reply, in bytes.
    pub(crate) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Why nobody wants the answer any more, if that is so. Asks for the time only where there is a
    /// deadline.
    #[inline(always)]
    pub(crate) fn is_over(&self, now: impl FnOnce() -> Timestamp) -> Option<NackReason> {
        match self.ending.fate {
            Fate::Refused(reason) => Some(reason),
            _ if self.ending.has_cancelled() => Some(NackReason::Cancelled),
            _ if self.ending.deadline != NEVER && self.ending.deadline <= now() => Some(NackReason::Expired),
            _ => None,
        }
    }

    /// Bytes of the reply.
    #[inline(always)]
    pub(crate) fn reply_bytes(&self) -> u32 {
        self.ending.bytes
    }

    /// Copies the reply to `into`, which has its length.
    #[inline(always)]
    pub(crate) fn copy_reply(&self, into: &mut [u8]) {
        self.ending.copy_reply(Slots::new(&self.first, self.slot), into);
    }
}

impl Ending {
    /// For another RPC of the same client.
    #[inline(always)]
    pub(crate) fn begin_again(&mut self) {
        self.more.clear();
        (self.bytes, self.fate) = (0, Fate::Open);
    }

    /// Bytes of the reply.
    #[inline(always)]
    pub(crate) const fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Copies the reply, which begins in the slot `first`, to `into`, which has its length.
    #[inline(always)]
    pub(crate) fn copy_reply(&self, first: Slots<'_>, into: &mut [u8]) {
        let (head, more) = into.split_at_mut(into.len().min(first.geometry().mtu_bytes as usize));
        load_bytes(first.payload(0), head);
        more.copy_from_slice(&self.more[..more.len()]);
    }

    /// Whether the client has taken the RPC back.
    #[inline(always)]
    fn has_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(Cancel::is_set)
    }

    /// Who waits, and how long.
    pub(crate) fn asker(&self) -> Asker {
        Asker { recipient: self.recipient, deadline: self.deadline, cancel: self.cancel.clone() }
    }

    /// Whether the client has stopped waiting.
    pub(crate) fn is_cancelled(&self, now: impl FnOnce() -> Timestamp) -> bool {
        self.has_cancelled() || self.deadline != NEVER && self.deadline <= now()
    }

    /// The client, where it is behind an address, and how long it waits. What tells whether it has
    /// taken the RPC back is moved out.
    #[cold]
    pub(crate) fn take_caller(&mut self) -> Caller {
        let peer = Some(self.recipient.route.peer).filter(|peer| peer.port() > 0);
        let deadline = Some(self.deadline).filter(|&deadline| deadline != NEVER);
        Caller { peer, deadline, cancel: self.cancel.take() }
    }

    /// Makes `bytes` bytes the reply.
    #[inline(always)]
    pub(crate) fn reply(&mut self, bytes: u32) {
        (self.bytes, self.fate) = (bytes, Fate::Replied);
    }

    /// Writes `bytes` at `offset`: into `first` as far as that reaches, and behind it.
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

    /// Fills what lies between the first `written` bytes and `offset` with zeros: the buffer has
    /// held replies to others.
    pub(crate) fn fill_gap(&mut self, first: &[AtomicU64], written: usize, offset: usize) {
        for done in (written..offset).step_by(PIECE_BYTES) {
            self.write(first, done, &[0; PIECE_BYTES][..PIECE_BYTES.min(offset - done)]);
        }
    }
}

/// Bytes copied at a time where source and destination are not aligned to each other.
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
            // What an earlier reply has left behind is not seen.
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

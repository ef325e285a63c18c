//! What a server remembers of the last RPCs of all its clients together: what became of each, and
//! the replies, to be sent again.

use super::message::Message;
use super::outbox::{Body, Outbox};
use crate::rpc::answer::{Ending, Fate};
use crate::rpc::fault::Fault;
use crate::rpc::slot::Slots;
use crate::status::NetworkCounters;
use nebula_nic::{EntryId, NackReason, ReplyAt, Retention, RetentionConfig, TransferId};

/// The memory of outcomes.
#[derive(Debug)]
pub(super) struct Outcomes {
    pub(super) retention: Retention,
    /// The ring of replies.
    replies: Box<[u8]>,
}

impl Outcomes {
    pub(super) fn new(config: RetentionConfig) -> Self {
        let retention = Retention::new(config);
        // Not of zeros, which the kernel hands out page by page when they are first touched: that
        // would be paid RPC by RPC.
        Self { replies: vec![1; retention.reply_bytes()].into(), retention }
    }

    /// The memory, and the ring that it says where in a reply lies.
    pub(super) fn replies(&self) -> (&Retention, &[u8]) {
        (&self.retention, &self.replies)
    }

    /// Whether a reply of `bytes` bytes would be written over one that `outbox` is still to send.
    #[inline(always)]
    pub(super) fn overwrites(&self, bytes: u32, outbox: &Outbox) -> bool {
        self.retention.overwrites(outbox.oldest(), bytes)
    }

    /// Remembers what became of the RPC `tid` of whom `outbox` has addressed last, and sends it.
    /// Its reply begins in the slot `first`.
    #[inline(always)]
    pub(super) fn end(
        &mut self,
        (tid, entry): (TransferId, EntryId),
        (first, ending): (Slots<'_>, &Ending),
        (counters, outbox): (&mut NetworkCounters, &mut Outbox),
    ) {
        let body = match ending.fate {
            Fate::Replied => match self.keep_reply(entry, (first, ending), outbox) {
                Some((at, reply)) => return outbox.push_reply(tid, at, reply),
                None => self.end_faulted(tid, entry, Fault::ReplyTooLarge),
            },
            Fate::Open => self.end_faulted(tid, entry, Fault::Unanswered),
            Fate::Faulted(fault) => self.end_faulted(tid, entry, fault),
            Fate::Refused(reason) => {
                counters.expired += u64::from(reason == NackReason::Expired);
                counters.cancelled += u64::from(reason == NackReason::Cancelled);
                self.retention.end_nacked(entry, reason);
                nack(tid, reason)
            }
        };
        outbox.push(body);
    }

    /// Stores a reply in the ring; `None` where it is longer than that.
    #[inline(always)]
    fn keep_reply(
        &mut self,
        entry: EntryId,
        (first, ending): (Slots<'_>, &Ending),
        outbox: &mut Outbox,
    ) -> Option<(ReplyAt, &[u8])> {
        let bytes = ending.bytes();
        if self.overwrites(bytes, outbox) {
            outbox.move_replies(&self.retention, &self.replies);
        }
        let at = self.retention.end_replied(entry, bytes)?;
        let start = self.retention.reply_offset(at);
        let reply = &mut self.replies[start..start + bytes as usize];
        ending.copy_reply(first, reply);
        Some((at, reply))
    }

    /// As [`end`](Self::end), of a reply of one packet that is in `reply`.
    pub(super) fn end_with(&mut self, (tid, entry): (TransferId, EntryId), reply: &[u8], outbox: &mut Outbox) {
        #[expect(clippy::cast_possible_truncation, reason = "a reply of one packet")]
        let bytes = reply.len() as u32;
        if self.overwrites(bytes, outbox) {
            outbox.move_replies(&self.retention, &self.replies);
        }
        let Some(at) = self.retention.end_replied(entry, bytes) else {
            let fault = self.end_faulted(tid, entry, Fault::ReplyTooLarge);
            return outbox.push(fault);
        };
        let start = self.retention.reply_offset(at);
        self.replies[start..start + reply.len()].copy_from_slice(reply);
        outbox.push_reply(tid, at, reply);
    }

    #[cold]
    fn end_faulted(&mut self, tid: TransferId, entry: EntryId, fault: Fault) -> Body {
        self.retention.end_faulted(entry, u8::try_from(fault.code()).unwrap_or(u8::MAX));
        Body::Message(Message::Fault { tid, code: fault.code() })
    }
}

pub(super) fn nack(tid: TransferId, reason: NackReason) -> Body {
    Body::Message(Message::Nack { tid, code: reason.code().into() })
}

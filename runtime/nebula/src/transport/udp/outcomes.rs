//! A server's memory of the last RPCs of all its clients: fates, and replies to send again.

use super::message::Message;
use super::outbox::{Body, Outbox};
use crate::rpc::answer::{Ending, Fate};
use crate::rpc::fault::Fault;
use crate::rpc::slot::Slots;
use crate::status::Status;
use nebula_nic::{EntryId, NackReason, ReplyAt, Retention, RetentionConfig, TransferId};

#[derive(Debug)]
pub(super) struct Outcomes {
    pub(super) retention: Retention,
    replies: Box<[u8]>,
}

impl Outcomes {
    pub(super) fn new(config: RetentionConfig) -> Self {
        let retention = Retention::new(config);
        // Not zeros, whose pages the kernel allocates at their first use: RPCs would pay for that.
        Self { replies: vec![1; retention.reply_bytes()].into(), retention }
    }

    pub(super) fn replies(&self) -> (&Retention, &[u8]) {
        (&self.retention, &self.replies)
    }

    /// Whether a reply of `bytes` bytes would overwrite one that `outbox` has not sent.
    #[inline(always)]
    pub(super) fn overwrites(&self, bytes: u32, outbox: &Outbox) -> bool {
        self.retention.overwrites(outbox.oldest(), bytes)
    }

    /// Remembers and sends the answer to `tid` of the addressed client; a reply begins in `first`.
    #[inline(always)]
    pub(super) fn end(
        &mut self,
        (tid, entry): (TransferId, EntryId),
        (first, ending): (Slots<'_>, &Ending),
        (counters, outbox): (&mut Status, &mut Outbox),
    ) {
        let body = match ending.fate {
            Fate::Replied => match self.keep_reply(entry, (first, ending), outbox) {
                Some((at, reply)) => return outbox.push_reply(tid, at, reply),
                None => self.end_faulted(tid, entry, Fault::ReplyTooLarge),
            },
            Fate::Open => self.end_faulted(tid, entry, Fault::Unanswered),
            Fate::Faulted(fault) => self.end_faulted(tid, entry, fault),
            Fate::Refused(reason) => {
                counters.nacked_expired += u64::from(reason == NackReason::Expired);
                counters.cancelled += u64::from(reason == NackReason::Cancelled);
                self.retention.end_nacked(entry, reason);
                nack(tid, reason)
            }
        };
        outbox.push(body);
    }

    /// Stores a reply in the ring; `None` if it is longer than the ring.
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

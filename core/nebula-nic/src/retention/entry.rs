//! One remembered RPC, and the answers of the memory about it.

use crate::id::RpcKey;
use crate::verdict::NackReason;

/// The identity of one RPC in the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RetentionKey {
    /// Source node and transfer.
    pub rpc: RpcKey,
    /// Tells apart nodes that got the same number in turn, by bits of their address or key.
    pub tag: u32,
}

/// The entry of an RPC in the memory: stable while the RPC is in the server, then reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(pub u32);

impl EntryId {
    /// The index in an array with as many entries.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a reply is stored in the ring of replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyAt {
    /// The ring position at which it begins: the bytes since the ring was empty, so it only grows.
    pub start: u64,
    /// Its length.
    pub bytes: u32,
}

/// The state of an RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Unknown, and it cannot have been forgotten: it may be executed.
    New,
    /// It is in the server: being reassembled, waiting, or served.
    InServer(EntryId),
    /// It was replied to, and its reply is still stored.
    Replied(ReplyAt),
    /// It was refused.
    Nacked(NackReason),
    /// It was begun and has no reply, for the reason of that code.
    Faulted(u8),
    /// It may have been forgotten, or its reply is gone: it must not be executed.
    Stale,
}

impl Seen {
    /// Why another copy of the RPC is refused, and a question about its reply, if so. An unknown
    /// RPC may have been forgotten: whether it was executed is unknown.
    #[must_use]
    pub const fn refusal(self) -> Option<NackReason> {
        match self {
            Self::Nacked(reason) => Some(reason),
            Self::New | Self::Stale => Some(NackReason::Stale),
            Self::InServer(_) | Self::Replied(_) | Self::Faulted(_) => None,
        }
    }
}

/// No further RPC can be remembered: all those remembered are in the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("every RPC that can be remembered is in the server: give the retention more entries")]
pub struct RetentionFull;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fate {
    #[default]
    None,
    InServer,
    Replied,
    Nacked(NackReason),
    Faulted(u8),
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    pub(super) stamp_ns: u64,
    /// Replied: the ring's position of the reply.
    pub(super) reply_start: u64,
    pub(super) key: RetentionKey,
    /// In the server: the caller's note. Replied: bytes of the reply.
    pub(super) detail: u32,
    pub(super) fate: Fate,
}

const _: () = assert!(size_of::<Entry>() <= 40, "millions of entries are kept");

impl Entry {
    #[inline]
    pub(super) const fn reply(&self) -> ReplyAt {
        ReplyAt { start: self.reply_start, bytes: self.detail }
    }
}

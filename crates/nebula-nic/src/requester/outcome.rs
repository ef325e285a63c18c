//! What goes into a requester and what comes out.

use crate::outbound::Outbound;
use crate::time::Timestamp;
use crate::verdict::{DropReason, NackReason};

/// An RPC to begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Payload in bytes.
    pub bytes: u32,
    /// Hash of the key it is about, for `key-hash`.
    pub key_hash: u32,
    /// Which of the caller's servers gets the first try.
    pub server: u16,
    /// The caller's name for the RPC; comes back with every outcome.
    pub token: u64,
}

/// As many RPCs are outstanding as the table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{outstanding} RPCs are outstanding, as many as the table holds: take replies in first, or give it more room")]
pub struct TableFull {
    pub(super) outstanding: u32,
}

/// What a packet means to the requester.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The reply is whole with this packet; the RPC is over.
    Reply {
        /// Which RPC.
        token: u64,
        /// The whole reply in bytes.
        bytes: u32,
        /// Where in it this packet's payload begins.
        offset_bytes: u32,
        /// Payload of this packet.
        packet_bytes: u32,
    },
    /// Part of a reply of which more is to come.
    Part {
        /// Which RPC.
        token: u64,
        /// Where in the reply this packet's payload begins.
        offset_bytes: u32,
        /// Payload of this packet.
        packet_bytes: u32,
    },
    /// The server has taken the request in.
    Acked {
        /// Which RPC.
        token: u64,
    },
    /// NACKed; [`Requester::poll_retry`](super::Requester::poll_retry) gives the next try from `at` on.
    Retry {
        /// Which RPC.
        token: u64,
        /// When.
        at: Timestamp,
    },
    /// NACKed; the next try is for another server, at once.
    Redirect {
        /// Which RPC.
        token: u64,
        /// Which server.
        server: u16,
        /// The packets to send there.
        outbound: Outbound,
    },
    /// NACKed, and the policy has no further try, or none before the deadline; the RPC is over.
    GaveUp {
        /// Which RPC.
        token: u64,
        /// Why the last try was refused; `None` if the NACK gave no reason that exists.
        reason: Option<NackReason>,
    },
    /// The packet disagrees with the reply it says it belongs to, or with the longest reply; the RPC goes on.
    Refused {
        /// Which RPC.
        token: u64,
        /// Why.
        reason: DropReason,
    },
    /// The packet, or the whole answer, has come before.
    Duplicate,
    /// No RPC of this number is outstanding, or the packet is for another node.
    Unknown,
}

/// Another try of an RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resend {
    /// Which RPC.
    pub token: u64,
    /// Which server.
    pub server: u16,
    /// The packets to send.
    pub outbound: Outbound,
}

/// An RPC that is over without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expired {
    /// Which RPC.
    pub token: u64,
}

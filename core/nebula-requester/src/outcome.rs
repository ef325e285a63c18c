//! The arguments and results of a requester.

use nebula_nic::outbound::Outbound;
use nebula_nic::time::Timestamp;
use nebula_nic::verdict::{DropReason, NackReason};

/// An RPC to begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Payload in bytes.
    pub bytes: u32,
    /// Hash of the key it is about, for `key-hash`.
    pub key_hash: u32,
    /// Which of the caller's servers gets the first try.
    pub server: u16,
    /// The caller's identifier for the RPC; returned with every outcome.
    pub token: u64,
}

/// As many RPCs are outstanding as the table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{outstanding} RPCs are outstanding, as many as the table holds: receive replies first, or give it more room")]
pub struct TableFull {
    pub(super) outstanding: u32,
}

/// What a packet means to the requester.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The reply is complete with this packet; the RPC has ended.
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
    /// Part of a reply of which more will arrive.
    Part {
        /// Which RPC.
        token: u64,
        /// Where in the reply this packet's payload begins.
        offset_bytes: u32,
        /// Payload of this packet.
        packet_bytes: u32,
    },
    /// The server has received the whole request.
    Acked {
        /// Which RPC.
        token: u64,
    },
    /// NACKed; [`Requester::poll_retry`](super::Requester::poll_retry) tries again from `at` on.
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
    /// NACKed, and the policy allows no other try before the deadline; the RPC has ended.
    GaveUp {
        /// Which RPC.
        token: u64,
        /// Why the last try was refused; `None` if the NACK has an unknown reason.
        reason: Option<NackReason>,
    },
    /// The packet disagrees with its reply or the longest one allowed; the RPC stays outstanding.
    Refused {
        /// Which RPC.
        token: u64,
        /// Why.
        reason: DropReason,
    },
    /// The packet, or the whole answer, is a duplicate.
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

/// An RPC that ended without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expired {
    /// Which RPC.
    pub token: u64,
}

//! The configuration of a requester.

use super::retry::RetryPolicy;
use nebula_nic::id::{NodeId, TransferId};
use nebula_nic::time::Span;
use nebula_nic::wire::Mtu;

/// The bounds of a requester, which allocates nothing after construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequesterConfig {
    /// The node it sends as.
    pub snid: NodeId,
    /// The most RPCs outstanding, rounded up to a power of two;
    /// [`Requester::begin`](super::Requester::begin) fails beyond.
    pub outstanding: u32,
    /// Payload of one packet, of requests and replies.
    pub mtu: Mtu,
    /// The longest reply; packets of longer ones are refused.
    pub reply_bytes_max: u32,
    /// The time of an RPC from its begin, over all tries; [`Span::MAX`] for none.
    pub deadline: Span,
    /// The policy after a NACK.
    pub retry: RetryPolicy,
    /// The number of the first transfer. A random one makes answers harder to forge. 0 by default.
    pub first_tid: TransferId,
}

impl RequesterConfig {
    /// Whether a [`Requester`](super::Requester) can have it, without making one.
    ///
    /// # Errors
    ///
    /// As [`Requester::try_new`](super::Requester::try_new).
    pub const fn validate(&self) -> Result<(), RequesterConfigError> {
        if self.outstanding < 1 || self.outstanding > OUTSTANDING_MAX {
            return Err(RequesterConfigError::Outstanding { got: self.outstanding });
        }
        self.retry.validate()
    }

    /// Up to `outstanding` RPCs, packets and replies up to 64 B, no deadline; a NACK ends the RPC.
    #[must_use]
    pub const fn new(snid: NodeId, outstanding: u32) -> Self {
        let (mtu, deadline, retry) = (Mtu::MIN, Span::MAX, RetryPolicy::GiveUp);
        Self { snid, outstanding, mtu, reply_bytes_max: mtu.bytes(), deadline, retry, first_tid: TransferId(0) }
    }

    nebula_nic::setters! {
        /// Sets the payload of one packet.
        mtu: Mtu;
        /// Sets the length of the longest reply.
        reply_bytes_max: u32;
        /// Sets the deadline of an RPC, over all its tries.
        deadline: Span;
        /// Sets the number of the first transfer.
        first_tid: TransferId;
        /// Sets the policy after a NACK.
        retry: RetryPolicy;
    }
}

/// The most RPCs that one requester can have outstanding.
pub const OUTSTANDING_MAX: u32 = 1 << 24;

/// Invalid bounds of a requester.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequesterConfigError {
    /// Zero RPCs could be outstanding, or too many.
    #[error("a requester cannot have {got} RPCs outstanding: give 1 to {OUTSTANDING_MAX}")]
    Outstanding {
        /// The number asked for.
        got: u32,
    },
    /// A retry policy without a try.
    #[error("a retry policy with 0 attempts sends nothing: give at least 1, the first try included")]
    Attempts,
    /// No server to retry at.
    #[error("a retry at another server needs servers: give at least 1")]
    Servers,
}

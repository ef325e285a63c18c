//! What can go wrong for a client, each in one line.

use crate::endpoint::EndpointError;
use crate::engine::egress::Fault;
use crate::transport::shm::handshake::Refusal;
use nebula_nic::{NackReason, RequesterConfigError};
use nebula_sys::shared::SharedError;

/// A connection that could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The endpoint is none.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// Nobody serves there.
    #[error("nobody serves shm://{name}: start a server there first, such as: nebula serve kv --endpoint shm://{name}")]
    NobodyServes {
        /// The name asked for.
        name: String,
    },
    /// The server said no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The server belongs to another user.
    #[error("shm://{name} is served by user id {uid}, not by this one or root: not trusted")]
    ServerUserId {
        /// The name asked for.
        name: String,
        /// The server's user id.
        uid: u32,
    },
    /// What answered does not speak this protocol, or went away.
    #[error("what answered at shm://{name} is no server of this protocol, or ended while it answered")]
    Handshake {
        /// The name asked for.
        name: String,
    },
    /// A system call failed.
    #[error("cannot connect to shm://{name}: {cause}")]
    System {
        /// The name asked for.
        name: String,
        /// The kernel's reason.
        cause: std::io::Error,
    },
    /// The ring could not be mapped.
    #[error(transparent)]
    Memory(#[from] SharedError),
    /// A reply of the size asked for would not fit the ring.
    #[error("replies of {bytes} bytes do not fit a ring of {slots} slots: ask for more slots or smaller replies")]
    ReplyTooLarge {
        /// Bytes asked for.
        bytes: u32,
        /// Slots asked for.
        slots: u32,
    },
    /// The retry policy or the number of slots cannot be.
    #[error(transparent)]
    Requester(#[from] RequesterConfigError),
}

/// An RPC that was not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// All slots hold RPCs that are not over.
    #[error("the ring is full: take answers with poll() first")]
    Full,
    /// The request is longer than the server takes.
    #[error("a request of {bytes} bytes is too large: the server takes up to {max}")]
    TooLarge {
        /// Its length.
        bytes: usize,
        /// The longest that the server takes.
        max: u32,
    },
    /// The server is gone.
    #[error("the server is gone")]
    ServerGone,
}

/// An RPC without a reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The server refused it at once, because it would have missed the SLO or found no room. It was not executed.
    #[error("NACK: {reason}")]
    Nack {
        /// Why.
        reason: NackReason,
    },
    /// It was executed, or begun, and has no reply.
    #[error(transparent)]
    Fault(Fault),
    /// The server is gone; whether it was executed is unknown.
    #[error("the server is gone")]
    ServerGone,
    /// No answer in time; whether it was or will be executed is unknown.
    #[error("no answer in time")]
    TimedOut,
    /// It was not sent.
    #[error(transparent)]
    NotSent(SubmitError),
    /// The server answered something that this version does not know.
    #[error("the server answered something that this version does not know")]
    Protocol,
}

impl From<SubmitError> for CallError {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::ServerGone => Self::ServerGone,
            error => Self::NotSent(error),
        }
    }
}

//! What can go wrong for a client, each in one line.

use crate::endpoint::EndpointError;
use crate::engine::egress::Fault;
use crate::transport::shm::handshake::Refusal;
use nebula_nic::{NackReason, RequesterConfigError, Span};
use nebula_sys::shared::SharedError;

/// A connection that could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The endpoint is none.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// Nobody serves there.
    #[error("nobody serves {endpoint}: start a server there first, such as: nebula serve kv --endpoint {endpoint}")]
    NobodyServes {
        /// Where it was looked for.
        endpoint: String,
    },
    /// Nothing, or nothing that this client takes, has come from there in time.
    #[error("no answer from {endpoint} in {waited}: {hint}")]
    Silent {
        /// Where it was looked for.
        endpoint: String,
        /// How long it was waited for: the configured `call_timeout`.
        waited: Span,
        /// What was seen meanwhile, if anything.
        hint: Hint,
    },
    /// The server does not go on with this client.
    #[error("{endpoint} refuses this client: {hint}")]
    Door {
        /// Where it was looked for.
        endpoint: String,
        /// Why.
        hint: Hint,
    },
    /// Datagrams to and from another machine would be open to all on the way.
    #[error(
        "{endpoint} is another machine: give a key that the server has too, or say that the network is trusted with --insecure"
    )]
    Open {
        /// Where the server is looked for.
        endpoint: String,
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
    #[error("cannot connect to {endpoint}: {cause}")]
    System {
        /// Where the server is looked for.
        endpoint: String,
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
    /// The server's replies may be longer than this client has room for.
    #[error(
        "the server's replies have up to {server} bytes and this client has room for {client}: \
         set ClientConfig::reply_bytes_max to {server} or more"
    )]
    ReplyRoom {
        /// The longest reply that the server sends, in bytes.
        server: u32,
        /// The longest reply that the client has room for, in bytes.
        client: u32,
    },
    /// The retry policy or the number of slots cannot be.
    #[error(transparent)]
    Requester(#[from] RequesterConfigError),
}

/// What was seen of a server that did not let a client in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// Nothing.
    Nothing,
    /// It takes sealed datagrams only.
    KeyWanted,
    /// It has no key.
    NoKey,
    /// Nothing; it may have another key.
    OtherKey,
    /// It speaks another version.
    Version,
}

impl std::fmt::Display for Hint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Nothing => "nobody serves there, it is out of reach, or it has another key",
            Self::KeyWanted => "it takes only who has its key: give the server's key file with --key-file",
            Self::NoKey => "it has no key: start it with this client's, or connect without",
            Self::OtherKey => "a server with another key does not answer",
            Self::Version => "it speaks another version of the protocol",
        })
    }
}

/// An RPC that was not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// All slots hold RPCs that are not over; over UDP also when as much is on its way as network and server have been seen to take.
    #[error("there is no room: take answers with poll() first")]
    Full,
    /// The request is longer than the server takes.
    #[error("a request of {bytes} bytes is too large: the server takes up to {max}")]
    TooLarge {
        /// Its length.
        bytes: usize,
        /// The longest that the server takes.
        max: u32,
    },
    /// Over UDP: the server that has answered, or has taken another's place, may send longer replies than this client has room for.
    #[error(
        "the server's replies have up to {server} bytes and this client has room for {client}: \
         connect with ClientConfig::reply_bytes_max of {server} or more"
    )]
    ReplyRoom {
        /// The longest reply that the server sends, in bytes.
        server: u32,
        /// The longest reply that the client has room for, in bytes.
        client: u32,
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
    /// It is older than what the server remembers: whether it was executed is unknown, and it will not be any more.
    #[error("too old to be told apart: whether it was executed is unknown; it will not be again")]
    Stale,
    /// Its deadline was over before a core began it: it was not executed.
    #[error("its deadline was over before it was begun")]
    Expired,
    /// It was taken back with [`Client::cancel`](crate::Client::cancel).
    #[error("cancelled")]
    Cancelled,
    /// [`Client::call`](crate::Client::call) while RPCs submitted before are outstanding: their answers would be lost. It was not sent.
    #[error(
        "call() while {rpcs} submitted RPCs are outstanding: take their answers with poll() first, or submit() this one too"
    )]
    Outstanding {
        /// RPCs submitted and not over.
        rpcs: u32,
    },
    /// It was not sent.
    #[error(transparent)]
    NotSent(SubmitError),
    /// The server answered something that this version does not know.
    #[error("the server answered something that this version does not know")]
    Protocol,
}

impl CallError {
    /// The end of an RPC that was refused; `None` for a reason that does not exist.
    pub(crate) fn refused(reason: Option<NackReason>) -> Self {
        match reason {
            None => Self::Protocol,
            Some(NackReason::Stale) => Self::Stale,
            Some(NackReason::Expired) => Self::Expired,
            Some(NackReason::Cancelled) => Self::Cancelled,
            Some(reason) => Self::Nack { reason },
        }
    }
}

impl From<SubmitError> for CallError {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::ServerGone => Self::ServerGone,
            error => Self::NotSent(error),
        }
    }
}

//! The errors of a client, each with a message of one line.

use crate::endpoint::{EndpointError, ResolveError};
use crate::rpc::fault::Fault;
use crate::transport::shm::handshake::Refusal;
use nebula_nic::{AccessRefusal, NackReason, Span};
use nebula_requester::{HedgeConfigError, RequesterConfigError};
use nebula_sys::shared::SharedError;

/// A connection that could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The text is not an endpoint.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The servers could not be found.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// More servers than one client can have.
    #[error("{given} servers are too many for one client: name at most {max}")]
    TooManyServers {
        /// How many were named.
        given: usize,
        /// How many there may be.
        max: u16,
    },
    /// One-sided operations need a single server.
    #[error("one-sided operations are made on one server: name one endpoint, or set ClientConfig::one_sided to false")]
    OneSidedOfSeveral,
    /// The endpoint names no server: it is a server's own.
    #[error("{endpoint} does not say where the server is: connect to xdp://INTERFACE/ADDRESS:PORT")]
    XdpPeer {
        /// The endpoint.
        endpoint: String,
    },
    /// Packets pass through the server, and it answers no requests.
    #[error("{endpoint} is a server that packets go through: no client connects to it")]
    PacketsOnly {
        /// The endpoint.
        endpoint: String,
    },
    /// The server's bytes are not Nebula's protocol.
    #[error(
        "{endpoint} is for clients of other protocols, such as memcached's: name an endpoint that Nebula's clients use"
    )]
    OthersProtocol {
        /// The endpoint.
        endpoint: String,
    },
    /// No server runs at the endpoint.
    #[error("nobody serves {endpoint}: start a server there first, such as: nebula serve kv --endpoint {endpoint}")]
    NobodyServes {
        /// The endpoint.
        endpoint: String,
    },
    /// No valid answer has arrived in time.
    #[error("no answer from {endpoint} in {waited}: {hint}")]
    Silent {
        /// The endpoint.
        endpoint: String,
        /// How long the client waited: the configured `call_timeout`.
        waited: Span,
        /// The likely cause.
        hint: Hint,
    },
    /// The server refuses this client: the keys or the versions differ.
    #[error("{endpoint} refuses this client: {hint}")]
    NotAdmitted {
        /// The endpoint.
        endpoint: String,
        /// Why.
        hint: Hint,
    },
    /// The server is on another machine and there is no key: anyone on the path could read and
    /// forge the RPCs.
    #[error(
        "{endpoint} is another machine: give the server's key (ClientConfig::key, --key-file), or accept an open network \
         (ClientConfig::insecure, --insecure)"
    )]
    Open {
        /// The endpoint.
        endpoint: String,
    },
    /// The server refused the handshake.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The server belongs to another user.
    #[error(
        "shm://{name} is served by user id {uid}, and only this user's servers and root's are trusted: run client and server as one user"
    )]
    ServerUserId {
        /// The name asked for.
        name: String,
        /// The server's user id.
        uid: u32,
    },
    /// The peer does not speak this protocol, or it ended during the handshake.
    #[error(
        "the process at shm://{name} does not speak this protocol, or ended during the handshake: try again, or look what serves there"
    )]
    Handshake {
        /// The name asked for.
        name: String,
    },
    /// A system call failed.
    #[error("cannot connect to {endpoint}: {cause}")]
    System {
        /// The endpoint.
        endpoint: String,
        /// The kernel's reason.
        cause: std::io::Error,
    },
    /// The shared memory could not be mapped.
    #[error(transparent)]
    Memory(#[from] SharedError),
    /// The longest reply does not fit the ring.
    #[error("replies of {bytes} bytes do not fit a ring of {slots} slots: ask for more slots or smaller replies")]
    ReplyTooLarge {
        /// Room for a reply, in bytes.
        bytes: u32,
        /// Slots of the ring.
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
    /// The client waits for grants and the server gives none.
    #[error(
        "{endpoint} grants no packets, and under homa a client waits for grants: \
         set ClientConfig::flow to FlowKind::Window (--flow window)"
    )]
    NoGrants {
        /// The endpoint.
        endpoint: String,
    },
    /// The retry policy or the number of slots is impossible.
    #[error(transparent)]
    Requester(#[from] RequesterConfigError),
    /// The hedge is impossible.
    #[error(transparent)]
    Hedge(#[from] HedgeConfigError),
}

/// Why a server did not accept a client, as far as the client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// Unknown.
    Nothing,
    /// The server accepts only clients with its key.
    KeyWanted,
    /// The server has no key.
    NoKey,
    /// Unknown. The server may have another key.
    OtherKey,
    /// The server speaks another version.
    Version,
    /// The server serves another messaging domain.
    Domain,
}

impl std::fmt::Display for Hint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Nothing => "no server runs there, it cannot be reached, or it has a key",
            Self::KeyWanted => "it accepts only clients with its key: give that key (ClientConfig::key, --key-file)",
            Self::NoKey => "it has no key: start it with this client's key, or connect without one",
            Self::OtherKey => "no server runs there, it cannot be reached, or it has another key",
            Self::Domain => "it serves another messaging domain: give the one that it serves (ClientConfig::domain)",
            Self::Version => "it speaks another version of the protocol: build client and server from one release",
        })
    }
}

/// An RPC that was not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// All slots hold outstanding RPCs. Over UDP also: the window is full, which is as much as
    /// network and server can take.
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
    /// Over UDP: the server's replies may be longer than this client has room for.
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
    /// Over UDP: the client waits for grants and the server gives none.
    #[error("the server grants no packets, and under homa a client waits for grants: connect with FlowKind::Window")]
    NoGrants,
    /// The client makes no one-sided operations.
    #[error("this client makes no one-sided operations: connect with ClientConfig::one_sided")]
    NotOneSided,
    /// The server is gone.
    #[error("the server is gone: connect again")]
    ServerGone,
    /// This process is a fork of the one that made the client, and would use its numbers, or its
    /// ring, a second time.
    #[error("this process is a fork of the one that connected: connect again")]
    Forked,
}

/// Why an RPC has no reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The server refused it at once: it would have missed the SLO, or there was no room. It was
    /// not executed.
    #[error("NACK: {reason}")]
    Nack {
        /// Why.
        reason: NackReason,
    },
    /// It was begun, perhaps executed, and has no reply.
    #[error(transparent)]
    Fault(Fault),
    /// The server refused a one-sided operation. Other blocks of a longer write may have been
    /// written.
    #[error("one-sided operation refused: {refusal}")]
    Refused {
        /// Why.
        refusal: AccessRefusal,
    },
    /// The server is gone. It is unknown whether the RPC was executed.
    #[error("the server is gone: connect again")]
    ServerGone,
    /// No answer arrived in time. It is unknown whether the RPC was or will be executed.
    #[error("no answer in time")]
    TimedOut,
    /// Over UDP: it is older than the server's memory. It is unknown whether it was executed; it
    /// will not be executed again.
    #[error(
        "older than what the server remembers: it is unknown whether it was executed, and it will not be executed again"
    )]
    Stale,
    /// Its deadline was over before a worker began it. It was not executed.
    #[error("the deadline was over before the RPC was begun: it was not executed")]
    Expired,
    /// It was cancelled with [`Client::cancel`](crate::Client::cancel). It is unknown whether it
    /// was or will be executed.
    #[error("cancelled")]
    Cancelled,
    /// [`Client::call`](crate::Client::call) was called while submitted RPCs are outstanding, whose
    /// answers would be lost. It was not sent.
    #[error(
        "call() while {rpcs} submitted RPCs are outstanding: take their answers with poll() first, or submit() this one too"
    )]
    Outstanding {
        /// RPCs submitted and not ended.
        rpcs: u32,
    },
    /// It was not sent.
    #[error(transparent)]
    NotSent(SubmitError),
    /// This process is a fork of the one that submitted it and that gets the answer. It is unknown
    /// here whether it was executed.
    #[error("this process is a fork of the one that submitted the RPC: its answer comes there")]
    Forked,
    /// The answer is not part of this version's protocol.
    #[error("the answer is unknown to this version: build client and server from one release")]
    Protocol,
}

/// Whether an RPC that has no reply was executed.
///
/// A handler runs at most once for each RPC, so `Yes` also means that it will not run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Executed {
    /// The handler ran to its end, or until it panicked. A service of bursts
    /// ([`Service::serve_burst`](crate::Service::serve_burst)) was called with it, whether or not
    /// it took it.
    Yes,
    /// No handler has seen it or will, except one that only [refused](crate::Reply::refuse) it.
    No,
    /// It was executed, will be, or neither. Repeat it only if that does no harm.
    Unknown,
}

impl CallError {
    /// Whether the RPC was executed, as far as its client can know.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula::{CallError, Executed, NackReason};
    ///
    /// // Whatever was not executed can be tried again without harm.
    /// let nacked = CallError::Nack { reason: NackReason::QueueBound };
    /// assert_eq!(nacked.was_executed(), Executed::No);
    /// assert_eq!(CallError::TimedOut.was_executed(), Executed::Unknown);
    /// ```
    #[must_use]
    pub const fn was_executed(&self) -> Executed {
        // Without a wildcard, here and below: the author of a variant must decide.
        match self {
            Self::Nack { reason } => was_executed_of(*reason),
            Self::Fault(fault) => match fault {
                Fault::ReplyTooLarge | Fault::HandlerPanicked | Fault::Unanswered => Executed::Yes,
            },
            Self::Expired | Self::Outstanding { .. } => Executed::No,
            Self::NotSent(error) => match error {
                SubmitError::Full
                | SubmitError::TooLarge { .. }
                | SubmitError::ReplyRoom { .. }
                | SubmitError::NoGrants
                | SubmitError::NotOneSided
                | SubmitError::ServerGone
                | SubmitError::Forked => Executed::No,
            },
            Self::Refused { .. } => Executed::Unknown,
            // The client does not learn whether a cancelled RPC was begun.
            Self::Cancelled | Self::ServerGone | Self::TimedOut | Self::Stale | Self::Forked | Self::Protocol => {
                Executed::Unknown
            }
        }
    }

    /// The end of a refused RPC; a protocol error for an unknown reason.
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

const fn was_executed_of(reason: NackReason) -> Executed {
    match reason {
        NackReason::BufferFull
        | NackReason::ReassemblerFull
        | NackReason::QueueBound
        | NackReason::TooLarge
        | NackReason::Expired
        | NackReason::Incomplete
        | NackReason::Cancelled => Executed::No,
        NackReason::Stale => Executed::Unknown,
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

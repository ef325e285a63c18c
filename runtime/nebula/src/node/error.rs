//! Why a node cannot join a domain, wait in it, or send.

use crate::client::{ConnectError, SubmitError};
use crate::config::error::ServeError;

/// Why a call of a [`Node`](crate::Node) failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// The node is neither server nor client there.
    #[error("this node is not in domain {domain}: join it with Node::host or Node::connect")]
    NoDomain {
        /// The domain.
        domain: u8,
    },
    /// The peer was connected to in another domain.
    #[error("the peer is of domain {peer} and not of domain {domain}")]
    OtherDomain {
        /// The domain that was given.
        domain: u8,
        /// The peer's.
        peer: u8,
    },
    /// A node has one receive buffer in a domain.
    #[error("this node is a server of domain {domain} already: give each node one endpoint in a domain")]
    Hosted {
        /// The domain.
        domain: u8,
    },
    /// The node's server has stopped.
    #[error("the node's server of domain {domain} has stopped")]
    Stopped {
        /// The domain.
        domain: u8,
    },
    /// It would wait without end.
    #[error("nothing can come in domain {domain}: the node has no server there and no request outstanding")]
    NothingToWaitFor {
        /// The domain.
        domain: u8,
    },
    /// The server cannot be started.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The client cannot connect.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The request was not sent.
    #[error(transparent)]
    NotSent(#[from] SubmitError),
}

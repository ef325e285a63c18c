//! The errors of a typed client.

use super::status::{self, Status};
use nebula::{self as client, Executed};
use nebula_build::schema::{Fingerprint, Misfit};

/// Why a typed RPC has no reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The service answered with an error.
    #[error(transparent)]
    Status(Status),
    /// There is no answer: a NACK, a timeout, a server that has stopped.
    #[error(transparent)]
    Rpc(client::CallError),
    /// The bytes of the reply are no message of the method.
    #[error("the reply's bytes are no message of the method: is another server there?")]
    Malformed,
}

impl CallError {
    /// Whether the RPC was executed, as far as is known. A status counts as executed.
    #[must_use]
    pub const fn was_executed(&self) -> Executed {
        match self {
            Self::Status(_) => Executed::Yes,
            Self::Rpc(error) => error.was_executed(),
            Self::Malformed => Executed::Unknown,
        }
    }

    /// Why `reply` holds no message of its method.
    #[cold]
    pub(crate) fn of_reply(reply: &[u8]) -> Self {
        match status::open(reply) {
            Some(Err(status)) => Self::Status(status),
            Some(Ok(_)) | None => Self::Malformed,
        }
    }

    /// The service's status, if it answered with one.
    #[must_use]
    pub const fn status(&self) -> Option<&Status> {
        match self {
            Self::Status(status) => Some(status),
            Self::Rpc(_) | Self::Malformed => None,
        }
    }
}

impl From<client::CallError> for CallError {
    fn from(error: client::CallError) -> Self {
        Self::Rpc(error)
    }
}

/// A typed client that could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// There is no connection.
    #[error(transparent)]
    Connect(#[from] client::ConnectError),
    /// The server was reached, but did not answer about its schema.
    #[error("{service}: the server did not say which schema it has: {cause}")]
    Asked {
        /// The service.
        service: &'static str,
        /// Why it did not answer.
        cause: CallError,
    },
    /// The server has other services.
    #[error("the server does not have {service}")]
    NotServed {
        /// The service.
        service: &'static str,
    },
    /// Client and server were built from schemas that do not fit.
    #[error("{service}: the schemas do not fit: {client} here, {server} at the server: {misfit}")]
    Schema {
        /// The service.
        service: &'static str,
        /// The client's schema.
        client: Fingerprint,
        /// The server's schema.
        server: Fingerprint,
        /// The difference.
        misfit: Misfit,
    },
}

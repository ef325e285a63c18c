//! Errors of the libraries as failures of a command, and so as exit codes.

use nebula::{ConnectError, ServeError};
use nebula_kvs::StoreError;
use nebula_ui::Failure;

/// A result whose error ends the command.
pub trait OrFail<T> {
    /// The value.
    ///
    /// # Errors
    ///
    /// Invalid input or a fault, by the kind of error.
    fn or_fail(self) -> Result<T, Failure>;
}

impl<T> OrFail<T> for Result<T, ConnectError> {
    fn or_fail(self) -> Result<T, Failure> {
        use ConnectError as E;
        self.map_err(|error| match error {
            E::Endpoint(_) | E::Resolve(_) | E::TooManyServers { .. } | E::ReplyTooLarge { .. } | E::Open { .. } => {
                Failure::bad_input(error)
            }
            _ => Failure::fault(error),
        })
    }
}

impl<T> OrFail<T> for Result<T, ServeError> {
    fn or_fail(self) -> Result<T, Failure> {
        use ServeError as E;
        self.map_err(|error| match error {
            E::Taken { .. } | E::System(_) | E::Memory(_) | E::Shared(_) | E::Log(_) => Failure::fault(error),
            _ => Failure::bad_input(error),
        })
    }
}

impl<T> OrFail<T> for Result<T, StoreError> {
    fn or_fail(self) -> Result<T, Failure> {
        self.map_err(|error| match std::error::Error::source(&error) {
            Some(cause) => Failure::fault(format!("{error}: {cause}")),
            None => Failure::bad_input(error),
        })
    }
}

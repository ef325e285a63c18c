//! Errors of commands, and their exit codes.

use std::process::ExitCode;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Invalid input; the message says what is valid.
    #[error("{0}")]
    BadInput(String),
    /// An error at run time.
    #[error("{0}")]
    Fault(String),
    /// Ended by a signal.
    #[error("interrupted")]
    Interrupted,
    /// The reader of standard output has gone.
    #[error("nobody reads standard output any more")]
    NobodyReads,
}

impl Failure {
    pub(crate) fn bad_input(what: impl std::fmt::Display) -> Self {
        Self::BadInput(one_line(&what.to_string()))
    }

    pub(crate) fn fault(what: impl std::fmt::Display) -> Self {
        Self::Fault(one_line(&what.to_string()))
    }

    /// The line for standard error, if there is one.
    pub(crate) fn line(&self) -> Option<String> {
        match self {
            Self::BadInput(line) | Self::Fault(line) => Some(format!("error: {line}")),
            Self::Interrupted | Self::NobodyReads => None,
        }
    }

    /// 2 for invalid input, 1 for a fault. As shells report signals: 130 for Ctrl-C, and 141 for a pipe that nobody reads any more, which
    /// most programs are ended by.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::BadInput(_) => 2,
            Self::Fault(_) => 1,
            Self::Interrupted => 130,
            Self::NobodyReads => 141,
        })
    }
}

/// An error's text without line breaks.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// An error while writing the results.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::NobodyReads,
            _ => Self::fault(format!("cannot write the results: {error}")),
        }
    }
}

impl From<nebula_lab::Failure> for Failure {
    fn from(failure: nebula_lab::Failure) -> Self {
        match failure {
            nebula_lab::Failure::BadInput(line) => Self::BadInput(line),
            nebula_lab::Failure::Fault(line) => Self::Fault(line),
        }
    }
}

impl From<nebula::ConnectError> for Failure {
    fn from(error: nebula::ConnectError) -> Self {
        match error {
            nebula::ConnectError::Endpoint(_)
            | nebula::ConnectError::Resolve(_)
            | nebula::ConnectError::TooManyServers { .. }
            | nebula::ConnectError::ReplyTooLarge { .. }
            | nebula::ConnectError::Open { .. } => Self::bad_input(error),
            _ => Self::fault(error),
        }
    }
}

impl From<nebula::ServeError> for Failure {
    fn from(error: nebula::ServeError) -> Self {
        use nebula::ServeError as E;
        match error {
            E::Taken { .. } | E::System(_) | E::Memory(_) | E::Shared(_) | E::Log(_) => Self::fault(error),
            _ => Self::bad_input(error),
        }
    }
}

impl From<nebula_workload::WorkloadError> for Failure {
    fn from(error: nebula_workload::WorkloadError) -> Self {
        Self::bad_input(error)
    }
}

impl From<nebula_sim::SimError> for Failure {
    fn from(error: nebula_sim::SimError) -> Self {
        use nebula_sim::SimError as E;
        match error {
            E::Outgrown { .. } | E::HotCore { .. } | E::Endless { .. } | E::Threads { .. } => Self::fault(error),
            _ => Self::bad_input(error),
        }
    }
}

impl From<nebula_sim::blocks::BlocksError> for Failure {
    fn from(error: nebula_sim::blocks::BlocksError) -> Self {
        Self::bad_input(error)
    }
}

impl From<nebula_kvs::StoreError> for Failure {
    fn from(error: nebula_kvs::StoreError) -> Self {
        match std::error::Error::source(&error) {
            Some(cause) => Self::fault(format!("{error}: {cause}")),
            None => Self::bad_input(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_line_and_a_pipe_without_a_reader_is_none() {
        assert_eq!(Failure::fault("one\n  two").line().unwrap(), "error: one two");
        let closed = Failure::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        assert!(closed.line().is_none() && closed.exit_code() == ExitCode::from(141));
    }
}

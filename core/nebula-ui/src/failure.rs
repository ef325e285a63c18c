//! Errors of commands, and their exit codes.

use std::process::ExitCode;

/// Why a command failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
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
    /// Invalid input, as one line.
    #[must_use]
    pub fn bad_input(what: impl std::fmt::Display) -> Self {
        Self::BadInput(one_line(&what.to_string()))
    }

    /// An error at run time, as one line.
    #[must_use]
    pub fn fault(what: impl std::fmt::Display) -> Self {
        Self::Fault(one_line(&what.to_string()))
    }

    /// The line for standard error, if there is one.
    #[must_use]
    pub fn line(&self) -> Option<String> {
        match self {
            Self::BadInput(line) | Self::Fault(line) => Some(format!("error: {line}")),
            Self::Interrupted | Self::NobodyReads => None,
        }
    }

    /// 2 for invalid input, 1 for a fault. As shells report signals: 130 for Ctrl-C, and 141 for a
    /// closed pipe, which ends most programs.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::BadInput(_) => 2,
            Self::Fault(_) => 1,
            Self::Interrupted => 130,
            Self::NobodyReads => 141,
        })
    }
}

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

impl From<nebula_workload::WorkloadError> for Failure {
    fn from(error: nebula_workload::WorkloadError) -> Self {
        Self::bad_input(error)
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

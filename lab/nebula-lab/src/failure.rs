//! The reason why a question has no answer, in one line.

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Invalid input; the message says what is valid.
    #[error("{0}")]
    BadInput(String),
    /// An error at run time.
    #[error("{0}")]
    Fault(String),
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
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
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

impl From<Failure> for nebula_ui::Failure {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::BadInput(line) => Self::BadInput(line),
            Failure::Fault(line) => Self::Fault(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_in_one_line() {
        assert_eq!(Failure::fault("one\n  two").to_string(), "one two");
    }
}

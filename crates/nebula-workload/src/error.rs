//! What a caller can get wrong: a spelling, a number out of range, a line of a trace.

use thiserror::Error;

/// The one error of this crate; every variant says what was read and what would be right.
///
/// # Examples
///
/// ```
/// use nebula_workload::Rate;
///
/// let error = "fast".parse::<Rate>().unwrap_err();
/// assert_eq!(error.to_string(), "rate \"fast\" is not understood: write RPC/s such as 200k, 1.5M or 22MRPS");
/// ```
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// A word from the command line or a scenario that does not parse.
    #[error("{what} {text:?} is not understood: write {expected}")]
    Spelling {
        /// The thing being spelled, such as `rate`.
        what: &'static str,
        /// The text as given.
        text: String,
        /// Spellings that would be right.
        expected: &'static str,
    },
    /// A number that parses but cannot be used.
    #[error("{what} {got} is out of range: {expected}")]
    OutOfRange {
        /// The quantity, such as `zipf theta`.
        what: &'static str,
        /// The number as given.
        got: f64,
        /// The range that would be right.
        expected: &'static str,
    },
    /// A line of a trace that cannot be an operation.
    #[error("trace line {line}: {text:?}: {expected}")]
    TraceLine {
        /// Line number in the file, from 1.
        line: u64,
        /// The line as it stands in the file.
        text: String,
        /// What would be right.
        expected: String,
    },
    /// Reading or writing a trace failed below the format.
    #[error("trace could not be {attempt} at line {line}: {reason}")]
    TraceFile {
        /// `read` or `written`.
        attempt: &'static str,
        /// Line number in the file, from 1.
        line: u64,
        /// What the reader or writer answered.
        reason: String,
    },
}

impl WorkloadError {
    pub(crate) fn spelling(what: &'static str, text: &str, expected: &'static str) -> Self {
        Self::Spelling { what, text: text.to_owned(), expected }
    }
}

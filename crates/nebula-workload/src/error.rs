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
    /// A name that no preset has, or a mean for one whose times are measured.
    #[error("no workload is called {text:?}: there are {names}")]
    Preset {
        /// What was asked for.
        text: String,
        /// What there is.
        names: String,
    },
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
    /// A line of a column of recorded times that cannot be one.
    #[error("{file:?} line {line}: {text:?}: {expected}")]
    SampleLine {
        /// The file, by the name it was asked for.
        file: String,
        /// Line number in the file, from 1.
        line: u64,
        /// The line as it stands in the file, without its end.
        text: String,
        /// What would be right.
        expected: &'static str,
    },
    /// A file of recorded times that cannot be had, or holds none.
    #[error("{file:?} could not be {attempt}: {reason}")]
    SampleFile {
        /// The file, by the name it was asked for.
        file: String,
        /// `opened`, `read` or `used`.
        attempt: &'static str,
        /// What stood against it.
        reason: String,
    },
    /// A spelling that names a file, where none is opened.
    #[error("{what} {text:?} needs its file, and none is opened here: write {expected}")]
    FileNotOpened {
        /// The thing being spelled, such as `service time`.
        what: &'static str,
        /// The text as given.
        text: String,
        /// Spellings that would do.
        expected: &'static str,
    },
    /// A distribution whose mean is infinite: no server could carry any load of it.
    #[error("{what} {text:?} has no mean: {expected}")]
    NoMean {
        /// The thing being spelled, such as `service time`.
        what: &'static str,
        /// The text as given.
        text: String,
        /// What would have one.
        expected: &'static str,
    },
}

impl WorkloadError {
    pub(crate) fn spelling(what: &'static str, text: &str, expected: &'static str) -> Self {
        Self::Spelling { what, text: text.to_owned(), expected }
    }

    pub(crate) fn out_of_range(what: &'static str, got: f64, expected: &'static str) -> Self {
        Self::OutOfRange { what, got, expected }
    }

    pub(crate) fn sample_line(file: &str, line: u64, text: &str, expected: &'static str) -> Self {
        Self::SampleLine { file: file.to_owned(), line, text: text.to_owned(), expected }
    }

    pub(crate) fn sample_file(file: &str, attempt: &'static str, reason: impl Into<String>) -> Self {
        Self::SampleFile { file: file.to_owned(), attempt, reason: reason.into() }
    }
}

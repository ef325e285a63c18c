//! Errors of callers: a bad spelling, a number out of range, a bad line of a trace.

use thiserror::Error;

/// The error type of this crate; every variant has the given value and the expected ones.
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
    /// An unknown preset, or a mean given for a preset with measured times.
    #[error("unknown workload {text:?}: use one of {names}")]
    Preset {
        /// The name as given.
        text: String,
        /// The known names.
        names: String,
    },
    /// A value from the command line or a scenario that does not parse.
    #[error("{what} {text:?} is not understood: write {expected}")]
    Spelling {
        /// The name of the value, such as `rate`.
        what: &'static str,
        /// The text as given.
        text: String,
        /// Correct spellings.
        expected: &'static str,
    },
    /// A number that parses but is out of range.
    #[error("{what} {got} is out of range: {expected}")]
    OutOfRange {
        /// The quantity, such as `zipf theta`.
        what: &'static str,
        /// The number as given.
        got: f64,
        /// The valid range.
        expected: &'static str,
    },
    /// A line of a trace that is not an operation.
    #[error("trace line {line}: {text:?}: {expected}")]
    TraceLine {
        /// Line number in the file, from 1.
        line: u64,
        /// The line as in the file.
        text: String,
        /// What is expected instead.
        expected: String,
    },
    /// An I/O error while reading or writing a trace.
    #[error("trace could not be {attempt} at line {line}: {reason}")]
    TraceFile {
        /// `read` or `written`.
        attempt: &'static str,
        /// Line number in the file, from 1.
        line: u64,
        /// The reader's or writer's error.
        reason: String,
    },
    /// An invalid line in a column of recorded times.
    #[error("{file:?} line {line}: {text:?}: {expected}")]
    SampleLine {
        /// The file name as given.
        file: String,
        /// Line number in the file, from 1.
        line: u64,
        /// The line as in the file, without its line ending.
        text: String,
        /// What is expected instead.
        expected: &'static str,
    },
    /// A file of recorded times that cannot be read, or has none.
    #[error("{file:?} could not be {attempt}: {reason}")]
    SampleFile {
        /// The file name as given.
        file: String,
        /// `opened`, `read` or `used`.
        attempt: &'static str,
        /// The cause.
        reason: String,
    },
    /// A spelling that names a file, where files cannot be opened.
    #[error("{what} {text:?} names a file, which cannot be used here: write {expected}")]
    FileNotOpened {
        /// The name of the value, such as `service time`.
        what: &'static str,
        /// The text as given.
        text: String,
        /// Correct spellings.
        expected: &'static str,
    },
    /// A distribution whose mean is infinite: no server could sustain any rate of it.
    #[error("{what} {text:?} has no mean: {expected}")]
    NoMean {
        /// The name of the value, such as `service time`.
        what: &'static str,
        /// The text as given.
        text: String,
        /// Spellings with a finite mean.
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

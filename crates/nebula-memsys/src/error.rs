//! What is wrong with a machine description.

use thiserror::Error;

/// Why no memory system can be made of a [`MemoryConfig`](crate::MemoryConfig).
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum MemoryConfigError {
    /// A count outside its range.
    #[error("{field} is {got}, from {min} to {max} are possible")]
    OutOfRange {
        /// Section and name.
        field: &'static str,
        /// What it was.
        got: u64,
        /// The least that works.
        min: u64,
        /// The most that works.
        max: u64,
    },
    /// A number that has to be a power of two.
    #[error("{field} is {got}, a power of two is needed")]
    NotPowerOfTwo {
        /// What was computed or given.
        field: &'static str,
        /// What it was.
        got: u64,
    },
    /// A size that does not divide into whole sets.
    #[error("{field} is {bytes}, a multiple of {multiple} (64 bytes times the ways) is needed")]
    NotWhole {
        /// Section and name.
        field: &'static str,
        /// What it was.
        bytes: u64,
        /// What it has to be a multiple of.
        multiple: u64,
    },
    /// A time or rate that is negative, infinite where it may not be, or no number.
    #[error("{field} is {got}, {wanted} is needed")]
    BadNumber {
        /// Section and name.
        field: &'static str,
        /// What it was.
        got: f64,
        /// What would be right.
        wanted: &'static str,
    },
    /// Two numbers in the wrong order.
    #[error("{lesser} is {lesser_got} and {greater} is {greater_got}, the first may not be greater")]
    WrongOrder {
        /// What has to be the lesser.
        lesser: &'static str,
        /// What it was.
        lesser_got: f64,
        /// What has to be the greater.
        greater: &'static str,
        /// What it was.
        greater_got: f64,
    },
}

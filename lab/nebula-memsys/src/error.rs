//! Errors in a machine description.

use thiserror::Error;

/// Why a [`MemoryConfig`](crate::MemoryConfig) is invalid.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum MemoryConfigError {
    /// A count outside its range.
    #[error("{field} is {got}; use {min} to {max}")]
    OutOfRange {
        /// Section and field.
        field: &'static str,
        /// The value given.
        got: u64,
        /// The minimum.
        min: u64,
        /// The maximum.
        max: u64,
    },
    /// A number that must be a power of two.
    #[error("{field} is {got}; use a power of two")]
    NotPowerOfTwo {
        /// The section and field, or the expression.
        field: &'static str,
        /// The value.
        got: u64,
    },
    /// A size that does not divide into whole sets.
    #[error("{field} is {bytes}; use a multiple of {multiple} (64 bytes times the ways)")]
    NotWhole {
        /// Section and field.
        field: &'static str,
        /// The value given.
        bytes: u64,
        /// The required divisor.
        multiple: u64,
    },
    /// A time or rate that is negative, NaN, or infinite where it must not be.
    #[error("{field} is {got}; use {wanted}")]
    BadNumber {
        /// Section and field.
        field: &'static str,
        /// The value given.
        got: f64,
        /// The valid range.
        wanted: &'static str,
    },
    /// Two numbers in the wrong order.
    #[error("{lesser} is {lesser_got} and {greater} is {greater_got}; the first must not exceed the second")]
    WrongOrder {
        /// The field that must not be the larger one.
        lesser: &'static str,
        /// Its value.
        lesser_got: f64,
        /// The field that must not be the smaller one.
        greater: &'static str,
        /// Its value.
        greater_got: f64,
    },
}

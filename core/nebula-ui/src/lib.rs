//! The output of Nebula's programs, and values read from command lines and files.
//!
//! | question | module |
//! |---|---|
//! | what are the parts of one result? | [`Row`], [`Value`] |
//! | how are figures written? | [`units`], [`text`] |
//! | how are values read from a command line or a file? | [`words`] |
//! | why did a command fail, and with which exit code? | [`Failure`] |
//! | how are results printed? | `output` |
//! | has Ctrl-C been pressed? | `signal` |
//! | where are the other programs? | `program` |
//! | how are charts written to a page of HTML? | `report` |
//!
//! `output`, `signal` and `program` need the feature `program`, and `report` the feature `report`.
//! Without them this crate only computes.
//!
//! # Examples
//!
//! ```
//! use nebula_ui::{Row, units, words};
//!
//! let bytes = words::bytes("64KiB")?;
//! let row = Row::new().field("buffer_bytes", bytes).shown("buffer", units::bytes(bytes));
//! assert_eq!(row.texts(), ["64 KiB"]);
//! # Ok::<(), String>(())
//! ```

#![forbid(unsafe_code)]

mod failure;
#[cfg(feature = "program")]
pub mod output;
#[cfg(feature = "program")]
pub mod program;
#[cfg(feature = "report")]
pub mod report;
mod row;
#[cfg(feature = "program")]
pub mod signal;
pub mod text;
pub mod units;
mod value;
pub mod words;

pub use failure::Failure;
pub use row::{Align, Cell, Row};
pub use value::{Name, Value};

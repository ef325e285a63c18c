//! The fields of results, declared once: name, unit, description, and how to get the value.
//!
//! [`Fields`] produce rows for JSON, CSV and tables, and `docs/data/fields.tsv`.

mod blocks;
mod parts;
mod queueing;

pub use blocks::blocks;
pub use parts::{Column, Field, Fields};
pub use queueing::{comparison, queueing};

//! Schemas of services and their messages, and which versions of them fit each other.
//!
//! The compiler writes a [`Schema`] into the lock file of a `.proto` and refuses changes that would
//! break peers ([`evolution`]). Generated code carries it, and a connecting client compares its own
//! with its server's ([`fit`]).
//!
//! ```
//! use nebula_build::schema::{Encoding, Field, Message, Schema, fit};
//!
//! let field = |name: &str, number, kind: &str, end| Field {
//!     name: name.into(), number, kind: kind.into(), end, removed: false,
//! };
//! let of = |fields| Schema {
//!     messages: vec![Message { name: "kv.Get".into(), encoding: Encoding::Line.into(), fields }],
//!     ..Schema::default()
//! };
//! let old = of(vec![field("key", 1, "fixed64", 8)]);
//! let appended = of(vec![field("key", 1, "fixed64", 8), field("flags", 2, "fixed32", 12)]);
//! assert_eq!(fit(&old, &appended), Ok(()));
//! let changed = of(vec![field("key", 1, "bytes[16]", 16)]);
//! assert_eq!(
//!     fit(&old, &changed).unwrap_err().to_string(),
//!     "kv.Get: field 1 is `key` (fixed64, up to byte 8) at one end and `key` (bytes[16], up to byte 16) at the other"
//! );
//! ```

mod described;
mod fit;
pub mod evolution;

pub use described::{Encoding, Enum, Field, Fingerprint, Message, Method, Schema, Service, Value};
pub use fit::{Misfit, fit};

/// The options that a `.proto` imports as `nebula/options.proto`.
pub const OPTIONS_PROTO: &str = include_str!("../proto/nebula/options.proto");

/// The definition of [`Schema`] in protobuf.
pub const SCHEMA_PROTO: &str = include_str!("../proto/nebula/schema.proto");

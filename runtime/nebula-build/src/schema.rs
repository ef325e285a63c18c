//! What services and their messages look like, and which versions of that fit each other.
//!
//! One [`Schema`] serves three: the compiler writes it into the lock file beside a `.proto` and
//! refuses changes that would break peers ([`evolution`]); generated code carries it; and a client
//! compares its own with its server's as it connects ([`fit`]).
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

/// The definition of [`Schema`], as protobuf has it.
pub const SCHEMA_PROTO: &str = include_str!("../proto/nebula/schema.proto");

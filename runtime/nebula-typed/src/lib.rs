//! Typed services: methods, messages and errors instead of bytes, as a `.proto` declares them.
//!
//! `nebula-build` compiles the `.proto` in a build script; the generated code uses this crate.
//! [docs/SERVICES.md] leads from schema to running service; `services/shop` is a complete one.
//!
//! [docs/SERVICES.md]: https://github.com/nebula-rpc/nebula/blob/main/docs/SERVICES.md
//!
//! # What a typed RPC adds
//!
//! Four bytes behind each request name the method and its service ([`MethodId`]); four behind each
//! reply say whether it is one ([`Status`]). A message whose fields have fixed sizes is read in
//! place ([`Line`]); all others have protobuf's encoding ([`Proto`]). A client that connects
//! compares its schema with the server's, so that no version misreads another ([`Channel::check`]).
//!
//! | what | module |
//! |---|---|
//! | the method and the other data of a request | [`MethodId`], [`Context`], [`TraceContext`] |
//! | messages, read and written | [`Message`], [`Line`], [`Proto`], [`fields`] |
//! | a handler's answer | [`Slot`], [`LaterSlot`], [`Window`], [`Status`], [`Code`] |
//! | one service or several behind a server, counted, with other classes | [`Methods`], [`Services`], [`Measured`], [`Classed`] |
//! | health and reflection | [`services`] |
//! | the client's end | [`Channel`], [`AsyncChannel`], [`Stream`], [`AsyncStream`], [`CallError`], [`ConnectError`] |
//!
//! # Invariants
//!
//! - No version misreads another. *Enforced by* `nebula_build::schema::evolution` as a schema is
//!   compiled, by `nebula_build::schema::fit` as a client connects, and by `versions.rs` of the
//!   typed tests.
//! - Any bytes get an answer from a server and an end at a client. *Enforced by* the fuzz target
//!   `typed`, `any_bytes.rs` and `streams.rs`.
//! - An RPC of the line encoding allocates nothing and takes at most 1.12 times the instructions of
//!   one written by hand. *Enforced by* `typed_no_allocation.rs` and `typed_instructions.rs`.
//! - Protobuf's messages have the bytes of Google's library. *Enforced by* the step `protobuf` and
//!   `messages.rs`.

#![forbid(unsafe_code)]

extern crate self as nebula_typed;

mod method;
mod trace;
mod context;
mod text;
pub mod fields;
mod message;
mod status;
mod slot;
mod window;
mod service;
mod describe;
mod serve;
mod classed;
mod measured;
mod error;
mod channel;
mod tasks;
mod stream;
pub mod services;

pub use channel::{Channel, Decoded, Ended, Found, Replied, read_reply, request_bytes};
pub use classed::Classed;
pub use context::Context;
pub use error::{CallError, ConnectError};
pub use measured::{Measured, MethodStats, Stats};
pub use message::{Encoding, Line, LineLayout, Message, Place, Proto, key_hash, zero_filled};
pub use method::MethodId;
pub use nebula_build::schema::Fingerprint;
pub use serve::{
    Methods, Services, Together, answer, answer_window, description, end, is_for, no_message, rpc_type, serve,
    serve_if_meant, unknown_method,
};
pub use service::ServiceInfo;
pub use slot::{LaterSlot, Slot};
pub use status::{Code, Status};
pub use stream::{AsyncStream, Stream};
pub use tasks::AsyncChannel;
pub use text::{Bool, Text};
pub use trace::{TraceContext, TraceContextError};
pub use window::{CURSOR_BYTES_MAX, Window};

// For generated code.
pub use nebula_build::schema;
pub use {nebula, prost, zerocopy};

/// Includes the code that `nebula-build` generated for a package of protobuf.
///
/// ```ignore
/// pub mod shop {
///     nebula_typed::include_proto!("shop");
/// }
/// ```
#[macro_export]
macro_rules! include_proto {
    ($package:literal) => {
        include!(concat!(env!("OUT_DIR"), "/", $package, ".rs"));
    };
}

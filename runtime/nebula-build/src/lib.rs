//! Compiles `.proto` files into typed Nebula services, in a build script and without `protoc`.
//!
//! ```no_run
//! // build.rs
//! fn main() -> Result<(), nebula_build::Error> {
//!     nebula_build::compile("shop.proto")
//! }
//! ```
//!
//! A crate that depends on `nebula-typed` then has the code:
//!
//! ```ignore
//! pub mod shop {
//!     nebula_typed::include_proto!("shop"); // the name of the package in the .proto
//! }
//! ```
//!
//! # What is generated
//!
//! | for | code |
//! |---|---|
//! | a message whose fields have fixed sizes | a struct of little-endian fields, read in place ([`Encoding::Line`]) |
//! | any other message | prost's struct ([`Encoding::Proto`]) |
//! | `service Shop` | `trait Shop` to implement, `ShopServer` for `Server::serve`, `ShopClient` |
//!
//! # The lock file
//!
//! Check `shop.proto.lock`, next to `shop.proto`, in: it has every number and type that peers may
//! have been built with. A change that they would misread is an error that says what to do instead;
//! other changes are written to the lock file. For CI, [`Config::locked`] or `NEBULA_LOCKED=1`
//! makes a lock file that is behind an error too.
//!
//! # Without the compiler
//!
//! With `default-features = false` the crate is [`schema`] alone, which the runtime uses; the
//! feature `compile` adds the rest.
//!
//! # Path of a file
//!
//! `read` (protox, then Nebula's own rules) → `lock` → `generate`.

#![forbid(unsafe_code)]

pub mod schema;
#[cfg(feature = "compile")]
mod error;
#[cfg(feature = "compile")]
mod options;
#[cfg(feature = "compile")]
mod read;
#[cfg(feature = "compile")]
mod lock;
#[cfg(feature = "compile")]
mod generate;
#[cfg(feature = "compile")]
mod compile;

#[cfg(feature = "compile")]
pub use compile::{Config, compile};
#[cfg(feature = "compile")]
pub use error::Error;
#[cfg(doc)]
use schema::Encoding;

//! All tests of this crate that need no separate process, as one program, so that they are compiled
//! and linked once.
//!
//! `cargo test -p nebula-cli --test all NAME::` runs those of one file. Cargo.toml lists the other
//! programs.

mod evidence;
mod explain;
mod installation;
#[expect(clippy::unwrap_used, reason = "what cannot go on fails there")]
mod kept;
#[expect(clippy::unwrap_used, reason = "what cannot go on fails there")]
mod memcached;
#[expect(clippy::unwrap_used, reason = "what cannot go on fails there")]
mod operations;
mod pages;
mod program;
#[cfg(feature = "replicate")]
#[expect(clippy::unwrap_used, reason = "what cannot go on fails there")]
mod replicas;
mod words;

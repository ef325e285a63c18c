//! Tests that share a process.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::needless_update, reason = "only some versions of a message have more fields")]

mod any_bytes;
mod calls;
mod cancelled;
mod darc;
mod messages;
mod streams;
mod tasks;
mod versions;

/// An endpoint that no other test has.
fn endpoint(name: &str) -> String {
    format!("shm://typed-{name}-{}", std::process::id())
}

//! The tests of replication, in one program.

#![expect(clippy::unwrap_used, reason = "a test fails where one does")]

mod storage;
mod three_replicas;

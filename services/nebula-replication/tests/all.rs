//! The tests of replication, in one program.

#![expect(clippy::unwrap_used, reason = "a test fails where one does")]

mod histories;
mod members;
mod messages;
mod room;
mod simulated;
mod storage;
mod three_replicas;

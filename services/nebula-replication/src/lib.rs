//! State machine replication of Nebula's key-value store: Raft (`openraft`) whose messages are
//! Nebula's RPCs (NEBULA, ISCA 2020, §VIII).
//!
//! | module | what it holds |
//! |---|---|
//! | [`command`] | what is replicated, and what became of it |
//! | [`disk`] | log, vote and snapshot in one file; the policy of fsync |
//! | [`machine`] | the state machine: a `nebula-kvs` store, its room, its snapshots |
//! | [`times`] | how long commits and followers' round trips take |
//! | [`wire`] | messages between replicas, as payloads of RPCs |
//! | [`peers`] | Raft's network over whatever carries RPCs |
//! | [`carrier`] | what carries them: Nebula's clients |
//! | [`replica`] | a replica: writes, linearizable reads, members |
//! | [`service`] | a replica as a service of a Nebula server |
//! | [`running`] | a replica with its server and threads |
//! | [`client`] | what a client needs to find the leader, and to administer |
//!
//! **Invariant:** an acknowledged write is on the disks of a majority, and no committed write is
//! lost or seen in two orders. *Enforced by* histories under faults that a linearizability checker
//! judges (`tests/histories.rs`), and by `openraft`'s own suite for storage (`tests/storage.rs`).
//!
//! **Invariant:** a write's effect depends on the writes before it alone. *Enforced by* `Room`,
//! which counts what fits instead of asking the store, and `tests/room.rs`.
//!
//! **Invariant:** no worker waits for a disk or another replica. *Enforced by* replies that are
//! given later.
//!
//! **Invariant:** it knows nothing of the command line. *Enforced by* its dependencies.

#![forbid(unsafe_code)]

pub mod command;
pub mod disk;
pub mod machine;
pub mod times;
pub mod wire;
pub mod peers;
pub mod carrier;
pub mod replica;
pub mod service;
pub mod running;
pub mod client;

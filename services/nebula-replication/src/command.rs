//! The replicated writes, several in one entry of the log, and the outcome of each.

use std::io::Cursor;

use serde::{Deserialize, Serialize};

/// A change of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Write {
    /// Stores a value under a key.
    Set {
        /// 1 to 255 bytes.
        key: Vec<u8>,
        /// At most as long as the replicas' configuration allows.
        value: Vec<u8>,
    },
    /// Removes a key.
    Delete {
        /// 1 to 255 bytes.
        key: Vec<u8>,
    },
}

impl Write {
    /// Bytes of key and value.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Set { key, value } => key.len() + value.len(),
            Self::Delete { key } => key.len(),
        }
    }
}

/// The outcome of a committed write: the same at every replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It was applied.
    Done,
    /// There was no such key to remove.
    NotFound,
    /// There was no room for the item; the store is unchanged.
    Full,
}

openraft::declare_raft_types!(
    /// Raft's parameters: an entry has the writes that waited while the previous one was committed,
    /// so that they share an fsync and a round trip.
    pub Kv:
        D = Vec<Write>,
        R = Vec<Outcome>,
        NodeId = u64,
        Node = openraft::BasicNode,
        Entry = openraft::Entry<Kv>,
        SnapshotData = Cursor<Vec<u8>>,
        AsyncRuntime = openraft::TokioRuntime,
);

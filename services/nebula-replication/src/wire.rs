//! Messages of replicas and administrators: the payloads of RPCs.
//!
//! ```text
//! request  op 1 = 16 | version 1 = 1 | reserved 2 | fingerprint of the room 4 | message, in postcard's encoding
//! reply    an answer, in postcard's encoding
//! ```
//! The first byte is no operation of `nebula_kvs::protocol`, so one endpoint serves clients and
//! replicas.

use openraft::BasicNode;
use openraft::error::{InstallSnapshotError, RaftError};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse, VoteRequest,
    VoteResponse,
};
use serde::{Deserialize, Serialize};

use crate::command::Kv;
use crate::machine::Room;
use crate::times::Figures;

/// The first byte of a request.
pub const OPERATION: u8 = 16;
const VERSION: u8 = 1;
const HEADER_BYTES: usize = 8;

/// A request of a replica or an administrator.
#[derive(Debug, Serialize, Deserialize)]
pub enum Message {
    /// Entries for the log; none in a heartbeat.
    Append(AppendEntriesRequest<Kv>),
    /// A candidate's request for a vote.
    Vote(VoteRequest<u64>),
    /// A piece of a snapshot.
    Snapshot(InstallSnapshotRequest<Kv>),
    /// Whether the replica leads.
    Leads,
    /// The replicas and their leader.
    List,
    /// Adds the replica at this endpoint, which already runs.
    Add(String),
    /// Removes the replica at this endpoint.
    Remove(String),
}

/// The reply to a [`Message`].
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// To [`Message::Append`].
    Append(Result<AppendEntriesResponse<u64>, RaftError<u64>>),
    /// To [`Message::Vote`].
    Vote(Result<VoteResponse<u64>, RaftError<u64>>),
    /// To [`Message::Snapshot`].
    Snapshot(Result<InstallSnapshotResponse<u64>, RaftError<u64, InstallSnapshotError>>),
    /// To [`Message::List`]; to the other two once the change is committed.
    Members(Members),
    /// To [`Message::Leads`], as the replica believes.
    Leads(bool),
    /// Refused without effect, for this reason.
    Refused(String),
}

/// All members, as far as one replica knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Members {
    /// The leader's endpoint, if known.
    pub leader: Option<String>,
    /// The term, which grows with each election.
    pub term: u64,
    /// The endpoints of the voters.
    pub voters: Vec<String>,
    /// The endpoints of replicas that are brought up to date.
    pub learners: Vec<String>,
    /// The last entry that this replica has applied.
    pub applied: Option<u64>,
    /// The last entry in its snapshot.
    pub snapshot: Option<u64>,
    /// Writes committed while it led; several share an entry.
    pub writes: u64,
    /// From Raft's receipt of an entry until it is applied, while it led.
    pub commits: Figures,
    /// An entry's way to a follower, onto its disk and back, while it led.
    pub rounds: Figures,
    /// The receive buffer of its server: the bound on the memory that clients and replicas can hold
    /// there.
    pub buffer_bytes: u64,
    /// The most bytes used of it.
    pub buffer_bytes_used_max: u64,
}

/// An invalid message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// It is too short, or begins differently.
    #[error("this is no message of a replica")]
    NotAMessage,
    /// It has another version.
    #[error("the message has version {got}, and this replica speaks {VERSION}: run one release on all replicas")]
    Version {
        /// Its version.
        got: u8,
    },
    /// The sender has another room for items.
    #[error("the other replica has another --items or --value-bytes: start all replicas with the same")]
    Room,
    /// The rest does not decode.
    #[error("the message does not decode: {0}")]
    Body(#[from] postcard::Error),
}

/// The sender of a request, as far as it is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// A replica with this room.
    Replica(Room),
    /// A program that only administers.
    Administrator,
}

/// 0 for an administrator.
fn fingerprint(sender: Sender) -> u32 {
    match sender {
        Sender::Replica(room) => {
            let bytes = [room.items_max.to_le_bytes(), u64::from(room.value_bytes_max).to_le_bytes()].concat();
            nebula_kvs::protocol::steering_hash(nebula_kvs::Store::hash(&bytes)) | 1
        }
        Sender::Administrator => 0,
    }
}

/// Encodes a request.
///
/// # Errors
///
/// [`WireError::Body`].
pub fn encode(sender: Sender, message: &Message) -> Result<Vec<u8>, WireError> {
    let mut bytes = vec![OPERATION, VERSION, 0, 0];
    bytes.extend_from_slice(&fingerprint(sender).to_le_bytes());
    Ok(postcard::to_extend(message, bytes)?)
}

/// Decodes a request to a replica with this room.
///
/// # Errors
///
/// [`WireError`] for anything that [`encode`] would not have written.
pub fn decode(bytes: &[u8], room: Room) -> Result<Message, WireError> {
    let Some(([OPERATION, version, 0, 0, said @ ..], body)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
        return Err(WireError::NotAMessage);
    };
    if *version != VERSION {
        return Err(WireError::Version { got: *version });
    }
    let (message, rest) = postcard::take_from_bytes(body)?;
    if !rest.is_empty() {
        return Err(WireError::NotAMessage);
    }
    let is_replicas = matches!(message, Message::Append(_) | Message::Vote(_) | Message::Snapshot(_));
    if is_replicas && u32::from_le_bytes(*said) != fingerprint(Sender::Replica(room)) {
        return Err(WireError::Room);
    }
    Ok(message)
}

/// Encodes a reply.
#[must_use]
pub fn encode_answer(answer: &Answer) -> Vec<u8> {
    postcard::to_allocvec(answer).unwrap_or_default()
}

/// Decodes a reply.
///
/// # Errors
///
/// [`WireError::Body`].
pub fn decode_answer(bytes: &[u8]) -> Result<Answer, WireError> {
    Ok(postcard::from_bytes(bytes)?)
}

pub(crate) fn node(endpoint: &str) -> (u64, BasicNode) {
    (id(endpoint), BasicNode::new(endpoint))
}

/// The number of the replica at an endpoint: a hash of its text, so that numbers need no
/// assignment.
#[must_use]
pub fn id(endpoint: &str) -> u64 {
    nebula_kvs::Store::hash(endpoint.as_bytes()).0
}

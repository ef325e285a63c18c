//! What is under way: callers that wait for all of their parts, parts, and the copies of each.

use super::table::Key;
use nebula_nic::Timestamp;
use nebula_requester::Attempts;

/// A caller that waits for the answers to all of its parts.
#[derive(Debug)]
pub(super) struct Join {
    /// The copy that made the calls, at the tier before; `None` for a client.
    pub(super) caller: Option<Key>,
    /// The RPC of the client, counted from 0.
    pub(super) number: u64,
    pub(super) begun: Timestamp,
    /// Parts without an answer.
    pub(super) left: u16,
    pub(super) parts: Vec<Key>,
}

/// One call: a part of what its caller needs.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) join: Key,
    pub(super) tier: usize,
    pub(super) number: u64,
    pub(super) begun: Timestamp,
    pub(super) deadline: Timestamp,
    pub(super) attempts: Attempts,
    pub(super) copies: [Option<Key>; 2],
    /// Service time of its first copy.
    pub(super) service_ps: u64,
}

/// One copy of a call, sent to one server.
#[derive(Debug)]
pub(super) struct Copy {
    /// `None` once its caller does not wait for it any more.
    pub(super) part: Option<Key>,
    pub(super) tier: usize,
    pub(super) server: u16,
    pub(super) number: u64,
    pub(super) deadline: Timestamp,
    pub(super) service_ps: u64,
    pub(super) received: Timestamp,
    /// Time from its arrival until a core began it.
    pub(super) queued_ps: u64,
    pub(super) at: At,
}

/// How far a copy has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// On its way to the server, or waiting there.
    Queue,
    /// A core did not begin it, as it was cancelled or late.
    Skipped,
    /// In service.
    Core,
    /// Served; waits for the tier behind.
    Behind(Key),
    /// Its answer is on its way.
    Back,
}

/// What happens at a time.
#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// A copy reaches its server.
    Arrives(Key),
    /// A NACK reaches the caller.
    Refused(Key),
    /// The answer to a copy reaches the caller, or the word that it failed.
    Answered(Key, bool),
    /// A server learns that nobody waits for a copy.
    Cancelled(Key),
    /// A server learns that the other copy has begun.
    Beaten(Key),
    /// It is time for a second copy of a part.
    Copies(Key),
    /// A part that was refused is tried again.
    Again(Key),
    /// A caller gives up.
    Expires(Key),
}

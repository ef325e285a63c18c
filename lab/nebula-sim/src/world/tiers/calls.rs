//! The calls under way: callers that wait for all of their parts, parts, and their copies.

use super::table::Key;
use nebula_nic::Timestamp;
use nebula_requester::Attempts;

#[derive(Debug)]
pub(super) struct Join {
    /// The copy that made the calls, at the tier before; `None` for a client.
    pub(super) caller: Option<Key>,
    /// The number of the client's RPC, from 0.
    pub(super) number: u64,
    pub(super) begun: Timestamp,
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
    pub(super) service_ps: u64,
}

#[derive(Debug)]
pub(super) struct Copy {
    /// `None` once its caller has given up on it.
    pub(super) part: Option<Key>,
    pub(super) tier: usize,
    pub(super) server: u16,
    pub(super) number: u64,
    pub(super) deadline: Timestamp,
    pub(super) service_ps: u64,
    pub(super) received: Timestamp,
    pub(super) queued_ps: u64,
    pub(super) at: At,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// On its way to the server, or in its queue.
    Queue,
    /// No core began it, as it was cancelled or late.
    Skipped,
    Core,
    /// Served; waits for the tier behind.
    Behind(Key),
    Back,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    Arrives(Key),
    Refused(Key),
    /// The answer to a copy, or its failure, reaches the caller.
    Answered(Key, bool),
    /// A server learns that a copy's caller has given up.
    Cancelled(Key),
    /// A server learns that the other copy has begun.
    Beaten(Key),
    /// It is time for a second copy of a part.
    Copies(Key),
    Again(Key),
    Expires(Key),
}

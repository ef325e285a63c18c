//! What stands behind the wire: servers whose NICs and cores work under one kind of scheduling.
//!
//! Clients ([`client`](super::client)) and the answers that they get ([`ingress`](super::ingress)) are the same for all. A kind of
//! scheduling is one implementation of [`Servers`]: it lets RPCs in, has events of its own, and says of each RPC when it has ended and
//! what the cores' time went to.
//!
//! | policies | file |
//! |---|---|
//! | all that decide in one place, once: `rss` … `jbsq:N`, `mcs-lock` | [`cpu`](super::cpu) |
//! | `work-stealing`; `rss` and `random` with batching | [`queues`](super::queues) |
//! | `altocumulus:G` | [`altocumulus`](super::altocumulus) |
//! | `preemptive:Q`, `darc` | [`scheduler`](super::scheduler) |
//! | any central policy, behind a router with one queue for all servers | [`routed`](super::routed) |
//!
//! Next: [`ingress`](super::ingress).

use super::client::Request;
use crate::tally::{Overheads, Tally};
use nebula_nic::{Header, RpcKey, Timestamp, Verdict};
use nebula_workload::TypeId;

/// Servers under one kind of scheduling.
pub(super) trait Servers {
    /// When its next event comes; `u64::MAX` for never.
    fn next_ps(&self) -> u64;

    /// The end of its clock: later events are never carried out.
    fn latest(&self) -> Timestamp;

    /// Carries its next event out, which comes at `now`; the RPC that has ended with it, if one has.
    ///
    /// Where several end at the same time, each is an event of its own.
    fn turn(&mut self, now: Timestamp) -> Option<Ended>;

    /// The one packet of an RPC reaches a server.
    fn receive(&mut self, now: Timestamp, server: u16, header: Header, request: &Request) -> Received;

    /// The run is over: notes what it has counted of its own.
    fn account(&self, _tally: &mut Tally) {}
}

/// What a server answers at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    /// RPCs that waited, not given to a core, when this one came.
    pub(super) depth: u32,
    /// What becomes of it.
    pub(super) verdict: Verdict,
}

/// An RPC that has been served.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) rpc: RpcKey,
    /// The RPC as its client knows it.
    pub(super) served: InFlight,
    /// From its arrival until a core began it.
    pub(super) queued_ps: u64,
    /// What else than its service it took of cores.
    pub(super) overheads: Overheads,
}

/// An RPC within a server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InFlight {
    /// Counted over all RPCs of the run, from 0.
    pub(super) number: u64,
    /// How long it will keep its core.
    pub(super) service_ps: u64,
    /// Its type, of a mix.
    pub(super) kind: TypeId,
    /// What a router knows it by.
    pub(super) ticket: u32,
    /// When its client meant to send it.
    pub(super) sent: Timestamp,
}

impl From<&Request> for InFlight {
    #[inline]
    fn from(&Request { number, service_ps, kind, sent, ticket, .. }: &Request) -> Self {
        Self { number, service_ps, kind, sent, ticket }
    }
}

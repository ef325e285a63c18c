//! The server side: servers whose NICs and cores use one kind of scheduling.
//!
//! Clients ([`client`](super::client)) and their replies ([`ingress`](super::ingress)) are the same
//! for all. Each kind of scheduling is one implementation of [`Servers`]: it admits RPCs, has its
//! own events, and reports when each RPC has ended and how the cores spent their time.
//!
//! | policies | file |
//! |---|---|
//! | all policies that decide once, at the NIC: `rss` … `jbsq:N`, `mcs-lock` | [`cpu`](super::cpu) |
//! | `work-stealing`; `rss` and `random` with batching | [`queues`](super::queues) |
//! | `altocumulus:G` | [`altocumulus`](super::altocumulus) |
//! | `preemptive:Q`, `darc` | [`scheduler`](super::scheduler) |
//! | policies that choose a core at arrival, behind a host interface | [`hosted`](super::hosted) |
//! | any central policy, behind a router with one queue for all servers | [`routed`](super::routed) |
//!
//! Next: [`ingress`](super::ingress).

use super::request::Request;
use crate::tally::Tally;
use crate::tally::overheads::Overheads;
use nebula_nic::{Header, RpcKey, Timestamp, Verdict};
use nebula_workload::TypeId;

/// Servers under one kind of scheduling.
pub(super) trait Servers {
    /// When its next event comes; `u64::MAX` for never.
    fn next_ps(&self) -> u64;

    /// The end of its clock: later events are never carried out.
    fn latest(&self) -> Timestamp;

    /// Carries out the next event, at `now`; returns the RPC that ended with it, if any.
    ///
    /// If several RPCs end at the same time, each is a separate event.
    fn turn(&mut self, now: Timestamp) -> Option<Ended>;

    /// The one packet of an RPC reaches a server.
    fn receive(&mut self, now: Timestamp, server: u16, header: Header, request: &Request) -> Received;

    /// The next RPC that was dropped after it had been received, and its number; none unless a host
    /// interface lies between client and NIC.
    #[inline(always)]
    fn poll_dropped(&mut self) -> Option<(RpcKey, u64)> {
        None
    }

    /// The run has ended: adds the servers' own counters to the tally.
    fn account(&self, _tally: &mut Tally) {}
}

/// The immediate result of an arrival.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    /// RPCs that were waiting, not yet dispatched to a core, when this one arrived.
    pub(super) depth: u32,
    /// Whether the RPC is admitted or refused.
    pub(super) verdict: Verdict,
}

/// An RPC that has been served.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) rpc: RpcKey,
    /// The core that served it, counted over all servers; `None` for a core that only schedules
    /// otherwise.
    pub(super) core: Option<usize>,
    /// The RPC as its client knows it.
    pub(super) served: InFlight,
    /// Time from its arrival until a core began it.
    pub(super) queued_ps: u64,
    /// Core time that it took in addition to its service.
    pub(super) overheads: Overheads,
}

/// An RPC within a server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InFlight {
    /// Counted over all RPCs of the run, from 0.
    pub(super) number: u64,
    /// Its service time.
    pub(super) service_ps: u64,
    /// Its type, of a mix.
    pub(super) kind: TypeId,
    /// The key that a router uses for it.
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

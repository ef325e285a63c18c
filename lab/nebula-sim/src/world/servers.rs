//! The server side: servers whose NICs and cores use one kind of scheduling.
//!
//! Clients ([`client`](super::client)) and replies ([`ingress`](super::ingress)) are the same for
//! all. Each kind of scheduling implements [`Servers`]: it admits RPCs, has its events, and reports
//! each RPC's end and the cores' time.
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

pub(super) trait Servers {
    /// The time of its next event; `u64::MAX` for never.
    fn next_ps(&self) -> u64;

    /// The end of its clock; later events never happen.
    fn latest(&self) -> Timestamp;

    /// Carries out the next event, at `now`; returns the RPC that ends with it, one per event.
    fn turn(&mut self, now: Timestamp) -> Option<Ended>;

    fn receive(&mut self, now: Timestamp, server: u16, header: Header, request: &Request) -> Received;

    /// The next RPC dropped after its receipt, and its number; only a host interface drops RPCs.
    #[inline(always)]
    fn poll_dropped(&mut self) -> Option<(RpcKey, u64)> {
        None
    }

    /// Adds the servers' counters to the tally when the run has ended.
    fn account(&self, _tally: &mut Tally) {}
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    /// RPCs that waited for their dispatch when this one arrived.
    pub(super) depth: u32,
    pub(super) verdict: Verdict,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) rpc: RpcKey,
    /// The core that served it, counted over all servers; `None` for a scheduling core.
    pub(super) core: Option<usize>,
    pub(super) served: InFlight,
    /// Time from its arrival until a core began it.
    pub(super) queued_ps: u64,
    /// Core time in addition to its service.
    pub(super) overheads: Overheads,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InFlight {
    /// Its number within the run, from 0.
    pub(super) number: u64,
    pub(super) service_ps: u64,
    pub(super) kind: TypeId,
    pub(super) ticket: u32,
    /// Its client's intended send time.
    pub(super) sent: Timestamp,
}

impl From<&Request> for InFlight {
    #[inline]
    fn from(&Request { number, service_ps, kind, sent, ticket, .. }: &Request) -> Self {
        Self { number, service_ps, kind, sent, ticket }
    }
}

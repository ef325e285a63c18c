//! Station 1, in simulated time: clients send RPCs; the requester decides what follows a NACK.
//!
//! An open loop with an unbounded queue sends and forgets: no RPC is refused, and no client waits
//! for a reply. Otherwise clients keep a table of outstanding RPCs, as a real client does.
//!
//! Next: [`ingress`](super::ingress).

use super::draws::{Gaps, Services};
use super::identity::{Identities, Identity};
use super::one_run::World;
use super::servers::Servers;
use super::window::Stop;
use crate::error::SimError;
use crate::load::over_time::Pace;
use crate::load::{Load, Source};
use crate::slab::Slab;
use crate::system::System;
pub(super) use crate::world::request::Request;
use nebula_nic::{Header, Kind, NodeId, Outbound, RpcKey, Timestamp, TransferId};
use nebula_requester::{Call, Requester, RequesterConfig};
use nebula_workload::{Rng, Seed, ServiceTime};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(super) struct Clients<'a> {
    services: Services<'a>,
    servers: u64,
    choices: Rng,
    numbered: u64,
    source: NextRpc<'a>,
    identities: Identities,
    pub(super) listening: Option<Listening>,
}

enum NextRpc<'a> {
    Open { gaps: Gaps, pace: Option<Pace>, at: Timestamp },
    Closed { think: Option<&'a ServiceTime>, thoughts: Rng, thinking: BinaryHeap<Reverse<(Timestamp, u32)>> },
}

pub(super) struct Listening {
    pub(super) requester: Requester,
    requests: Slab<Request>,
}

impl<'a> Clients<'a> {
    pub(super) fn try_new(system: &System, load: &'a Load, seed: Seed, room: u32) -> Result<Self, SimError> {
        let listens = system.queue_bound.is_some() || matches!(load.source, Source::Closed { .. });
        let listening = if listens { Some(Listening::try_new(system, load, room)?) } else { None };
        let source = match (&load.source, load.rate(system)?) {
            (Source::Open { arrivals, .. }, Some(rate)) => {
                let mut gaps = Gaps::new(arrivals.at(rate), seed);
                let mut pace = load.over_time.as_ref().map(Pace::new);
                let first = gaps.next();
                let first = pace.as_mut().map_or(first, |pace| pace.stretch(first));
                NextRpc::Open { gaps, pace, at: Timestamp::ZERO + first }
            }
            (Source::Closed { clients, outstanding, think }, _) => {
                NextRpc::closed(*clients, *outstanding, think.as_ref(), seed)
            }
            (Source::Open { utilization, .. }, None) => return Err(SimError::Load { got: *utilization }),
        };
        Ok(Self {
            services: Services::new(&load.service, seed),
            servers: u64::from(system.servers),
            choices: seed.stream("servers"),
            numbered: 0,
            source,
            identities: Identities::try_new(load, seed)?,
            listening,
        })
    }

    #[inline(always)]
    pub(super) fn next_ps(&self) -> u64 {
        let next = self.source.at().as_ps();
        match &self.listening {
            None => next,
            Some(listening) => listening.requester.poll_timeout().map_or(next, |at| at.as_ps().min(next)),
        }
    }

    #[inline(always)]
    fn next_request(&mut self, now: Timestamp) -> Request {
        let number = self.numbered;
        self.numbered += 1;
        let (kind, service) = self.services.next();
        let client = self.source.advance();
        #[expect(clippy::cast_possible_truncation, reason = "numbers come again after 2^32 RPCs")]
        let identity = self.identities.next(number as u32, client);
        Request { number, service_ps: service.as_ps(), kind, sent: now, ticket: 0, client, identity }
    }

    #[expect(clippy::cast_possible_truncation, reason = "below the number of servers, which is 16 bits")]
    #[inline]
    fn choose_server(&mut self) -> u16 {
        if self.servers == 1 { 0 } else { self.choices.below(self.servers) as u16 }
    }

    #[inline]
    fn header(request: &Request) -> Header {
        header_as(request.number, request.identity)
    }
}

/// The header of RPC `number` if no client waits for its reply and RPCs share neither flows nor
/// keys: each is a separate flow to RSS.
#[expect(clippy::cast_possible_truncation, reason = "numbers come again after 2^32 RPCs")]
#[inline]
pub(crate) fn header_of(number: u64) -> Header {
    header_as(number, Identity::of(number as u32))
}

#[expect(clippy::cast_possible_truncation, reason = "numbers come again after 2^32 RPCs")]
#[inline]
fn header_as(number: u64, identity: Identity) -> Header {
    let Identity { flow, key_hash } = identity;
    Header {
        kind: Kind::Request,
        snid: NodeId(flow),
        tid: TransferId(number as u32),
        rpc_bytes: 64,
        pkt_idx: 0,
        key_hash,
    }
}

impl<'a> NextRpc<'a> {
    fn closed(clients: u32, outstanding: u32, think: Option<&'a ServiceTime>, seed: Seed) -> Self {
        let mut thoughts = seed.stream("think");
        let mut begin = |client| Reverse((Timestamp::ZERO + first_thought(think, &mut thoughts), client));
        let thinking = (0..outstanding).flat_map(|_| 0..clients).map(&mut begin).collect();
        Self::Closed { think, thoughts, thinking }
    }

    #[inline]
    fn at(&self) -> Timestamp {
        match self {
            Self::Open { at, .. } => *at,
            Self::Closed { thinking, .. } => thinking.peek().map_or(NEVER, |Reverse((at, _))| *at),
        }
    }

    /// Advances to the next RPC; returns the client of this one.
    #[inline]
    fn advance(&mut self) -> u32 {
        match self {
            Self::Open { gaps, pace, at } => {
                let gap = gaps.next();
                *at += pace.as_mut().map_or(gap, |pace| pace.stretch(gap));
                0
            }
            Self::Closed { thinking, .. } => thinking.pop().map_or(0, |Reverse((_, client))| client),
        }
    }

    #[inline]
    fn think(&mut self, now: Timestamp, client: u32) {
        if let Self::Closed { think, thoughts, thinking } = self {
            let pause = think.map_or(nebula_nic::Span::ZERO, |think| think.sample(thoughts));
            thinking.push(Reverse((now + pause, client)));
        }
    }
}

/// Clients with a think time begin at different times.
fn first_thought(think: Option<&ServiceTime>, thoughts: &mut Rng) -> nebula_nic::Span {
    think.map_or(nebula_nic::Span::ZERO, |think| think.sample(thoughts))
}

const NEVER: Timestamp = Timestamp::from_ps(u64::MAX);

impl Listening {
    fn try_new(system: &System, load: &Load, room: u32) -> Result<Self, SimError> {
        let outstanding = match load.source {
            Source::Open { .. } => {
                room.saturating_mul(u32::from(system.servers)).min(nebula_requester::OUTSTANDING_MAX)
            }
            Source::Closed { clients, outstanding, .. } => clients * outstanding,
        };
        let config = RequesterConfig::new(NodeId(0), outstanding).retry(system.reaction);
        Ok(Self { requester: Requester::try_new(config)?, requests: Slab::default() })
    }

    /// Numbers a request and keeps it until its reply; `None` without room.
    fn begin(&mut self, now: Timestamp, request: Request, server: u16) -> Option<Outbound> {
        let place = self.requests.insert(request);
        let key_hash = request.identity.key_hash;
        self.requester.begin_call(now, Call { bytes: 64, key_hash, server, token: u64::from(place) }).ok()
    }

    #[expect(clippy::cast_possible_truncation, reason = "a token is a place")]
    pub(super) fn request(&self, token: u64) -> Request {
        *self.requests.at(token as u32)
    }

    #[expect(clippy::cast_possible_truncation, reason = "a token is a place")]
    fn end(&mut self, token: u64) {
        self.requests.remove(token as u32);
    }
}

impl<S: Servers> World<'_, S> {
    #[inline(always)]
    pub(super) fn send_next(&mut self, now: Timestamp) {
        if now > self.servers.latest() {
            self.stop_at_end();
        } else if self.clients.source.at() == now {
            self.send_first_try(now);
        } else {
            self.send_retries(now);
        }
    }

    #[inline(always)]
    fn send_first_try(&mut self, now: Timestamp) {
        let request = self.clients.next_request(now);
        let server = self.clients.choose_server();
        if self.window.length.is_measured(request.number) {
            self.window.tally.note_arrival(now);
        }
        let Some(listening) = &mut self.clients.listening else {
            return self.receive(now, server, Clients::header(&request), &request);
        };
        match listening.begin(now, request, server) {
            Some(outbound) => self.send(now, server, outbound, &request),
            None => self.window.stop(Stop::NoRoom),
        }
    }

    #[cold]
    fn send_retries(&mut self, now: Timestamp) {
        while let Some(listening) = &mut self.clients.listening
            && let Some(resend) = listening.requester.poll_retry(now)
        {
            let request = listening.request(resend.token);
            self.send(now, resend.server, resend.outbound, &request);
        }
    }

    /// An RPC is one packet here, and the wire takes no time.
    pub(super) fn send(&mut self, now: Timestamp, server: u16, mut outbound: Outbound, request: &Request) {
        if let Some(header) = outbound.next() {
            // One table numbers all clients' RPCs: without shared flows each is a separate flow.
            let flow = if self.clients.identities.share_flows() { request.identity.flow } else { header.tid.0 };
            self.receive(now, server, Header { snid: NodeId(flow), ..header }, request);
        }
    }

    pub(super) fn end(&mut self, now: Timestamp, token: u64) {
        if let Some(listening) = &mut self.clients.listening {
            let client = listening.request(token).client;
            listening.end(token);
            self.clients.source.think(now, client);
        }
    }

    /// The RPC's key in the clients' table.
    pub(super) fn key(rpc: RpcKey) -> RpcKey {
        RpcKey { snid: NodeId(0), ..rpc }
    }
}

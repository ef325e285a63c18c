//! Servers behind a router: JBSQ(n) across servers, as R2P2's switch, or a choice at arrival.
//!
//! The router is a [`Backend`] whose "cores" are servers: it keeps RPCs in one queue and gives the
//! head to the least loaded server that has fewer than n, or chooses at arrival as a policy with a
//! queue per core does. The server then schedules the RPC, as any other kind of [`Servers`].
//! Latencies between router and servers are constant, so each direction is a FIFO.

use super::client::Request;
use super::servers::{Ended, Received, Servers};
use crate::error::SimError;
use crate::system::System;
use crate::system::router::Router;
use nebula_nic::{Backend, CentralDispatch, CoreId, Header, Policy, SlotRange, Span, Timestamp, Verdict};
use nebula_workload::Seed;
use std::collections::VecDeque;

pub(super) struct Routed<S, D: CentralDispatch> {
    servers: S,
    router: Backend<D>,
    has_queue: bool,
    there: Span,
    back: Span,
    held: Box<[Held]>,
    requests: VecDeque<(Timestamp, u16, u32)>,
    feedback: VecDeque<(Timestamp, u16, u32)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Held {
    header: Header,
    request: Request,
    slots: SlotRange,
    server: u16,
    received: Timestamp,
    /// Time between its arrivals at the router and at a server.
    before_ps: u64,
}

impl<S: Servers, D: CentralDispatch> Routed<S, D> {
    /// The router of `system` before these servers, with room for `slots` RPCs.
    pub(super) fn try_new(
        system: &System,
        router: Router,
        slots: u32,
        seed: Seed,
        servers: S,
        dispatch: D,
    ) -> Result<Self, SimError> {
        let as_cores = System::new(Policy::Jbsq(router.bound.into()), system.servers);
        let config = System { queue_bound: system.queue_bound, ..as_cores }.backend(slots, seed.0)?;
        Ok(Self {
            servers,
            router: Backend::try_with(config, dispatch)?,
            has_queue: system.queue_bound != Some(0),
            there: router.dispatch,
            back: router.feedback,
            held: vec![Held::default(); slots as usize].into(),
            requests: VecDeque::new(),
            feedback: VecDeque::new(),
        })
    }

    fn give_out(&mut self, now: Timestamp) {
        while let Some(dispatch) = self.router.poll_dispatch() {
            let (server, ticket) = (dispatch.core.0, dispatch.arrival.slots.start.0);
            self.held[ticket as usize].server = server;
            if self.there == Span::ZERO {
                self.deliver(now, server, ticket);
            } else {
                self.requests.push_back((now + self.there, server, ticket));
            }
        }
    }

    fn deliver(&mut self, now: Timestamp, server: u16, ticket: u32) {
        let held = &mut self.held[ticket as usize];
        held.before_ps = (now - held.received).as_ps();
        let mut request = held.request;
        request.ticket = ticket;
        let received = self.servers.receive(now, server, held.header, &request);
        assert!(matches!(received.verdict, Verdict::Write { .. }), "a server has room for what the router gives it");
    }

    fn take_feedback(&mut self, now: Timestamp, server: u16, ticket: u32) {
        let slots = self.held[ticket as usize].slots;
        self.router.handle_free(CoreId(server), slots);
        self.give_out(now);
    }

    fn end(&mut self, now: Timestamp, ended: Ended) -> Ended {
        let ticket = ended.served.ticket;
        let Held { server, before_ps, .. } = self.held[ticket as usize];
        if self.back == Span::ZERO {
            self.take_feedback(now, server, ticket);
        } else {
            self.feedback.push_back((now + self.back, server, ticket));
        }
        Ended { queued_ps: ended.queued_ps + before_ps, ..ended }
    }
}

fn head_ps(fifo: &VecDeque<(Timestamp, u16, u32)>) -> u64 {
    fifo.front().map_or(u64::MAX, |(at, ..)| at.as_ps())
}

impl<S: Servers, D: CentralDispatch> Servers for Routed<S, D> {
    fn next_ps(&self) -> u64 {
        self.servers.next_ps().min(head_ps(&self.requests)).min(head_ps(&self.feedback))
    }

    fn latest(&self) -> Timestamp {
        self.servers.latest()
    }

    fn turn(&mut self, now: Timestamp) -> Option<Ended> {
        if self.servers.next_ps() == now.as_ps() {
            let ended = self.servers.turn(now)?;
            return Some(self.end(now, ended));
        }
        // Feedback first: the router decides with all information.
        if head_ps(&self.feedback) == now.as_ps()
            && let Some((_, server, ticket)) = self.feedback.pop_front()
        {
            self.take_feedback(now, server, ticket);
        } else if let Some((_, server, ticket)) = self.requests.pop_front() {
            self.deliver(now, server, ticket);
        }
        None
    }

    fn receive(&mut self, now: Timestamp, _: u16, header: Header, request: &Request) -> Received {
        let depth = self.router.queue_depth();
        let verdict = match self.has_queue {
            true => self.router.handle_packet(now, header),
            false => self.router.handle_packet_without_queue(now, header),
        };
        if let Verdict::Write { slots, .. } = verdict {
            let held = Held { header, request: *request, slots, received: now, ..Held::default() };
            self.held[slots.start.0 as usize] = held;
            self.give_out(now);
        }
        Received { depth, verdict }
    }
}

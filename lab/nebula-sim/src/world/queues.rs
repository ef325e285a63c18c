//! Servers with a software queue per core: `work-stealing`, and choices at arrival with batching.
//!
//! The NIC puts an RPC into the queue of its flow's core. A core takes one RPC or a batch from its
//! queue; under `work-stealing` an idle core takes from the queue that its [`Thief`] selects. No
//! reply leaves before its whole batch has been served, as in IX.
//!
//! Events are ends of batches (a source per core in the [`Calendar`]), and idle cores noticing an
//! RPC (a constant delay after its arrival at a busy core, so a FIFO). Slots and credit return to
//! the home core, whichever core served the RPC.
//!
//! [`core`] is one core with its queue and batch, [`queued_server`] one server.

mod core;
mod queued_server;

use super::client::Request;
use super::servers::{Ended, Received, Servers};
use crate::calendar::Calendar;
use crate::error::SimError;
use crate::system::System;
use nebula_nic::{Choose, CoreId, Header, PerCore, Span, Timestamp};
use nebula_workload::Seed;
use queued_server::{QueuedServer, Terms};
use std::collections::VecDeque;

pub(super) struct Queues<C: Choose> {
    terms: Terms,
    servers: Box<[QueuedServer<C>]>,
    /// The end of each core's service; core `c` of server `s` is source `s · workers + c`.
    calendar: Calendar,
    /// When idle cores of a server notice an RPC at a busy core.
    notices: VecDeque<(Timestamp, u16)>,
}

impl<C: Choose> Queues<C> {
    /// Servers with room for `slots` RPCs each; `choose` creates the choice of core.
    pub(super) fn try_new(
        system: &System,
        slots: u32,
        seed: Seed,
        choose: &impl Fn(u16, u64) -> C,
    ) -> Result<Self, SimError> {
        let terms = Terms::of(system);
        // RPCs waiting in software count too, so the bound is checked here and not at the NIC.
        let unbounded = System { queue_bound: None, ..system.clone() };
        let one = |index| {
            let config = unbounded.backend(slots, seed.replica(index).0)?;
            QueuedServer::try_new(config, PerCore::stealable(config.cores, choose(config.cores, config.seed)), &terms)
        };
        let servers: Box<[_]> = (0..u64::from(system.servers)).map(one).collect::<Result<_, SimError>>()?;
        let calendar = Calendar::new(usize::from(system.workers()) * servers.len());
        Ok(Self { terms, servers, calendar, notices: VecDeque::new() })
    }

    fn next_notice_ps(&self) -> u64 {
        self.notices.front().map_or(u64::MAX, |(at, _)| at.as_ps())
    }

    fn schedule(&mut self, server: usize, core: CoreId) {
        let source = server * self.terms.workers + core.index();
        match self.servers[server].end_of(core) {
            Some(end) => self.calendar.set(source, end),
            None => self.calendar.clear(source),
        }
    }

    /// Lets idle cores look at the queues, which may interrupt the home core of an RPC.
    fn rouse(&mut self, now: Timestamp, server: usize) {
        let Some((thief, home)) = self.servers[server].rouse(now, &self.terms) else { return };
        self.schedule(server, thief);
        self.schedule(server, home);
    }

    fn end_next(&mut self, now: Timestamp) -> Option<Ended> {
        let (_, source) = self.calendar.next()?;
        let (server, core) = (source / self.terms.workers, source % self.terms.workers);
        #[expect(clippy::cast_possible_truncation, reason = "below a number of cores that is a u16")]
        let core = CoreId(core as u16);
        let (ended, home) = self.servers[server].end_one(now, core, &self.terms)?;
        self.schedule(server, core);
        if let Some(home) = home {
            self.schedule(server, home);
        }
        self.give_out(now, server);
        Some(Ended { core: Some(source), ..ended })
    }

    fn give_out(&mut self, now: Timestamp, server: usize) {
        while let Some(home) = self.servers[server].give_out(now, &self.terms) {
            self.schedule(server, home);
            if !self.terms.is_stealing || !self.servers[server].is_work_for_others(home) {
                continue;
            }
            if self.terms.discover == Span::ZERO {
                self.rouse(now, server);
            } else {
                #[expect(clippy::cast_possible_truncation, reason = "a number of servers is a u16")]
                self.notices.push_back((now + self.terms.discover, server as u16));
            }
        }
    }
}

impl<C: Choose> Servers for Queues<C> {
    #[inline(always)]
    fn next_ps(&self) -> u64 {
        self.calendar.next_ps().min(self.next_notice_ps())
    }

    #[inline(always)]
    fn latest(&self) -> Timestamp {
        self.calendar.latest()
    }

    #[inline(always)]
    fn turn(&mut self, now: Timestamp) -> Option<Ended> {
        if self.calendar.next_ps() == now.as_ps() {
            return self.end_next(now);
        }
        let (_, server) = self.notices.pop_front()?;
        self.rouse(now, server.into());
        None
    }

    #[inline(always)]
    fn receive(&mut self, now: Timestamp, server: u16, header: Header, request: &Request) -> Received {
        let received = self.servers[usize::from(server)].receive(now, header, request);
        self.give_out(now, server.into());
        received
    }
}

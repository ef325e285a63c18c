//! Servers whose cores each have a queue in software: `work-stealing`, and any choice at arrival
//! with batching.
//!
//! The NIC puts each RPC into the queue of the core that its flow belongs to. A core takes from its
//! own queue, one RPC or a batch of them; under `work-stealing` an idle core takes from the queue
//! of another core that its [`Thief`] selects. No reply of a batch leaves before the whole batch
//! has been served, as in IX.
//!
//! Events are the ends of batches (one source a core in the [`Calendar`]) and idle cores noticing
//! an RPC (a constant delay after it arrived at a busy core's queue, so a FIFO). Slots and credit
//! return to the home core's account, whichever core served the RPC.
//!
//! | file | what it holds |
//! |---|---|
//! | [`core`] | one core: its queue, its batch |
//! | [`queued_server`] | one server: taking, stealing, ending |

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

/// Servers with one queue per core.
pub(super) struct Queues<C: Choose> {
    terms: Terms,
    servers: Box<[QueuedServer<C>]>,
    /// The end of each core's service; core `c` of server `s` is source `s · workers + c`.
    calendar: Calendar,
    /// When idle cores notice an RPC that arrived at a busy core of a server.
    notices: VecDeque<(Timestamp, u16)>,
}

impl<C: Choose> Queues<C> {
    /// Servers with room for `slots` RPCs each; `choose` creates the choice of core, for a number
    /// of cores and a seed.
    pub(super) fn try_new(
        system: &System,
        slots: u32,
        seed: Seed,
        choose: &impl Fn(u16, u64) -> C,
    ) -> Result<Self, SimError> {
        let terms = Terms::of(system);
        // RPCs that wait in software count too, so the bound is enforced here and not at the NIC.
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

    /// Puts the next event of a core into the calendar.
    fn schedule(&mut self, server: usize, core: CoreId) {
        let source = server * self.terms.workers + core.index();
        match self.servers[server].end_of(core) {
            Some(end) => self.calendar.set(source, end),
            None => self.calendar.clear(source),
        }
    }

    /// Lets idle cores look at the queues; if one finds an RPC, the home core of the RPC may be
    /// interrupted.
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

    /// RPCs that the NIC has credit for go to the cores' queues.
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

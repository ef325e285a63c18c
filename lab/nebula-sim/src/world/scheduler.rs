//! Servers whose scheduler keeps the waiting RPCs itself: `preemptive:Q` and `darc`.
//!
//! RPCs wait in queues by type. A [`Chooser`] decides which RPC goes to which core: the head of one
//! queue to the least loaded core, or DARC. A core may return an RPC with its remaining service
//! when its quantum is used. The scheduler is one thread, whose actions take their time.
//!
//! ```text
//!                   choose                   deliver             begin … due … interrupt … leave
//!  receive ─▶ queues ─────▶ dispatcher (one) ───────▶ run queue ─▶ core ───────────────────┬─▶ finish
//!               ▲                                        ▲────────── stays at its core ────┤      │
//!               └─────────────────── notice ◀────────────────────────── back to the queue ─┴──────┘
//! ```
//!
//! Events are the cores' next events and, per server, messages to and from its cores and the end of
//! its dispatcher's RPC. Each is a source of the [`Calendar`]; at one time they come in this order.
//!
//! [`terms`] has costs and limits, [`chooser`] the choice, [`rpcs`] the RPCs within a server,
//! [`core`] a core, [`dispatcher`] the scheduling thread; [`scheduled_server`] has them all.

mod terms;
pub(crate) mod chooser;
mod rpc;
mod core;
mod dispatcher;
mod scheduled_server;

use super::client::Request;
use super::servers::{Ended, Received, Servers};
use crate::calendar::Calendar;
use crate::error::SimError;
use crate::load::Load;
use crate::system::System;
use chooser::Chooser;
use nebula_nic::{Header, Timestamp};
use scheduled_server::ScheduledServer;
use terms::Terms;

pub(super) struct Scheduled<C> {
    terms: Terms,
    servers: Box<[ScheduledServer<C>]>,
    calendar: Calendar,
}

impl<C: Chooser> Scheduled<C> {
    pub(super) fn try_new(
        system: &System,
        load: &Load,
        slots: u32,
        choose: impl Fn(&System, &Load) -> C,
    ) -> Result<Self, SimError> {
        let terms = Terms::try_new(system, load)?;
        let one = |_| ScheduledServer::new(&terms, system, slots, choose(system, load));
        let servers: Box<[_]> = (0..system.servers).map(one).collect();
        let calendar = Calendar::new(servers.len() * terms.sources());
        Ok(Self { terms, servers, calendar })
    }

    #[inline]
    fn parts(&mut self, server: usize) -> (&mut ScheduledServer<C>, Agenda<'_>) {
        let agenda = Agenda { first: server * self.terms.sources(), calendar: &mut self.calendar, terms: &self.terms };
        (&mut self.servers[server], agenda)
    }
}

/// A server's part of the calendar, and its terms.
struct Agenda<'a> {
    first: usize,
    calendar: &'a mut Calendar,
    terms: &'a Terms,
}

impl Agenda<'_> {
    #[inline]
    fn set(&mut self, source: usize, at: Option<Timestamp>) {
        match at {
            Some(at) => self.calendar.set(self.first + source, at),
            None => self.calendar.clear(self.first + source),
        }
    }
}

impl<C: Chooser> Servers for Scheduled<C> {
    #[inline(always)]
    fn next_ps(&self) -> u64 {
        self.calendar.next_ps()
    }

    #[inline(always)]
    fn latest(&self) -> Timestamp {
        self.calendar.latest()
    }

    #[inline(always)]
    fn turn(&mut self, now: Timestamp) -> Option<Ended> {
        let (_, source) = self.calendar.next()?;
        let sources = self.terms.sources();
        let (server, mut agenda) = self.parts(source / sources);
        let ended = server.turn(now, source % sources, &mut agenda)?;
        let first = source / sources * usize::from(self.terms.workers);
        Some(Ended { core: ended.core.map(|core| core + first), ..ended })
    }

    #[inline(always)]
    fn receive(&mut self, now: Timestamp, server: u16, header: Header, request: &Request) -> Received {
        let (server, mut agenda) = self.parts(server.into());
        server.receive(now, header, request, &mut agenda)
    }
}

//! Servers whose scheduler keeps the waiting RPCs itself: `preemptive:Q` and `darc`.
//!
//! RPCs wait in queues by type. A [`Chooser`] decides which RPC goes to which core: the head of one
//! queue to the core with the fewest RPCs, or DARC. A core may have to return an RPC with its
//! remaining service when its quantum is used; the RPC then waits again. The scheduler is one
//! thread: actions that take time are done one after the other.
//!
//! ```text
//!                   choose                   deliver             begin … due … interrupt … leave
//!  receive ─▶ queues ─────▶ dispatcher (one) ───────▶ run queue ─▶ core ───────────────────┬─▶ finish
//!               ▲                                        ▲────────── stays at its core ────┤      │
//!               └─────────────────── notice ◀────────────────────────── back to the queue ─┴──────┘
//! ```
//!
//! Events are the next events of cores and, for each server, messages in flight to and from its
//! cores and the end of the RPC that its dispatcher serves. Each is a source of the [`Calendar`].
//! Events of the same time happen in this order.
//!
//! | file | what it holds |
//! |---|---|
//! | [`terms`] | costs and limits of the mechanisms |
//! | [`chooser`] | which RPC goes where |
//! | [`rpcs`] | the state of each RPC within a server |
//! | [`core`] | one core: its run queue, and when its RPC ends or is due |
//! | [`dispatcher`] | the one thread that schedules |
//! | [`scheduled_server`] | one server, made of these parts |

mod terms;
pub(crate) mod chooser;
mod rpcs;
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

/// Servers with a scheduler in software.
pub(super) struct Scheduled<C> {
    terms: Terms,
    servers: Box<[ScheduledServer<C>]>,
    calendar: Calendar,
}

impl<C: Chooser> Scheduled<C> {
    /// Servers with room for `slots` RPCs each.
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

/// The calendar that a server writes its next events to, and its terms.
struct Agenda<'a> {
    /// Its first source.
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

//! One run: event after event, until the measured window has ended.

use crate::error::SimError;
use crate::hottest;
use crate::load::over_time::Profile;
use crate::system::{SLOTS_LAST, System};
use crate::tally::Tally;
use crate::tally::sections::Sections;
use crate::world::client::Clients;
use crate::world::demand::{Demand, InParts};
use crate::world::length::Length;
use crate::world::servers::Servers;
use nebula_nic::Timestamp;

/// Runs `load` on the servers that `servers` creates with room for a number of RPCs each; restarts
/// with more room if that is not enough.
pub(super) fn run_behind<S: Servers>(
    system: &System,
    demand: Demand<'_>,
    servers: impl Fn(u32) -> Result<S, SimError>,
) -> Result<InParts, SimError> {
    let Demand { load, seed, .. } = demand;
    system.validate()?;
    load.validate(system)?;
    hottest::check(system, load, seed)?;
    let mut slots = system.slots_first();
    loop {
        match World::try_new(system, demand, servers(slots)?, slots)?.run() {
            Err(Stop::NoRoom) if slots < SLOTS_LAST => slots = (slots * 16).min(SLOTS_LAST),
            Err(Stop::NoRoom) => {
                return Err(SimError::Outgrown { rpcs: slots, policy: system.policy_name() });
            }
            Err(Stop::NoTime(seconds)) => return Err(SimError::Endless { seconds }),
            Ok(in_parts) => return Ok(in_parts),
        }
    }
}

/// Why a run ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// There are too few slots, or the table of outstanding RPCs is too small: the run restarts
    /// with more, from the same seed.
    NoRoom,
    /// The end of the calendar was reached, after this many seconds.
    NoTime(u64),
}

pub(super) struct World<'a, S> {
    pub(super) system: &'a System,
    pub(super) length: Length,
    // -- stations --
    pub(super) clients: Clients<'a>,
    pub(super) servers: S,
    // -- measurements --
    pub(super) tally: Tally,
    pub(super) sections: Option<Sections>,
    /// RPCs of the window that have ended when a batch or the run ends next.
    pub(super) next_mark: u64,
    /// Whether every RPC of the measured window has ended, or the run cannot continue.
    pub(super) is_over: bool,
    pub(super) stop: Option<Stop>,
}

impl<'a, S: Servers> World<'a, S> {
    pub(super) fn try_new(system: &'a System, demand: Demand<'a>, servers: S, room: u32) -> Result<Self, SimError> {
        let Demand { load, length, seed, parts } = demand;
        let sections = Sections::of(parts, length.rpcs);
        Ok(Self {
            next_mark: sections.as_ref().map_or(length.rpcs, |sections| sections.next),
            sections,
            system,
            length,
            clients: Clients::try_new(system, load, seed, room)?,
            servers,
            tally: Tally::of(&load.service)
                .by_core(if hottest::cores_differ(system, load) { system.workers_total() } else { 0 })
                .over_time(load.over_time.as_ref().map(Profile::period))
                .light_from(system.queue_bound.and_then(|_| hottest::first_light(load))),
            is_over: false,
            stop: None,
        })
    }

    pub(super) fn run(mut self) -> Result<InParts, Stop> {
        while !self.is_over {
            self.turn();
        }
        self.servers.account(&mut self.tally);
        self.tally.close();
        self.stop.map_or(Ok((self.tally, self.sections)), Err)
    }

    /// An RPC of the measured window has ended.
    #[inline(always)]
    pub(super) fn note_end(&mut self) {
        if self.tally.ended() == self.next_mark {
            self.mark();
        }
    }

    #[cold]
    pub(super) fn mark(&mut self) {
        if let Some(sections) = &mut self.sections {
            sections.mark(&self.tally);
            self.next_mark = sections.next.min(self.length.rpcs);
        }
        self.is_over = self.tally.ended() == self.length.rpcs;
    }

    #[cold]
    pub(super) fn stop(&mut self, why: Stop) {
        (self.is_over, self.stop) = (true, Some(why));
    }

    #[cold]
    pub(super) fn stop_at_end(&mut self) {
        self.stop(Stop::NoTime(self.servers.latest().as_ps() / 1_000_000_000_000));
    }

    /// Carries out the next event.
    #[inline(always)]
    pub(super) fn turn(&mut self) {
        let (within, send) = (self.servers.next_ps(), self.clients.next_ps());
        if within <= send {
            self.turn_servers(Timestamp::from_ps(within));
        } else {
            self.send_next(Timestamp::from_ps(send));
        }
    }
}

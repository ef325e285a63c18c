//! One run: clients and servers, event after event.

use crate::error::SimError;
use crate::hottest;
use crate::load::over_time::Profile;
use crate::system::{SLOTS_LAST, System};
use crate::tally::Tally;
use crate::world::client::Clients;
use crate::world::demand::{Demand, InParts};
use crate::world::servers::Servers;
use crate::world::window::{Stations, Stop, Window, run_stations};
use nebula_nic::Timestamp;

/// Runs `load` on the servers that `servers` creates with room for a number of RPCs.
pub(super) fn run_behind<S: Servers>(
    system: &System,
    demand: Demand<'_>,
    servers: impl Fn(u32) -> Result<S, SimError>,
) -> Result<InParts, SimError> {
    let Demand { load, seed, .. } = demand;
    system.validate()?;
    load.validate(system)?;
    hottest::check(system, load, seed)?;
    run_stations(system, SLOTS_LAST, |slots| World::try_new(system, demand, servers(slots)?, slots))
}

pub(super) struct World<'a, S> {
    pub(super) system: &'a System,
    pub(super) clients: Clients<'a>,
    pub(super) servers: S,
    pub(super) window: Window,
}

impl<'a, S: Servers> World<'a, S> {
    fn try_new(system: &'a System, demand: Demand<'a>, servers: S, room: u32) -> Result<Self, SimError> {
        let Demand { load, seed, .. } = demand;
        let tally = Tally::of(&load.service)
            .by_core(if hottest::cores_differ(system, load) { system.workers_total() } else { 0 })
            .over_time(load.over_time.as_ref().map(Profile::period))
            .light_from(system.queue_bound.and_then(|_| hottest::first_light(load)));
        let clients = Clients::try_new(system, load, seed, room)?;
        Ok(Self { system, clients, servers, window: Window::new(demand, tally) })
    }

    #[cold]
    pub(super) fn stop_at_end(&mut self) {
        self.window.stop(Stop::NoTime(self.servers.latest().as_ps() / 1_000_000_000_000));
    }
}

impl<S: Servers> Stations for World<'_, S> {
    #[inline(always)]
    fn window(&self) -> &Window {
        &self.window
    }

    #[inline(always)]
    fn turn(&mut self) {
        let (within, send) = (self.servers.next_ps(), self.clients.next_ps());
        if within <= send {
            self.turn_servers(Timestamp::from_ps(within));
        } else {
            self.send_next(Timestamp::from_ps(send));
        }
    }

    fn into_window(mut self) -> Window {
        self.servers.account(&mut self.window.tally);
        self.window
    }
}

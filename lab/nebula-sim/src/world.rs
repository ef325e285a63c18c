//! One run: the stations of an RPC in simulated time.
//!
//! `world/client.rs`, `world/ingress.rs` and the files of each kind of scheduling carry out the
//! decisions of `nebula-nic`. This file holds what they share and the order of events.
//!
//! ```text
//!            client                 ingress               servers
//! clients ──▶ number, send ───────▶ admit, queue ───────▶ dispatch ─▶ begin … finish ─┐
//!    ▲            ▲                    │ NACK                 ▲                        │
//!    │ think      │ back off           ▼                      └── slots, credit ◀──────┤
//!    └────────────┴──────────────── reaction ◀─────────────────────────────── reply ───┘
//! ```
//!
//! The server side is one of several [`Servers`], a type parameter. Events are those of the
//! servers, arrivals (one pending), and those that clients wait for. Events of the same time happen
//! in that order.
//!
//! Next: [`client`].

pub(crate) mod client;
mod draws;
mod identity;
mod ingress;
mod servers;
mod dispatch;
mod cpu;
mod reply;
mod queues;
mod routed;
mod hosted;
mod altocumulus;
mod scheduler;
mod tiers;
pub(crate) mod tenants;
mod watched;
#[cfg(test)]
mod noted;
mod traced;

use crate::error::SimError;
use crate::load::Load;
use crate::load::over_time::Profile;
use crate::system::host::Host;
use crate::system::router::{Balance, Router};
use crate::system::{SLOTS_LAST, System};
use crate::tally::Tally;
use crate::tally::sections::Sections;
use crate::{hottest, recursion};
use altocumulus::Grouped;
use client::Clients;
use cpu::Central;
use hosted::Hosted;
use nebula_nic::{
    CentralDispatch, Choose, Jbsq, KeyHash, PerCore, Policy, Random, RoundRobin, Rss, SingleQueue, Span, StaticFlow,
    Timestamp, TwoChoices,
};
use nebula_workload::Seed;
#[cfg(test)]
pub(crate) use noted::{Noted, run_noted};
use queues::Queues;
use routed::Routed;
use scheduler::Scheduled;
use scheduler::chooser::{LeastLoaded, Reserved, first_plan};
use servers::Servers;
use std::cell::RefCell;
pub use traced::{TracedRpc, trace};
use watched::{ByDepth, Watched};

/// The length of a run, in RPCs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// RPCs before the measured window, which fill the empty system.
    pub warmup: u64,
    /// RPCs of the measured window.
    pub rpcs: u64,
}

impl Length {
    /// `rpcs` measured RPCs, after a warm-up of a tenth as many.
    #[must_use]
    pub const fn of(rpcs: u64) -> Self {
        Self { warmup: rpcs / 10, rpcs }
    }

    /// The same measured RPCs, after a warm-up of at least `warmup` RPCs.
    fn after(self, warmup: u64) -> Self {
        Self { warmup: self.warmup.max(warmup), ..self }
    }

    #[inline]
    const fn is_measured(self, number: u64) -> bool {
        number.wrapping_sub(self.warmup) < self.rpcs
    }
}

/// Runs `load` on `system` from empty until all RPCs of the measured window have ended.
///
/// The same arguments give the same tally on every machine. Where RPCs are served first come, first
/// served and nothing depends on more than their order, a recursion gives that tally without
/// events, several times as fast; [`run_with`] never uses it.
///
/// # Errors
///
/// [`SimError`] if this cannot be simulated, or the queue grows without limit.
///
/// # Cost
///
/// O(RPCs · log cores) time; memory depends on the longest queue.
///
/// # Examples
///
/// ```
/// use nebula_nic::Policy;
/// use nebula_sim::{Length, Load, System, run};
/// use nebula_workload::Seed;
///
/// let load = Load::open("exp:1us".parse()?, 0.5);
/// let tally = run(&System::new(Policy::Jbsq(2), 16), &load, Length::of(20_000), Seed(1))?;
/// assert_eq!(tally.served, 20_000);
/// assert!((tally.latency.mean() / 1e6 - 1.0).abs() < 0.05, "hardly any RPC waits at half load");
/// # Ok::<(), nebula_sim::SimError>(())
/// ```
pub fn run(system: &System, load: &Load, length: Length, seed: Seed) -> Result<Tally, SimError> {
    run_in_parts(system, Demand { load, length, seed, parts: 0 }).map(|(tally, _)| tally)
}

/// What a run serves, and in how many parts its measured window is noted; 0 for no notes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand<'a> {
    pub(crate) load: &'a Load,
    pub(crate) length: Length,
    pub(crate) seed: Seed,
    pub(crate) parts: u32,
}

/// The tally of a run, and the parts of its measured window where they were asked for.
pub(crate) type InParts = (Tally, Option<Sections>);

/// Runs as [`run`] does.
pub(crate) fn run_in_parts(system: &System, demand: Demand<'_>) -> Result<InParts, SimError> {
    if system.costs.grow() {
        system.validate()?;
        return run_in_parts(&system.at_size(), demand);
    }
    if let Some(result) = recursion::run(system, demand) {
        return result;
    }
    if system.is_tiered() {
        return tiers::run(system, demand);
    }
    if let Some(router) = system.router {
        return run_routed(system, router, demand);
    }
    if let Some(host) = &system.host {
        return run_hosted(system, host, demand);
    }
    let Demand { load, length, .. } = demand;
    // The policies with the most decisions are monomorphized; the others go through one `match`.
    let by_match = |cores, seed| system.dispatcher(cores, seed);
    match system.policy {
        _ if system.custom.is_some() => run_central(system, demand, by_match),
        Policy::SingleQueue | Policy::McsLock => run_central(system, demand, |cores, _| SingleQueue::new(cores)),
        Policy::Jbsq(bound) => run_central(system, demand, |cores, _| Jbsq::new(cores, bound)),
        Policy::WorkStealing | Policy::Rss if system.has_queues() => run_queues(system, demand, Rss::new),
        Policy::Random if system.has_queues() => run_queues(system, demand, Random::new),
        Policy::Altocumulus(_) if system.managers().bound == 1 => run_grouped(system, demand, SingleQueue::new),
        Policy::Altocumulus(_) => {
            let bound = system.managers().bound;
            run_grouped(system, demand, |workers| Jbsq::new(workers, bound))
        }
        Policy::Preemptive(_) => {
            run_behind(system, demand, |slots| Scheduled::try_new(system, load, slots, LeastLoaded::new))
        }
        Policy::Darc => {
            let demand = Demand { length: length.after(first_plan(load)), ..demand };
            run_behind(system, demand, |slots| Scheduled::try_new(system, load, slots, Reserved::new))
        }
        _ => run_central(system, demand, by_match),
    }
}

/// Runs `load` as [`run`] does, under a custom dispatch policy: `dispatch` creates its state for
/// the cores of one server, from a seed.
///
/// The policy in `system` only determines which costs are valid.
///
/// # Errors
///
/// Those of [`run`].
pub fn run_with<D: CentralDispatch>(
    system: &System,
    load: &Load,
    length: Length,
    seed: Seed,
    dispatch: impl Fn(u16, u64) -> D,
) -> Result<Tally, SimError> {
    if system.costs.grow() {
        system.validate()?;
        return run_with(&system.at_size(), load, length, seed, dispatch);
    }
    run_central(system, Demand { load, length, seed, parts: 0 }, dispatch).map(|(tally, _)| tally)
}

/// Runs a load on cores behind one NIC.
fn run_central<D: CentralDispatch>(
    system: &System,
    demand: Demand<'_>,
    dispatch: impl Fn(u16, u64) -> D,
) -> Result<InParts, SimError> {
    run_behind(system, demand, |slots| Central::try_new(system, slots, demand.seed, &dispatch))
}

/// Runs `load` on cores with queues in software.
fn run_queues<C: Choose>(
    system: &System,
    demand: Demand<'_>,
    choose: impl Fn(u16, u64) -> C,
) -> Result<InParts, SimError> {
    run_behind(system, demand, |slots| Queues::try_new(system, slots, demand.seed, &choose))
}

/// Runs `load` on servers behind a router.
fn run_routed(system: &System, router: Router, demand: Demand<'_>) -> Result<InParts, SimError> {
    let seed = demand.seed;
    // What the router has dispatched waits at a server, which refuses nothing.
    let behind = System { queue_bound: None, router: None, ..system.clone() };
    match router.balance {
        Balance::Jbsq => {
            run_balanced(system, &behind, router, demand, |servers| Jbsq::new(servers, router.bound.into()))
        }
        Balance::Random => run_balanced(system, &behind, router, demand, |servers| {
            PerCore::stealable(servers, Random::new(servers, seed.0))
        }),
        Balance::RoundRobin => run_balanced(system, &behind, router, demand, |servers| {
            PerCore::stealable(servers, RoundRobin::new(servers))
        }),
        Balance::TwoChoices => run_balanced(system, &behind, router, demand, |servers| {
            PerCore::stealable(servers, TwoChoices::new(servers, seed.0))
        }),
    }
}

/// Runs `load` on the servers `behind` a router, whose choice `balance` creates for a number of
/// servers.
fn run_balanced<D: CentralDispatch>(
    system: &System,
    behind: &System,
    router: Router,
    demand: Demand<'_>,
    balance: impl Fn(u16) -> D,
) -> Result<InParts, SimError> {
    let seed = demand.seed;
    run_behind(system, demand, |slots| {
        let servers = Central::try_new(behind, slots, seed, &|cores, seed| system.dispatcher(cores, seed))?;
        Routed::try_new(system, router, slots, seed, servers, balance(system.servers))
    })
}

/// Runs `load` on a server behind a host interface.
fn run_hosted(system: &System, host: &Host, demand: Demand<'_>) -> Result<InParts, SimError> {
    fn with<C: Choose>(
        (system, host): (&System, &Host),
        demand: Demand<'_>,
        choice: impl Fn(u16) -> C,
    ) -> Result<InParts, SimError> {
        run_behind(system, demand, |slots| Hosted::try_new(system, host, slots, choice(system.workers()), demand.seed))
    }
    let (server, seed) = ((system, host), demand.seed);
    match system.policy {
        Policy::RoundRobin => with(server, demand, RoundRobin::new),
        Policy::Random => with(server, demand, |cores| Random::new(cores, seed.0)),
        Policy::Rss => with(server, demand, |cores| Rss::new(cores, seed.0)),
        Policy::KeyHash => with(server, demand, KeyHash::new),
        // The only other one that such a system may have.
        _ => with(server, demand, StaticFlow::new),
    }
}

/// Runs `load` on groups of cores that migrate RPCs to each other.
fn run_grouped<D: CentralDispatch>(
    system: &System,
    demand: Demand<'_>,
    dispatch: impl Fn(u16) -> D,
) -> Result<InParts, SimError> {
    let options = system.managers();
    run_behind(system, demand, |slots| Grouped::try_new(system, &options, demand.load, slots, demand.seed, &dispatch))
}

/// Runs an open load on one server under a central policy; for each queue length, counts the RPCs
/// that found it and those later than `slo`.
pub(crate) fn late_by_queue(
    system: &System,
    load: &Load,
    length: Length,
    seed: Seed,
    slo: Span,
) -> Result<ByDepth, SimError> {
    let by_depth = RefCell::default();
    let dispatch = |cores, seed| system.dispatcher(cores, seed);
    let demand = Demand { load, length, seed, parts: 0 };
    run_behind(system, demand, |slots| {
        Ok(Watched::new(Central::try_new(system, slots, seed, &dispatch)?, length, slo, &by_depth))
    })?;
    Ok(by_depth.into_inner())
}

/// Runs `load` on the servers that `servers` creates with room for a number of RPCs each; restarts
/// with more room if that is not enough.
fn run_behind<S: Servers>(
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
enum Stop {
    /// There are too few slots, or the table of outstanding RPCs is too small: the run restarts
    /// with more, from the same seed.
    NoRoom,
    /// The end of the calendar was reached, after this many seconds.
    NoTime(u64),
}

struct World<'a, S> {
    system: &'a System,
    length: Length,
    // -- stations --
    clients: Clients<'a>,
    servers: S,
    // -- measurements --
    tally: Tally,
    sections: Option<Sections>,
    /// RPCs of the window that have ended when a batch or the run ends next.
    next_mark: u64,
    /// Whether every RPC of the measured window has ended, or the run cannot continue.
    is_over: bool,
    stop: Option<Stop>,
}

impl<'a, S: Servers> World<'a, S> {
    fn try_new(system: &'a System, demand: Demand<'a>, servers: S, room: u32) -> Result<Self, SimError> {
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

    fn run(mut self) -> Result<InParts, Stop> {
        while !self.is_over {
            self.turn();
        }
        self.servers.account(&mut self.tally);
        self.tally.close();
        self.stop.map_or(Ok((self.tally, self.sections)), Err)
    }

    /// An RPC of the measured window has ended.
    #[inline(always)]
    fn note_end(&mut self) {
        if self.tally.ended() == self.next_mark {
            self.mark();
        }
    }

    #[cold]
    fn mark(&mut self) {
        if let Some(sections) = &mut self.sections {
            sections.mark(&self.tally);
            self.next_mark = sections.next.min(self.length.rpcs);
        }
        self.is_over = self.tally.ended() == self.length.rpcs;
    }

    #[cold]
    fn stop(&mut self, why: Stop) {
        (self.is_over, self.stop) = (true, Some(why));
    }

    #[cold]
    fn stop_at_end(&mut self) {
        self.stop(Stop::NoTime(self.servers.latest().as_ps() / 1_000_000_000_000));
    }

    /// Carries out the next event.
    #[inline(always)]
    fn turn(&mut self) {
        let (within, send) = (self.servers.next_ps(), self.clients.next_ps());
        if within <= send {
            self.turn_servers(Timestamp::from_ps(within));
        } else {
            self.send_next(Timestamp::from_ps(send));
        }
    }
}

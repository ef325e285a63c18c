//! One run: the stations of an RPC in simulated time.
//!
//! `world/client.rs`, `world/ingress.rs` and the files of each kind of scheduling carry out the
//! decisions of `nebula-nic`. This file chooses among them.
//!
//! ```text
//!            client                 ingress               servers
//! clients ──▶ number, send ───────▶ admit, queue ───────▶ dispatch ─▶ begin … finish ─┐
//!    ▲            ▲                    │ NACK                 ▲                        │
//!    │ think      │ back off           ▼                      └── slots, credit ◀──────┤
//!    └────────────┴──────────────── reaction ◀─────────────────────────────── reply ───┘
//! ```
//!
//! The server side is one of several [`Servers`], a type parameter. Events are the servers',
//! arrivals (one pending), and the clients' timers; those of the same time happen in that order.
//!
//! Next: [`client`].

pub(crate) mod request;
pub(crate) mod one_run;
pub(crate) mod demand;
pub(crate) mod length;
mod window;
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
mod observed;
mod watched;
mod traced;

use crate::error::SimError;
use crate::load::Load;
use crate::recursion;
use crate::system::System;
use crate::system::host::Host;
use crate::system::router::{Balance, Router};
use crate::tally::Tally;
pub(crate) use crate::world::demand::{Demand, InParts};
pub use crate::world::length::Length;
use crate::world::one_run::run_behind;
use altocumulus::Grouped;
use cpu::Central;
use hosted::Hosted;
use nebula_nic::{
    CentralDispatch, Choose, Jbsq, KeyHash, PerCore, Policy, Random, RoundRobin, Rss, SingleQueue, Span, StaticFlow,
    TwoChoices,
};
use nebula_workload::Seed;
use observed::Observed;
use queues::Queues;
use routed::Routed;
use scheduler::Scheduled;
use scheduler::chooser::{LeastLoaded, Reserved, first_plan};
use std::cell::RefCell;
#[cfg(test)]
pub(crate) use traced::traced;
pub use traced::{TracedRpc, trace};
use watched::{ByDepth, Watched};

/// Runs `load` on `system` from empty until all RPCs of the measured window have ended.
///
/// The same arguments give the same tally on every machine. If RPCs are served first come, first
/// served and only their order matters, a recursion gives that tally without events, several times
/// as fast; [`run_with`] never uses it.
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
/// the cores of a server, from a seed. The policy in `system` only determines the valid costs.
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

fn run_central<D: CentralDispatch>(
    system: &System,
    demand: Demand<'_>,
    dispatch: impl Fn(u16, u64) -> D,
) -> Result<InParts, SimError> {
    run_behind(system, demand, |slots| Central::try_new(system, slots, demand.seed, &dispatch))
}

fn run_queues<C: Choose>(
    system: &System,
    demand: Demand<'_>,
    choose: impl Fn(u16, u64) -> C,
) -> Result<InParts, SimError> {
    run_behind(system, demand, |slots| Queues::try_new(system, slots, demand.seed, &choose))
}

fn run_routed(system: &System, router: Router, demand: Demand<'_>) -> Result<InParts, SimError> {
    let seed = demand.seed;
    // RPCs that the router has dispatched wait at a server, which refuses none.
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

/// Runs `load` on the servers `behind` a router; `balance` creates the router's choice.
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
        // The only other policy that such a system may have.
        _ => with(server, demand, StaticFlow::new),
    }
}

fn run_grouped<D: CentralDispatch>(
    system: &System,
    demand: Demand<'_>,
    dispatch: impl Fn(u16) -> D,
) -> Result<InParts, SimError> {
    let options = system.managers();
    run_behind(system, demand, |slots| Grouped::try_new(system, &options, demand.load, slots, demand.seed, &dispatch))
}

/// Runs an open load on a server under a central policy; counts, by the queue length that they
/// found, all RPCs and those later than `slo`.
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
        let servers = Central::try_new(system, slots, seed, &dispatch)?;
        Ok(Observed::new(servers, Watched::new(length, slo, &by_depth)))
    })?;
    Ok(by_depth.into_inner())
}

//! First come, first served, without events: an RPC's begin follows from the RPCs before it.
//!
//! A run needs no calendar if RPCs keep their core, cores serve in order and no client waits:
//!
//! | policies | recursion | file |
//! |---|---|---|
//! | `single-queue`, `mcs-lock` without its lock, `jbsq:1` | Kiefer and Wolfowitz: an RPC begins when it has arrived and the first core is free | [`any_core`] |
//! | `jbsq:N` | the same with credit: when it has arrived, the RPC before it has been dispatched and a core has credit | [`by_credit`] |
//! | `jbsq:2` on up to 64 cores | the same, by two times of each core | [`two_each`] |
//! | `rss`, `static`, `random`, `round-robin`, `key-hash` | Lindley, for each core: when it has arrived and the RPC before it has ended | [`per_core`] |
//! | `two-choices` | the same; the RPCs at each core are kept for the choice | [`loads`] |
//!
//! The result equals that of the event-driven [`world`](crate::world), to the byte: the draws come
//! from the same streams, and `nebula-nic` chooses the cores, except in [`two_each`], whose choice
//! is the same. Only a choice that changes no time is left out: which of several idle cores takes
//! an RPC of one queue. [`tests`] compares both, RPC by RPC. Latencies between NIC and core, and
//! core time per RPC, are [`Terms`] of the recursions.
//!
//! RPCs are taken in blocks, so that draws, recursion and statistics are separate loops.
//!
//! # Source
//!
//! J. Kiefer, J. Wolfowitz, "On the theory of queues with many servers", Trans. AMS 78, 1955; D. V.
//! Lindley, "The theory of queues with a single server", Proc. Cambridge Phil. Soc. 48, 1952.

pub(crate) mod fits;
pub(crate) mod terms;
mod any_core;
mod block;
mod by_credit;
mod first_free;
mod found;
pub mod lanes;
mod loads;
mod one_queue;
mod per_core;
mod two_each;
mod waiting;
#[cfg(test)]
mod tests;

use crate::calendar::Calendar;
use crate::error::SimError;
pub(crate) use crate::recursion::fits::fits;
use crate::recursion::terms::{Recursion, Stop, Terms};
use crate::system::{Costs, System};
use crate::tally::Tally;
use crate::tally::overheads::Overheads;
use crate::tally::sections::Sections;
use crate::world::demand::{Demand, InParts};
use crate::world::length::Length;
use any_core::AnyCore;
use block::{Block, Draws};
use by_credit::ByCredit;
use loads::{Known, NotAsked};
use nebula_nic::{Choose, Jbsq, KeyHash, Policy, Random, RoundRobin, Rss, Span, StaticFlow, Timestamp, TwoChoices};
use one_queue::OneQueue;
use per_core::PerCore;
use two_each::TwoEach;

/// Runs `load` as [`run`](crate::run) does; `None` if the recursions are not exact for it.
pub(crate) fn run(system: &System, demand: Demand<'_>) -> Option<Result<InParts, SimError>> {
    let load = demand.load;
    fits(system, load).then(|| {
        system.validate()?;
        load.validate(system)?;
        let mut measured = Measured::of(system, demand);
        simulate(system, demand, &mut |block| measured.note(block))?;
        let Measured { tally, sections, last_ended, .. } = measured;
        if last_ended < latest_ps(system) { Ok((tally, sections)) } else { Err(endless(system)) }
    })
}

fn latest_ps(system: &System) -> u64 {
    Calendar::latest_of(usize::from(system.workers())).as_ps()
}

fn endless(system: &System) -> SimError {
    SimError::Endless { seconds: latest_ps(system) / 1_000_000_000_000 }
}

/// Hands the blocks of the measured window to `note`.
fn simulate(system: &System, demand: Demand<'_>, note: &mut dyn FnMut(&Block)) -> Result<(), SimError> {
    let Demand { load, seed, .. } = demand;
    let (cores, own, bound) = (system.workers(), seed.replica(0).0, system.queue_bound);
    let Costs { dispatch, receive, notify, .. } = system.costs;
    let terms = Terms { dispatch: dispatch.as_ps(), receive: receive.as_ps(), notify: notify.as_ps() };
    let draws = Draws::try_new(system, load, seed, latest_ps(system))?;
    let served = match system.policy {
        Policy::Rss => by_core(Rss::new(cores, own), cores, terms, draws, demand, note),
        Policy::Static => by_core(StaticFlow::new(cores), cores, terms, draws, demand, note),
        Policy::RoundRobin => by_core(RoundRobin::new(cores), cores, terms, draws, demand, note),
        Policy::Random => by_core(Random::new(cores, own), cores, terms, draws, demand, note),
        Policy::KeyHash => by_core(KeyHash::new(cores), cores, terms, draws, demand, note),
        Policy::Jbsq(2) if cores <= 16 => {
            serve_all(OneQueue::new(TwoEach::<16>::new(cores, terms), bound), draws, demand, note)
        }
        Policy::Jbsq(2) if cores <= 64 => {
            serve_all(OneQueue::new(TwoEach::<64>::new(cores, terms), bound), draws, demand, note)
        }
        Policy::Jbsq(credit) if credit > 1 => {
            let cores = ByCredit::new(Jbsq::new(cores, credit), cores, terms);
            serve_all(OneQueue::new(cores, bound), draws, demand, note)
        }
        Policy::TwoChoices => {
            let (choice, loads) = (TwoChoices::new(cores, own), Known::new(cores));
            serve_all(PerCore::new(choice, loads, cores, terms), draws, demand, note)
        }
        _ => serve_all(OneQueue::new(AnyCore::new(cores, terms), bound), draws, demand, note),
    };
    served.map_err(|stop| match stop {
        Stop::Outgrown => SimError::Outgrown { rpcs: crate::system::SLOTS_LAST, policy: system.policy_name() },
        Stop::NoTime => endless(system),
    })
}

fn by_core<C: Choose>(
    choice: C,
    cores: u16,
    terms: Terms,
    draws: Draws<'_>,
    demand: Demand<'_>,
    note: &mut dyn FnMut(&Block),
) -> Result<(), Stop> {
    serve_all(PerCore::new(choice, NotAsked, cores, terms), draws, demand, note)
}

fn serve_all<R: Recursion>(
    mut recursion: R,
    mut draws: Draws<'_>,
    Demand { length: Length { warmup, rpcs }, parts, .. }: Demand<'_>,
    note: &mut dyn FnMut(&Block),
) -> Result<(), Stop> {
    let mut block = Block::default();
    let batches = Sections::ends(parts, rpcs);
    for (part, is_measured) in [(warmup, false)].into_iter().chain(batches.map(|batch| (batch, true))) {
        let mut left = part;
        while left > 0 {
            let most = recursion.block_rpcs();
            let count = usize::try_from(left).unwrap_or(most).min(most);
            draws.fill(&mut block, count)?;
            recursion.serve(&mut block)?;
            if is_measured {
                note(&block);
            }
            left -= count as u64;
        }
    }
    Ok(())
}

/// The tally of the measured window, and the last end of its RPCs.
struct Measured {
    tally: Tally,
    sections: Option<Sections>,
    receive: Span,
    last_ended: u64,
}

impl Measured {
    fn of(system: &System, Demand { load, length, parts, .. }: Demand<'_>) -> Self {
        let (tally, receive) = (Tally::of(&load.service), system.costs.receive);
        Self { tally, sections: Sections::of(parts, length.rpcs), receive, last_ended: 0 }
    }

    fn note(&mut self, block: &Block) {
        let tally = &mut self.tally;
        let Block { arrived, service, begun, ended, .. } = block;
        let (count, refused) = (arrived.len() as u64, (block.found.len() - arrived.len()) as u64);
        block.window.iter().for_each(|&at| tally.note_arrival(Timestamp::from_ps(at)));
        tally.served += count;
        tally.nacks += refused;
        tally.given_up += refused;
        block.found.iter().for_each(|&found| tally.queue_depth.record(found));
        tally.queued.record_spans(arrived, begun);
        tally.latency.record_spans(arrived, ended);
        tally.busy_ps += service.iter().map(|&ps| u128::from(ps)).sum::<u128>();
        tally.overheads += Overheads { dispatch_ps: self.receive.as_ps() * count, ..Overheads::ZERO };
        self.last_ended = ended.iter().fold(self.last_ended, |last, &ended| last.max(ended));
        if !tally.by_type.is_empty() {
            for (index, &kind) in block.kinds.iter().enumerate() {
                tally.note_type(kind, ended[index] - arrived[index], service[index]);
            }
        }
        if let Some(sections) = self.sections.as_mut().filter(|sections| sections.next == tally.ended()) {
            sections.mark(tally);
        }
    }
}

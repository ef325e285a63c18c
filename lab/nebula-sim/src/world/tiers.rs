//! Callers and tiers of servers: calls in parts, second copies, deadlines, and cancellation.
//!
//! ```text
//!  client ──▶ join ──▶ part ──▶ copy ──▶ server: queue, core ──▶ join at the tier behind ──▶ …
//!                       │         └─────── answer ◀────────────────────┘
//!                       └──▶ second copy, after a while, to another server
//! ```
//!
//! `nebula-nic`'s machines of the client ([`Servers`], [`Hedging`], [`Failover`]), one of each per
//! tier, choose a copy's server, the time of a second copy and the reaction to a NACK; a server's
//! back end decides about copies. Messages between callers and servers take the distance of the
//! tier's balancer. A copy cancelled before its core begins it takes no core time.
//!
//! Events are the ends of services, then messages and timers as they were set, then arrivals.
//!
//! [`calls`] has the calls under way, [`caller`] the callers' actions, [`nodes`] a tier's servers,
//! [`table`] keys.

mod calls;
mod caller;
mod nodes;
mod table;

use super::demand::{Demand, InParts};
use super::draws::{Gaps, Services};
use super::window::{Stations, Stop, Window, run_stations};
use crate::error::SimError;
use crate::load::over_time::{Pace, Profile};
use crate::load::{Load, Source};
use crate::system::calls::{Calls, HedgeAfter};
use crate::system::router::{Balance, Router};
use crate::system::{SLOTS_LAST, System};
use crate::tally::Tally;
use crate::tally::of_tier::OfTier;
use crate::upcoming::Upcoming;
use calls::{At, Copy, Join, Part, What};
use nebula_nic::ending::{NEVER, over};
use nebula_nic::{NackReason, Span, Timestamp, Verdict};
use nebula_requester::{Failover, Hedging, RetryPolicy, Servers};
use nebula_workload::Seed;
use nodes::{Nodes, Place};
use table::{Key, Table};

pub(super) fn run(system: &System, demand: Demand<'_>) -> Result<InParts, SimError> {
    system.validate()?;
    demand.load.validate(system)?;
    let servers = system.tiers(&demand.load.service).map(|(tier, _)| u32::from(tier.servers)).max().unwrap_or(1);
    let last = (SLOTS_LAST / servers).max(SLOTS_LAST / 64);
    run_stations(system, last, |slots| Tiers::try_new(system, demand, slots))
}

struct Tier<'a> {
    nodes: Nodes<'a>,
    services: Services<'a>,
    calls: Calls,
    servers: Servers,
    hedging: Option<Hedging>,
    failover: Failover,
    there: Span,
    back: Span,
}

impl<'a> Tier<'a> {
    fn try_new(
        (system, service): (&'a System, &'a nebula_workload::ServiceTime),
        slots: u32,
        seed: Seed,
    ) -> Result<Self, SimError> {
        let calls = system.calls.unwrap_or(Calls::ONE);
        let balance = match system.router.map(|router| router.balance) {
            Some(Balance::TwoChoices) => nebula_requester::Balance::PowerOfTwo,
            Some(Balance::RoundRobin) => nebula_requester::Balance::RoundRobin,
            _ => nebula_requester::Balance::Random,
        };
        let mut servers = Servers::new(balance, seed.replica(SEED_OF_CHOICE).0);
        for name in 0..system.servers {
            servers.join_as(name.into(), system.standings.get(usize::from(name)).copied().unwrap_or_default());
        }
        let hedging = match calls.hedge.map(|hedge| hedge.after) {
            // A `Hedge` that was read keeps the limits.
            Some(HedgeAfter::Quantile(config)) => Hedging::try_new(config).ok(),
            _ => None,
        };
        let (there, back) =
            system.router.map_or((Span::ZERO, Span::ZERO), |Router { dispatch, feedback, .. }| (dispatch, feedback));
        // Without a reaction an RPC is tried at one server only.
        let retry = match system.reaction {
            RetryPolicy::GiveUp => RetryPolicy::AnotherServer { servers: system.servers, attempts: 1 },
            reaction => reaction,
        };
        Ok(Self {
            nodes: Nodes::try_new(system, slots, seed)?,
            services: Services::new(service, seed),
            calls,
            servers,
            hedging,
            failover: Failover::new(retry),
            there,
            back,
        })
    }
}

/// The replica of a tier's seed for its choice of servers.
const SEED_OF_CHOICE: u64 = 1 << 40;
/// The first replica of a seed for a tier behind the front.
const SEED_OF_TIERS: u64 = 1 << 41;

struct Tiers<'a> {
    tiers: Box<[Tier<'a>]>,
    gaps: Gaps,
    pace: Option<Pace>,
    arrival: Timestamp,
    numbered: u64,
    // -- under way --
    joins: Table<Join>,
    parts: Table<Part>,
    copies: Table<Copy>,
    lists: Vec<Vec<Key>>,
    events: Upcoming<What>,
    window: Window,
}

impl<'a> Tiers<'a> {
    fn try_new(system: &'a System, demand: Demand<'a>, slots: u32) -> Result<Self, SimError> {
        let Demand { load, seed, .. } = demand;
        let seed_of = |tier: u64| if tier == 0 { seed } else { seed.replica(SEED_OF_TIERS + tier) };
        let tiers: Box<[Tier<'_>]> = (0..)
            .zip(system.tiers(&load.service))
            .map(|(index, tier)| Tier::try_new(tier, slots, seed_of(index)))
            .collect::<Result<_, SimError>>()?;
        let (mut gaps, mut pace) = (Self::gaps(system, load, seed)?, load.over_time.as_ref().map(Pace::new));
        let first = gaps.next();
        let first = pace.as_mut().map_or(first, |pace| pace.stretch(first));
        let mut tally = Tally::new().over_time(load.over_time.as_ref().map(Profile::period));
        tally.by_tier = vec![OfTier::default(); tiers.len()];
        Ok(Self {
            tiers,
            gaps,
            pace,
            arrival: Timestamp::ZERO + first,
            numbered: 0,
            joins: Table::new(),
            parts: Table::new(),
            copies: Table::new(),
            lists: Vec::new(),
            events: Upcoming::new(),
            window: Window::new(demand, tally),
        })
    }

    fn gaps(system: &System, load: &Load, seed: Seed) -> Result<Gaps, SimError> {
        match (&load.source, load.rate(system)?) {
            (Source::Open { arrivals, .. }, Some(rate)) => Ok(Gaps::new(arrivals.at(rate), seed)),
            _ => Err(SimError::Calls { reason: "they have an open loop: leave out the clients" }),
        }
    }

    fn send_next(&mut self, now: Timestamp) {
        let number = self.numbered;
        self.numbered += 1;
        let gap = self.gaps.next();
        self.arrival += self.pace.as_mut().map_or(gap, |pace| pace.stretch(gap));
        if self.window.length.is_measured(number) {
            self.window.tally.note_arrival(now);
        }
        self.join(now, 0, None, number, NEVER);
    }

    /// Makes `what` happen after `span`, at once if it is zero.
    fn after(&mut self, now: Timestamp, span: Span, what: What) {
        if span == Span::ZERO { self.happens(now, what) } else { self.events.set(now + span, what) }
    }

    fn happens(&mut self, now: Timestamp, what: What) {
        match what {
            What::Arrives(copy) => self.arrives(now, copy),
            What::Refused(copy) => self.refused(now, copy),
            What::Answered(copy, is_whole) => self.answered(now, copy, is_whole),
            What::Cancelled(copy) => self.cancelled(now, copy),
            What::Beaten(copy) => self.beaten(now, copy),
            What::Copies(part) => self.copies(now, part),
            What::Again(part) => self.again(now, part),
            What::Expires(join) => self.fail(now, join),
        }
    }

    // -- servers --

    fn arrives(&mut self, now: Timestamp, key: Key) {
        let Some(copy) = self.copies.get(key) else { return };
        copy.received = now;
        let (tier, server, is_measured) = (copy.tier, copy.server, self.window.length.is_measured(copy.number));
        let (depth, verdict) = self.tiers[tier].nodes.receive(now, server, key);
        if is_measured && tier == 0 {
            self.window.tally.queue_depth.record(depth);
        }
        match verdict {
            Verdict::Write { .. } => self.give_out(now, tier, server.into()),
            Verdict::Nack { reason: NackReason::QueueBound } => {
                self.window.tally.nacks += u64::from(is_measured);
                self.window.tally.by_tier[tier].nacks += u64::from(is_measured);
                let back = self.tiers[tier].back;
                self.after(now, back, What::Refused(key));
            }
            Verdict::Nack { .. } | Verdict::Drop { .. } => self.window.stop(Stop::NoRoom),
        }
    }

    fn give_out(&mut self, now: Timestamp, tier: usize, server: usize) {
        while let Some(place) = self.tiers[tier].nodes.give_out(server) {
            self.begin(now, tier, place);
        }
    }

    fn begin(&mut self, now: Timestamp, tier: usize, place: Place) {
        let Some(key) = self.tiers[tier].nodes.begin(place) else { return };
        let service_ps = self.begin_copy(now, key);
        let nodes = &mut self.tiers[tier].nodes;
        let time_ps = nodes.time_ps(place.core, service_ps);
        nodes.serve(now, place, time_ps);
        if let Some(copy) = self.copies.get(key) {
            copy.service_ps = time_ps;
            if self.window.length.is_measured(copy.number) {
                self.window.tally.by_tier[tier].busy_ps += u128::from(time_ps);
            }
        }
    }

    /// Its service time; zero if its caller has given up or it is late.
    fn begin_copy(&mut self, now: Timestamp, key: Key) -> u64 {
        let Some(copy) = self.copies.get(key) else { return 0 };
        copy.queued_ps = (now - copy.received).as_ps();
        if let Some(reason) = over(copy.deadline, copy.part.is_none(), || now) {
            copy.at = At::Skipped;
            let of_tier = &mut self.window.tally.by_tier[copy.tier];
            let count = if reason == NackReason::Cancelled { &mut of_tier.cancelled } else { &mut of_tier.late };
            *count += u64::from(self.window.length.is_measured(copy.number));
            return 0;
        }
        copy.at = At::Core;
        let (service_ps, tier, part) = (copy.service_ps, copy.tier, copy.part);
        if self.tiers[tier].calls.hedge.is_some_and(|hedge| hedge.is_tied)
            && let Some(part) = part.and_then(|part| self.parts.get(part))
        {
            let there = self.tiers[tier].there;
            for other in part.copies.into_iter().flatten().filter(|&other| other != key) {
                self.after(now, there, What::Beaten(other));
            }
        }
        service_ps
    }

    fn finish_next(&mut self, now: Timestamp, tier: usize) {
        let Some((place, copy)) = self.tiers[tier].nodes.next_done() else { return };
        let slots = self.tiers[tier].nodes.release(place);
        self.begin(now, tier, place);
        self.tiers[tier].nodes.free(place, slots);
        self.give_out(now, tier, place.server);
        self.tiers[tier].nodes.rest(place);
        if let Some(copy) = copy {
            self.served(now, copy);
        }
    }

    /// A core is done with a copy: it calls the tier behind or answers.
    fn served(&mut self, now: Timestamp, key: Key) {
        let Some(&mut Copy { part, tier, number, deadline, at, .. }) = self.copies.get(key) else { return };
        if at == At::Skipped || part.is_none() {
            self.copies.remove(key);
        } else if tier + 1 < self.tiers.len() {
            self.join(now, tier + 1, Some(key), number, deadline);
        } else {
            self.answer(now, key, true);
        }
    }

    fn answer(&mut self, now: Timestamp, key: Key, is_whole: bool) {
        let Some(copy) = self.copies.get(key) else { return };
        copy.at = At::Back;
        let back = self.tiers[copy.tier].back;
        self.after(now, back, What::Answered(key, is_whole));
    }

    fn cancelled(&mut self, now: Timestamp, key: Key) {
        let Some(&mut Copy { at, .. }) = self.copies.get(key) else { return };
        if let At::Behind(join) = at {
            self.copies.remove(key);
            self.withdraw_all(now, join);
        }
    }

    /// A server learns that the other copy has begun: it drops its copy unless that has begun too.
    fn beaten(&mut self, now: Timestamp, key: Key) {
        let Some(&mut Copy { at: At::Queue, part: Some(part), .. }) = self.copies.get(key) else { return };
        if let Some(part) = self.parts.get(part) {
            part.copies.iter_mut().filter(|copy| **copy == Some(key)).for_each(|copy| *copy = None);
        }
        self.forget(now, key);
    }

    // -- clients --

    fn end(&mut self, now: Timestamp, number: u64, begun: Timestamp, is_served: bool) {
        if !self.window.length.is_measured(number) {
            return;
        }
        let latency_ps = (now - begun).as_ps();
        if is_served {
            self.window.tally.served += 1;
            self.window.tally.latency.record(latency_ps);
        } else {
            self.window.tally.given_up += 1;
        }
        self.window.tally.note_sent(begun, is_served.then_some(latency_ps));
        self.window.note_end();
    }
}

impl Stations for Tiers<'_> {
    fn window(&self) -> &Window {
        &self.window
    }

    fn turn(&mut self) {
        let ends = self.tiers.iter().map(|tier| tier.nodes.calendar.next_ps());
        let (tier, end) = ends.enumerate().min_by_key(|&(_, end)| end).unwrap_or((0, u64::MAX));
        let event = self.events.next_ps();
        let arrival = self.arrival.as_ps();
        let now = Timestamp::from_ps(end.min(event).min(arrival));
        let latest = self.tiers[tier].nodes.calendar.latest();
        if now >= latest {
            self.window.stop(Stop::NoTime(latest.as_ps() / 1_000_000_000_000));
        } else if end == now.as_ps() {
            self.finish_next(now, tier);
        } else if event == now.as_ps() {
            if let Some((_, what)) = self.events.pop() {
                self.happens(now, what);
            }
        } else {
            self.send_next(now);
        }
    }

    fn into_window(mut self) -> Window {
        let tally = &mut self.window.tally;
        tally.busy_ps = tally.by_tier.iter().map(|tier| tier.busy_ps).sum();
        self.window
    }
}

//! Tenants that share cores: each core is lent to one of them at a time, RPC by RPC.
//!
//! [`Lending`] decides which tenant has a core, and the tenant's back end at that core what it
//! admits. A turn is one RPC, after the refusals since the tenant's last turn, and is not
//! interrupted. A core without any work forgets what tenants have used.

use super::client::header_of;
use super::draws::{Gaps, Services};
use super::length::Length;
use super::window::Stop;
use crate::calendar::Calendar;
use crate::error::SimError;
use crate::system::System;
use crate::tally::distribution::Distribution;
use crate::tenants::{Tenant, Tenants};
use nebula_nic::{Backend, CoreId, Lending, NackReason, Policy, SingleQueue, SlotRange, Span, Timestamp, Verdict};
use nebula_workload::{Rate, Rng, Seed};

/// RPCs that an unbounded queue has room for at each core.
const ROOM: u32 = 1 << 16;
/// The fraction of a tenant's time for refusals, as in the runtime; further ones are free.
const REFUSING: u64 = 16;

#[derive(Debug)]
pub(crate) struct TenantTally {
    /// From arrival to the end of service, in picoseconds.
    pub(crate) latency: Distribution,
    pub(crate) served: u64,
    pub(crate) nacked: u64,
    pub(crate) busy_ps: u128,
    /// From the first measured RPC of all tenants to the last.
    pub(crate) window: Span,
}

impl TenantTally {
    pub(crate) const fn ended(&self) -> u64 {
        self.served + self.nacked
    }
}

#[derive(Debug)]
pub(crate) struct TenantsTally {
    pub(crate) tenants: Vec<TenantTally>,
}

impl TenantsTally {
    pub(crate) fn used_ps(&self) -> f64 {
        self.tenants.iter().map(|tenant| tenant.busy_ps as f64).sum()
    }
}

/// Runs tenants from empty until all RPCs of the measured window have ended.
pub(crate) fn run_tenants(tenants: &Tenants, length: Length, seed: Seed) -> Result<TenantsTally, SimError> {
    World::try_new(tenants, length, seed)?.run().map_err(|stop| match stop {
        Stop::NoRoom => SimError::Outgrown { rpcs: ROOM, policy: "lending".to_owned() },
        Stop::NoTime(seconds) => SimError::Endless { seconds },
    })
}

#[derive(Clone, Copy, Debug, Default)]
struct InFlight {
    number: u64,
    arrived: Timestamp,
    service: Span,
}

struct Domain {
    backend: Backend<SingleQueue>,
    in_flight: Box<[InFlight]>,
    refusals: u64,
    /// The time that it may still spend on refusals.
    may_refuse: Span,
}

struct Core {
    lending: Lending,
    domains: Vec<Domain>,
    serving: Option<Serving>,
}

#[derive(Clone, Copy)]
struct Serving {
    tenant: usize,
    slots: SlotRange,
    began: Timestamp,
}

struct Source<'a> {
    gaps: Gaps,
    services: Services<'a>,
    choice: Rng,
    sent: u64,
}

struct World<'a> {
    refusal: Span,
    /// No turn refuses for longer than this.
    quantum: Span,
    /// The state that each core begins with.
    lending: Lending,
    length: Length,
    sources: Vec<Source<'a>>,
    cores: Vec<Core>,
    /// The ends of the cores' turns, then the next RPC of each tenant.
    calendar: Calendar,
    numbered: u64,
    ended: u64,
    opened: Option<Timestamp>,
    tally: Vec<TenantTally>,
}

impl<'a> World<'a> {
    fn try_new(tenants: &'a Tenants, length: Length, seed: Seed) -> Result<Self, SimError> {
        let weights: Vec<_> = tenants.tenants.iter().map(|tenant| tenant.weight).collect();
        let lending = Lending::new(&weights, tenants.quantum);
        let cores = usize::from(tenants.cores.get());
        let core = |_| {
            let domains = tenants.tenants.iter().map(Domain::try_new).collect::<Result<_, SimError>>()?;
            Ok(Core { lending: lending.clone(), domains, serving: None })
        };
        let source = |(index, tenant)| Source::try_new(tenant, cores, seed.replica(index));
        let tally = |_: &Tenant| TenantTally {
            latency: Distribution::new(),
            served: 0,
            nacked: 0,
            busy_ps: 0,
            window: Span::ZERO,
        };
        let mut world = Self {
            refusal: tenants.refusal,
            quantum: tenants.quantum,
            cores: (0..cores).map(core).collect::<Result<_, SimError>>()?,
            // The first replicas of the seed are whole runs.
            sources: (1 << 40..).zip(&tenants.tenants).map(source).collect::<Result<_, SimError>>()?,
            calendar: Calendar::new(cores + tenants.tenants.len()),
            tally: tenants.tenants.iter().map(tally).collect(),
            lending,
            length,
            numbered: 0,
            ended: 0,
            opened: None,
        };
        for tenant in 0..world.sources.len() {
            world.send_next(Timestamp::ZERO, tenant);
        }
        Ok(world)
    }

    fn run(mut self) -> Result<TenantsTally, Stop> {
        while self.ended < self.length.rpcs {
            let latest = self.calendar.latest();
            match self.calendar.next() {
                Some((now, source)) if now < latest => self.turn(now, source)?,
                _ => return Err(Stop::NoTime(latest.as_ps() / 1_000_000_000_000)),
            }
        }
        Ok(TenantsTally { tenants: self.tally })
    }

    fn turn(&mut self, now: Timestamp, source: usize) -> Result<(), Stop> {
        match source.checked_sub(self.cores.len()) {
            None => self.finish(now, source),
            Some(tenant) => self.receive(now, tenant)?,
        }
        Ok(())
    }

    fn send_next(&mut self, now: Timestamp, tenant: usize) {
        let gap = self.sources[tenant].gaps.next();
        self.calendar.set(self.cores.len() + tenant, now + gap);
    }

    fn receive(&mut self, now: Timestamp, tenant: usize) -> Result<(), Stop> {
        let number = self.numbered;
        self.numbered += 1;
        if self.length.is_measured(number) {
            let opened = *self.opened.get_or_insert(now);
            self.tally.iter_mut().for_each(|tally| tally.window = now - opened);
        }
        let source = &mut self.sources[tenant];
        let (_, service) = source.services.next();
        let core = usize::try_from(source.choice.below(self.cores.len() as u64)).unwrap_or(0);
        let header = header_of(source.sent);
        source.sent += 1;
        let domain = &mut self.cores[core].domains[tenant];
        match domain.backend.handle_packet(now, header) {
            Verdict::Write { slots, .. } => {
                domain.in_flight[slots.start.0 as usize] = InFlight { number, arrived: now, service };
                if self.cores[core].serving.is_none() {
                    self.lend(now, core);
                }
            }
            Verdict::Nack { reason: NackReason::QueueBound } => {
                domain.refusals += 1;
                if self.length.is_measured(number) {
                    self.tally[tenant].nacked += 1;
                    self.ended += 1;
                }
            }
            Verdict::Nack { .. } | Verdict::Drop { .. } => return Err(Stop::NoRoom),
        }
        self.send_next(now, tenant);
        Ok(())
    }

    fn lend(&mut self, now: Timestamp, index: usize) {
        let core = &mut self.cores[index];
        if core.domains.iter().all(|domain| domain.backend.queue_depth() == 0) {
            core.lending.clone_from(&self.lending);
            self.calendar.clear(index);
            return;
        }
        let (tenant, arrival) = loop {
            let tenant = core.lending.pick();
            match core.domains[tenant].backend.poll_dispatch() {
                Some(dispatch) => break (tenant, dispatch.arrival),
                None => core.lending.used(tenant, Span::ZERO, false),
            }
        };
        let domain = &mut core.domains[tenant];
        let refusing = domain.refuse(self.refusal);
        let service = domain.in_flight[arrival.slots.start.0 as usize].service;
        core.serving = Some(Serving { tenant, slots: arrival.slots, began: now });
        self.calendar.set(index, now + refusing + service);
    }

    fn finish(&mut self, now: Timestamp, index: usize) {
        let core = &mut self.cores[index];
        let Some(Serving { tenant, slots, began }) = core.serving.take() else { return };
        let domain = &mut core.domains[tenant];
        let InFlight { number, arrived, .. } = domain.in_flight[slots.start.0 as usize];
        domain.backend.handle_free(CoreId(0), slots);
        core.lending.used(tenant, now - began, true);
        domain.may_refuse = (domain.may_refuse + (now - began) / REFUSING).min(self.quantum);
        let tally = &mut self.tally[tenant];
        if self.length.is_measured(number) {
            tally.latency.record((now - arrived).as_ps());
            tally.served += 1;
            self.ended += 1;
        }
        if self.numbered > 0 && self.length.is_measured(self.numbered - 1) {
            tally.busy_ps += u128::from((now - began).as_ps());
        }
        self.lend(now, index);
    }
}

impl Domain {
    fn try_new(tenant: &Tenant) -> Result<Self, SimError> {
        let bound = tenant.queue_bound.map(std::num::NonZeroU32::get);
        let system = System { queue_bound: bound, ..System::new(Policy::SingleQueue, 1) };
        let slots = bound.map_or(ROOM, |bound| (bound + 2).next_power_of_two());
        let backend = Backend::try_with(system.backend(slots, 0)?, SingleQueue::new(1))?;
        Ok(Self {
            backend,
            in_flight: vec![InFlight::default(); slots as usize].into(),
            refusals: 0,
            may_refuse: Span::ZERO,
        })
    }

    /// Takes a turn's refusals; returns their time.
    fn refuse(&mut self, each: Span) -> Span {
        let most = self.may_refuse.as_ps().checked_div(each.as_ps()).unwrap_or(0);
        let refusing = each * most.min(std::mem::take(&mut self.refusals));
        self.may_refuse = Span::from_ps(self.may_refuse.as_ps() - refusing.as_ps());
        refusing
    }
}

impl<'a> Source<'a> {
    fn try_new(tenant: &'a Tenant, cores: usize, seed: Seed) -> Result<Self, SimError> {
        let rate = Rate::try_new(tenant.load * cores as f64 * 1e12 / tenant.service.mean_ps())?;
        Ok(Self {
            gaps: Gaps::new(tenant.arrivals.at(rate), seed),
            services: Services::new(&tenant.service, seed),
            choice: seed.stream("core"),
            sent: 0,
        })
    }
}

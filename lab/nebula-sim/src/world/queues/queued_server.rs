//! One server: its NIC, its cores' queues, and stealing between them.

use super::core::{Core, Serving};
use crate::error::SimError;
use crate::system::System;
use crate::system::speeds::Speeds;
use crate::tally::overheads::Overheads;
use crate::world::client::Request;
use crate::world::servers::{Ended, InFlight, Received};
use nebula_nic::schedule::Thief;
use nebula_nic::{
    Admission, Arrival, Backend, BackendConfig, Choose, CoreId, CoreSet, Header, PerCore, Policy, Span, Timestamp,
    Verdict,
};

#[derive(Clone, Debug)]
pub(super) struct Terms {
    pub(super) workers: usize,
    pub(super) is_stealing: bool,
    pub(super) batch_max: usize,
    /// RPCs waiting in all of a server's queues when it refuses the next.
    queue_bound: u32,
    speeds: Option<Speeds>,
    per_batch: Span,
    receive: Span,
    lock_handoff: Span,
    steal: Span,
    interrupt: Span,
    /// Latency until an idle core notices an RPC in another core's queue.
    pub(super) discover: Span,
}

impl Terms {
    pub(super) fn of(system: &System) -> Self {
        let costs = &system.costs;
        let (batch_max, per_batch) = system.batch.map_or((1, Span::ZERO), |batch| (batch.max, batch.cost));
        Self {
            workers: system.workers().into(),
            is_stealing: system.policy == Policy::WorkStealing,
            batch_max: batch_max.into(),
            queue_bound: system.queue_bound.unwrap_or(u32::MAX),
            speeds: system.speeds.clone(),
            per_batch,
            receive: costs.receive,
            lock_handoff: costs.lock_handoff,
            steal: costs.steal,
            interrupt: costs.interrupt,
            discover: costs.discover,
        }
    }
}

pub(super) struct QueuedServer<C: Choose> {
    backend: Backend<PerCore<C>>,
    admission: Admission,
    cores: Box<[Core]>,
    thieves: Box<[Thief]>,
    filled: CoreSet,
    idle: CoreSet,
    waiting: u32,
    in_flight: Box<[InFlight]>,
}

impl<C: Choose> QueuedServer<C> {
    pub(super) fn try_new(config: BackendConfig, dispatch: PerCore<C>, terms: &Terms) -> Result<Self, SimError> {
        let BackendConfig { cores, slots, seed, .. } = config;
        Ok(Self {
            backend: Backend::try_with(config, dispatch)?,
            admission: Admission::new(terms.queue_bound, u32::MAX, cores),
            cores: (0..cores).map(|_| Core::new(terms.batch_max)).collect(),
            thieves: (0..cores).map(|core| Thief::new(CoreId(core), cores, seed)).collect(),
            filled: CoreSet::empty(cores),
            idle: CoreSet::full(cores),
            waiting: 0,
            in_flight: vec![InFlight::default(); slots as usize].into(),
        })
    }

    #[inline]
    pub(super) fn receive(&mut self, now: Timestamp, header: Header, request: &Request) -> Received {
        let depth = self.backend.queue_depth() + self.waiting;
        let verdict = match self.admission.refusal_behind(depth) {
            Some(reason) => Verdict::Nack { reason },
            None => self.backend.handle_packet(now, header),
        };
        if let Verdict::Write { slots, .. } = verdict {
            self.in_flight[slots.start.0 as usize] = request.into();
        }
        Received { depth, verdict }
    }

    /// Gives the next RPC with credit to its core's queue, and to the core if idle; returns it.
    #[inline]
    pub(super) fn give_out(&mut self, now: Timestamp, terms: &Terms) -> Option<CoreId> {
        let dispatch = self.backend.poll_dispatch()?;
        let home = dispatch.core;
        self.cores[home.index()].queue.push_back(dispatch.arrival);
        self.filled.insert(home);
        self.waiting += 1;
        if self.idle.contains(home) {
            self.begin_own(now, home, terms);
        }
        Some(home)
    }

    #[inline]
    pub(super) fn is_work_for_others(&self, home: CoreId) -> bool {
        self.filled.contains(home) && !self.idle.is_empty()
    }

    #[inline]
    pub(super) fn end_of(&self, core: CoreId) -> Option<Timestamp> {
        let core = &self.cores[core.index()];
        core.is_serving().then_some(core.end)
    }

    /// Ends an RPC of the core's batch; after the last it goes on, and may steal from a core.
    pub(super) fn end_one(&mut self, now: Timestamp, core: CoreId, terms: &Terms) -> Option<(Ended, Option<CoreId>)> {
        let Serving { rpc, slots, home, queued_ps, overheads } = self.cores[core.index()].batch.pop_front()?;
        let served = self.in_flight[slots.start.0 as usize];
        self.backend.handle_free(home, slots);
        let stolen_from = if self.cores[core.index()].is_serving() { None } else { self.go_on(now, core, terms) };
        Some((Ended { rpc, core: Some(core.index()), served, queued_ps, overheads }, stolen_from))
    }

    /// Takes from the core's queue, or else steals; returns the core stolen from.
    fn go_on(&mut self, now: Timestamp, core: CoreId, terms: &Terms) -> Option<CoreId> {
        if self.filled.contains(core) {
            self.begin_own(now, core, terms);
            return None;
        }
        self.idle.insert(core);
        if terms.is_stealing { self.steal(now, core, terms) } else { None }
    }

    /// Lets the first idle core steal; returns it, and the core stolen from.
    pub(super) fn rouse(&mut self, now: Timestamp, terms: &Terms) -> Option<(CoreId, CoreId)> {
        let thief = self.idle.first()?;
        self.steal(now, thief, terms).map(|home| (thief, home))
    }

    /// Takes an RPC from the queue that the core's [`Thief`] chooses; returns that queue's core.
    fn steal(&mut self, now: Timestamp, core: CoreId, terms: &Terms) -> Option<CoreId> {
        let home = self.thieves[core.index()].choose(&self.filled)?;
        let arrival = self.take(home)?;
        let lock_ps = self.lock(now, home, terms);
        let mut interrupt = Span::ZERO;
        if self.cores[home.index()].is_serving() && !self.cores[home.index()].is_past(now) {
            interrupt = terms.interrupt;
            self.cores[home.index()].end += interrupt;
        }
        let at_thief = terms.receive + terms.steal + Span::from_ps(lock_ps);
        let service = Span::from_ps(self.service_at(core, &arrival, terms));
        let stealing_ps = (terms.steal + interrupt).as_ps();
        let overheads = Overheads { dispatch_ps: terms.receive.as_ps(), stealing_ps, lock_ps, ..Overheads::ZERO };
        self.cores[core.index()].end = now + at_thief + service;
        self.serve(now, core, home, arrival, overheads);
        Some(home)
    }

    fn begin_own(&mut self, now: Timestamp, core: CoreId, terms: &Terms) {
        let lock_ps = self.lock(now, core, terms);
        let count = self.cores[core.index()].queue.len().min(terms.batch_max) as u64;
        let shared_ps = (terms.per_batch / count.max(1)).as_ps();
        let mut end = now + Span::from_ps(lock_ps);
        for nth in 0..count {
            let Some(arrival) = self.take(core) else { break };
            let dispatch_ps = terms.receive.as_ps() + shared_ps;
            let lock_ps = if nth == 0 { lock_ps } else { 0 };
            end += Span::from_ps(dispatch_ps + self.service_at(core, &arrival, terms));
            self.serve(now, core, core, arrival, Overheads { dispatch_ps, lock_ps, ..Overheads::ZERO });
        }
        self.cores[core.index()].end = end;
    }

    #[inline]
    fn service_at(&mut self, core: CoreId, arrival: &Arrival, terms: &Terms) -> u64 {
        let service_ps = &mut self.in_flight[arrival.slots.start.0 as usize].service_ps;
        if let Some(speeds) = &terms.speeds {
            *service_ps = speeds.time_ps(core.index(), *service_ps);
        }
        *service_ps
    }

    #[inline]
    fn take(&mut self, home: CoreId) -> Option<Arrival> {
        let queue = &mut self.cores[home.index()].queue;
        let arrival = queue.pop_front()?;
        if queue.is_empty() {
            self.filled.remove(home);
        }
        self.waiting -= 1;
        Some(arrival)
    }

    #[inline]
    fn serve(&mut self, now: Timestamp, core: CoreId, home: CoreId, arrival: Arrival, overheads: Overheads) {
        self.idle.remove(core);
        let queued_ps = (now - arrival.arrived).as_ps();
        let serving = Serving { rpc: arrival.rpc, slots: arrival.slots, home, queued_ps, overheads };
        self.cores[core.index()].batch.push_back(serving);
    }

    /// The time to acquire and hold a queue's lock.
    #[inline]
    fn lock(&mut self, now: Timestamp, home: CoreId, terms: &Terms) -> u64 {
        if terms.lock_handoff == Span::ZERO {
            return 0;
        }
        let free = &mut self.cores[home.index()].lock_free;
        *free = (*free).max(now) + terms.lock_handoff;
        (*free - now).as_ps()
    }
}

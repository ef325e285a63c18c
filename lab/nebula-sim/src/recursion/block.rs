//! RPCs in a row: their draws, and the times that a recursion gives them.

use super::terms::Stop;
use crate::error::SimError;
use crate::load::{Load, Source};
use crate::system::System;
use nebula_nic::Span;
use nebula_workload::{ArrivalProcess, Rng, Seed, ServiceTime, TypeId};

/// The RPCs of a block by arrival, a column per property. Times are in picoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    pub(super) first: u64,
    pub(super) window: [u64; 2],
    // -- drawn --
    pub(super) arrived: Vec<u64>,
    pub(super) service: Vec<u64>,
    pub(super) kinds: Vec<TypeId>,
    // -- served: these columns no longer have the RPCs refused --
    pub(super) begun: Vec<u64>,
    pub(super) ended: Vec<u64>,
    /// RPCs that each finds waiting at the NIC, those that are refused included.
    pub(super) found: Vec<u32>,
}

impl Block {
    fn resize(&mut self, count: usize) {
        for times in [&mut self.arrived, &mut self.service, &mut self.begun, &mut self.ended] {
            times.resize(count, 0);
        }
        self.kinds.resize(count, TypeId(0));
        self.found.resize(count, 0);
    }

    /// Keeps the first `served` rows; the other RPCs were refused.
    pub(super) fn keep(&mut self, served: usize) {
        for times in [&mut self.arrived, &mut self.service, &mut self.begun, &mut self.ended] {
            times.truncate(served);
        }
        self.kinds.truncate(served);
    }
}

/// The arrivals and service times of a run, from the streams of the event-driven world.
pub(super) struct Draws<'a> {
    process: ArrivalProcess,
    gaps: Rng,
    service: &'a ServiceTime,
    services: Rng,
    drawn: u64,
    last_arrived: u64,
    /// The end of the machines' clock.
    latest: u64,
    /// Room for a block's gaps, and then for its service times.
    spans: Vec<Span>,
}

impl<'a> Draws<'a> {
    pub(super) fn try_new(system: &System, load: &'a Load, seed: Seed, latest: u64) -> Result<Self, SimError> {
        let (Source::Open { arrivals, .. }, Some(rate)) = (&load.source, load.rate(system)?) else {
            unreachable!("only an open load is simulated by recursion, and it has a rate");
        };
        Ok(Self {
            process: arrivals.at(rate),
            gaps: seed.stream("arrivals"),
            service: &load.service,
            services: seed.stream("service"),
            drawn: 0,
            last_arrived: 0,
            latest,
            spans: Vec::new(),
        })
    }

    pub(super) fn fill(&mut self, block: &mut Block, count: usize) -> Result<(), Stop> {
        block.resize(count);
        block.first = self.drawn;
        self.drawn += count as u64;
        self.spans.resize(count, Span::ZERO);
        self.process.fill(&mut self.gaps, &mut self.spans);
        for (arrived, gap) in block.arrived.iter_mut().zip(&self.spans) {
            self.last_arrived = self.last_arrived.saturating_add(gap.as_ps());
            *arrived = self.last_arrived;
        }
        block.window = [block.arrived.first().copied().unwrap_or(self.last_arrived), self.last_arrived];
        self.service.fill_typed(&mut self.services, &mut block.kinds, &mut self.spans);
        block.service.iter_mut().zip(&self.spans).for_each(|(service, span)| *service = span.as_ps());
        if self.last_arrived > self.latest { Err(Stop::NoTime) } else { Ok(()) }
    }
}

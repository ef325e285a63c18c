//! RPCs in a row: what is drawn for them, and what a recursion says of them.

use super::terms::Stop;
use crate::error::SimError;
use crate::load::{Load, Source};
use crate::system::System;
use nebula_nic::Span;
use nebula_workload::{ArrivalProcess, Rng, Seed, ServiceTime, TypeId};

/// The RPCs of a block, in the order of their arrival: a column for each of their properties. Times
/// are in picoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    /// The number of the first one, counted over the run.
    pub(super) first: u64,
    /// When the first and the last one arrive.
    pub(super) window: [u64; 2],
    // -- drawn --
    pub(super) arrived: Vec<u64>,
    pub(super) service: Vec<u64>,
    pub(super) kinds: Vec<TypeId>,
    // -- served: the RPCs refused are not in the columns above any more --
    /// When its core begins it.
    pub(super) begun: Vec<u64>,
    pub(super) ended: Vec<u64>,
    /// RPCs that each finds waiting at the NIC, those refused included.
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

    /// Only the first `served` rows are of RPCs that are served; the others were refused.
    pub(super) fn keep(&mut self, served: usize) {
        for times in [&mut self.arrived, &mut self.service, &mut self.begun, &mut self.ended] {
            times.truncate(served);
        }
        self.kinds.truncate(served);
    }
}

/// The arrivals and service times of a run, from the streams that the event-driven world draws them
/// from.
pub(super) struct Draws<'a> {
    process: ArrivalProcess,
    gaps: Rng,
    service: &'a ServiceTime,
    services: Rng,
    /// RPCs drawn so far, and when the last of them arrived.
    drawn: u64,
    last_arrived: u64,
    /// After this the machines have no time.
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

    /// Draws the next `count` RPCs of the run.
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

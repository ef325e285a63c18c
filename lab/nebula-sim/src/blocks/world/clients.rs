//! The clients of a run.

use crate::blocks::program::Compiled;
use crate::blocks::scenario::Scenario;
use nebula_nic::Timestamp;
use nebula_workload::{ArrivalProcess, Rate, Rng, Seed};

pub(crate) struct Clients {
    pub(crate) process: ArrivalProcess,
    pub(crate) gaps: Rng,
    pub(crate) kinds: Rng,
    pub(crate) at: Timestamp,
    /// For each type, the cumulative share of RPCs up to and including it.
    pub(crate) shares: Box<[f64]>,
    pub(super) drawn: u64,
}

impl Clients {
    pub(crate) fn new(scenario: &Scenario, compiled: &Compiled, rate: Rate, seed: Seed) -> Self {
        let (mut process, mut gaps) = (scenario.arrivals.at(rate), seed.stream("arrivals"));
        let at = Timestamp::ZERO + process.next_gap(&mut gaps);
        let mut sum = 0.0;
        let shares = compiled.types.iter().map(|kind| {
            sum += kind.share;
            sum
        });
        Self { process, gaps, kinds: seed.stream("types"), at, shares: shares.collect(), drawn: 0 }
    }

    /// The type of the next RPC.
    #[expect(clippy::cast_possible_truncation, reason = "applications have a few types")]
    #[inline]
    pub(crate) fn draw(&mut self) -> u16 {
        self.drawn += 1;
        self.at += self.process.next_gap(&mut self.gaps);
        let unit = self.kinds.unit();
        let last = self.shares.len() - 1;
        self.shares.iter().take(last).filter(|&&share| unit >= share).count() as u16
    }
}

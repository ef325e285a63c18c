//! Draws for each lane the arrivals and the service times of its run alone.

use super::lane::{BLOCK, Each, LANES, Lane, floor};
use crate::error::SimError;
use crate::load::Load;
use crate::system::System;
use nebula_workload::{ServiceTime, Streams};

pub(super) struct Gaps {
    streams: Streams<LANES>,
    gap_ps_mean: Each<f64>,
    /// The fraction of a picosecond that rounding took from the gaps so far.
    carry: Each<f64>,
    now: Each<f64>,
}

impl Gaps {
    pub(super) fn try_new(system: &System, load: &Load, lanes: &Each<Lane>) -> Result<Self, SimError> {
        let mut gap_ps_mean = [0.0; LANES];
        for (gap, lane) in gap_ps_mean.iter_mut().zip(lanes) {
            let load = load.clone().at(lane.load);
            load.validate(system)?;
            *gap = PS_PER_SEC / load.rate(system)?.ok_or(SimError::Load { got: lane.load })?.as_rps();
        }
        let streams = Streams::new(lanes.map(|lane| lane.seed.stream("arrivals")));
        Ok(Self { streams, gap_ps_mean, carry: [0.0; LANES], now: [0.0; LANES] })
    }

    /// Fills in the arrivals of the next block, with gaps drawn and rounded as
    /// [`Arrivals::Poisson`](nebula_workload::Arrivals) does it.
    #[inline(always)]
    pub(super) fn arrive(&mut self, arrived: &mut [Each<f64>; BLOCK]) {
        let Self { streams, gap_ps_mean, .. } = self;
        let (mut carry, mut now) = (self.carry, self.now);
        for index in 0..BLOCK {
            // Row by row: draws do not wait for the sums, which wait for each other.
            streams.fill_exponential(&mut arrived[index..=index]);
            let arrived = &mut arrived[index];
            for lane in 0..LANES {
                let exact = arrived[lane] * gap_ps_mean[lane] + carry[lane];
                let whole = floor(exact);
                carry[lane] = exact - whole;
                now[lane] += whole;
                arrived[lane] = now[lane];
            }
        }
        (self.carry, self.now) = (carry, now);
    }
}

const PS_PER_SEC: f64 = 1e12;

pub(super) struct Services<'a> {
    law: &'a ServiceTime,
    streams: Streams<LANES>,
}

impl<'a> Services<'a> {
    pub(super) fn new(law: &'a ServiceTime, lanes: &Each<Lane>) -> Self {
        Self { law, streams: Streams::new(lanes.map(|lane| lane.seed.stream("service"))) }
    }

    #[inline(always)]
    pub(super) fn next(&mut self, services: &mut [Each<f64>; BLOCK]) {
        self.law.fill_side_by_side(&mut self.streams, services);
    }
}

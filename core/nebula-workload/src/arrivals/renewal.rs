//! Independent gaps: `poisson` and `packets:N`.

use std::num::NonZeroU32;

use nebula_nic::Span;

use super::carry::Carry;
use super::gap::gap_ps_mean;
use crate::rate::Rate;
use crate::rng::Rng;
use crate::whole::MEAN_PS_SHORT;

#[derive(Clone, Debug)]
pub(super) struct Poisson {
    gap_ps_mean: f64,
    carry: Carry,
}

impl Poisson {
    pub(super) fn new(rate: Rate) -> Self {
        Self { gap_ps_mean: gap_ps_mean(rate), carry: Carry::default() }
    }

    #[inline]
    pub(super) fn next_gap(&mut self, rng: &mut Rng) -> Span {
        self.carry.whole(rng.exponential() * self.gap_ps_mean)
    }

    pub(super) fn fill(&mut self, rng: &mut Rng, gaps: &mut [Span]) {
        let (gap_ps_mean, mut carry) = (self.gap_ps_mean, self.carry.clone());
        if gap_ps_mean < MEAN_PS_SHORT {
            rng.fill_by_exponential(gaps, |draw| carry.whole_of_short(draw * gap_ps_mean));
        } else {
            rng.fill_by_exponential(gaps, |draw| carry.whole(draw * gap_ps_mean));
        }
        self.carry = carry;
    }
}

/// One link: busy with N - 1 packets, then idle for an exponential time with mean one packet.
///
/// Source: NEBULA's published simulator generates its load this way, not by Poisson arrivals.
#[derive(Clone, Debug)]
pub(super) struct Packets {
    fixed_ps: f64,
    packet_ps_mean: f64,
    carry: Carry,
}

impl Packets {
    pub(super) fn new(packets: NonZeroU32, rate: Rate) -> Self {
        let packets = f64::from(packets.get());
        let packet_ps_mean = gap_ps_mean(rate) / packets;
        Self { fixed_ps: packet_ps_mean * (packets - 1.0), packet_ps_mean, carry: Carry::default() }
    }

    #[inline]
    pub(super) fn next_gap(&mut self, rng: &mut Rng) -> Span {
        self.carry.whole(self.fixed_ps + rng.exponential() * self.packet_ps_mean)
    }
}

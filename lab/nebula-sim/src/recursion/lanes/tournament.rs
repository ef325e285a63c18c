//! Any service times on any number of cores: a tournament of the cores for each lane.

use super::super::first_free::FirstFree;
use super::counts::Counts;
use super::draws::Services;
use super::lane::{BLOCK, Each, LANES, Serve, whole};
use pulp::Simd;

pub(super) struct Tournaments<'a> {
    services: Services<'a>,
    free: Each<FirstFree>,
}

impl<'a> Tournaments<'a> {
    pub(super) fn new(cores: u16, services: Services<'a>) -> Self {
        Self { services, free: [(); LANES].map(|()| FirstFree::new(cores)) }
    }
}

impl Serve for Tournaments<'_> {
    #[inline(always)]
    fn serve<V: Simd>(&mut self, _: V, arrived: &[Each<f64>; BLOCK], counts: &mut Counts) {
        let mut times = [[0.0; LANES]; BLOCK];
        self.services.next(&mut times);
        for (arrived, times) in arrived.iter().zip(&mut times) {
            for lane in 0..LANES {
                let (free, arrived) = (&mut self.free[lane], whole(arrived[lane]));
                let ended = free.first_ps().max(arrived) + whole(times[lane]);
                free.replace(ended);
                times[lane] = (ended - arrived) as f64;
            }
        }
        counts.note(&times);
    }
}

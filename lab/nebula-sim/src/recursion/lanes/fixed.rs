//! The same service time for all: RPCs end in order, so one gets the core of the Nth before it.

use super::counts::Counts;
use super::lane::{BLOCK, Each, LANES, Serve, later};
use pulp::Simd;

pub(super) struct Fixed {
    service_ps: f64,
    ended: Vec<Each<f64>>,
    oldest: usize,
}

impl Fixed {
    pub(super) fn new(cores: u16, service_ps: f64) -> Self {
        Self { service_ps, ended: vec![[0.0; LANES]; usize::from(cores)], oldest: 0 }
    }
}

impl Serve for Fixed {
    #[inline(always)]
    fn serve<V: Simd>(&mut self, _: V, arrived: &[Each<f64>; BLOCK], counts: &mut Counts) {
        let cores = self.ended.len();
        let mut latencies = [[0.0; LANES]; BLOCK];
        for index in 0..BLOCK {
            let (arrived, latencies) = (&arrived[index], &mut latencies[index]);
            let ended = &mut self.ended[self.oldest];
            self.oldest += 1;
            if self.oldest == cores {
                self.oldest = 0;
            }
            for lane in 0..LANES {
                ended[lane] = later(arrived[lane], ended[lane]) + self.service_ps;
                latencies[lane] = ended[lane] - arrived[lane];
            }
        }
        counts.note(&latencies);
    }
}

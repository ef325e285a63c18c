//! Counts the RPCs of each lane's measured window that are on time.

#![expect(
    clippy::needless_range_loop,
    reason = "loops over lanes are alike, so that each becomes one vector instruction"
)]

use super::lane::{BLOCK, Each, LANES, Lane, whole};

pub(super) struct Counts {
    within: f64,
    /// By lane: the numbers of the first RPC that is measured, and of the first after the window.
    from: Each<u64>,
    to: Each<u64>,
    /// The number of the block's first RPC, and of the first after all windows.
    pub(super) next: u64,
    pub(super) end: u64,
    pub(super) on_time: Each<u64>,
}

impl Counts {
    pub(super) fn new(lanes: &Each<Lane>, within: u64) -> Self {
        let from = lanes.map(|lane| lane.length.warmup);
        let to = lanes.map(|lane| lane.length.warmup + lane.length.rpcs);
        let end = to.iter().copied().max().unwrap_or(0);
        Self { within: within as f64, from, to, next: 0, end, on_time: [0; LANES] }
    }

    #[inline(always)]
    pub(super) fn note(&mut self, latencies: &[Each<f64>; BLOCK]) {
        let (mut from, mut to, mut on_time) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            from[lane] = self.from[lane].saturating_sub(self.next).min(BLOCK as u64) as f64;
            to[lane] = self.to[lane].saturating_sub(self.next).min(BLOCK as u64) as f64;
        }
        let mut place = 0.0;
        for index in 0..BLOCK {
            for lane in 0..LANES {
                let is_measured = (place >= from[lane]) & (place < to[lane]);
                let is_counted = is_measured & (latencies[index][lane] <= self.within);
                on_time[lane] += if is_counted { 1.0 } else { 0.0 };
            }
            place += 1.0;
        }
        for lane in 0..LANES {
            self.on_time[lane] += whole(on_time[lane]);
        }
    }
}

//! The times of a description in picoseconds.

use crate::block::Block;
use crate::config::DramConfig;
use crate::time::ps;

#[derive(Debug, Clone, Copy)]
pub(super) struct Timing {
    /// From the column command to the block's last byte.
    pub(super) hit_ps: u64,
    /// From a row's activation to its column command (tRCD).
    pub(super) activate_ps: u64,
    /// Closing a row (tRP).
    pub(super) precharge_ps: u64,
    /// The minimum from a row's activation to its precharge.
    pub(super) ras_ps: u64,
    /// How long an unused row stays open; [`u64::MAX`] forever.
    pub(super) row_idle_ps: u64,
    pub(super) refresh_ps: u64,
    pub(super) refresh_interval_ps: u64,
    /// From the end of a refresh to the next; 0 without refreshes.
    pub(super) quiet_ps: u64,
    /// One block on the bus.
    pub(super) burst_ps: u64,
    /// Both turns of the bus in bursts, rounded up.
    pub(super) turn_slots: u64,
}

impl Timing {
    pub(super) fn new(config: &DramConfig) -> Self {
        let burst_ps = ps(f64::from(Block::BYTES) / config.gb_per_s);
        let refresh_ps = ps(config.refresh_ns);
        let refresh_interval_ps = if config.refresh_ns > 0.0 { ps(config.refresh_interval_ns) } else { 0 };
        Self {
            hit_ps: ps(config.hit_ns),
            activate_ps: ps(config.closed_ns - config.hit_ns),
            precharge_ps: ps(config.conflict_ns - config.closed_ns),
            ras_ps: ps(config.ras_ns),
            row_idle_ps: config.row_idle_ns.map_or(u64::MAX, ps),
            refresh_ps,
            refresh_interval_ps,
            quiet_ps: refresh_interval_ps.saturating_sub(refresh_ps),
            burst_ps,
            turn_slots: if burst_ps == 0 { 0 } else { ps(2.0 * config.turnaround_ns).div_ceil(burst_ps) },
        }
    }
}

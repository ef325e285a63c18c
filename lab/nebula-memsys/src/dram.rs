//! Memory: the channel, bank and row of a block, and the [`Channel`]s.

use crate::block::Block;
use crate::config::DramConfig;
use crate::counters::DramCounters;

mod bank;
mod channel;
mod refresh;
mod timing;
mod write_queue;
mod place;

use channel::Channel;
use place::Map;
use timing::Timing;

pub(crate) struct Dram {
    map: Map,
    timing: Timing,
    channels: Box<[Channel]>,
    counters: DramCounters,
}

impl Dram {
    pub(crate) fn new(config: &DramConfig) -> Self {
        let timing = Timing::new(config);
        let channel = |channel| Channel::new(config, &timing, channel);
        let channels = (0..config.channels).map(channel).collect();
        Self { map: Map::new(config), channels, counters: DramCounters::default(), timing }
    }

    #[inline(always)]
    pub(crate) fn read(&mut self, at_ps: u64, block: Block) -> u64 {
        let (channel, place) = self.map.place(block);
        self.channels[channel].read(at_ps, place, &self.timing, &mut self.counters)
    }

    #[inline(always)]
    pub(crate) fn write(&mut self, at_ps: u64, block: Block) -> u64 {
        let (channel, place) = self.map.place(block);
        self.channels[channel].write(at_ps, place, &self.timing, &mut self.counters)
    }

    pub(crate) const fn counters(&self) -> DramCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use crate::config::DramConfig;

    /// Per channel, two ranks of sixteen banks with 8 KB rows.
    pub(super) fn config() -> DramConfig {
        DramConfig {
            channels: 2,
            gb_per_s: 15.5,
            ranks: 2,
            banks: 16,
            row_bytes: 8192,
            path_ns: 7.5,
            hit_ns: 31.0,
            closed_ns: 45.0,
            conflict_ns: 59.0,
            ras_ns: 33.0,
            row_idle_ns: None,
            refresh_ns: 0.0,
            refresh_interval_ns: 7800.0,
            write_queue: 48,
            write_batch: 16,
            idle_writes_least: 1,
            turnaround_ns: 4.0,
        }
    }
}

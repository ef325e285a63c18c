//! The measurements of a run: the RPCs that arrive in a window, and the DRAM traffic in the window.

use super::dram::Access;
use super::memory_run::MemoryRun;
use super::series::Series;
use super::tally::MemoryTally;
use crate::tally::Distribution;
use nebula_nic::Timestamp;

#[derive(Clone, Debug)]
pub(super) struct Meter {
    warmup: u64,
    rpcs: u64,
    /// RPCs whose first packet has arrived.
    arrived: u64,
    done: u64,
    /// Measured RPCs that were served.
    measured: u64,
    opened: Mark,
    closed: Mark,
    latency: Distribution,
    bank_wait: Distribution,
    queue_depth: Distribution,
}

/// The values of the counters at one end of the window.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    at: Timestamp,
    arrived: u64,
    done: u64,
}

impl Mark {
    const fn backlog(self) -> u64 {
        self.arrived - self.done
    }
}

/// Windows of load after the measured one, before a run abandons the RPCs that it has not served.
const PATIENCE: u64 = 4;

impl Meter {
    pub(super) fn new(run: &MemoryRun) -> Self {
        let [latency, bank_wait, queue_depth] = std::array::from_fn(|_| Distribution::new());
        let (opened, closed) = (Mark::default(), Mark::default());
        let MemoryRun { warmup, rpcs, .. } = *run;
        Self { warmup, rpcs, arrived: 0, done: 0, measured: 0, opened, closed, latency, bank_wait, queue_depth }
    }

    /// The first packet of the next RPC arrives; returns the RPC's number.
    #[inline]
    pub(super) fn note_arrival(&mut self, now: Timestamp) -> u64 {
        let number = self.arrived;
        if number == self.warmup {
            self.opened = self.mark(now);
        }
        self.arrived += 1;
        if self.arrived == self.warmup + self.rpcs {
            self.closed = self.mark(now);
        }
        number
    }

    #[inline]
    pub(super) fn note_ready(&mut self, number: u64, waiting: u32) {
        if self.is_measured(number) {
            self.queue_depth.record(u64::from(waiting));
        }
    }

    #[inline]
    pub(super) fn note_access(&mut self, number: u64, now: Timestamp, access: Access) {
        if self.is_measured(number) {
            self.bank_wait.record((access.began - now).as_ps());
        }
    }

    #[inline]
    pub(super) fn note_done(&mut self, number: u64, ready: Timestamp, now: Timestamp) {
        self.done += 1;
        if self.is_measured(number) {
            self.latency.record((now - ready).as_ps());
            self.measured += 1;
        }
    }

    /// Whether every measured RPC is served, or too many have arrived after them.
    #[inline]
    pub(super) const fn is_over(&self) -> bool {
        self.measured == self.rpcs || self.arrived >= self.warmup + (1 + PATIENCE) * self.rpcs
    }

    pub(super) fn tally(self, moved: &Series, offered_rps: f64, cores: u16) -> MemoryTally {
        let (opened, closed) = (self.opened, self.closed);
        let window = closed.at - opened.at;
        // At least one RPC, so that no ratio is infinite.
        let done = (closed.done - opened.done).max(1) as f64;
        let unserved = self.rpcs - self.measured;
        let grown = closed.backlog().saturating_sub(opened.backlog());
        let slack = self.rpcs / GROWTH_PARTS + 2 * u64::from(cores);
        let dram_bytes_per_s = moved.bytes_per_s(opened.at, closed.at);
        MemoryTally {
            latency: self.latency,
            bank_wait: self.bank_wait,
            queue_depth: self.queue_depth,
            unserved,
            offered_rps,
            achieved_rps: done / window.as_secs_f64(),
            window,
            dram_gb_per_s: dram_bytes_per_s / 1e9,
            bytes_per_rpc: dram_bytes_per_s * window.as_secs_f64() / done,
            bandwidth: moved.bandwidth(closed.at),
            backlog_growth: grown,
            is_saturated: unserved > 0 || grown > slack,
        }
    }

    #[inline]
    const fn is_measured(&self, number: u64) -> bool {
        number.wrapping_sub(self.warmup) < self.rpcs
    }

    const fn mark(&self, at: Timestamp) -> Mark {
        Mark { at, arrived: self.arrived, done: self.done }
    }
}

/// Saturation: the backlog grows by more than one in this many measured RPCs, plus two per core.
const GROWTH_PARTS: u64 = 200;

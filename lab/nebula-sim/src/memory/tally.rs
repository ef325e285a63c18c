//! The measurements of one run of the memory model.

use super::series::Bandwidth;
use crate::tally::Distribution;
use nebula_nic::Span;

/// Latencies, bandwidth and queues of the RPCs that arrived in the measured window.
#[derive(Clone, Debug)]
pub struct MemoryTally {
    /// From ready until done, in picoseconds, of measured RPCs that were served.
    pub latency: Distribution,
    /// How long each access that a core waits for waited for a bank, in picoseconds.
    pub bank_wait: Distribution,
    /// RPCs that a ready RPC found waiting at the NIC, without those dispatched to a core.
    pub queue_depth: Distribution,
    /// Measured RPCs not served after four more windows of load: the server is saturated.
    pub unserved: u64,
    /// RPCs offered per second.
    pub offered_rps: f64,
    /// RPCs served per second in the window.
    pub achieved_rps: f64,
    /// From the first arrival of a measured RPC to the last.
    pub window: Span,
    /// DRAM bandwidth in the window, in 10⁹ bytes per second.
    pub dram_gb_per_s: f64,
    /// DRAM bytes moved in the window per RPC served in it; not meaningful for a saturated server.
    pub bytes_per_rpc: f64,
    /// DRAM bandwidth over time.
    pub bandwidth: Bandwidth,
    /// Growth of the backlog (RPCs that have arrived and are not served) in the window.
    pub backlog_growth: u64,
    /// Whether the server could not keep up: measured RPCs are [unserved](Self::unserved), or the
    /// backlog grew by more than 1 in 200 of the measured RPCs and 2 per core. Not detected at
    /// loads within half a percent of saturation, nor in a run too short to fill its queues.
    pub is_saturated: bool,
}

impl MemoryTally {
    /// RPCs that were measured, including the [unserved](Self::unserved) ones.
    #[must_use]
    pub fn rpcs(&self) -> u64 {
        self.latency.count() + self.unserved
    }

    /// The latency in nanoseconds that a share `share` of all measured RPCs does not exceed; an
    /// unserved one counts as infinite.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula_sim::memory::{Design, MemoryModel, MemoryRun, run};
    ///
    /// let tally = run(&MemoryModel::default(), &Design::nebula(), &MemoryRun::of(0.3, 10_000))?;
    /// assert!(tally.latency_ns(0.5) < tally.latency_ns(0.99));
    /// # Ok::<(), nebula_sim::memory::MemoryError>(())
    /// ```
    #[must_use]
    pub fn latency_ns(&self, share: f64) -> f64 {
        let served = self.latency.count() as f64 / self.rpcs().max(1) as f64;
        if share > served { f64::INFINITY } else { self.latency.quantile(share / served) / 1e3 }
    }
}

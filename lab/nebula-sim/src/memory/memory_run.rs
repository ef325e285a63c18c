//! One run of the memory model.

use nebula_workload::Seed;

/// The offered load, the number of measured RPCs, and the seed.
///
/// # Examples
///
/// ```
/// use nebula_sim::memory::MemoryRun;
/// use nebula_workload::Seed;
///
/// let run = MemoryRun { seed: Seed(7), ..MemoryRun::of(0.6, 300_000) };
/// assert_eq!(run.warmup, 30_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryRun {
    /// RPCs offered, as a share of what the cores can serve with the model's service time.
    pub load: f64,
    /// RPCs of the measured window.
    pub rpcs: u64,
    /// RPCs of the warm-up before it, which fill the empty server.
    pub warmup: u64,
    /// Seed of all random draws. Designs with the same seed receive the same arrivals.
    pub seed: Seed,
}

impl MemoryRun {
    /// `rpcs` measured RPCs at `load`, after a warm-up of a tenth as many, with seed 1.
    #[must_use]
    pub const fn of(load: f64, rpcs: u64) -> Self {
        Self { load, rpcs, warmup: rpcs / 10, seed: Seed(1) }
    }
}

/// Most RPCs; no sum over them overflows.
pub(crate) const RPCS_MAX: u64 = 1 << 50;

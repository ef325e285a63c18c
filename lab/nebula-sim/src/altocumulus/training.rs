//! How thresholds are trained.

use derive_setters::Setters;
use nebula_nic::Span;
use nebula_workload::{Arrivals, Seed, ServiceTime};

/// The parameters of a training. Each field has a setter of the same name.
///
/// # Examples
///
/// ```
/// use nebula_nic::Span;
/// use nebula_sim::altocumulus::Training;
///
/// let training = Training::new(15, "fixed:1us".parse()?, Span::from_us(3)).rpcs(20_000).loads_permille(vec![900]);
/// let row = training.train(&|| ())?[0];
/// assert!(row.aggressive <= row.trained && row.trained < training.naive());
/// assert!(row.trained_judged.accuracy > 0.9 && row.trained_judged.effectiveness > 0.9);
/// # Ok::<(), nebula_sim::SimError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Setters)]
pub struct Training {
    /// Cores of the group that serve RPCs.
    pub workers: u16,
    /// Most RPCs dispatched to a worker.
    pub bound: u32,
    /// Service times.
    pub service: ServiceTime,
    /// When RPCs arrive at the group.
    pub arrivals: Arrivals,
    /// The latency above which an RPC is late.
    pub slo: Span,
    /// Loads to train at, in thousandths of the workers' capacity.
    pub loads_permille: Vec<u32>,
    /// RPCs of each replication.
    pub rpcs: u64,
    /// Replications of each load.
    pub replications: u32,
    /// Seed of all random draws.
    pub seed: Seed,
}

/// Fewest late RPCs to train with; with fewer the trained threshold is the naive one.
pub(crate) const LATE_MIN: u64 = 100;

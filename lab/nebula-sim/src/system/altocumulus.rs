//! Settings of groups of cores that migrate RPCs to each other, under `altocumulus:G`.

use nebula_nic::Span;
use nebula_nic::schedule::Thresholds;

/// Managers, and the messages between them.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Policy, Span};
/// use nebula_sim::{Altocumulus, System};
///
/// let system = System::new("altocumulus:16".parse().unwrap(), 256).dedicated(16);
/// let software = Altocumulus { message: Span::from_ns(120), bound: 1, ..Altocumulus::naive(15, 10) };
/// assert!(system.altocumulus(software).validate().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Altocumulus {
    /// Time from one decision of a manager to its next. All managers decide at the same times.
    pub period: Span,
    /// Most RPCs that a group migrates in one period.
    pub bulk: u32,
    /// Most groups that it sends to in one period.
    pub concurrency: u32,
    /// Latency of any message from one manager to another, including the decision.
    pub message: Span,
    /// Most RPCs of other groups that can wait at a group; it refuses more.
    pub fifo: u32,
    /// Extra core time of an RPC that came from another group.
    pub fetch: Span,
    /// Most RPCs at a worker, as under `jbsq:N`: 2 if a NIC dispatches, 1 if software does.
    pub bound: u32,
    /// Equally busy flows, each hashed to one group; if not set, each RPC is a separate flow.
    pub flows: Option<u16>,
    /// The group of each of the [`flows`](Self::flows), if clients know it; hashed if not set.
    pub groups_of_flows: Option<Box<[u16]>>,
    /// The queue length from which RPCs are predicted to miss the SLO, by load.
    pub thresholds: Thresholds,
}

impl Altocumulus {
    /// The published parameters, with these thresholds: a period of 200 ns, a bulk of 16 and a
    /// concurrency of 8, from secondary sources on Altocumulus. Assumed: a message takes 15 ns,
    /// which is ten hops of a mesh at 3 cycles of 2 GHz, and there is room for two bulks.
    #[must_use]
    pub const fn new(thresholds: Thresholds) -> Self {
        Self {
            period: Span::from_ns(200),
            bulk: 16,
            concurrency: 8,
            message: Span::from_ns(15),
            fifo: 32,
            fetch: Span::ZERO,
            bound: 2,
            flows: None,
            groups_of_flows: None,
            thresholds,
        }
    }

    /// The published parameters with naive thresholds, for an SLO in mean service times.
    #[must_use]
    pub fn naive(workers: u16, slo_services: u32) -> Self {
        Self::new(Thresholds::naive(workers, slo_services))
    }

    /// Groups without migration.
    #[must_use]
    pub fn without_migration() -> Self {
        Self::new(Thresholds::fixed(u32::MAX))
    }
}

//! What groups of cores that hand each other RPCs are set to, under `altocumulus:G`.

use nebula_nic::Span;
use nebula_nic::schedule::Thresholds;

/// Managers, and what moves between them.
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
    /// From one decision of a manager to its next. All decide at the same times.
    pub period: Span,
    /// RPCs that a group hands over in one period at most.
    pub bulk: u32,
    /// Groups that it sends to in one period at most.
    pub concurrency: u32,
    /// From one manager to another, the decision included: a length that is published, a descriptor, a refusal.
    pub message: Span,
    /// RPCs of other groups that can wait at a group; it refuses those beyond.
    pub fifo: u32,
    /// What an RPC of another group takes its core beside what an own one takes.
    pub fetch: Span,
    /// RPCs that a worker is given at most, as under `jbsq:N`: 2 where a NIC gives them, 1 where software does.
    pub bound: u32,
    /// Flows that RPCs come on, all as busy, each of them hashed to one group; without a number each RPC is a flow of its own.
    pub flows: Option<u16>,
    /// From which queue length on RPCs are predicted to miss the SLO, by load.
    pub thresholds: Thresholds,
}

impl Altocumulus {
    /// The published parameters, with these thresholds.
    ///
    /// # Source
    ///
    /// Altocumulus: a period of 200 ns, a bulk of 16, a concurrency of 8, known at second hand. Assumed: a message of 15 ns, which is ten hops
    /// of a mesh at 3 cycles of 2 GHz, and room for two bulks.
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
            thresholds,
        }
    }

    /// The same with the naive threshold of groups of `workers` cores, for an SLO of so many mean service times.
    #[must_use]
    pub fn naive(workers: u16, slo_services: u32) -> Self {
        Self::new(Thresholds::naive(workers, slo_services))
    }

    /// Groups that keep to themselves.
    #[must_use]
    pub fn without_migration() -> Self {
        Self::new(Thresholds::fixed(u32::MAX))
    }
}

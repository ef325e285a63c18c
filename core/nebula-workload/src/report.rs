//! The results of one load.

use nebula_nic::Span;

use crate::by_op::ByOp;
use crate::recorder::{Latency, LatencyRecorder};
use crate::tails::Tails;

/// The outcomes of the operations, warm-up excluded.
///
/// # Examples
///
/// ```
/// use nebula_workload::Counts;
///
/// let mut counts = Counts { offered: 3, replied: 2, nacked: 1, ..Counts::default() };
/// counts.merge(&Counts { offered: 1, lost: 1, ..Counts::default() });
/// assert_eq!((counts.offered, counts.settled()), (4, 4));
/// ```
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Operations that were due.
    pub offered: u64,
    /// Operations answered, including those whose key was not found.
    pub replied: u64,
    /// Operations answered without a value, since the server did not have the key.
    pub not_found: u64,
    /// Operations refused with a NACK.
    pub nacked: u64,
    /// Operations of those that the generator itself had sent late: a burst after its own pause may
    /// have caused the refusal.
    pub nacked_late: u64,
    /// Operations that the client itself refused, unsent, for lack of room.
    pub refused_by_client: u64,
    /// Operations given up without an answer.
    pub lost: u64,
    /// Operations that were due but could not be sent before the load was stopped.
    pub never_sent: u64,
    /// Operations that had to wait for room before they were sent.
    pub held: u64,
    /// Outcomes of tokens that were not outstanding, such as a reply after its RPC was given up.
    pub unexpected: u64,
}

impl Counts {
    /// Operations whose outcome is known: all those offered, once a load has ended.
    #[must_use]
    pub fn settled(&self) -> u64 {
        self.replied + self.nacked + self.refused_by_client + self.lost + self.never_sent
    }

    /// Adds the counts of another client.
    pub fn merge(&mut self, other: &Self) {
        self.offered += other.offered;
        self.replied += other.replied;
        self.not_found += other.not_found;
        self.nacked += other.nacked;
        self.nacked_late += other.nacked_late;
        self.refused_by_client += other.refused_by_client;
        self.lost += other.lost;
        self.never_sent += other.never_sent;
        self.held += other.held;
        self.unexpected += other.unexpected;
    }
}

/// The results of one load, warm-up excluded.
///
/// # Invariants
///
/// `counts.offered` = [`counts.settled()`](Counts::settled) = the count of `latency.raw()`.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Span, Timestamp};
/// use nebula_workload::{Generator, GeneratorConfig, Schedule};
///
/// let nothing = Schedule::from_trace(Vec::new(), Timestamp::ZERO);
/// let report = Generator::new(nothing, GeneratorConfig::default()).into_report();
/// assert_eq!(report.counts.offered, 0);
/// assert!(!report.latency.raw().meets(Span::from_us(100)));
/// ```
#[derive(Clone, Debug)]
pub struct LoadReport {
    /// The rate that the schedule intended, in RPC/s.
    pub rate_rps: f64,
    /// The outcomes of the operations.
    pub counts: Counts,
    /// From the intended send to the reply.
    pub latency: Tails,
    /// The same by operation, including pauses of the machine.
    pub by_op: ByOp,
    /// From the time an operation was due, and there was room for it, to its send.
    pub lateness: LatencyRecorder,
    /// The lateness that the p99 must not exceed; see
    /// [`generator_was_late`](Self::generator_was_late).
    pub late_after: Span,
    /// From the end of the warm-up to the end of the schedule, or to the last reply if later.
    pub duration: Span,
}

impl LoadReport {
    /// The replies per second, without NACKs.
    #[must_use]
    pub fn achieved_rps(&self) -> f64 {
        let seconds = self.duration.as_secs_f64();
        if seconds > 0.0 { self.counts.replied as f64 / seconds } else { 0.0 }
    }

    /// Whether the client, and not the server, may have caused the tail: the p99 of
    /// [`lateness`](Self::lateness) exceeds [`late_after`](Self::late_after).
    ///
    /// More than 1 % of the sends were then later than that although there was room, so the p99 is
    /// not the server's. The latencies still count from the intended time: they are an upper bound
    /// of the server's.
    #[must_use]
    pub fn generator_was_late(&self) -> bool {
        self.lateness.quantile(0.99).is_some_and(|p99| p99 > Latency::Finite(self.late_after))
    }

    /// The share of sends that were more than `bound` late, in 0 to 1.
    #[must_use]
    pub fn share_later_than(&self, bound: Span) -> f64 {
        self.lateness.share_above(bound)
    }

    /// Adds another client's report of the same load: sums rates and counts, keeps the longer
    /// duration.
    pub fn merge(&mut self, other: Self) {
        self.rate_rps += other.rate_rps;
        self.counts.merge(&other.counts);
        self.by_op.merge(&other.by_op);
        self.latency.merge(other.latency);
        self.lateness.merge(&other.lateness);
        self.duration = self.duration.max(other.duration);
    }
}

//! Latencies of each operation: one distribution would hide GETs behind scans fifty times as long.

use nebula_nic::{Span, Timestamp};

use crate::operation::Op;
use crate::recorder::{Latency, LatencyRecorder};

/// A recorder for each operation; operations without a reply count as infinite latency, as in
/// [`Tails`](crate::Tails).
///
/// # Examples
///
/// ```
/// use nebula_nic::{Span, Timestamp};
/// use nebula_workload::{ByOp, Latency, Op};
///
/// let mut latencies = ByOp::new(Timestamp::ZERO);
/// latencies.record(Op::Scan, Timestamp::ZERO, Latency::Finite(Span::from_us(80)));
/// assert_eq!((latencies.of(Op::Scan).count(), latencies.of(Op::Get).count()), (1, 0));
/// ```
#[derive(Clone, Debug)]
pub struct ByOp {
    recorders: [LatencyRecorder; Op::ALL.len()],
}

impl ByOp {
    /// Empty recorders that ignore operations due before `warm_until`. Allocates some 230 KB for
    /// each operation; nothing is allocated afterwards.
    #[must_use]
    pub fn new(warm_until: Timestamp) -> Self {
        Self { recorders: Op::ALL.map(|_| LatencyRecorder::with_warm_up_until(warm_until)) }
    }

    /// Records the latency of an operation that was due at `intended`.
    #[inline]
    pub fn record(&mut self, op: Op, intended: Timestamp, latency: Latency) {
        self.recorders[op as usize].record(intended, latency);
    }

    /// The latencies of one operation, including pauses of the machine.
    #[must_use]
    pub const fn of(&self, op: Op) -> &LatencyRecorder {
        &self.recorders[op as usize]
    }

    /// The operations that occurred, with their latencies.
    pub fn each(&self) -> impl Iterator<Item = (Op, &LatencyRecorder)> {
        Op::ALL.into_iter().zip(&self.recorders).filter(|(_, recorder)| recorder.count() > 0)
    }

    /// Adds the records of another client.
    pub fn merge(&mut self, other: &Self) {
        self.recorders.iter_mut().zip(&other.recorders).for_each(|(mine, theirs)| mine.merge(theirs));
    }

    /// Whether the p99 of each operation with a bound is within it, or the operation did not occur.
    #[must_use]
    pub fn meets(&self, slos: &[(Op, Span)]) -> bool {
        slos.iter().all(|&(op, slo)| self.of(op).count() == 0 || self.of(op).meets(slo))
    }
}

//! Latencies of each operation by itself: a scan that takes fifty times as long as a GET hides it
//! in one distribution.

use nebula_nic::{Span, Timestamp};

use crate::operation::Op;
use crate::recorder::{Latency, LatencyRecorder};

/// A recorder for each operation; all that has no reply counts as infinite latency, as in
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
    /// Empty recorders that ignore operations due before `warm_until`.
    ///
    /// # Cost
    ///
    /// Allocates some 230 KB for each operation; nothing is allocated afterwards.
    #[must_use]
    pub fn new(warm_until: Timestamp) -> Self {
        Self { recorders: Op::ALL.map(|_| LatencyRecorder::with_warm_up_until(warm_until)) }
    }

    /// Records the latency of an operation that was due at `intended`.
    #[inline]
    pub fn record(&mut self, op: Op, intended: Timestamp, latency: Latency) {
        self.recorders[op as usize].record(intended, latency);
    }

    /// The latencies of one operation, pauses of the machine included.
    #[must_use]
    pub const fn of(&self, op: Op) -> &LatencyRecorder {
        &self.recorders[op as usize]
    }

    /// The operations that occurred, with their latencies.
    pub fn each(&self) -> impl Iterator<Item = (Op, &LatencyRecorder)> {
        Op::ALL.into_iter().zip(&self.recorders).filter(|(_, recorder)| recorder.count() > 0)
    }

    /// Adds what another client recorded.
    pub fn merge(&mut self, other: &Self) {
        self.recorders.iter_mut().zip(&other.recorders).for_each(|(mine, theirs)| mine.merge(theirs));
    }

    /// Whether the p99 of each operation that has a bound is within it. One that did not occur is
    /// within any.
    #[must_use]
    pub fn meets(&self, slos: &[(Op, Span)]) -> bool {
        slos.iter().all(|&(op, slo)| self.of(op).count() == 0 || self.of(op).meets(slo))
    }
}

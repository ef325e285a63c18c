//! Tails with and without the machine's pauses, to distinguish the server from the machine.
//!
//! [`Tails`] keeps one recorder of all RPCs (*raw*) and one without the RPCs that overlapped a gap
//! of the machine, or began in the guard after one, while its queues drain. Timers and the
//! hypervisor cause gaps independently of the code under test, so the second tail is that of the
//! software. Report it only together with the raw one and the share of RPCs kept.
//!
//! An RPC completes before all gaps that it overlapped are known: the server detects its own gaps,
//! and the client hears of them even later. So completed RPCs wait in a bounded buffer until
//! [`Tails::settle`] receives every gap up to some time. (A histogram cannot be corrected later: it
//! does not know which of its RPCs overlapped a gap.) RPCs that do not fit into the buffer count
//! only in the raw tail and as unjudged; the oldest go first, which favors neither fast nor slow
//! ones.

use std::collections::VecDeque;

use nebula_nic::{Span, Timestamp};

use crate::gap_log::GapLog;
use crate::recorder::{Latency, LatencyRecorder};

/// The latencies of a load, raw and with the machine's own gaps excluded.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Span, Timestamp};
/// use nebula_workload::{Gap, GapLog, Latency, Tails};
///
/// let at = |us| Timestamp::ZERO + Span::from_us(us);
/// let mut tails = Tails::new(Timestamp::ZERO, Tails::GUARD, 1024);
/// tails.record_reply(at(10), at(11));
/// tails.record_reply(at(500), at(540));
/// tails.settle_all(&GapLog::from_gaps([Gap { start: at(510), end: at(530) }]));
/// assert_eq!(tails.raw().max(), Some(Latency::Finite(Span::from_us(40))));
/// assert_eq!(tails.gaps_excluded().max(), Some(Latency::Finite(Span::from_us(1))));
/// assert_eq!(tails.share_kept(), Some(0.5));
/// ```
#[derive(Clone, Debug)]
pub struct Tails {
    raw: LatencyRecorder,
    gaps_excluded: LatencyRecorder,
    pending: VecDeque<Pending>,
    pending_max: usize,
    guard: Span,
    warm_until: Timestamp,
    excluded: u64,
    unjudged: u64,
}

#[derive(Copy, Clone, Debug)]
struct Pending {
    intended: Timestamp,
    done: Timestamp,
    is_answered: bool,
}

// The size that the docs of `Tails::new` state.
const _: () = assert!(size_of::<Pending>() == 24);

impl Pending {
    const NONE: Self = Self { intended: FOREVER, done: FOREVER, is_answered: false };

    fn latency(self) -> Latency {
        if self.is_answered { Latency::Finite(self.done - self.intended) } else { Latency::Infinite }
    }
}

const FOREVER: Timestamp = Timestamp::from_ps(u64::MAX);

impl Tails {
    /// The usual guard: how long queues may still be draining after a gap.
    pub const GUARD: Span = Span::from_us(20);

    /// Empty tails that ignore RPCs due before `warm_until` and keep up to `pending_max` unjudged.
    /// Allocates 24 B for each of those and writes to all of them, so that no page fault disturbs
    /// the measurement; nothing is allocated afterwards.
    #[must_use]
    pub fn new(warm_until: Timestamp, guard: Span, pending_max: usize) -> Self {
        let mut pending = VecDeque::from(vec![Pending::NONE; pending_max]);
        pending.clear();
        Self {
            raw: LatencyRecorder::with_warm_up_until(warm_until),
            gaps_excluded: LatencyRecorder::new(),
            pending,
            pending_max,
            guard,
            warm_until,
            excluded: 0,
            unjudged: 0,
        }
    }

    /// Records an RPC that was due at `intended` and whose reply arrived at `done`.
    #[inline]
    pub fn record_reply(&mut self, intended: Timestamp, done: Timestamp) {
        self.record(Pending { intended, done, is_answered: true });
    }

    /// Records an RPC of infinite latency: NACKed at `done`, or given up at that time.
    #[inline]
    pub fn record_infinite(&mut self, intended: Timestamp, done: Timestamp) {
        self.record(Pending { intended, done, is_answered: false });
    }

    fn record(&mut self, rpc: Pending) {
        self.raw.record(rpc.intended, rpc.latency());
        if rpc.intended >= self.warm_until {
            self.enqueue(rpc);
        }
    }

    fn enqueue(&mut self, rpc: Pending) {
        if self.pending.len() == self.pending_max {
            self.unjudged += 1;
            if self.pending.pop_front().is_none() {
                return;
            }
        }
        self.pending.push_back(rpc);
    }

    /// Judges the RPCs that completed before `complete_until`, given all gaps that began before it.
    ///
    /// `complete_until` is the minimum of the last readings of all detectors whose gaps are in
    /// `gaps`: a gap that is still open began at such a reading. RPCs are judged in the order in
    /// which they were recorded, up to the first one that completed later. Cost: O(log gaps) for
    /// each RPC judged, no allocation.
    pub fn settle(&mut self, gaps: &GapLog, complete_until: Timestamp) {
        while let Some(&rpc) = self.pending.front().filter(|rpc| rpc.done < complete_until) {
            self.pending.pop_front();
            self.judge(rpc, gaps);
        }
    }

    /// Judges all RPCs, given all gaps of the run.
    pub fn settle_all(&mut self, gaps: &GapLog) {
        while let Some(rpc) = self.pending.pop_front() {
            self.judge(rpc, gaps);
        }
    }

    fn judge(&mut self, rpc: Pending, gaps: &GapLog) {
        if !gaps.is_complete_from(rpc.intended, self.guard) {
            self.unjudged += 1;
        } else if gaps.overlaps(rpc.intended, rpc.done, self.guard) {
            self.excluded += 1;
        } else {
            self.gaps_excluded.record(rpc.intended, rpc.latency());
        }
    }

    /// Adds the tails of another client; RPCs that it has not judged wait here.
    pub fn merge(&mut self, other: Self) {
        self.raw.merge(&other.raw);
        self.gaps_excluded.merge(&other.gaps_excluded);
        self.excluded += other.excluded;
        self.unjudged += other.unjudged;
        other.pending.into_iter().for_each(|rpc| self.enqueue(rpc));
    }

    /// The latencies of all RPCs.
    #[must_use]
    pub fn raw(&self) -> &LatencyRecorder {
        &self.raw
    }

    /// The latencies of the RPCs that were judged and overlapped no gap.
    #[must_use]
    pub fn gaps_excluded(&self) -> &LatencyRecorder {
        &self.gaps_excluded
    }

    /// The share of the judged RPCs that overlapped no gap, in 0 to 1; `None` if none is judged.
    #[must_use]
    pub fn share_kept(&self) -> Option<f64> {
        let kept = self.gaps_excluded.count();
        let judged = kept + self.excluded;
        (judged > 0).then(|| kept as f64 / judged as f64)
    }

    /// RPCs that wait to be judged.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// RPCs that can no longer be judged: the buffer was full, or the log had dropped their gaps.
    #[must_use]
    pub fn unjudged(&self) -> u64 {
        self.unjudged
    }
}

//! Detects the machine's pauses, which no server on it can avoid.
//!
//! A loop that only reads the clock sees it advance by tens of nanoseconds; if it advances by
//! microseconds, the core did not run. A [`GapDetector`] receives the readings, counts every step
//! from [`COUNTED_FROM`](GapDetector::COUNTED_FROM) on, and logs those longer than a threshold. The
//! poll loop of a client or a server can serve if an iteration stays below the threshold: a longer
//! iteration counts as a gap.

use nebula_nic::{Span, Timestamp};

use crate::gap_log::{Gap, GapLog};
use crate::gap_summary::{GapSummary, GapTally};

/// Finds the gaps in successive readings of the clock.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Span, Timestamp};
/// use nebula_workload::GapDetector;
///
/// let mut detector = GapDetector::new(GapDetector::THRESHOLD, 1024);
/// for us in [0, 1, 2, 12, 13] {
///     detector.observe(Timestamp::ZERO + Span::from_us(us));
/// }
/// assert_eq!(detector.log().iter().map(|gap| gap.length()).collect::<Vec<_>>(), [Span::from_us(10)]);
/// ```
#[derive(Clone, Debug)]
pub struct GapDetector {
    last: Option<Timestamp>,
    threshold: Span,
    log: GapLog,
    tally: GapTally,
}

impl GapDetector {
    /// The usual threshold of the log: above an iteration of a poll loop that submits a batch,
    /// below a timer tick (9 µs).
    pub const THRESHOLD: Span = Span::from_us(2);
    /// The shortest step that the summary counts.
    pub const COUNTED_FROM: Span = Span::from_us(1);

    /// A detector that logs steps longer than `threshold` and keeps the latest `log_capacity` of
    /// them. Allocates the log; nothing is allocated afterwards.
    #[must_use]
    pub fn new(threshold: Span, log_capacity: usize) -> Self {
        Self { last: None, threshold, log: GapLog::with_capacity(log_capacity), tally: GapTally::new() }
    }

    /// Takes the next reading of the clock and returns the gap before it, if that is longer than
    /// the threshold. The first reading starts the observation; a reading earlier than the last
    /// counts as no step.
    #[inline]
    pub fn observe(&mut self, now: Timestamp) -> Option<Gap> {
        let last = self.last.replace(now)?;
        let step = now - last;
        self.tally.observe(step);
        if step < Self::COUNTED_FROM.min(self.threshold) { None } else { self.note(Gap { start: last, end: now }) }
    }

    /// Takes a reading after a deliberate pause of the caller: the time since the last reading is
    /// neither a gap nor observed.
    pub fn resume(&mut self, now: Timestamp) {
        self.last = Some(now);
    }

    #[cold]
    fn note(&mut self, gap: Gap) -> Option<Gap> {
        if gap.length() >= Self::COUNTED_FROM {
            self.tally.count(gap.length());
        }
        let is_logged = gap.length() > self.threshold;
        is_logged.then(|| {
            self.log.push(gap);
            gap
        })
    }

    /// The gaps longer than the threshold.
    #[must_use]
    pub fn log(&self) -> &GapLog {
        &self.log
    }

    /// The counts of all gaps, to be merged with those of other cores.
    #[must_use]
    pub fn tally(&self) -> &GapTally {
        &self.tally
    }

    /// How often and for how long the core did not run.
    #[must_use]
    pub fn summary(&self) -> GapSummary {
        self.tally.summary()
    }
}

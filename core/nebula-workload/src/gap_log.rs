//! The pauses of the machine.
//!
//! A [`Gap`] is a period in which a core that should have been spinning did not run: a timer tick,
//! an interrupt, or the hypervisor taking the core away. A [`GapLog`] keeps the latest gaps,
//! ordered and disjoint, and shows whether a request overlapped one. Logs of several processes can
//! be merged if their times come from one clock.

use std::collections::VecDeque;

use nebula_nic::{Span, Timestamp};

/// A period `[start, end)` in which a core did not run.
///
/// # Examples
///
/// ```
/// use nebula_nic::Span;
/// use nebula_workload::Gap;
///
/// let gap = Gap::from_ns(1_000, 13_000);
/// assert_eq!(gap.length(), Span::from_us(12));
/// assert_eq!(gap.to_ns(), (1_000, 13_000));
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gap {
    /// The last reading of the clock before the gap.
    pub start: Timestamp,
    /// The first reading after it.
    pub end: Timestamp,
}

impl Gap {
    /// The gap of a pair of nanoseconds that another process sent.
    #[must_use]
    pub fn from_ns(start_ns: u64, end_ns: u64) -> Self {
        let at = |ns| Timestamp::ZERO + Span::from_ns(ns);
        Self { start: at(start_ns), end: at(end_ns) }
    }

    /// The gap as a pair of nanoseconds for another process, widened to whole ones.
    #[must_use]
    pub fn to_ns(self) -> (u64, u64) {
        const PS_PER_NS: u64 = 1000;
        (self.start.as_ps() / PS_PER_NS, self.end.as_ps().div_ceil(PS_PER_NS))
    }

    /// How long the core did not run.
    #[must_use]
    pub fn length(self) -> Span {
        self.end - self.start
    }
}

/// The latest gaps of one process, or of several.
///
/// # Invariants
///
/// Gaps ascend and neither overlap nor touch.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Span, Timestamp};
/// use nebula_workload::{Gap, GapLog};
///
/// let client = GapLog::from_gaps([Gap::from_ns(100, 200)]);
/// let server = GapLog::from_gaps([Gap::from_ns(150, 300)]);
/// let both = GapLog::merged([&client, &server]);
/// assert_eq!(both.iter().collect::<Vec<_>>(), [Gap::from_ns(100, 300)]);
/// let at = |ns| Timestamp::ZERO + Span::from_ns(ns);
/// assert!(both.overlaps(at(350), at(360), Span::from_ns(100)));
/// assert!(!both.overlaps(at(400), at(500), Span::from_ns(100)));
/// ```
#[derive(Clone, Debug)]
pub struct GapLog {
    gaps: VecDeque<Gap>,
    capacity: usize,
    forgotten: u64,
    complete_from: Timestamp,
}

impl GapLog {
    /// An empty log of the latest `capacity` gaps, at least one. A machine with a thousand timer
    /// ticks per second fills 65,536 entries (1 MiB) in a minute.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        let capacity = capacity.max(1);
        Self { gaps: VecDeque::with_capacity(capacity), capacity, forgotten: 0, complete_from: Timestamp::ZERO }
    }

    /// A log of all `gaps`, in any order; gaps that overlap or touch are merged.
    #[must_use]
    pub fn from_gaps(gaps: impl IntoIterator<Item = Gap>) -> Self {
        let mut sorted: Vec<Gap> = gaps.into_iter().collect();
        sorted.sort_unstable();
        let mut log = Self::with_capacity(sorted.len());
        sorted.into_iter().for_each(|gap| log.push(gap));
        log
    }

    /// Merges several logs, whose times must come from one clock.
    #[must_use]
    pub fn merged<'a>(logs: impl IntoIterator<Item = &'a Self>) -> Self {
        let logs: Vec<&Self> = logs.into_iter().collect();
        let mut all = Self::from_gaps(logs.iter().flat_map(|log| log.iter()));
        all.forgotten = logs.iter().map(|log| log.forgotten).sum();
        all.complete_from = logs.iter().map(|log| log.complete_from).max().unwrap_or_default();
        all
    }

    /// Appends a gap that starts no earlier than the latest one; a full log drops its oldest gap.
    /// O(1), no allocation.
    ///
    /// A gap that overlaps or touches the latest one extends it. A gap that starts earlier counts
    /// as starting with it, to keep the order; pass unordered gaps to
    /// [`from_gaps`](Self::from_gaps).
    pub fn push(&mut self, gap: Gap) {
        match self.gaps.back_mut() {
            Some(last) if gap.start <= last.end => last.end = last.end.max(gap.end),
            _ => self.append(gap),
        }
    }

    fn append(&mut self, gap: Gap) {
        if self.gaps.len() == self.capacity
            && let Some(oldest) = self.gaps.pop_front()
        {
            self.forgotten += 1;
            self.complete_from = oldest.end;
        }
        self.gaps.push_back(gap);
    }

    /// Whether `[from, to]` overlaps a gap or the `guard` after one, in which queues drain. Cost:
    /// O(log gaps); O(1) if no gap ended after `from - guard`, the common case for a request that
    /// has just completed.
    #[must_use]
    pub fn overlaps(&self, from: Timestamp, to: Timestamp, guard: Span) -> bool {
        match self.gaps.back() {
            Some(last) if last.end + guard > from => {
                let first = self.gaps.partition_point(|gap| gap.end + guard <= from);
                self.gaps.get(first).is_some_and(|gap| gap.start <= to)
            }
            _ => false,
        }
    }

    /// Whether the log still has every gap that a request from `from` on could have overlapped.
    #[must_use]
    pub fn is_complete_from(&self, from: Timestamp, guard: Span) -> bool {
        self.forgotten == 0 || self.complete_from + guard <= from
    }

    /// The gaps dropped because the log was full.
    #[must_use]
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// The gaps in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Gap> + '_ {
        self.gaps.iter().copied()
    }

    /// The number of gaps.
    #[must_use]
    pub fn len(&self) -> usize {
        self.gaps.len()
    }

    /// Whether there is no gap.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.gaps.is_empty()
    }
}

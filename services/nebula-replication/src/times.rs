//! The times until entries are committed, and the followers' round trips within them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

#[derive(Debug)]
pub(crate) struct Times(Mutex<Histogram<u64>>);

/// Longer times count as this one.
const LONGEST_NS: u64 = 60_000_000_000;

impl Times {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("bounds that a histogram takes")))
    }

    pub(crate) fn record(&self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).saturating_record(ns);
    }

    pub(crate) fn figures(&self) -> Figures {
        let times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = |quantile| times.value_at_quantile(quantile);
        Figures { count: times.len(), p50_ns: at(0.5), p99_ns: at(0.99) }
    }
}

/// A summary of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// The number of times.
    pub count: u64,
    /// The median, in nanoseconds; 0 without any.
    pub p50_ns: u64,
    /// The 99th percentile, in nanoseconds; 0 without any.
    pub p99_ns: u64,
}

/// Measured while the replica leads.
#[derive(Debug)]
pub(crate) struct Measured {
    /// From Raft's receipt of an entry until it is applied.
    pub(crate) commits: Times,
    /// An entry's way to a follower, onto its disk, and back.
    pub(crate) rounds: Times,
}

impl Measured {
    pub(crate) fn new() -> Self {
        Self { commits: Times::new(), rounds: Times::new() }
    }
}

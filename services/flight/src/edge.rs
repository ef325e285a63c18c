//! What a caller has seen of a tier: how many calls, how they ended, how long they took.

use hdrhistogram::Histogram;
use nebula::{CallError as Rpc, SubmitError};
use nebula_typed::{CallError, Code};
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The longest latency that is told apart from longer ones, in nanoseconds.
const LONGEST_NS: u64 = 60_000_000_000;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Replied,
    /// By a NACK, of the tier or of one behind it: nothing was done.
    Refused,
    Failed,
}

impl End {
    pub(crate) fn of<T>(result: &Result<T, CallError>) -> Self {
        match result {
            Ok(_) => Self::Replied,
            // The second is the client's own refusal, which has no room for more.
            Err(CallError::Rpc(Rpc::Nack { .. } | Rpc::NotSent(SubmitError::Full))) => Self::Refused,
            // An answer like any other.
            Err(error) if error.status().is_some_and(|status| status.code() == Code::NotFound) => Self::Replied,
            Err(_) => Self::Failed,
        }
    }
}

/// The calls from one tier to another.
#[derive(Debug)]
pub(crate) struct Edge(Mutex<Seen>);

#[derive(Debug)]
struct Seen {
    replies_ns: Histogram<u64>,
    refusals_ns: Histogram<u64>,
    failed: u64,
    error: Option<String>,
}

/// What was seen in an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct EdgeReport {
    /// The tier that was called.
    pub(crate) to: String,
    pub(crate) replied: u64,
    pub(crate) refused: u64,
    pub(crate) failed: u64,
    /// Of those that were replied to.
    pub(crate) latency_us_p50: f64,
    pub(crate) latency_us_p99: f64,
    /// Of those that were refused.
    pub(crate) refusal_us_p50: f64,
    /// What the last that failed was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

impl Edge {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Seen::new()))
    }

    pub(crate) fn count<T>(&self, result: &Result<T, CallError>, took: Duration) -> End {
        let end = End::of(result);
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let took_ns = u64::try_from(took.as_nanos()).unwrap_or(LONGEST_NS);
        match end {
            End::Replied => seen.replies_ns.saturating_record(took_ns),
            End::Refused => seen.refusals_ns.saturating_record(took_ns),
            End::Failed => {
                seen.failed += 1;
                seen.error = result.as_ref().err().map(ToString::to_string);
            }
        }
        end
    }

    /// What was seen since it was asked last.
    pub(crate) fn take(&self, to: &str) -> EdgeReport {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let us = |of: &Histogram<u64>, quantile| of.value_at_quantile(quantile) as f64 / 1000.0;
        let report = EdgeReport {
            to: to.to_owned(),
            replied: seen.replies_ns.len(),
            refused: seen.refusals_ns.len(),
            failed: seen.failed,
            latency_us_p50: us(&seen.replies_ns, 0.5),
            latency_us_p99: us(&seen.replies_ns, 0.99),
            refusal_us_p50: us(&seen.refusals_ns, 0.5),
            error: seen.error.take(),
        };
        seen.replies_ns.reset();
        seen.refusals_ns.reset();
        seen.failed = 0;
        report
    }
}

impl Seen {
    fn new() -> Self {
        let empty = || Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("fixed and valid bounds");
        Self { replies_ns: empty(), refusals_ns: empty(), failed: 0, error: None }
    }
}

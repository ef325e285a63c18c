//! The condition that a search's load must meet.

use crate::error::SimError;
use crate::tally::Tally;
use nebula_nic::Span;
use nebula_workload::TypeId;

/// The condition that a load must meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Objective {
    /// 99 % of all RPCs end within this time; a NACK counts as infinite.
    P99(Span),
    /// 99 % of a type's served RPCs end within this time; at most 1 % of all RPCs are NACKed.
    P99OfType(TypeId, Span),
    /// 99.9 % of a mix's served RPCs have at most this latency over service time; at most 0.1 % of
    /// all are NACKed.
    Slowdown(f64),
}

impl Objective {
    pub(crate) fn is_kept(self, tally: &Tally) -> bool {
        match self {
            Self::P99(slo) => tally.latency_with_nacks(0.99) <= slo.as_ps() as f64,
            Self::P99OfType(TypeId(kind), slo) => {
                let of_type = tally.by_type.get(usize::from(kind));
                tally.accepted() >= 0.99
                    && of_type.is_some_and(|of_type| of_type.latency.quantile(0.99) <= slo.as_ps() as f64)
            }
            Self::Slowdown(times) => tally.accepted() >= 0.999 && tally.slowdown().quantile(0.999) <= times * 1e3,
        }
    }

    pub(crate) fn missed(self, tally: Option<&Tally>) -> SimError {
        match self {
            Self::P99(slo) | Self::P99OfType(_, slo) => {
                let p99_ns = tally.map_or(f64::INFINITY, |tally| tally.latency_with_nacks(0.99) / 1e3);
                SimError::Slo { slo_ns: slo.as_ns_f64(), p99_ns }
            }
            Self::Slowdown(times) => SimError::Slowdown { times },
        }
    }
}

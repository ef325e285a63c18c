//! The bounds of a back end, by queueing theory.
//!
//! The load and the SLO size a receive buffer, not the number of peers. With Poisson arrivals and
//! exponential service at `k` cores (M/M/k), `E[Nq]` RPCs wait on average. Below saturation, ten
//! times that suffices almost always; RPCs that do not fit would miss their SLO anyway and are
//! better NACKed.

mod core_plan;

use crate::id::SLOT_BYTES;
use crate::time::Span;

pub use core_plan::{CorePlan, ENGINE_TIME};

/// RPCs of room per RPC that waits on average: NEBULA's sizing rule.
pub const QUEUE_ROOM: f64 = 10.0;

/// The standard normal distribution's 99 % quantile.
const Z_P99: f64 = 2.33;

/// A size that cannot be computed.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SizingError {
    /// Zero cores.
    #[error("sizing needs at least 1 core")]
    Cores,
    /// A load at which the queue grows without limit, or zero.
    #[error("a load of {got} has no finite queue: give more than 0 and less than 1, such as 0.98")]
    Utilization {
        /// The load given.
        got: f64,
    },
    /// RPCs without payload.
    #[error("sizing needs RPCs of at least 1 byte")]
    RpcBytes,
    /// An SLO shorter than the service time.
    #[error("an SLO of {slo} leaves no time to wait when the service takes {service}: give a longer SLO")]
    Slo {
        /// The SLO given.
        slo: Span,
        /// The mean service time.
        service: Span,
    },
    /// A service time of zero.
    #[error("sizing needs a service time above 0")]
    Service,
}

/// The share of arrivals that `k` servers without a queue would refuse, at `erlangs` of offered
/// load (Erlang B). O(k).
#[must_use]
pub fn erlang_b(k: u32, erlangs: f64) -> f64 {
    (1..=k).fold(1.0, |blocked, servers| {
        let carried = erlangs * blocked;
        carried / (f64::from(servers) + carried)
    })
}

/// The share of arrivals that wait at `k` servers with one queue, at `erlangs` of offered load
/// (Erlang C); 1 from saturation on.
///
/// # Examples
///
/// ```
/// assert!((nebula_nic::erlang_c(64, 63.0) - 0.8557).abs() < 5e-5);
/// ```
#[must_use]
pub fn erlang_c(k: u32, erlangs: f64) -> f64 {
    if erlangs >= f64::from(k) {
        return 1.0;
    }
    let blocked = erlang_b(k, erlangs);
    blocked / (1.0 - erlangs / f64::from(k) * (1.0 - blocked))
}

/// `E[Nq]`: mean waiting RPCs at `k` cores and `erlangs` of load; infinite from saturation on.
///
/// # Examples
///
/// ```
/// assert!((nebula_nic::queue_depth_mean(64, 63.0) - 53.91).abs() < 0.005);
/// ```
#[must_use]
pub fn queue_depth_mean(k: u32, erlangs: f64) -> f64 {
    if erlangs >= f64::from(k) {
        return f64::INFINITY;
    }
    erlang_c(k, erlangs) * erlangs / (f64::from(k) - erlangs)
}

/// The bounds of a back end for a number of cores, a load and an RPC size.
///
/// # Examples
///
/// ```
/// use nebula_nic::Sizing;
///
/// let sizing = Sizing::new(64, 63.0 / 64.0, 1024)?;
/// assert_eq!((sizing.reassembler_entries, sizing.buffer_bytes), (540, 540 * 1024));
/// assert_eq!(sizing.bitvector_bytes, 1080);
/// assert!(Sizing::new(64, 1.0, 1024).is_err());
/// # Ok::<(), nebula_nic::SizingError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizing {
    /// RPCs that wait on average, `E[Nq]`.
    pub queue_depth_mean: f64,
    /// Slots of 64 B.
    pub buffer_slots: u64,
    /// Payload slots in bytes; the bookkeeping is separate, in `bitvector_bytes`.
    pub buffer_bytes: u64,
    /// The papers' bitvector, one bit per slot.
    pub bitvector_bytes: u64,
    /// RPCs that can be reassembled at once; the same number can wait.
    pub reassembler_entries: u64,
}

impl Sizing {
    /// Room for [`QUEUE_ROOM`] × `E[Nq]` RPCs of `rpc_bytes` bytes at a `utilization` of `cores`.
    pub fn new(cores: u32, utilization: f64, rpc_bytes: u32) -> Result<Self, SizingError> {
        if cores == 0 {
            return Err(SizingError::Cores);
        }
        if !(utilization > 0.0 && utilization < 1.0) {
            return Err(SizingError::Utilization { got: utilization });
        }
        if rpc_bytes == 0 {
            return Err(SizingError::RpcBytes);
        }
        let queue_depth_mean = queue_depth_mean(cores, utilization * f64::from(cores));
        let rpcs = rpcs_of_room(queue_depth_mean);
        let buffer_slots = rpcs * u64::from(rpc_bytes.div_ceil(SLOT_BYTES));
        Ok(Self {
            queue_depth_mean,
            buffer_slots,
            buffer_bytes: buffer_slots * u64::from(SLOT_BYTES),
            bitvector_bytes: buffer_slots.div_ceil(8),
            reassembler_entries: rpcs,
        })
    }
}

/// [`QUEUE_ROOM`] for each waiting RPC. The mean is first rounded to whole RPCs, at least one, as
/// in the papers: 53.91 becomes 54, and 540 RPCs of room.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "finite and positive below saturation")]
fn rpcs_of_room(queue_depth_mean: f64) -> u64 {
    (libm::round(queue_depth_mean).max(1.0) * QUEUE_ROOM) as u64
}

/// The most RPCs that may wait at `cores` cores so that the last meets `slo` 99 times of 100.
///
/// An RPC that finds `q` waiting starts after about `q` services: after `q·S/k` on average, with a
/// deviation of `sqrt(q)·S/k` for exponential service times. The bound is the largest `q` with
/// `q·S/k + 2.33·sqrt(q)·S/k ≤ SLO − S`, and at least 1.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Span, queue_bound_for_slo};
///
/// let service = Span::from_ns(630);
/// assert_eq!(queue_bound_for_slo(service * 10, service, 16), Ok(118));
/// assert!(queue_bound_for_slo(service, service, 16).is_err());
/// ```
pub fn queue_bound_for_slo(slo: Span, service_mean: Span, cores: u32) -> Result<u32, SizingError> {
    if cores == 0 {
        return Err(SizingError::Cores);
    }
    if service_mean == Span::ZERO {
        return Err(SizingError::Service);
    }
    if slo <= service_mean {
        return Err(SizingError::Slo { slo, service: service_mean });
    }
    // In services: q + 2.33·sqrt(q) ≤ room, quadratic in sqrt(q).
    let room = (slo - service_mean).as_ps() as f64 / service_mean.as_ps() as f64 * f64::from(cores);
    let root = (libm::sqrt(Z_P99 * Z_P99 + 4.0 * room) - Z_P99) / 2.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 1 and u32::MAX; `as` saturates"
    )]
    let bound = libm::floor(root * root).max(1.0) as u32;
    Ok(bound)
}

/// The part of the SLO for waiting and service; the rest is for the network and machine pauses.
const SLO_SHARE_PERCENT: u64 = 70;

/// The bound on a server's queue, by the time that an RPC takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueRule {
    /// The latency target.
    pub slo: Span,
    /// The number of workers.
    pub workers: u16,
    /// RPCs that wait in each worker's own queue, beyond the two that every policy gives it.
    pub in_worker_queues: u32,
}

impl QueueRule {
    /// RPCs that may wait when one takes `service`, so that the next keeps the SLO. At least two a
    /// worker: with fewer, steering has nothing to fetch ahead.
    #[must_use]
    pub fn bound(&self, service: Span) -> u32 {
        let workers = u32::from(self.workers);
        let bound = queue_bound_for_slo(self.time(), service, workers).unwrap_or(0);
        // RPCs in the workers' own queues wait too.
        bound.saturating_sub(workers * self.in_worker_queues).max(2 * workers)
    }

    /// The part of the SLO for waiting and service.
    #[must_use]
    pub const fn time(&self) -> Span {
        share_of(self.slo)
    }
}

/// RPCs that a pool of `threads` threads accepts when one takes `service`, to keep `slo`; at most
/// `most`.
#[must_use]
pub fn pool_bound(slo: Span, service: Span, threads: u16, most: u16) -> u32 {
    let bound = queue_bound_for_slo(share_of(slo), service, threads.into()).unwrap_or(0);
    bound.max(2 * u32::from(threads)).min(most.into())
}

const fn share_of(slo: Span) -> Span {
    Span::from_ps(slo.as_ps() / 100 * SLO_SHARE_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn erlang_agrees_with_the_published_queue_depths() {
        for (k, utilization, depth) in
            [(16, 0.90, 5.3), (16, 0.95, 14.8), (16, 0.98, 44.5), (60, 0.97, 24.0), (64, 0.99, 89.7)]
        {
            let computed = queue_depth_mean(k, f64::from(k) * utilization);
            assert!((computed - depth).abs() <= 0.06, "k={k} at {utilization}: {computed} is not {depth}");
        }
        assert!((queue_depth_mean(1, 0.5) - 0.5).abs() < 1e-12, "M/M/1: rho^2 / (1 - rho)");
    }

    #[test]
    fn sixteen_cores_get_the_paper_s_buffer() {
        let sizing = Sizing::new(16, 15.245 / 16.0, 512).unwrap();
        assert_eq!((sizing.buffer_slots, sizing.buffer_bytes), (1280, 81_920));
        assert_eq!(sizing.reassembler_entries, 160);
    }

    #[test]
    fn a_queue_at_saturation_is_infinite() {
        assert_eq!((erlang_c(4, 4.0), queue_depth_mean(4, 4.0)), (1.0, f64::INFINITY));
        assert_eq!(Sizing::new(4, 1e-6, 1).unwrap().reassembler_entries, 10, "never without room");
    }

    #[test]
    fn what_cannot_be_sized_says_why_in_one_line() {
        let bad = [Sizing::new(0, 0.5, 1), Sizing::new(1, 1.0, 1), Sizing::new(1, f64::NAN, 1), Sizing::new(1, 0.5, 0)];
        for error in bad {
            assert!(!error.unwrap_err().to_string().contains('\n'));
        }
        assert_eq!(queue_bound_for_slo(Span::from_us(1), Span::ZERO, 1), Err(SizingError::Service));
        assert_eq!(queue_bound_for_slo(Span::from_us(1), Span::from_ns(1), 0), Err(SizingError::Cores));
    }

    #[test]
    fn the_bound_is_the_largest_that_keeps_the_slo() {
        for (slo_services, cores) in [(2, 1), (10, 1), (10, 16), (10, 64), (100, 4096)] {
            let service = Span::from_ns(630);
            let bound = queue_bound_for_slo(service * slo_services, service, cores).unwrap();
            let waits = |q: u32| f64::from(q) + Z_P99 * libm::sqrt(f64::from(q));
            let room = f64::from(cores) * (slo_services - 1) as f64;
            assert!(waits(bound + 1) > room, "{bound} is not the largest for {slo_services} x {cores}");
            assert!(bound == 1 || waits(bound) <= room, "{bound} breaks the SLO for {slo_services} x {cores}");
        }
    }
}

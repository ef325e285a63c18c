//! Station 3: *is it worth letting this RPC in?*
//!
//! An RPC that would wait longer than the SLO allows is refused the moment its first packet comes: its sender can
//! turn elsewhere at once, and the RPCs that wait already keep their promise. The bound is a number of waiting RPCs;
//! [`sizing`](crate::sizing) derives it from an SLO.
//!
//! Only the packet that would start an RPC is judged. Later packets of an RPC that was let in always pass, so a queue may
//! grow past its bound by the RPCs that were being reassembled.
//!
//! Departs: the paper refuses when the buffer is full, which it sizes so that this is when the SLO is lost. Here the
//! service time is measured while it runs, so the bound on the queue follows it, and the buffer is the bound on bytes.
//!
//! A policy with a queue for each core shares the bound out: each queue is judged alone, against the bound over
//! the number of cores, rounded up.
//!
//! Next: station 4, [`recv_buffer`](crate::recv_buffer).

use crate::arrival_queue::ArrivalQueue;
use crate::dispatch::Placement;
use crate::verdict::NackReason;

/// The bound that an RPC's queue is judged against.
#[derive(Clone, Copy, Debug)]
pub struct Admission {
    bound: u32,
    bound_per_core: u32,
    cores: u16,
    bound_max: u32,
}

impl Admission {
    /// Refuses an RPC that finds `bound` others waiting; no bound will ever be above `bound_max`.
    ///
    /// # Panics
    ///
    /// If `cores` is 0.
    #[must_use]
    pub fn new(bound: u32, bound_max: u32, cores: u16) -> Self {
        let bound = bound.min(bound_max);
        Self { bound, bound_per_core: bound.div_ceil(u32::from(cores)), cores, bound_max }
    }

    /// Puts another bound in place; 0 refuses every RPC, as before a shutdown.
    pub fn set_bound(&mut self, bound: u32) {
        *self = Self::new(bound, self.bound_max, self.cores);
    }

    /// Why an RPC that would queue at `placement` is refused, if it is.
    #[must_use]
    #[inline]
    pub fn refusal(&self, queue: &ArrivalQueue, placement: Placement) -> Option<NackReason> {
        let bound = match placement {
            Placement::Shared => self.bound,
            Placement::Core(_) => self.bound_per_core,
        };
        if queue.waiting_at(placement) >= bound { Some(NackReason::QueueBound) } else { None }
    }

    /// Why an RPC that finds `waiting` others is refused, if it is: for queues that are kept elsewhere, such as a scheduler's in software.
    #[must_use]
    #[inline]
    pub const fn refusal_behind(&self, waiting: u32) -> Option<NackReason> {
        if waiting >= self.bound { Some(NackReason::QueueBound) } else { None }
    }
}

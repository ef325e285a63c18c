//! Station 3: *is it worth letting this RPC in?*
//!
//! An RPC that would wait longer than the SLO allows is refused the moment its first packet comes: its sender can
//! turn elsewhere at once, and the RPCs that wait already keep their promise. The bound is a number of waiting RPCs;
//! [`sizing`](crate::sizing) derives it from an SLO.
//!
//! Only the packet that would start an RPC is judged. Later packets of an RPC that was let in always pass, so a queue may
//! grow past its bound by the RPCs that were being reassembled.
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
}

impl Admission {
    /// Refuses an RPC that finds `bound` others waiting.
    ///
    /// # Panics
    ///
    /// If `cores` is 0.
    #[must_use]
    pub const fn new(bound: u32, cores: u16) -> Self {
        Self { bound, bound_per_core: bound.div_ceil(cores as u32), cores }
    }

    /// Puts another bound in place; 0 refuses every RPC, as before a shutdown.
    pub const fn set_bound(&mut self, bound: u32) {
        *self = Self::new(bound, self.cores);
    }

    /// Why an RPC that would queue at `placement` is refused, if it is, while `incomplete` others are being reassembled.
    #[must_use]
    #[inline]
    pub fn refusal(&self, queue: &ArrivalQueue, placement: Placement, incomplete: u32) -> Option<NackReason> {
        let bound = match placement {
            Placement::Shared => self.bound,
            Placement::Core(_) => self.bound_per_core,
        };
        // An RPC being reassembled has a place in the queue already: it was promised one when it was let in.
        let is_full = queue.waiting() + incomplete >= queue.capacity();
        if queue.waiting_at(placement) >= bound || is_full { Some(NackReason::QueueBound) } else { None }
    }
}

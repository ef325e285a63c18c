//! Station 3: *should this RPC be admitted?*
//!
//! An RPC that would wait longer than the SLO allows is refused when its first packet arrives: its
//! sender can try another server at once, and the RPCs already waiting still meet their SLO. The
//! bound is a number of waiting RPCs; [`sizing`](crate::sizing) derives it from an SLO. Later
//! packets of an admitted RPC always pass, so a queue may exceed its bound by the RPCs that were
//! being reassembled.
//!
//! Departs: the paper refuses when the buffer is full, and sizes the buffer so that this happens
//! when the SLO is lost. Here the service time is measured at run time, so the bound on the queue
//! follows it, and the buffer only bounds bytes.
//!
//! [`fair_share`](crate::fair_share) decides which source is refused first. Under a policy with a
//! queue per core, each queue is judged alone, against the bound divided by the number of cores,
//! rounded up.
//!
//! However slow the service, one RPC of each active client may wait
//! ([`queue_bound_for`](crate::Backend::queue_bound_for)): a client with one outstanding sends the
//! next when it is answered, so such clients cannot overload a server. More than
//! [`CLIENTS_WAITING_MAX`] are refused, so that connections never switch admission off.
//!
//! Next: station 4, [`recv_buffer`](crate::recv_buffer).

use crate::arrival_queue::ArrivalQueue;
use crate::dispatch::{Placement, Queues};
use crate::fair_share::FairShare;
use crate::id::NodeId;
use crate::time::Timestamp;
use crate::verdict::NackReason;

/// So many clients may each have an RPC waiting, whatever the service time: as many as a busy
/// server's clients that call one RPC at a time, and few against a queue that no SLO bounds.
pub const CLIENTS_WAITING_MAX: u32 = 64;

/// The bound that an RPC's queue is judged against.
#[derive(Clone, Copy, Debug)]
pub struct Admission {
    bound: u32,
    /// RPCs that may wait before admission depends on the source.
    open: u32,
    /// RPCs that may wait without a look at the source: `open`, or 0 while room is kept.
    quick: u32,
    bound_per_core: u32,
    cores: u16,
    bound_max: u32,
}

impl Admission {
    /// Refuses an RPC that finds `bound` others waiting; no bound will ever exceed `bound_max`.
    ///
    /// # Panics
    ///
    /// If `cores` is 0.
    #[must_use]
    pub fn new(bound: u32, bound_max: u32, cores: u16) -> Self {
        let bound = bound.min(bound_max);
        let bound_per_core = bound.div_ceil(u32::from(cores));
        let open = FairShare::open(bound);
        Self { bound, open, quick: open, bound_per_core, cores, bound_max }
    }

    /// Lets `share` decide who is admitted when room is short.
    #[must_use]
    pub const fn sharing(self, share: &FairShare) -> Self {
        let open = share.open_here(self.bound);
        Self { open, quick: open, ..self }
    }

    /// Replaces the bound; 0 refuses every RPC, as before a shutdown.
    pub fn set_bound(&mut self, share: &FairShare, bound: u32) {
        let is_kept = self.quick < self.open;
        *self = Self::new(bound, self.bound_max, self.cores).sharing(share);
        self.keep(is_kept);
    }

    /// The least bound at which one RPC of each of `clients` clients may wait, at most of
    /// [`CLIENTS_WAITING_MAX`]: none of them is refused for its source or, with `queues`, because
    /// all wait for one core. Cost: O(clients).
    #[must_use]
    pub(crate) fn bound_for(&self, share: &FairShare, clients: u32, queues: Queues) -> u32 {
        let clients = clients.min(CLIENTS_WAITING_MAX);
        let bound = (clients..=2 * clients).find(|&bound| share.open_here(bound) >= clients).unwrap_or(2 * clients);
        match queues {
            Queues::Shared => bound,
            Queues::PerCore | Queues::Both => bound * u32::from(self.cores),
        }
    }

    /// Notes whether room is kept: then the source of an RPC matters even with room for all.
    #[inline(always)]
    pub(crate) fn keep(&mut self, is_kept: bool) {
        self.quick = if is_kept { 0 } else { self.open };
    }

    /// RPCs that may wait in the shared queue before their source is looked at.
    #[inline(always)]
    pub(crate) const fn quick(&self) -> u32 {
        self.quick
    }

    /// The reason to refuse an RPC of `snid` that would queue at `placement`, if there is one.
    #[inline]
    pub fn refusal(
        &mut self,
        now: Timestamp,
        (queue, share): (&ArrivalQueue, &mut FairShare),
        (snid, placement): (NodeId, Placement),
    ) -> Option<NackReason> {
        let (bound, open) = match placement {
            Placement::Shared => (self.bound, self.open),
            Placement::Core(_) => (self.bound_per_core, share.open_here(self.bound_per_core)),
        };
        let waiting = queue.waiting_at(placement);
        if waiting < open {
            return None;
        }
        share.note(now, snid);
        self.keep(share.is_kept(now));
        if share.room(now, snid, (waiting, bound), 1) == 0 { Some(NackReason::QueueBound) } else { None }
    }

    /// How many of the next `rpcs` RPCs of `snid` the shared queue admits before one is refused.
    #[must_use]
    #[inline(always)]
    pub fn room(&self, now: Timestamp, (queue, share): (&ArrivalQueue, &FairShare), snid: NodeId, rpcs: u32) -> u32 {
        let waiting = queue.waiting_at(Placement::Shared);
        if rpcs <= self.open.saturating_sub(waiting) {
            return rpcs;
        }
        share.room(now, snid, (waiting, self.bound), rpcs)
    }

    /// RPCs that may wait in the shared queue before admission depends on the source.
    #[must_use]
    #[inline(always)]
    pub const fn open(&self) -> u32 {
        self.open
    }

    /// The reason to refuse an RPC that finds `waiting` others, if there is one: for queues kept
    /// elsewhere, such as a scheduler's in software.
    #[must_use]
    #[inline]
    pub const fn refusal_behind(&self, waiting: u32) -> Option<NackReason> {
        if waiting >= self.bound { Some(NackReason::QueueBound) } else { None }
    }
}

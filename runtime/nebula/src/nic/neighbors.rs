//! `altocumulus:G`, in real time: engines that migrate waiting RPCs to each other.
//!
//! Each group has an engine, which is its manager too. It publishes its queue length in its own
//! cache line, and once a period asks its [`Manager`] which RPCs to migrate where. A migration
//! moves the notification and the right to the slots. The payload stays in the region that it
//! arrived in, and the client's ring with the engine that reads it.
//!
//! ```text
//!   origin's engine                               receiver's engine                receiver's worker
//!   take_newest_waiting ──── Migrated ───▶ adopt ─▶ dispatch ──────────────────▶ reads the origin's region,
//!   handle_refused ◀──────── Refused ────── no room                               replies into the client's ring
//!   slots free again ◀────── Returned ──────────────── handle_free: Foreign ◀──── done
//! ```
//!
//! A ring each way connects two engines. It has room for everything that can be in flight, because
//! an origin has a bounded number of RPCs away at another group: an RPC beyond the bound stays.

use crate::rpc::job::{Held, Served};
use crossbeam_utils::CachePadded;
use nebula_nic::schedule::{Manager, ManagerConfig, Thresholds};
use nebula_nic::{Arrival, GroupId, Timestamp};
use nebula_sys::spsc::{self, Consumer, Producer};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) const AWAY_MAX: u32 = 64;

#[derive(Debug)]
pub(crate) enum Message {
    /// The receiver is to serve an RPC of the sender's.
    Migrated(Arrival, Held),
    /// The sender had no room for an RPC of the receiver's.
    Refused(Arrival, Held),
    /// An RPC of the receiver's was served.
    Returned(Served),
}

/// The queue length that each group's engine published last.
pub(crate) type Lengths = Arc<[CachePadded<AtomicU32>]>;

#[derive(Debug)]
pub(crate) struct Neighbor {
    to: Producer<Message>,
    pub(crate) from: Consumer<Message>,
    /// RPCs handed to it that have not come back, served or refused.
    pub(crate) away: u32,
}

impl Neighbor {
    pub(crate) fn tell(&mut self, message: Message) {
        assert!(self.to.try_push(message).is_ok(), "a ring has room for all that can be away");
    }

    /// Adds a descriptor to the message that [`send`](Self::send) ends.
    pub(crate) fn add(&mut self, descriptor: Message) {
        assert!(self.to.try_stage(descriptor).is_ok(), "a ring has room for all that can be away");
    }

    pub(crate) fn send(&mut self) {
        self.to.publish();
    }
}

#[derive(Debug)]
pub(crate) struct Neighbors {
    pub(crate) manager: Manager,
    pub(crate) lengths: Lengths,
    published: u32,
    pub(crate) list: Box<[Option<Neighbor>]>,
    /// Whether the threshold was given, and does not follow the queue bound.
    is_fixed: bool,
}

/// For each group, its ends of the rings to the others.
pub(crate) struct Ways(Vec<Box<[Option<Neighbor>]>>);

impl Ways {
    pub(crate) fn new(groups: u16) -> Self {
        let groups = usize::from(groups);
        // A ring carries RPCs handed over one way, and returns those handed over the other way.
        let ring = || spsc::ring::<Message>(2 * AWAY_MAX as usize);
        let mut ends: Vec<Vec<_>> = (0..groups).map(|_| (0..groups).map(|_| (None, None)).collect()).collect();
        let pairs = (0..groups).flat_map(|from| (0..groups).map(move |to| (from, to)));
        for (from, to) in pairs.filter(|(from, to)| from != to) {
            let (push, pop) = ring();
            ends[from][to].0 = Some(push);
            ends[to][from].1 = Some(pop);
        }
        let neighbor = |(to, from): (Option<_>, Option<_>)| Some(Neighbor { to: to?, from: from?, away: 0 });
        Self(ends.into_iter().map(|row| row.into_iter().map(neighbor).collect()).collect())
    }

    pub(crate) fn with_managers(self, managers: Vec<Manager>, is_fixed: bool) -> impl Iterator<Item = Neighbors> {
        let lengths: Lengths = (0..managers.len()).map(|_| CachePadded::default()).collect();
        let neighbors = move |(list, manager)| {
            let lengths = lengths.clone();
            Neighbors { manager, lengths, published: 0, list, is_fixed }
        };
        self.0.into_iter().zip(managers).map(neighbors)
    }
}

/// The queue length at which a group hands RPCs over: half of the bound. Later RPCs would soon be
/// refused, and have not waited long yet.
pub(crate) fn waiting_max(queue_bound: u32) -> u32 {
    queue_bound / 2
}

impl Neighbors {
    #[inline]
    pub(crate) fn handle_arrival(&mut self, now: Timestamp) {
        self.manager.handle_arrival(now);
    }

    /// Lets the threshold follow the queue bound, unless it was given. Returns the changed one.
    pub(crate) fn set_queue_bound(&mut self, queue_bound: u32) -> Option<Thresholds> {
        if self.is_fixed {
            return None;
        }
        let thresholds = Thresholds::fixed(waiting_max(queue_bound));
        self.manager.set_thresholds(thresholds.clone());
        Some(thresholds)
    }

    pub(crate) fn manager(&self) -> &ManagerConfig {
        self.manager.config()
    }

    pub(crate) fn groups(&self) -> u32 {
        u32::from(self.manager.config().groups)
    }

    #[inline]
    pub(crate) fn publish(&mut self, waiting: u32) {
        if self.published != waiting {
            self.published = waiting;
            // Relaxed: a hint that no other read depends on.
            self.lengths[self.manager.config().group.index()].store(waiting, Ordering::Relaxed);
        }
    }

    #[inline(never)]
    pub(crate) fn give_back(&mut self, origin: GroupId, served: Served) {
        let neighbor = self.list[origin.index()].as_mut().expect("a group has no dealings with itself");
        neighbor.tell(Message::Returned(served));
    }
}

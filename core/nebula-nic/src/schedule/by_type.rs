//! `darc` in a back end: *which waiting RPC goes to which idle core, by its type?*
//!
//! The type of an RPC is reported after it was admitted, since its payload must be complete. Until
//! then it waits unsorted, then in the queue of its type. Service times are counted from dispatch
//! to free in the time of the back end's inputs, so that a decision log has all that [`Darc`]
//! learns from.

use super::darc::{Darc, DarcConfig};
use super::typed_queues::{RpcType, TypedQueues};
use crate::core_set::CoreSet;
use crate::id::CoreId;
use crate::time::Timestamp;
use crate::verdict::{Arrival, Dispatch};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;

/// The RPCs that wait by type, the cores that serve them, and [`Darc`], which joins the two. Costs
/// what [`Darc`] does; no allocation after construction.
#[derive(Clone, Debug)]
pub struct ByType {
    types: u8,
    capacity: u32,
    darc: Darc,
    /// RPCs whose type has not been reported, the oldest first.
    unsorted: VecDeque<Arrival>,
    queues: TypedQueues<Arrival>,
    idle: CoreSet,
    /// By core: the type of the RPC that it serves, and since when.
    begun: Box<[(RpcType, Timestamp)]>,
    now: Timestamp,
}

impl ByType {
    /// Queues for `capacity` RPCs; `config` has the types and the cores, all idle.
    ///
    /// # Panics
    ///
    /// Like [`Darc::new`].
    #[must_use]
    pub fn new(config: DarcConfig, capacity: u32) -> Self {
        Self {
            types: config.types,
            capacity,
            darc: Darc::new(config),
            unsorted: VecDeque::with_capacity(capacity as usize),
            queues: TypedQueues::new(config.types, capacity),
            idle: CoreSet::full(config.cores),
            begun: vec![(RpcType(0), Timestamp::ZERO); usize::from(config.cores)].into(),
            now: Timestamp::ZERO,
        }
    }

    /// Sets the time of the calls that follow.
    #[inline]
    pub fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// Queues an RPC whose type is not known yet.
    ///
    /// # Panics
    ///
    /// If there is no room.
    #[inline]
    pub fn push(&mut self, arrival: Arrival) {
        let room = self.capacity.saturating_sub(self.queues.waiting()) as usize;
        assert!(self.unsorted.len() < room, "admission admits no more than the queue holds");
        self.unsorted.push_back(arrival);
    }

    /// The oldest RPC whose type is not known.
    #[must_use]
    #[inline]
    pub fn unsorted(&self) -> Option<Arrival> {
        self.unsorted.front().copied()
    }

    /// Reports the type of the oldest RPC without one; an unknown type counts as the common type 0.
    #[inline]
    pub fn sort(&mut self, kind: RpcType) {
        let kind = if kind.0 < self.types { kind } else { RpcType(0) };
        if let Some(arrival) = self.unsorted.pop_front() {
            let is_queued = self.queues.push(kind, arrival, arrival.arrived);
            debug_assert!(is_queued, "there is room for what waits, sorted or not");
        }
    }

    /// The next RPC for an idle core. RPCs without a type become ones of the common type 0.
    #[inline]
    pub fn poll(&mut self) -> Option<Dispatch> {
        while !self.unsorted.is_empty() {
            self.sort(RpcType(0));
        }
        let (core, kind) = self.darc.choose(&self.idle, &self.queues)?;
        let arrival = self.queues.pop(kind)?.rpc;
        self.idle.remove(core);
        self.begun[core.index()] = (kind, self.now);
        self.darc.handle_begun(kind, self.now - arrival.arrived);
        Some(Dispatch { core, arrival })
    }

    /// `core`, which serves an RPC, is done with it.
    #[inline]
    pub fn handle_freed(&mut self, core: CoreId) {
        let (kind, since) = self.begun[core.index()];
        self.idle.insert(core);
        self.darc.handle_done(kind, self.now - since);
    }

    /// The profile and the plan.
    #[must_use]
    pub const fn darc(&self) -> &Darc {
        &self.darc
    }
}

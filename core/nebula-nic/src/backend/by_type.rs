//! Stations 6 and 7 under `darc`: RPCs wait by type, and cores are reserved for types.

use super::Backend;
use crate::dispatch::CentralDispatch;
use crate::id::{CoreId, SlotRange};
use crate::schedule::darc::Darc;
use crate::schedule::typed_queues::RpcType;
use crate::time::Timestamp;
use crate::verdict::{Arrival, Dispatch, Freed};

impl<D: CentralDispatch> Backend<D> {
    /// Whether the policy distinguishes types: under `darc`.
    #[must_use]
    #[inline(always)]
    pub const fn tells_types(&self) -> bool {
        self.by_type.is_some()
    }

    /// The oldest complete RPC whose type has not been reported; its payload says the type.
    #[must_use]
    #[inline]
    pub fn untyped(&self) -> Option<Arrival> {
        self.by_type.as_ref()?.unsorted()
    }

    /// Reports the type of the [oldest RPC without one](Self::untyped); a type that the
    /// configuration lacks counts as the common type 0. Call it before
    /// [`poll_dispatch`](Self::poll_dispatch), which takes an RPC without a type for one of the
    /// common type.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula_nic::schedule::RpcType;
    /// use nebula_nic::{Backend, BackendConfig, Header, Policy, Timestamp};
    ///
    /// let mut nic = Backend::try_new(BackendConfig::new(2, Policy::Darc).types(3))?;
    /// nic.handle_packet(Timestamp::ZERO, Header { rpc_bytes: 40, ..Header::default() });
    /// while let Some(arrival) = nic.untyped() {
    ///     let kind = RpcType((arrival.bytes % 3) as u8); // look into the payload …
    ///     nic.handle_type(Timestamp::ZERO, kind);
    /// }
    /// assert!(nic.poll_dispatch().is_some());
    /// # Ok::<(), nebula_nic::ConfigError>(())
    /// ```
    #[inline]
    pub fn handle_type(&mut self, now: Timestamp, kind: RpcType) {
        if let Some(by_type) = &mut self.by_type {
            by_type.set_now(now);
            by_type.sort(kind);
        }
    }

    /// [`handle_free`](Self::handle_free) with the time: for policies that learn service times.
    #[inline(always)]
    pub fn handle_free_at(&mut self, now: Timestamp, core: CoreId, slots: SlotRange) -> Freed {
        if !self.has_one_queue {
            self.set_now(now);
        }
        self.handle_free(core, slots)
    }

    #[inline(never)]
    fn set_now(&mut self, now: Timestamp) {
        if let Some(by_type) = &mut self.by_type {
            by_type.set_now(now);
        }
    }

    /// The types' profile and the reserved cores, if the policy distinguishes types.
    #[must_use]
    pub fn darc(&self) -> Option<&Darc> {
        self.by_type.as_ref().map(|by_type| by_type.darc())
    }

    /// Queues an RPC whose type is not known yet.
    #[inline(never)]
    pub(super) fn push_by_type(&mut self, arrival: Arrival) {
        if let Some(by_type) = &mut self.by_type {
            by_type.set_now(arrival.arrived);
            by_type.push(arrival);
            self.queue.note_elsewhere();
        }
    }

    pub(super) fn poll_by_type(&mut self) -> Option<Dispatch> {
        let Dispatch { core, arrival } = self.by_type.as_mut()?.poll()?;
        self.queue.note_taken_elsewhere();
        Some(self.give(core, arrival))
    }

    /// `core` has credit again, under a policy that does not use one queue for all.
    #[inline(never)]
    pub(super) fn grant(&mut self, core: CoreId) {
        match &mut self.by_type {
            Some(by_type) => by_type.handle_freed(core),
            None => self.queue.grant(core),
        }
    }
}

//! Stations 6 and 7 under `darc`: RPCs wait by type, and cores are reserved for types.

use super::Backend;
use crate::dispatch::CentralDispatch;
use crate::id::{CoreId, SlotRange};
use crate::schedule::darc::Darc;
use crate::schedule::typed_queues::RpcType;
use crate::time::Timestamp;
use crate::verdict::{Arrival, Dispatch, Freed};

impl<D: CentralDispatch> Backend<D> {
    /// Whether RPCs are told apart by type: under `darc`.
    #[must_use]
    #[inline(always)]
    pub const fn tells_types(&self) -> bool {
        self.by_type.is_some()
    }

    /// The oldest complete RPC whose type has not been told, where types are told apart: its
    /// payload says the type.
    #[must_use]
    #[inline]
    pub fn untyped(&self) -> Option<Arrival> {
        self.by_type.as_ref()?.unsorted()
    }

    /// The [oldest RPC without a type](Self::untyped) is of type `kind`; of the common type 0 where
    /// the configuration has no such type. Tell it before [`poll_dispatch`](Self::poll_dispatch),
    /// to which an RPC without one is of the common type.
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

    /// As [`handle_free`](Self::handle_free), and says when it is: for policies that learn how long
    /// RPCs keep their cores.
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

    /// What is known of the types and which cores are reserved, where types are told apart.
    #[must_use]
    pub fn darc(&self) -> Option<&Darc> {
        self.by_type.as_ref().map(|by_type| by_type.darc())
    }

    /// An RPC waits, whose type is not known yet.
    #[inline(never)]
    pub(super) fn push_by_type(&mut self, arrival: Arrival) {
        if let Some(by_type) = &mut self.by_type {
            by_type.set_now(arrival.arrived);
            by_type.push(arrival);
            self.queue.note_elsewhere();
        }
    }

    /// Dispatches an RPC by its type.
    pub(super) fn poll_by_type(&mut self) -> Option<Dispatch> {
        let Dispatch { core, arrival } = self.by_type.as_mut()?.poll()?;
        self.queue.note_taken_elsewhere();
        Some(self.give(core, arrival))
    }

    /// `core` has credit again, where not all RPCs are alike to it.
    #[inline(never)]
    pub(super) fn grant(&mut self, core: CoreId) {
        match &mut self.by_type {
            Some(by_type) => by_type.handle_freed(core),
            None => self.queue.grant(core),
        }
    }
}

//! One of several groups of cores that exchange waiting RPCs: a [`Backend`] whose queue RPCs can leave and join.
//!
//! Only the notification of an RPC moves, never its payload. All groups' slots are numbered as one space, so that a group can tell
//! an RPC of its own from a foreign one: foreign ones have been handed over once, and never leave again.
//!
//! ```text
//!              origin                              receiver
//!   take_newest_waiting ──── migrate ───▶ adopt ── Taken ─▶ poll_dispatch ─▶ core
//!   handle_refused ◀──────── refuse ──────── Refused                          │
//!   handle_returned ◀─────── slots ──────────────── handle_free: Foreign ◀────┘
//! ```

use super::Backend;
use crate::config::{BackendConfig, ConfigError};
use crate::core_set::CORES_MAX;
use crate::dispatch::{CentralDispatch, Dispatcher, Placement, Queues};
use crate::id::{CoreId, GroupId, RpcKey, Slot, SlotRange};
use crate::reassembler::Missing;
use crate::recv_buffer::Holder;
use crate::time::Timestamp;
use crate::verdict::{Abandoned, Arrival, Dispatch, Freed, Verdict};
use crate::wire::Header;
use alloc::boxed::Box;
use alloc::vec;

/// Set in the first slot of a foreign RPC while it waits here; slots of all groups together are fewer.
const FOREIGN: u32 = 1 << 31;

/// The configuration of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupConfig {
    /// Its back end: the group's own workers, and as many slots as each other group has.
    pub backend: BackendConfig,
    /// Which group it is.
    pub group: GroupId,
    /// How many groups there are.
    pub groups: u16,
    /// The most foreign RPCs that can wait here; further ones are refused and stay at their origin.
    pub foreign_max: u32,
}

/// A group configuration is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GroupConfigError {
    /// The group number is out of range, or there are too many groups.
    #[error(
        "group {group} of {groups} is not possible: give a number below the number of groups, which is 1 to {CORES_MAX}"
    )]
    Group {
        /// Group asked for.
        group: u16,
        /// Groups asked for.
        groups: u16,
    },
    /// More slots, or more places for foreign RPCs, than an index can address.
    #[error(
        "{groups} groups of {slots} slots with room for {foreign} foreign RPCs are too many: keep each product below 2^31"
    )]
    Room {
        /// Groups asked for.
        groups: u16,
        /// Slots of each.
        slots: u32,
        /// Foreign RPCs that may wait at each.
        foreign: u32,
    },
    /// A policy with a queue per core: the group then has no queue from which to hand over.
    #[error("groups need a policy with one queue for all cores of a group, such as jbsq:2")]
    Queues,
    /// The back end's configuration is invalid.
    #[error(transparent)]
    Backend(#[from] ConfigError),
}

/// Whether a group accepted a foreign RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adoption {
    /// It waits here.
    Taken,
    /// There is no room, or the RPC does not belong to another group: tell its origin.
    Refused,
}

/// The result of a core freeing slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupFreed {
    /// The group's own slots are free, and the core has one credit more.
    Taken,
    /// The core has one credit more; the slots belong to another group, which must be told.
    Foreign {
        /// The group that owns them.
        origin: GroupId,
    },
    /// They were not exactly one RPC that the core holds: only a counter changed.
    Refused,
}

/// Counts of RPCs handed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Migrations {
    /// Own RPCs handed to another group, including those that were refused there.
    pub sent: u64,
    /// Own RPCs that another group refused.
    pub sent_back: u64,
    /// Foreign RPCs accepted.
    pub adopted: u64,
    /// Foreign RPCs refused.
    pub refused: u64,
    /// Messages from other groups about something that is not theirs: nothing else changed.
    pub mistaken: u64,
}

/// One group of cores: a [`Backend`] that can hand over waiting RPCs and adopt foreign ones.
///
/// It is driven like a back end, with the same calls in the same order. Slots in all arguments and results are numbered
/// over all groups; those of group `g` start at `g` times the slots of one group. In addition:
///
/// - [`take_newest_waiting`](Self::take_newest_waiting) removes an RPC for another group from the tail of the queue,
///   since it would have to wait longest;
/// - [`adopt`](Self::adopt) queues a foreign RPC, and says whether there was room;
/// - [`handle_refused`](Self::handle_refused) and [`handle_returned`](Self::handle_returned) are called at the origin
///   when an RPC or its slots come back.
///
/// # Invariants
///
/// An RPC is handed over at most once: an RPC outside the group's own slots never leaves. An origin's slots stay held
/// until exactly the group that received them returns them.
///
/// # Cost
///
/// As the back end; no allocation after construction.
///
/// # Source
///
/// Altocumulus: descriptors move and payloads stay; at most one migration per RPC; a receiver whose queue is full
/// replies with a NACK.
///
/// # Examples
///
/// ```
/// use nebula_nic::*;
///
/// let backend = BackendConfig::new(1, Policy::SingleQueue);
/// let group = |id| Group::try_new(GroupConfig { backend, group: GroupId(id), groups: 2, foreign_max: 8 });
/// let (mut origin, mut other) = (group(0)?, group(1)?);
/// let now = Timestamp::ZERO;
/// origin.handle_packet(now, Header { rpc_bytes: 40, ..Header::default() });
///
/// let moved = origin.take_newest_waiting(GroupId(1)).expect("it waits");
/// assert_eq!(other.adopt(moved), Adoption::Taken);
/// assert_eq!(other.take_newest_waiting(GroupId(0)), None, "it never moves twice");
/// let given = other.poll_dispatch().expect("the core is idle");
/// let freed = other.handle_free(given.core, given.arrival.slots);
/// assert_eq!(freed, GroupFreed::Foreign { origin: GroupId(0) });
/// assert_eq!(origin.backend().slots_used(), 1);
/// assert_eq!(origin.handle_returned(GroupId(1), given.arrival.slots), Freed::Taken);
/// assert_eq!(origin.backend().slots_used(), 0);
/// # Ok::<(), GroupConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Group<D: CentralDispatch = Dispatcher> {
    backend: Backend<D>,
    id: GroupId,
    groups: u16,
    /// Slots of each group, and the number of this group's first slot.
    slots: u32,
    first: u32,
    // -- foreign RPCs --
    foreign_waiting: u32,
    foreign_max: u32,
    /// Foreign slots that each core holds: as many entries per core as it may have outstanding.
    at_cores: Box<[Option<SlotRange>]>,
    per_core: usize,
    migrations: Migrations,
}

impl Group {
    /// A group with the policy of its configuration.
    pub fn try_new(config: GroupConfig) -> Result<Self, GroupConfigError> {
        config.backend.validate()?;
        let BackendConfig { policy, cores, seed, .. } = config.backend;
        Self::try_with(config, policy.dispatcher(cores, seed))
    }
}

impl<D: CentralDispatch> Group<D> {
    /// A group with a policy supplied by the caller, for the configuration's cores.
    pub fn try_with(config: GroupConfig, dispatch: D) -> Result<Self, GroupConfigError> {
        let GroupConfig { backend, group, groups, foreign_max } = config;
        if groups > CORES_MAX || group.0 >= groups {
            return Err(GroupConfigError::Group { group: group.0, groups });
        }
        let room = u64::from(backend.slots) * u64::from(groups);
        let places = u64::from(backend.slots) + u64::from(foreign_max);
        if room.max(places) >= u64::from(FOREIGN) {
            return Err(GroupConfigError::Room { groups, slots: backend.slots, foreign: foreign_max });
        }
        if dispatch.queues() != Queues::Shared {
            return Err(GroupConfigError::Queues);
        }
        let per_core = dispatch.bound() as usize;
        let with_foreign = backend.queue_capacity(backend.slots + foreign_max);
        Ok(Self {
            backend: Backend::try_with(with_foreign, dispatch)?,
            id: group,
            groups,
            slots: backend.slots,
            first: u32::from(group.0) * backend.slots,
            foreign_waiting: 0,
            foreign_max,
            at_cores: vec![None; usize::from(backend.cores) * per_core].into(),
            per_core,
            migrations: Migrations::default(),
        })
    }

    /// Decides about one packet, as [`Backend::handle_packet`].
    #[inline]
    pub fn handle_packet(&mut self, now: Timestamp, header: Header) -> Verdict {
        match self.backend.handle_packet(now, header) {
            Verdict::Write { slots, offset_bytes, bytes, complete } => {
                Verdict::Write { slots: self.to_server(slots), offset_bytes, bytes, complete }
            }
            refused => refused,
        }
    }

    /// The next RPC for which a core has credit, and that core; own and foreign ones in queue order.
    #[inline]
    pub fn poll_dispatch(&mut self) -> Option<Dispatch> {
        if self.backend.queue.has_shared()
            && let Some(core) = self.backend.dispatch.pick()
            && let Some(arrival) = self.backend.queue.pop_shared()
        {
            return Some(self.give(core, arrival));
        }
        self.backend.queue.note_waiting();
        None
    }

    /// Takes back the slots of an RPC that `core` has served, and the core's credit.
    ///
    /// # Cost
    ///
    /// O(slots of the RPC / 64), and for a foreign RPC O(RPCs that a core may have outstanding).
    #[inline]
    pub fn handle_free(&mut self, core: CoreId, slots: SlotRange) -> GroupFreed {
        match self.to_own(slots) {
            Some(own) => match self.backend.handle_free(core, own) {
                Freed::Taken => GroupFreed::Taken,
                Freed::Refused => GroupFreed::Refused,
            },
            None => self.free_foreign(core, slots),
        }
    }

    /// Removes the RPC that joined the queue last, for group `to`; `None` if nothing waits or the last RPC is foreign.
    ///
    /// The result has server-wide slots, which stay held here; `to` adopts or refuses it.
    pub fn take_newest_waiting(&mut self, to: GroupId) -> Option<Arrival> {
        if to == self.id || to.0 >= self.groups {
            return None;
        }
        let newest = self.backend.queue.pop_newest_shared(|newest| !is_foreign(newest.slots))?;
        self.backend.buffer.hand_over(newest.slots, Holder::Group(to));
        self.migrations.sent += 1;
        Some(Arrival { slots: self.to_server(newest.slots), ..newest })
    }

    /// Appends a foreign RPC to the queue.
    pub fn adopt(&mut self, arrival: Arrival) -> Adoption {
        let is_another = self.origin_of(arrival.slots).is_some_and(|origin| origin != self.id);
        if !is_another || self.foreign_waiting == self.foreign_max {
            self.migrations.refused += 1;
            return Adoption::Refused;
        }
        self.foreign_waiting += 1;
        self.migrations.adopted += 1;
        let start = Slot(arrival.slots.start.0 | FOREIGN);
        let slots = SlotRange { start, ..arrival.slots };
        self.backend.queue.push(Placement::Shared, Arrival { slots, ..arrival });
        Adoption::Taken
    }

    /// An RPC that was handed to `by` comes back and waits here again, at the tail. `false` if there is no such RPC.
    pub fn handle_refused(&mut self, by: GroupId, arrival: Arrival) -> bool {
        let own = self.to_own(arrival.slots).filter(|&own| self.backend.buffer.holds(own, Holder::Group(by)));
        let Some(own) = own else {
            self.migrations.mistaken += 1;
            return false;
        };
        self.backend.buffer.hand_over(own, Holder::Nic);
        self.backend.queue.push(Placement::Shared, Arrival { slots: own, ..arrival });
        self.migrations.sent_back += 1;
        true
    }

    /// Frees the slots of an RPC that `by` has served; refused and counted if `by` does not hold exactly these.
    pub fn handle_returned(&mut self, by: GroupId, slots: SlotRange) -> Freed {
        match self.to_own(slots) {
            Some(own) if self.backend.buffer.free(own, Holder::Group(by)) => {
                self.backend.counters.freed += 1;
                Freed::Taken
            }
            _ => {
                self.migrations.mistaken += 1;
                Freed::Refused
            }
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due, as [`Backend::poll_timeout`].
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.backend.poll_timeout()
    }

    /// Abandons RPCs that did not complete in time, as [`Backend::handle_timeout`].
    pub fn handle_timeout(&mut self, now: Timestamp) {
        self.backend.handle_timeout(now);
    }

    /// Abandons the RPCs of a peer that is gone, as [`Backend::handle_peer_gone`]; complete ones still run, wherever
    /// they wait.
    pub fn handle_peer_gone(&mut self, snid: crate::id::NodeId) {
        self.backend.handle_peer_gone(snid);
    }

    /// The next RPC that has been abandoned, as [`Backend::poll_abandoned`].
    pub fn poll_abandoned(&mut self) -> Option<Abandoned> {
        let Abandoned { rpc, slots } = self.backend.poll_abandoned()?;
        Some(Abandoned { rpc, slots: self.to_server(slots) })
    }

    /// What an own incomplete RPC lacks, as [`Backend::missing`].
    #[must_use]
    pub fn missing(&self, rpc: RpcKey) -> Option<Missing> {
        self.backend.missing(rpc)
    }

    /// From now on, NACKs RPCs that find `waiting` others waiting, foreign ones included.
    pub fn set_queue_bound(&mut self, waiting: u32) {
        self.backend.set_queue_bound(waiting);
    }

    /// This group's number.
    #[must_use]
    #[inline]
    pub const fn id(&self) -> GroupId {
        self.id
    }

    /// RPCs that wait, own and foreign: the number that its manager publishes.
    #[must_use]
    #[inline]
    pub fn queue_depth(&self) -> u32 {
        self.backend.queue_depth()
    }

    /// Foreign RPCs that wait.
    #[must_use]
    pub const fn foreign_waiting(&self) -> u32 {
        self.foreign_waiting
    }

    /// The configuration it was built with.
    #[must_use]
    pub fn config(&self) -> GroupConfig {
        let &Self { id: group, groups, foreign_max, .. } = self;
        GroupConfig { backend: *self.backend.config(), group, groups, foreign_max }
    }

    /// Counts of RPCs handed over so far.
    #[must_use]
    pub const fn migrations(&self) -> &Migrations {
        &self.migrations
    }

    /// Its back end, read-only; slots in it are numbered from 0 within the group.
    #[must_use]
    #[inline]
    pub fn backend(&self) -> &Backend<D> {
        &self.backend
    }

    /// The group whose buffer contains the range, if one does.
    #[must_use]
    pub fn origin_of(&self, slots: SlotRange) -> Option<GroupId> {
        let group = u16::try_from(slots.start.0 / self.slots).ok().filter(|&group| group < self.groups)?;
        let left = self.slots - slots.start.0 % self.slots;
        (slots.slots > 0 && slots.slots <= left).then_some(GroupId(group))
    }

    // -- own and foreign slots --

    #[inline]
    const fn to_server(&self, own: SlotRange) -> SlotRange {
        SlotRange::new(own.start.0 + self.first, own.slots)
    }

    /// The range as the back end numbers it, if it is its own.
    #[inline]
    fn to_own(&self, slots: SlotRange) -> Option<SlotRange> {
        let start = slots.start.0.wrapping_sub(self.first);
        (start < self.slots).then_some(SlotRange::new(start, slots.slots))
    }

    #[inline]
    fn give(&mut self, core: CoreId, arrival: Arrival) -> Dispatch {
        if is_foreign(arrival.slots) {
            return self.give_foreign(core, arrival);
        }
        let Dispatch { core, arrival } = self.backend.give(core, arrival);
        Dispatch { core, arrival: Arrival { slots: self.to_server(arrival.slots), ..arrival } }
    }

    #[inline(never)]
    fn give_foreign(&mut self, core: CoreId, arrival: Arrival) -> Dispatch {
        let slots = SlotRange::new(arrival.slots.start.0 & !FOREIGN, arrival.slots.slots);
        self.foreign_waiting -= 1;
        self.backend.dispatch.handle_dispatched(core);
        self.backend.counters.dispatched += 1;
        let place = self.held_by(core).iter_mut().find(|place| place.is_none());
        *place.expect("a core has no more outstanding than its bound") = Some(slots);
        Dispatch { core, arrival: Arrival { slots, ..arrival } }
    }

    /// The foreign slots that a core holds; empty for a core that does not exist.
    fn held_by(&mut self, core: CoreId) -> &mut [Option<SlotRange>] {
        let first = core.index() * self.per_core;
        self.at_cores.get_mut(first..first + self.per_core).unwrap_or_default()
    }

    #[inline(never)]
    fn free_foreign(&mut self, core: CoreId, slots: SlotRange) -> GroupFreed {
        let origin = self.origin_of(slots);
        let place = self.held_by(core).iter_mut().find(|place| **place == Some(slots));
        let (Some(origin), Some(place)) = (origin, place) else {
            self.backend.counters.refused_frees += 1;
            return GroupFreed::Refused;
        };
        *place = None;
        self.backend.dispatch.handle_freed(core);
        GroupFreed::Foreign { origin }
    }
}

#[inline]
const fn is_foreign(slots: SlotRange) -> bool {
    slots.start.0 & FOREIGN != 0
}

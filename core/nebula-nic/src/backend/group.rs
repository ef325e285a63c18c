//! One of several groups of cores that hand waiting RPCs to each other: a [`Backend`] whose queue
//! has a way out and a way in.
//!
//! Only the notification of an RPC moves, never its payload. The slots of all groups are numbered
//! as one space, so that a group recognizes foreign RPCs, which never leave again.
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
use crate::dispatch::{CentralDispatch, Placement, Policy, Queues};
use crate::id::{CoreId, GroupId, SlotRange};
use crate::recv_buffer::Holder;
use crate::verdict::{Arrival, Freed};
use alloc::boxed::Box;
use alloc::vec;

/// All groups together have fewer slots than this, so that an index can address each of them.
const ROOM_MAX: u64 = 1 << 31;

/// The configuration of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupConfig {
    /// Its back end: the group's own workers, and the same number of slots as in each other group.
    pub backend: BackendConfig,
    /// Its number.
    pub group: GroupId,
    /// How many groups there are.
    pub groups: u16,
    /// Foreign RPCs that can wait here; others are refused and stay at their origin.
    pub foreign_max: u32,
}

/// A group that cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GroupConfigError {
    /// Not one of the groups, or too many of them.
    #[error(
        "group {group} of {groups} is not possible: give a number below the groups, of which there are 1 to {CORES_MAX}"
    )]
    Group {
        /// The number asked for.
        group: u16,
        /// The groups asked for.
        groups: u16,
    },
    /// More slots, or more places for foreign RPCs, than an index reaches.
    #[error(
        "{groups} groups of {slots} slots with room for {foreign} foreign RPCs are too many: keep each product below 2^31"
    )]
    Room {
        /// The groups asked for.
        groups: u16,
        /// Slots of each.
        slots: u32,
        /// Foreign RPCs that may wait at each.
        foreign: u32,
    },
    /// A policy with a queue per core or per type: no shared queue to hand over from.
    #[error("groups need a policy with one queue for all cores of a group, such as jbsq:2")]
    Queues,
    /// The back end cannot be built.
    #[error(transparent)]
    Backend(#[from] ConfigError),
}

/// Whether a group took a foreign RPC in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adoption {
    /// It waits here.
    Taken,
    /// There is no room, or it is not another group's: report that to its origin.
    Refused,
}

/// Counts of RPCs handed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Migrations {
    /// Own RPCs handed to another group, including those refused there.
    pub sent: u64,
    /// Own RPCs that another group refused.
    pub sent_back: u64,
    /// Foreign RPCs taken in.
    pub adopted: u64,
    /// Foreign RPCs refused.
    pub refused: u64,
    /// Messages of other groups about RPCs that they do not hold; they change nothing else.
    pub mistaken: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Foreign {
    id: GroupId,
    groups: u16,
    /// Foreign RPCs that wait here, and their bound.
    waiting: u32,
    waiting_max: u32,
    /// Foreign slots that each core holds: `per_core` entries for each.
    at_cores: Box<[Option<SlotRange>]>,
    per_core: usize,
    migrations: Migrations,
}

impl Foreign {
    fn held_by(&mut self, core: CoreId) -> &mut [Option<SlotRange>] {
        let first = core.index() * self.per_core;
        self.at_cores.get_mut(first..first + self.per_core).unwrap_or_default()
    }
}

impl Backend {
    /// One of several groups of cores, with the policy of its configuration.
    ///
    /// It is driven like any back end, and in addition:
    ///
    /// - [`take_newest_waiting`](Self::take_newest_waiting) removes an RPC for another group from
    ///   the tail of the queue, where it would wait longest;
    /// - [`adopt`](Self::adopt) queues a foreign RPC if there is room;
    /// - [`handle_refused`](Self::handle_refused) and [`handle_returned`](Self::handle_returned)
    ///   are called at the origin when an RPC or its slots come back.
    ///
    /// Source: Altocumulus: descriptors move and payloads stay; at most one migration per RPC; a
    /// receiver whose queue is full replies with a NACK.
    ///
    /// # Invariants
    ///
    /// An RPC is handed over at most once. An origin's slots stay held until the group that
    /// received them returns them.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula_nic::*;
    ///
    /// let backend = BackendConfig::new(1, Policy::SingleQueue);
    /// let group = |id| Backend::try_group(GroupConfig { backend, group: GroupId(id), groups: 2, foreign_max: 8 });
    /// let (mut origin, mut other) = (group(0)?, group(1)?);
    /// origin.handle_packet(Timestamp::ZERO, Header { rpc_bytes: 40, ..Header::default() });
    ///
    /// let moved = origin.take_newest_waiting(GroupId(1)).expect("it waits");
    /// assert_eq!(other.adopt(moved), Adoption::Taken);
    /// assert_eq!(other.take_newest_waiting(GroupId(0)), None, "it never moves twice");
    /// let given = other.poll_dispatch().expect("the core is idle");
    /// let freed = other.handle_free(given.core, given.arrival.slots);
    /// assert_eq!(freed, Freed::Foreign { origin: GroupId(0) });
    /// assert_eq!(origin.slots_used(), 1);
    /// assert_eq!(origin.handle_returned(GroupId(1), given.arrival.slots), Freed::Taken);
    /// assert_eq!(origin.slots_used(), 0);
    /// # Ok::<(), GroupConfigError>(())
    /// ```
    pub fn try_group(config: GroupConfig) -> Result<Self, GroupConfigError> {
        config.backend.validate()?;
        let BackendConfig { policy, cores, seed, .. } = config.backend;
        Self::try_group_with(config, policy.dispatcher(cores, seed))
    }
}

impl<D: CentralDispatch> Backend<D> {
    /// [`try_group`](Backend::try_group) with the caller's policy, for the configuration's cores.
    pub fn try_group_with(config: GroupConfig, dispatch: D) -> Result<Self, GroupConfigError> {
        let GroupConfig { backend, group, groups, foreign_max } = config;
        if groups > CORES_MAX || group.0 >= groups {
            return Err(GroupConfigError::Group { group: group.0, groups });
        }
        let room = u64::from(backend.slots) * u64::from(groups);
        let places = u64::from(backend.slots) + u64::from(foreign_max);
        if room.max(places) >= ROOM_MAX {
            return Err(GroupConfigError::Room { groups, slots: backend.slots, foreign: foreign_max });
        }
        if dispatch.queues() != Queues::Shared || backend.policy == Policy::Darc {
            return Err(GroupConfigError::Queues);
        }
        let per_core = dispatch.bound() as usize;
        let at_cores = vec![None; usize::from(backend.cores) * per_core].into();
        let migrations = Migrations::default();
        let foreign =
            Foreign { id: group, groups, waiting: 0, waiting_max: foreign_max, at_cores, per_core, migrations };
        let with_foreign = backend.queue_capacity(backend.slots + foreign_max);
        let first = u32::from(group.0) * backend.slots;
        Ok(Self { foreign: Some(Box::new(foreign)), ..Self::try_with(with_foreign, dispatch)?.numbered_from(first) })
    }

    fn numbered_from(mut self, first: u32) -> Self {
        self.buffer = self.buffer.numbered_from(first);
        self.reassembler = self.reassembler.numbered_from(first);
        self
    }

    /// Takes the RPC at the tail of the queue out for group `to`; `None` if nothing waits, or if
    /// that RPC is another group's. Its slots stay held here until `to` refuses it or returns them.
    pub fn take_newest_waiting(&mut self, to: GroupId) -> Option<Arrival> {
        let Self { foreign, buffer, queue, .. } = self;
        let foreign = foreign.as_deref_mut().filter(|foreign| to != foreign.id && to.0 < foreign.groups)?;
        let newest = queue.pop_newest_shared(|newest| buffer.has(newest.slots))?;
        buffer.hand_over(newest.slots, Holder::Group(to));
        foreign.migrations.sent += 1;
        Some(newest)
    }

    /// Queues an RPC of another group at the tail.
    pub fn adopt(&mut self, arrival: Arrival) -> Adoption {
        let origin = self.origin_of(arrival.slots);
        let Some(foreign) = self.foreign.as_deref_mut() else { return Adoption::Refused };
        let is_another = origin.is_some_and(|origin| origin != foreign.id);
        if !is_another || foreign.waiting == foreign.waiting_max {
            foreign.migrations.refused += 1;
            return Adoption::Refused;
        }
        foreign.waiting += 1;
        foreign.migrations.adopted += 1;
        self.queue.push(Placement::Shared, arrival);
        Adoption::Taken
    }

    /// An RPC that `by` refused waits here again, at the tail. `false` if `by` was not given it.
    pub fn handle_refused(&mut self, by: GroupId, arrival: Arrival) -> bool {
        let Some(foreign) = self.foreign.as_deref_mut() else { return false };
        if !self.buffer.holds(arrival.slots, Holder::Group(by)) {
            foreign.migrations.mistaken += 1;
            return false;
        }
        foreign.migrations.sent_back += 1;
        self.buffer.hand_over(arrival.slots, Holder::Nic);
        self.queue.push(Placement::Shared, arrival);
        true
    }

    /// Frees the slots of an RPC that `by` has served; refused and counted unless it holds just
    /// these.
    pub fn handle_returned(&mut self, by: GroupId, slots: SlotRange) -> Freed {
        let Some(foreign) = self.foreign.as_deref_mut() else { return Freed::Refused };
        if !self.buffer.free(slots, Holder::Group(by)) {
            foreign.migrations.mistaken += 1;
            return Freed::Refused;
        }
        self.counters.freed += 1;
        Freed::Taken
    }

    /// RPCs of other groups that wait here.
    #[must_use]
    pub fn foreign_waiting(&self) -> u32 {
        self.foreign.as_deref().map_or(0, |foreign| foreign.waiting)
    }

    /// The group's configuration, if it is a group.
    #[must_use]
    pub fn group(&self) -> Option<GroupConfig> {
        let &Foreign { id: group, groups, waiting_max: foreign_max, .. } = self.foreign.as_deref()?;
        Some(GroupConfig { backend: self.config, group, groups, foreign_max })
    }

    /// RPCs handed over so far, and mistaken messages.
    #[must_use]
    pub fn migrations(&self) -> Migrations {
        self.foreign.as_deref().map_or_else(Migrations::default, |foreign| foreign.migrations)
    }

    /// The group in whose buffer an RPC lies, if its slots are a range of one group.
    #[must_use]
    pub fn origin_of(&self, slots: SlotRange) -> Option<GroupId> {
        let groups = self.foreign.as_deref()?.groups;
        let each = self.config.slots;
        let group = u16::try_from(slots.start.0 / each).ok().filter(|&group| group < groups)?;
        let left = each - slots.start.0 % each;
        (slots.slots > 0 && slots.slots <= left).then_some(GroupId(group))
    }

    #[inline(never)]
    pub(super) fn give_foreign(&mut self, core: CoreId, slots: SlotRange) {
        let foreign = self.foreign.as_deref_mut().expect("what waits is in slots of this back end, or was adopted");
        foreign.waiting -= 1;
        let place = foreign.held_by(core).iter_mut().find(|place| place.is_none());
        *place.expect("a core has no more outstanding than its bound") = Some(slots);
    }

    /// `core` has freed slots that it does not hold in this back end's own buffer.
    #[inline(never)]
    pub(super) fn free_foreign(&mut self, core: CoreId, slots: SlotRange) -> Freed {
        let origin = self.origin_of(slots);
        let held = self.foreign.as_deref_mut().map(|foreign| foreign.held_by(core)).unwrap_or_default();
        let place = held.iter_mut().find(|place| **place == Some(slots));
        let (Some(origin), Some(place)) = (origin, place) else {
            self.counters.refused_frees += 1;
            return Freed::Refused;
        };
        *place = None;
        self.dispatch.handle_freed(core);
        Freed::Foreign { origin }
    }
}

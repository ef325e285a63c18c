//! What an engine decides by: a whole server's back end, or one group's.
//!
//! Slots are numbered over the whole server. A group's own begin behind those of the groups before it.

use super::groups::Neighbors;
use nebula_nic::decision::{GROUP_LOG_HEADER, GroupSetup, LOG_HEADER};
use nebula_nic::schedule::Thresholds;
use nebula_nic::{
    Abandoned, Backend, CoreId, Dispatch, Freed, Group, GroupFreed, GroupId, Header, Migrations, NodeId, SlotRange,
    Timestamp, Verdict,
};

/// The decider of one engine; its methods are those of [`Backend`].
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one an engine, and the larger one is the one on most servers' path")]
pub(super) enum Nic {
    Whole(Backend),
    /// With its manager and the ways to the other groups.
    Group(Box<Grouped>),
}

#[derive(Debug)]
pub(super) struct Grouped {
    pub(super) group: Group,
    pub(super) neighbors: Neighbors,
}

/// Whose slots a worker has given back.
pub(super) enum Ended {
    Own(Freed),
    Foreign(GroupId),
}

impl Nic {
    #[inline(always)]
    pub(super) fn handle_packet(&mut self, now: Timestamp, header: Header) -> Verdict {
        match self {
            Self::Whole(backend) => backend.handle_packet(now, header),
            Self::Group(grouped) => grouped.handle_packet(now, header),
        }
    }

    #[inline(always)]
    pub(super) fn poll_dispatch(&mut self) -> Option<Dispatch> {
        match self {
            Self::Whole(backend) => backend.poll_dispatch(),
            Self::Group(grouped) => grouped.group.poll_dispatch(),
        }
    }

    /// What `core` comes for; groups are polled.
    #[inline(always)]
    pub(super) fn poll_dispatch_for(&mut self, core: CoreId) -> Option<Dispatch> {
        match self {
            Self::Whole(backend) => backend.poll_dispatch_for(core),
            Self::Group(_) => None,
        }
    }

    #[inline(always)]
    pub(super) fn handle_free(&mut self, core: CoreId, slots: SlotRange) -> Ended {
        match self {
            Self::Whole(backend) => Ended::Own(backend.handle_free(core, slots)),
            Self::Group(grouped) => match grouped.group.handle_free(core, slots) {
                GroupFreed::Foreign { origin } => Ended::Foreign(origin),
                GroupFreed::Taken => Ended::Own(Freed::Taken),
                GroupFreed::Refused => Ended::Own(Freed::Refused),
            },
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Timestamp) {
        match self {
            Self::Whole(backend) => backend.handle_timeout(now),
            Self::Group(grouped) => grouped.group.handle_timeout(now),
        }
    }

    pub(super) fn handle_peer_gone(&mut self, snid: NodeId) {
        match self {
            Self::Whole(backend) => backend.handle_peer_gone(snid),
            Self::Group(grouped) => grouped.group.handle_peer_gone(snid),
        }
    }

    pub(super) fn poll_abandoned(&mut self) -> Option<Abandoned> {
        match self {
            Self::Whole(backend) => backend.poll_abandoned(),
            Self::Group(grouped) => grouped.group.poll_abandoned(),
        }
    }

    /// The thresholds of a group's manager are given back if they follow.
    pub(super) fn set_queue_bound(&mut self, waiting: u32) -> Option<Thresholds> {
        match self {
            Self::Whole(backend) => {
                backend.set_queue_bound(waiting);
                None
            }
            Self::Group(grouped) => {
                grouped.group.set_queue_bound(waiting);
                grouped.neighbors.set_queue_bound(waiting)
            }
        }
    }

    /// How a log of its decisions begins, and what the file's name ends in where there are several.
    pub(super) fn log_header(&self) -> (String, Option<GroupId>) {
        match self {
            Self::Whole(backend) => (format!("{LOG_HEADER} {}", backend.config()), None),
            Self::Group(grouped) => {
                let (group, manager) = (grouped.group.config(), grouped.neighbors.manager().clone());
                let setup = GroupSetup { group, manager };
                (format!("{GROUP_LOG_HEADER} {setup}"), Some(grouped.group.id()))
            }
        }
    }

    /// To look at; slots in there are numbered from 0.
    #[inline(always)]
    pub(super) fn backend(&self) -> &Backend {
        match self {
            Self::Whole(backend) => backend,
            Self::Group(grouped) => grouped.group.backend(),
        }
    }

    /// RPCs handed to other groups and taken over from them.
    pub(super) fn migrations(&self) -> Migrations {
        match self {
            Self::Whole(_) => Migrations::default(),
            Self::Group(grouped) => *grouped.group.migrations(),
        }
    }

    /// Its first slot among those of the whole server.
    pub(super) fn first_slot(&self) -> u32 {
        match self {
            Self::Whole(_) => 0,
            Self::Group(grouped) => u32::from(grouped.group.id().0) * grouped.group.backend().config().slots,
        }
    }

    /// Slots of the whole server.
    pub(super) fn slots(&self) -> u32 {
        match self {
            Self::Whole(backend) => backend.config().slots,
            Self::Group(grouped) => grouped.neighbors.groups() * grouped.group.backend().config().slots,
        }
    }
}

impl Grouped {
    #[inline(never)]
    fn handle_packet(&mut self, now: Timestamp, header: Header) -> Verdict {
        let verdict = self.group.handle_packet(now, header);
        if let Verdict::Write { complete: true, .. } = verdict {
            self.neighbors.handle_arrival(now);
        }
        verdict
    }
}

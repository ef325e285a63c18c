//! The log of one group of `altocumulus:G`: of its back end, and of its manager.
//!
//! Each group has a log of its own; what the others did is in it as what came from them. Its first line has the configuration of both
//! ([`GroupSetup`]'s text form). All lines of a back end's log can stand in it, with slots numbered over all groups, and:
//!
//! | input | |
//! |---|---|
//! | `manage waiting=N published=G:N,…` | the manager is asked; the lengths are those that it read |
//! | `thresholds LOAD:N,…` | the manager's thresholds have been changed |
//! | `take to=G` | a waiting RPC is wanted for another group |
//! | `adopt rpc=SNID.TID slots=START+COUNT bytes=N key=N arrived=PS` | an RPC comes from another group |
//! | `sent-back by=G rpc=…` | one that was handed over comes back |
//! | `returned by=G slots=START+COUNT` | one that was handed over has been served |
//!
//! | decision | |
//! |---|---|
//! | `migrate to=G count=N` | so many are to go there |
//! | `handed rpc=…` | this one leaves |
//! | `adopted`, `turned-away` | it waits here, or there is no room |
//! | `waits-again` | it waits where it came from |
//! | `foreign origin=G` | the slots that a core gave back are another group's |

mod replay;
mod text;

pub use replay::{GroupReplayError, replay_group_text};

use super::{Decision, Input};
use crate::backend::GroupConfig;
use crate::id::{GroupId, SlotRange};
use crate::schedule::{ManagerConfig, Migration, Thresholds};
use crate::time::Timestamp;
use crate::verdict::Arrival;
use alloc::vec::Vec;

/// How the first line of a group's log begins; the configuration follows.
pub const GROUP_LOG_HEADER: &str = "nebula-nic-group 1";

/// What a group and its manager are built with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSetup {
    /// The group.
    pub group: GroupConfig,
    /// Its manager.
    pub manager: ManagerConfig,
}

/// What happens to a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupInput {
    /// As to any back end.
    Nic(Input),
    /// The manager is asked.
    Manage {
        /// RPCs that wait.
        waiting: u32,
        /// The lengths that it read, in order.
        published: Vec<(GroupId, u32)>,
    },
    /// The manager's thresholds have been changed.
    Thresholds(Thresholds),
    /// A waiting RPC is wanted for another group.
    Take {
        /// Which.
        to: GroupId,
    },
    /// An RPC comes from another group.
    Adopt(Arrival),
    /// One that was handed over comes back.
    SentBack {
        /// From which group.
        by: GroupId,
        /// The RPC.
        arrival: Arrival,
    },
    /// One that was handed over has been served.
    Returned {
        /// By which group.
        by: GroupId,
        /// Its slots.
        slots: SlotRange,
    },
}

/// What is decided about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupDecision {
    /// As by any back end.
    Nic(Decision),
    /// So many are to go there.
    Migrate(Migration),
    /// This one leaves.
    Handed(Arrival),
    /// It waits here.
    Adopted,
    /// There is no room.
    TurnedAway,
    /// It waits where it came from.
    WaitsAgain,
    /// The slots that a core gave back are another group's.
    Foreign(GroupId),
}

/// An input and what was decided upon it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupLine {
    /// When.
    pub at: Timestamp,
    /// What happened.
    pub input: GroupInput,
    /// What was decided, in order.
    pub decisions: Vec<GroupDecision>,
}

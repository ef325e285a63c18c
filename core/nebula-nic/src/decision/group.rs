//! The log of one group of `altocumulus:G`: of its back end and of its manager.
//!
//! Events from other groups appear as inputs. The first line has the configuration of both
//! ([`GroupSetup`]'s text form). Further lines are those of a back end's log, with slots numbered
//! over all groups, and:
//!
//! | input | |
//! |---|---|
//! | `manage waiting=N published=G:N,…` | the manager decides; the lengths are those that it read |
//! | `thresholds LOAD:N,…` | the manager's thresholds were changed |
//! | `take to=G` | another group wants a waiting RPC |
//! | `adopt rpc=SNID.TID slots=START+COUNT bytes=N key=N arrived=PS` | an RPC arrives from another group |
//! | `sent-back by=G rpc=…` | another group refused an RPC |
//! | `returned by=G slots=START+COUNT` | another group has served an RPC |
//!
//! | decision | |
//! |---|---|
//! | `migrate to=G count=N` | this many should move there |
//! | `handed rpc=…` | this RPC leaves |
//! | `adopted`, `turned-away` | it waits here, or there is no room |
//! | `waits-again` | it waits at its origin again |
//! | `foreign origin=G` | the slots that a core freed belong to another group |

pub(crate) mod replay;
mod text;

use super::line::{Decision, Input};
use crate::backend::group::GroupConfig;
use crate::id::{GroupId, SlotRange};
use crate::schedule::altocumulus::manager::{ManagerConfig, Migration};
use crate::schedule::altocumulus::thresholds::Thresholds;
use crate::time::Timestamp;
use crate::verdict::Arrival;
use alloc::vec::Vec;

/// The first words of a group's log; the configuration follows.
pub const GROUP_LOG_HEADER: &str = "nebula-nic-group 1";

/// The configuration of a group and its manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSetup {
    /// The group.
    pub group: GroupConfig,
    /// Its manager.
    pub manager: ManagerConfig,
}

/// An event at a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupInput {
    /// An input that any back end has.
    Nic(Input),
    /// The manager decides.
    Manage {
        /// RPCs that wait.
        waiting: u32,
        /// The lengths that it read, in order.
        published: Vec<(GroupId, u32)>,
    },
    /// The manager's thresholds were changed.
    Thresholds(Thresholds),
    /// Another group wants a waiting RPC.
    Take {
        /// That group.
        to: GroupId,
    },
    /// An RPC arrives from another group.
    Adopt(Arrival),
    /// Another group refused an RPC.
    SentBack {
        /// That group.
        by: GroupId,
        /// The RPC.
        arrival: Arrival,
    },
    /// Another group has served an RPC.
    Returned {
        /// That group.
        by: GroupId,
        /// Its slots.
        slots: SlotRange,
    },
}

/// A decision about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupDecision {
    /// A decision that any back end makes.
    Nic(Decision),
    /// This many should move there.
    Migrate(Migration),
    /// This RPC leaves.
    Handed(Arrival),
    /// It waits here.
    Adopted,
    /// There is no room.
    TurnedAway,
    /// It waits at its origin again.
    WaitsAgain,
}

/// An input and the decisions about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupLine {
    /// The time of the input.
    pub at: Timestamp,
    /// The input.
    pub input: GroupInput,
    /// The decisions, in order.
    pub decisions: Vec<GroupDecision>,
}

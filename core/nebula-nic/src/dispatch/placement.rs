//! Where RPCs wait.

use crate::id::CoreId;

/// Where an RPC waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// In the queue that all cores share.
    #[default]
    Shared,
    /// In the queue of this core.
    Core(CoreId),
}

/// Which queues a policy uses, and therefore which storage it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queues {
    /// One for all cores.
    Shared,
    /// One per core.
    PerCore,
    /// Both kinds.
    Both,
}

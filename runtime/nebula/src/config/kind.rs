//! Which threads a server has, as its policy and `inline` decide.

use nebula_nic::Policy;

/// How a server's engine and workers are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Threaded,
    Inline,
    Shared,
    Stealing,
}

impl Kind {
    pub(crate) fn of(policy: Policy, inline: bool) -> Self {
        match policy {
            Policy::McsLock => Self::Shared,
            _ if inline => Self::Inline,
            Policy::WorkStealing => Self::Stealing,
            _ => Self::Threaded,
        }
    }

    /// Whether all threads can sleep until something comes: none looks for work where others leave
    /// it.
    pub(crate) fn sleeps(self) -> bool {
        matches!(self, Self::Threaded | Self::Inline)
    }

    /// Whether the engine has its own thread.
    pub(crate) fn has_engine(self) -> bool {
        matches!(self, Self::Threaded | Self::Stealing)
    }
}

/// How many groups a server has whose workers are parted; 1 for all others.
pub(crate) fn groups_of(policy: Policy) -> u16 {
    match policy {
        Policy::Altocumulus(groups) => groups.get(),
        _ => 1,
    }
}

//! Which threads a server has, by its policy and `inline`.

use nebula_nic::Policy;

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

    /// Whether all threads can sleep until something arrives: none searches for work.
    pub(crate) fn sleeps(self) -> bool {
        matches!(self, Self::Threaded | Self::Inline)
    }

    pub(crate) fn has_engine(self) -> bool {
        matches!(self, Self::Threaded | Self::Stealing)
    }
}

pub(crate) fn groups_of(policy: Policy) -> u16 {
    match policy {
        Policy::Altocumulus(groups) => groups.get(),
        _ => 1,
    }
}

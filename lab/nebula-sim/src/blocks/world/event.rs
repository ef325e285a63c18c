//! The events of a run.

use nebula_memsys::Reach;
use nebula_nic::{CoreId, Timestamp};

/// Events that do not belong to a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A core has credit again.
    Credit(CoreId, u32, u32),
    /// All blocks of a message are written.
    Written(u32),
    /// A dispatch reaches its core.
    Deliver(CoreId, u32),
    /// All stores of an RPC are done.
    Freed(u32),
    /// A reply to a sent message arrives.
    Answer(u16),
    /// The next step of a one-sided operation is due.
    Remote(u32),
    /// A packet of a client that is sending reaches the server's link, or has been received.
    AtLink(u32, u32),
    Received(u32, u32),
}

/// How far an access at `at_ps` may go: it must stay on the chip while its time has not come.
#[inline(always)]
pub(crate) const fn reach(now: Timestamp, at_ps: u64) -> Reach {
    if at_ps > now.as_ps() + AHEAD_PS { Reach::OnChip } else { Reach::Anywhere }
}

/// How far ahead of its time an access to DRAM may be made: less than the time of a bank, and four
/// packets of a fast link. A bank serves requests in the order in which they are made, so with
/// more, later ones would wait for a bank that is idle at their time.
pub(crate) const AHEAD_PS: u64 = 16_000;

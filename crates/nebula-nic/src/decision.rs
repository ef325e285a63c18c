//! Every outcome as one line of text: what two worlds are compared by.
//!
//! A back end that is given the same inputs makes the same decisions. So a log of both, taken in the runtime, can be
//! replayed through another back end, in a simulator, or against hardware, and the first difference is the bug.
//!
//! A log is text, one line an input, after a line with the configuration ([`BackendConfig`]'s text form). `#` begins a comment.
//!
//! ```text
//! nebula-nic 1 domain=0 slots=4 mtu_bytes=64 rpc_bytes_max=256 … seed=0
//! 0 packet request 3.5 bytes=128 idx=0 key=0 -> write slots=0+2 offset=0 bytes=64 more
//! 512 packet request 3.5 bytes=128 idx=1 key=0 -> write slots=0+2 offset=64 bytes=64 complete; dispatch core=0 …
//! 1024 packet request 3.6 bytes=256 idx=0 key=0 -> nack buffer-full
//! 2048 free core=0 slots=0+2 -> freed
//! 3072 timeout -> -
//! ```
//!
//! | input | |
//! |---|---|
//! | `packet KIND SNID.TID bytes=N idx=N key=N` | a packet came |
//! | `free core=N slots=START+COUNT` | a core is done with an RPC |
//! | `timeout` | time has passed |
//! | `peer-gone SNID` | a peer is gone |
//! | `queue-bound N` | the bound has been changed |
//! | `poll` | nothing came; what was pending is asked for |
//! | `pull core=N` | a core comes for the head of the queue itself |
//! | `steal core=N queues=HEX` | an idle core looks at the queues of all cores: bit `i` says that core `i`'s is not empty |
//! | `turn core=N start quantum_ps=N suspended=N` | RPCs take turns at a core from here on |
//! | `turn core=N given`, `… end` | an RPC stands in line at the core; the one that runs is over |
//! | `turn core=N next`, `… next-suspended` | the core is free: for whom, or for which of those that have begun |
//! | `turn core=N yield` | the RPC that runs can be interrupted |
//!
//! | decision | |
//! |---|---|
//! | `write slots=START+COUNT offset=N bytes=N more` or `… complete` | the payload goes there |
//! | `nack REASON`, `drop REASON` | refused, ignored |
//! | `freed`, `refused` | the slots and the credit are back, or were not the core's |
//! | `abandoned SNID.TID slots=START+COUNT` | never became whole |
//! | `dispatch core=N rpc=SNID.TID slots=START+COUNT bytes=N key=N arrived=PS` | a core gets an RPC |
//! | `victim=N` | the core from whose queue the idle core takes |
//! | `begin seat=N`, `resume seat=N` | who has the core |
//! | `runs`, `suspended` | whether the RPC goes on |
//!
//! Times are picoseconds. The decisions of a line are the answer about the input first, then what was abandoned, then what was
//! dispatched. A log may leave what is pending to a later line, as an engine does that takes packets in batches: a replay asks
//! for as much as the log has. `poll -> -` says that nothing was pending, and a replay checks that too.
//!
//! What decides beside the back end has its lines in the same log: `steal` is a [`Thief`]'s, `turn` is of [`Turns`]. Each core's
//! stand in their order; those of several cores, which decide at once, in any. Groups of `altocumulus:G` decide side by side, so each has a
//! log of its own ([`GroupLine`]).

mod beside;
mod group;
mod replay;
mod text;

pub use beside::Beside;
pub use group::{
    GROUP_LOG_HEADER, GroupDecision, GroupInput, GroupLine, GroupReplayError, GroupSetup, replay_group_text,
};
pub use replay::{Difference, LOG_HEADER, ReplayError, read_text, replay, replay_text, replay_through};
pub use text::ParseDecisionError;

use crate::backend::Backend;
use crate::dispatch::CentralDispatch;
use crate::id::{CoreId, NodeId, SlotRange};
use crate::schedule::{Next, Yielded};
use crate::time::{Span, Timestamp};
use crate::verdict::{Abandoned, Dispatch, Freed, Verdict};
use crate::wire::Header;
use alloc::vec::Vec;

#[cfg(doc)]
use crate::config::BackendConfig;
#[cfg(doc)]
use crate::schedule::{Thief, Turns};

/// What happens to a back end, or to a machine beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A packet came.
    Packet(Header),
    /// A core is done with an RPC.
    Free {
        /// The core.
        core: CoreId,
        /// The RPC's slots.
        slots: SlotRange,
    },
    /// Time has passed.
    Timeout,
    /// A peer is gone.
    PeerGone(NodeId),
    /// The queue's bound has been changed.
    QueueBound(u32),
    /// Nothing came; what is pending is asked for.
    Poll,
    /// A core comes for the head of the queue itself.
    Pull {
        /// The core.
        core: CoreId,
    },
    /// An idle core looks at the queues of all cores. The back end has no part in it: see [`Beside`].
    Steal {
        /// The idle core.
        core: CoreId,
        /// The queues that are not empty, a bit a core: of [`STEAL_CORES_MAX`] cores.
        queues: u64,
    },
    /// RPCs take turns at a core. The back end has no part in it either.
    Turn {
        /// The core.
        core: CoreId,
        /// What happens there.
        step: TurnStep,
    },
}

/// What happens where RPCs take turns, in the words of [`Turns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnStep {
    /// Nobody is in line.
    Start {
        /// How long a turn is.
        quantum: Span,
        /// How many can be suspended.
        suspended_max: u32,
    },
    /// An RPC stands in line.
    Given,
    /// The core is free.
    Next,
    /// The core is free for those that have begun.
    NextSuspended,
    /// The RPC that runs can be interrupted.
    Yield,
    /// The RPC that runs is over.
    End,
}

/// Cores of which a log can say who steals from whom.
pub const STEAL_CORES_MAX: u16 = 64;

/// What is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// About a packet.
    Packet(Verdict),
    /// About slots that a core gave back.
    Free(Freed),
    /// An RPC never became whole.
    Abandoned(Abandoned),
    /// A core gets an RPC.
    Dispatch(Dispatch),
    /// An idle core takes from this one's queue.
    Victim(CoreId),
    /// Who has the core.
    Turn(Next),
    /// Whether the RPC that runs goes on.
    Yield(Yielded),
}

/// An input and what was decided upon it.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Backend, BackendConfig, Header, Input, LogLine, Policy, Timestamp};
///
/// let mut nic = Backend::try_new(BackendConfig::new(1, Policy::Jbsq(2)))?;
/// let line = LogLine::record(&mut nic, Timestamp::from_ps(512), Input::Packet(Header::default()));
/// let text = "512 packet request 0.0 bytes=0 idx=0 key=0 -> write slots=0+1 offset=0 bytes=0 complete; \
///             dispatch core=0 rpc=0.0 slots=0+1 bytes=0 key=0 arrived=512";
/// assert_eq!(line.to_string(), text);
/// assert_eq!(text.parse(), Ok(line));
/// # Ok::<(), nebula_nic::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// When.
    pub at: Timestamp,
    /// What happened.
    pub input: Input,
    /// What was decided, in order.
    pub decisions: Vec<Decision>,
}

impl LogLine {
    /// Hands `input` to a back end, drains it, and notes both. Of a [`Pull`](Input::Pull) the answer is all: where cores come for their
    /// RPCs, nothing is handed out.
    pub fn record<D: CentralDispatch>(backend: &mut Backend<D>, at: Timestamp, input: Input) -> Self {
        let mut decisions: Vec<_> = input.apply(backend, at).into_iter().collect();
        if !matches!(input, Input::Pull { .. }) {
            drain(backend, &mut decisions);
        }
        Self { at, input, decisions }
    }
}

impl Input {
    /// Hands the input to a back end; the answer about it, if it has one.
    pub fn apply<D: CentralDispatch>(&self, backend: &mut Backend<D>, at: Timestamp) -> Option<Decision> {
        match *self {
            Self::Packet(header) => return Some(Decision::Packet(backend.handle_packet(at, header))),
            Self::Free { core, slots } => return Some(Decision::Free(backend.handle_free(core, slots))),
            Self::Timeout => backend.handle_timeout(at),
            Self::PeerGone(snid) => backend.handle_peer_gone(snid),
            Self::QueueBound(waiting) => backend.set_queue_bound(waiting),
            Self::Pull { core } => return backend.poll_dispatch_for(core).map(Decision::Dispatch),
            Self::Poll | Self::Steal { .. } | Self::Turn { .. } => {}
        }
        None
    }
}

/// Asks a back end for all that is pending, in the order of its contract.
fn drain<D: CentralDispatch>(backend: &mut Backend<D>, decisions: &mut Vec<Decision>) {
    while let Some(abandoned) = backend.poll_abandoned() {
        decisions.push(Decision::Abandoned(abandoned));
    }
    while let Some(dispatch) = backend.poll_dispatch() {
        decisions.push(Decision::Dispatch(dispatch));
    }
}

//! Every decision as one line of text, so that runtime, simulator and hardware can be compared.
//!
//! A back end that gets the same inputs makes the same decisions. So a log of both, recorded in the runtime, can be
//! replayed through another back end, in a simulator, or against hardware, and the first difference is the bug.
//!
//! A log is text, one line per input, after a line with the configuration ([`BackendConfig`]'s text form). `#` begins a
//! comment.
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
//! | `packet KIND SNID.TID bytes=N idx=N key=N` | a packet arrived |
//! | `free core=N slots=START+COUNT` | a core is done with an RPC |
//! | `type N` | the oldest RPC without a type is of this one: under `darc`, before it is dispatched |
//! | `timeout` | time has passed |
//! | `peer-gone SNID` | a peer is gone |
//! | `queue-bound N` | the bound was changed |
//! | `poll` | no event; pending decisions are requested |
//! | `pull core=N` | a core fetches the head of the queue itself |
//! | `steal core=N queues=HEX` | an idle core looks at the queues of all cores: bit `i` says that core `i`'s is not empty |
//! | `turn core=N start quantum_ps=N suspended=N` | preemptive scheduling begins at a core |
//! | `turn core=N given`, `… end` | an RPC is queued at the core; the running one has ended |
//! | `turn core=N next`, `… next-suspended` | the core is free: for any RPC, or only for one that has begun |
//! | `turn core=N yield` | the running RPC can be interrupted |
//!
//! | decision | |
//! |---|---|
//! | `write slots=START+COUNT offset=N bytes=N more` or `… complete` | the payload goes there |
//! | `nack REASON`, `drop REASON` | refused, ignored |
//! | `freed`, `refused` | the slots and the credit are returned, or were not the core's |
//! | `abandoned SNID.TID slots=START+COUNT` | never completed |
//! | `dispatch core=N rpc=SNID.TID slots=START+COUNT bytes=N key=N arrived=PS` | a core gets an RPC |
//! | `victim=N` | the core from whose queue the idle core steals |
//! | `begin context=N`, `resume context=N` | the RPC that gets the core |
//! | `runs`, `suspended` | whether the RPC continues |
//!
//! Times are picoseconds. The decisions of a line are first the one about the input, then what was abandoned, then what
//! was dispatched. A log may leave pending decisions to a later line, as an engine that processes packets in batches
//! does: a replay asks for as much as the log has. `poll -> -` says that nothing was pending, and a replay checks that
//! too.
//!
//! Decisions outside the back end have their lines in the same log: `steal` belongs to a [`Thief`], `turn` to
//! [`Turns`]. The lines of each core are in order; those of different cores, which decide concurrently, may interleave.
//! Groups of `altocumulus:G` decide in parallel, so each has its own log ([`GroupLine`]).

mod beside;
mod decides;
mod group;
mod replay;
mod text;

pub use beside::Beside;
pub use decides::Decides;
pub use group::{
    GROUP_LOG_HEADER, GroupDecision, GroupInput, GroupLine, GroupReplayError, GroupSetup, replay_group_text,
};
pub use replay::{
    Difference, LOG_HEADER, ReplayError, decide_again, read_text, replay, replay_text, replay_text_with, replay_through,
};
pub use text::ParseDecisionError;

use crate::backend::Backend;
use crate::dispatch::CentralDispatch;
use crate::id::{CoreId, NodeId, SlotRange};
use crate::schedule::{Next, RpcType, Yielded};
use crate::time::{Span, Timestamp};
use crate::verdict::{Abandoned, Dispatch, Freed, Verdict};
use crate::wire::Header;
use alloc::vec::Vec;

#[cfg(doc)]
use crate::config::BackendConfig;
#[cfg(doc)]
use crate::schedule::{Thief, Turns};

/// An event at a back end, or at a machine outside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A packet arrived.
    Packet(Header),
    /// A core is done with an RPC.
    Free {
        /// The core.
        core: CoreId,
        /// The RPC's slots.
        slots: SlotRange,
    },
    /// The oldest RPC [without a type](Backend::untyped) is of this one.
    Type(RpcType),
    /// Time has passed.
    Timeout,
    /// A peer is gone.
    PeerGone(NodeId),
    /// The queue's bound was changed.
    QueueBound(u32),
    /// No event; pending decisions are requested.
    Poll,
    /// A core fetches the head of the queue itself.
    Pull {
        /// The core.
        core: CoreId,
    },
    /// An idle core looks at the queues of all cores. The back end is not involved: see [`Beside`].
    Steal {
        /// The idle core.
        core: CoreId,
        /// The queues that are not empty, one bit per core, for [`STEAL_CORES_MAX`] cores.
        queues: u64,
    },
    /// A step of preemptive scheduling at a core. The back end is not involved either.
    Turn {
        /// The core.
        core: CoreId,
        /// What happens there.
        step: TurnStep,
    },
}

/// A step of preemptive scheduling, named after the methods of [`Turns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnStep {
    /// Nothing is queued.
    Start {
        /// The length of a quantum.
        quantum: Span,
        /// How many RPCs can be suspended.
        suspended_max: u32,
    },
    /// An RPC is queued.
    Given,
    /// The core is free for any RPC.
    Next,
    /// The core is free for RPCs that have begun.
    NextSuspended,
    /// The running RPC can be interrupted.
    Yield,
    /// The running RPC has ended.
    End,
}

/// The maximum number of cores for which a log can record stealing.
pub const STEAL_CORES_MAX: u16 = 64;

/// A decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// About a packet.
    Packet(Verdict),
    /// About slots that a core freed.
    Free(Freed),
    /// An RPC never completed.
    Abandoned(Abandoned),
    /// A core gets an RPC.
    Dispatch(Dispatch),
    /// An idle core steals from this core's queue.
    Victim(CoreId),
    /// The RPC that gets the core.
    Turn(Next),
    /// Whether the running RPC continues.
    Yield(Yielded),
}

/// An input and the decisions about it.
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
    /// The time of the input.
    pub at: Timestamp,
    /// The input.
    pub input: Input,
    /// The decisions, in order.
    pub decisions: Vec<Decision>,
}

impl LogLine {
    /// Applies `input` to a back end, or to another that [decides](Decides), drains it, and records both. For a [`Pull`](Input::Pull), the answer is the only
    /// decision: where cores fetch their RPCs, nothing is dispatched.
    pub fn record<D: Decides>(backend: &mut D, at: Timestamp, input: Input) -> Self {
        let mut decisions: Vec<_> = backend.apply(at, input).into_iter().collect();
        if !matches!(input, Input::Pull { .. }) {
            drain(backend, &mut decisions);
        }
        Self { at, input, decisions }
    }
}

impl Input {
    /// Applies the input to a back end; returns the decision about it, if there is one.
    pub fn apply<D: CentralDispatch>(&self, backend: &mut Backend<D>, at: Timestamp) -> Option<Decision> {
        match *self {
            Self::Packet(header) => return Some(Decision::Packet(backend.handle_packet(at, header))),
            Self::Free { core, slots } => return Some(Decision::Free(backend.handle_free_at(at, core, slots))),
            Self::Type(kind) => backend.handle_type(at, kind),
            Self::Timeout => backend.handle_timeout(at),
            Self::PeerGone(snid) => backend.handle_peer_gone(snid),
            Self::QueueBound(waiting) => backend.set_queue_bound(waiting),
            Self::Pull { core } => return backend.poll_dispatch_for(core).map(Decision::Dispatch),
            Self::Poll | Self::Steal { .. } | Self::Turn { .. } => {}
        }
        None
    }
}

/// Drains what decides in the order of the back end's contract.
fn drain<D: Decides>(backend: &mut D, decisions: &mut Vec<Decision>) {
    while let Some(abandoned) = backend.poll_abandoned() {
        decisions.push(Decision::Abandoned(abandoned));
    }
    while let Some(dispatch) = backend.poll_dispatch() {
        decisions.push(Decision::Dispatch(dispatch));
    }
}

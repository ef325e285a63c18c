//! One line of a log: an input and the decisions about it.

use crate::backend::Backend;
use crate::dispatch::CentralDispatch;
use crate::early_drop::DropRule;
use crate::fair_share::Judged;
use crate::id::{CoreId, NodeId, RpcKey, SlotRange};
use crate::pool::PoolConfig;
use crate::schedule::turns::{Next, Yielded};
use crate::schedule::typed_queues::RpcType;
use crate::time::{Span, Timestamp};
use crate::turn::{PaceConfig, Refusal};
use crate::verdict::{Abandoned, Dispatch, Freed, NackReason, Verdict};
use crate::wire::Header;
use alloc::vec::Vec;
use core::net::SocketAddr;

#[cfg(doc)]
use crate::crowding::{self, Crowding};
#[cfg(doc)]
use crate::early_drop::EarlyDrop;
#[cfg(doc)]
use crate::ending;
#[cfg(doc)]
use crate::pool::Pool;
#[cfg(doc)]
use crate::schedule::turns::Turns;
#[cfg(doc)]
use crate::turn::{LongTurn, Pace, Refusals};

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
    /// An idle core looks at the queues of all cores, outside the back end: see
    /// [`Beside`](crate::decision::Beside).
    Steal {
        /// The idle core.
        core: CoreId,
        /// The queues that are not empty, one bit per core, for [`STEAL_CORES_MAX`] cores.
        queues: u64,
    },
    /// A step of preemptive scheduling at a core, outside the back end.
    Turn {
        /// The core.
        core: CoreId,
        /// What happens there.
        step: TurnStep,
    },
    /// The client of an RPC may wait no more: see [`ending::over`].
    Over {
        /// The RPC.
        rpc: RpcKey,
        /// Until when the client waits, or [`ending::NEVER`].
        deadline: Timestamp,
        /// Whether it has cancelled the RPC.
        is_cancelled: bool,
    },
    /// An RPC of several packets begins: see [`Crowding::refusal`].
    Crowd {
        /// The RPC.
        rpc: RpcKey,
        /// The client's host, as [`Crowding`] counts it.
        host: u8,
        /// The RPC's length.
        bytes: u32,
    },
    /// An incomplete RPC takes slots: see [`Crowding::hold`].
    Hold {
        /// The client's host.
        host: u8,
        /// The RPC's slots.
        slots: u32,
    },
    /// It is complete or abandoned: see [`Crowding::give_back`].
    GiveBack {
        /// The client's host.
        host: u8,
        /// The RPC's slots.
        slots: u32,
    },
    /// A byte stream has brought a part of a request: see [`crowding::kept`].
    Keep {
        /// The bytes that other incomplete requests hold.
        held: u64,
        /// The bytes that this one needs.
        bytes: u64,
    },
    /// A step of the refusals that an engine's time allows, outside the back end.
    Refuse(RefuseStep),
    /// A step of the pool for long RPCs, outside the back end.
    Pool(PoolStep),
    /// A step of the pace of an engine, outside the back end.
    Pace(PaceStep),
    /// A step of the lengths of an engine's turns, outside the back end.
    LongTurn(LongTurnStep),
    /// A step of early drop, outside the back end.
    Early(EarlyStep),
}

/// A step of a pace, named after the methods of [`Pace`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaceStep {
    /// The configured service time is assumed.
    Start(PaceConfig),
    /// A turn has ended.
    EndTurn {
        /// Packets taken and RPCs served.
        work: u32,
        /// RPCs served.
        served: u32,
        /// RPCs that still wait.
        waiting: u32,
    },
    /// So many turns without work or waiting RPCs have ended, and none changed the bound.
    Idle {
        /// The number of turns, at most [`IDLE_TURNS_MAX`].
        turns: u32,
    },
    /// The handler has served this turn's RPCs.
    EndServing {
        /// The time that they took.
        took: Span,
        /// The number of RPCs.
        served: u32,
        /// The most that there could have been.
        most: u32,
    },
    /// The ingress of a turn has ended.
    EndIngress {
        /// The packets turned away in it.
        turned_away: u32,
    },
    /// The turn shows no service time.
    LeaveOut,
    /// Other clients have become active.
    Floor {
        /// The bound that the queue's does not fall below.
        bound: u32,
    },
    /// The thread has rested.
    HasRested,
    /// The turn's time went into RPCs that have not ended.
    Unfinished,
    /// RPCs are to be served after an ingress of this length, most of it refusals.
    BesideRefusals {
        /// The length.
        ingress: Span,
    },
}

/// The most idle turns in one line of a log.
pub const IDLE_TURNS_MAX: u32 = 1 << 20;

/// A step of the lengths of turns, named after the methods of [`LongTurn`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongTurnStep {
    /// No turn has been long.
    Start {
        /// The latency target.
        slo: Span,
    },
    /// A turn has ended.
    End {
        /// Its length, unless it found nothing.
        elapsed: Option<Span>,
    },
}

/// A step of early drop, named after the methods of [`EarlyDrop`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyStep {
    /// No client is heavy.
    Start {
        /// The most clients with a rule.
        clients_max: u16,
    },
    /// A datagram has come.
    Note {
        /// The client's address.
        peer: SocketAddr,
        /// Its number.
        snid: NodeId,
        /// The datagram's bytes.
        came: u32,
        /// Those of requests without service or NACK, at most as many.
        lost: u32,
    },
    /// A turn has ended.
    EndTurn {
        /// Whether nothing came and nothing waits.
        is_idle: bool,
    },
    /// All rules are to be removed.
    End,
}

/// A step of a pool, named after the methods of [`Pool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolStep {
    /// It is empty.
    Start(PoolConfig),
    /// A long RPC of a client is to be accepted; if so, it is queued.
    Judge(NodeId),
    /// A thread is free, and something waits.
    Next,
    /// A thread has served an RPC, in this time.
    End(Span),
    /// The client of an RPC may wait no more: see [`ending::over`].
    Over {
        /// Until when the client waits, or [`ending::NEVER`].
        deadline: Timestamp,
        /// Whether it has cancelled the RPC.
        is_cancelled: bool,
    },
}

/// A step of an engine's refusals, named after the methods of [`Refusals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefuseStep {
    /// As many as can be saved up are there.
    Start {
        /// The time that earns one.
        each: Span,
    },
    /// An RPC is to be refused.
    Judge {
        /// Whether its source asks for little.
        asks_little: bool,
    },
    /// A NACK was given.
    Count,
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
    /// About a packet; [`Verdict::Nack`] also about an RPC that is refused outside the back end.
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
    /// There is memory for the rest of an incomplete request.
    Fits,
    /// Whether a refusal gets a NACK.
    Refusal(Refusal),
    /// An RPC of a pool waits, or is next, among those served first.
    First,
    /// The same among the others.
    Last,
    /// The queue's new bound.
    Bound(u32),
    /// So many RPCs are served before their answers leave together.
    Together(u32),
    /// For so long the next turn may serve.
    Serves(Span),
    /// A part of a client's datagrams passes.
    Pass(DropRule<SocketAddr>),
    /// All datagrams of all clients pass.
    PassAll,
}

impl From<Judged> for Decision {
    fn from(judged: Judged) -> Self {
        match judged {
            Judged::Refused => Self::nack(NackReason::BY_SERVICE),
            Judged::First => Self::First,
            Judged::Last => Self::Last,
        }
    }
}

impl Decision {
    /// The refusal of an RPC outside the back end.
    #[must_use]
    pub const fn nack(reason: NackReason) -> Self {
        Self::Packet(Verdict::Nack { reason })
    }

    /// So many RPCs of a turn.
    #[must_use]
    pub fn together(rpcs: usize) -> Self {
        Self::Together(u32::try_from(rpcs).unwrap_or(u32::MAX))
    }

    /// New rules of early drop.
    #[must_use]
    pub fn rules(rules: &[DropRule<SocketAddr>]) -> Vec<Self> {
        match rules {
            [] => alloc::vec![Self::PassAll],
            rules => rules.iter().copied().map(Self::Pass).collect(),
        }
    }
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
            Self::Poll
            | Self::Steal { .. }
            | Self::Turn { .. }
            | Self::Over { .. }
            | Self::Crowd { .. }
            | Self::Hold { .. }
            | Self::GiveBack { .. }
            | Self::Keep { .. }
            | Self::Refuse(_)
            | Self::Pool(_)
            | Self::Pace(_)
            | Self::LongTurn(_)
            | Self::Early(_) => {}
        }
        None
    }
}

//! Every decision as one line of text, so that runtime, simulator and hardware can be compared.
//!
//! A back end that gets the same inputs makes the same decisions. So the runtime's log of both can
//! be replayed through another back end, in a simulator, or against hardware, and the first
//! difference is the bug.
//!
//! A log is text, one line per input, after a line with the configuration ([`BackendConfig`]'s text
//! form). `#` begins a comment.
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
//! | `over SNID.TID deadline=PS cancelled=0` or `1` | the client may wait no more; without a deadline, `deadline=never` |
//! | `crowd SNID.TID host=N bytes=N` | an RPC of several packets begins, of a host that is counted as `N` |
//! | `hold host=N slots=N`, `give-back …` | an incomplete RPC takes slots; it is complete or abandoned |
//! | `keep held=N bytes=N` | a byte stream needs so many bytes for a request, next to those held |
//! | `refuse start each_ps=N` | so much time earns an engine one refusal |
//! | `refuse light=0` or `1` | an RPC is to be refused, whose source asks for little or not |
//! | `refuse sent` | a NACK was given |
//! | `pool start slo_ps=N threads=N most=N sources=SHIFT+BITS tenants=…` | a pool for long RPCs begins |
//! | `pool client=SNID` | a long RPC of that client is to be accepted |
//! | `pool next`, `pool end took_ps=N` | a thread of the pool is free; it has served an RPC |
//! | `pool over deadline=PS cancelled=0` or `1` | the client of an RPC of the pool may wait no more |
//! | `pace start slo_ps=N service_ps=N workers=N inline=0 later=0 queue=…` | an engine assumes that service time; `queue=none` or `queue=SLO_PS/WORKERS/IN_WORKERS` |
//! | `pace turn work=N served=N waiting=N` | a turn of the engine has ended |
//! | `pace idle turns=N` | so many turns without work or waiting RPCs have ended, the last one then |
//! | `pace serving took_ps=N served=N most=N` | the handler has served this turn's RPCs |
//! | `pace ingress turned_away=N`, `pace ingress-took took_ps=N` | an ingress with refusals has ended; RPCs are served after one of that length |
//! | `pace left-out`, `pace rested`, `pace unfinished` | the turn shows no service time; the thread has rested; the turn's RPC has not ended |
//! | `long-turn start slo_ps=N`, `long-turn end elapsed_ps=N` or `… idle` | turns may be long; one has ended, or found nothing |
//! | `early start clients=N`, `early turn idle=0` or `1`, `early end` | early drop begins; a turn has ended; nothing is dropped any more |
//! | `early datagram PEER SNID came=N lost=N` | a heavy client's datagram has come, with so many bytes without an answer |
//!
//! | decision | |
//! |---|---|
//! | `write slots=START+COUNT offset=N bytes=N more` or `… complete` | the payload goes there |
//! | `nack REASON`, `drop REASON` | refused, ignored; the first also by `over`, `crowd` and `keep` |
//! | `freed`, `refused` | the slots and the credit are returned, or were not the core's |
//! | `abandoned SNID.TID slots=START+COUNT` | never completed |
//! | `dispatch core=N rpc=SNID.TID slots=START+COUNT bytes=N key=N arrived=PS` | a core gets an RPC |
//! | `victim=N` | the core from whose queue the idle core steals |
//! | `begin context=N`, `resume context=N` | the RPC that gets the core |
//! | `runs`, `suspended` | whether the RPC continues |
//! | `fits` | there is memory for the rest of the request |
//! | `answered`, `silent` | whether the refused RPC gets a NACK |
//! | `first`, `last` | where an RPC of the pool waits, or which one is next |
//! | `bound=N`, `together=N` | the queue's new bound; the RPCs of a turn whose answers leave together |
//! | `serves_ps=N` | for so long the next turn may serve |
//! | `pass peer=PEER client=SNID part=N`, `pass-all` | this part of 2^32 datagrams passes; no rule is left |
//!
//! Times are picoseconds. A line has first the decision about the input, then the abandoned RPCs,
//! then the dispatches. A log may leave pending decisions to a later line, as an engine that
//! processes packets in batches does: a replay asks for as much as the log has. `poll -> -` says
//! that nothing was pending, which a replay checks too.
//!
//! Decisions outside the back end have their lines in the same log: `steal` belongs to a [`Thief`],
//! `turn` to [`Turns`], `over` to [`ending`], `crowd`, `hold`, `give-back` and `keep` to
//! [`crowding`], `refuse` to [`Refusals`], `pool` to a [`Pool`], `pace` to a [`Pace`], `long-turn`
//! to a [`LongTurn`], `early` to an [`EarlyDrop`]. The lines of each core are in order; those of
//! different cores, which decide concurrently, may interleave. Groups of `altocumulus:G` decide in
//! parallel, so each has its own log ([`GroupLine`]).
//!
//! In the runtime's logs a worker under `mcs-lock` that finds nothing leaves no `pull`; a `steal`
//! has the time of the engine's next turn; a `turn` has the worker's own time; `type N` comes
//! before any dispatch that follows that RPC. An RPC's service time is the time of its `free` less
//! that of its dispatch, so that a replay learns what the server learned. A manager whose queue is
//! below its threshold leaves no line: it reads and changes nothing. A client that still waits
//! leaves no `over`. While refusals abound, none is judged; a silent one that follows an equal one
//! leaves no line. A turn that changes no length leaves no `long-turn`. With several engines, the
//! pool's lines are in one engine's log; a pool of domains leaves none.

mod beside;
mod decides;
mod group;
pub(crate) mod line;
pub(crate) mod replay;
pub(crate) mod text;

pub use beside::Beside;
pub use decides::Decides;
pub use group::replay::{GroupReplayError, replay_group_text};
pub use group::{GROUP_LOG_HEADER, GroupDecision, GroupInput, GroupLine, GroupSetup};
pub use line::{
    Decision, EarlyStep, IDLE_TURNS_MAX, Input, LogLine, LongTurnStep, PaceStep, PoolStep, RefuseStep, STEAL_CORES_MAX,
    TurnStep,
};
pub use replay::{
    Difference, LOG_HEADER, ReplayError, decide_again, read_text, replay, replay_text, replay_text_with, replay_through,
};
pub use text::ParseDecisionError;

#[cfg(doc)]
use crate::config::BackendConfig;
#[cfg(doc)]
use crate::early_drop::EarlyDrop;
#[cfg(doc)]
use crate::pool::Pool;
#[cfg(doc)]
use crate::schedule::{thief::Thief, turns::Turns};
#[cfg(doc)]
use crate::turn::{LongTurn, Pace, Refusals};
#[cfg(doc)]
use crate::{crowding, ending};

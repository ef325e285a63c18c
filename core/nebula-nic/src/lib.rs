//! Every decision of a microsecond-scale RPC NIC, as plain state machines.
//!
//! No I/O, clock, threads or payload bytes, and no randomness except from a seed: time, packet
//! headers and cores are arguments, decisions are results. A runtime carries them out in real time,
//! a simulator in simulated time; hardware can be compared with them one by one. Every bound is a
//! field of the configuration, which says what happens at the bound.
//!
//! The modules are in the order of the path that one RPC takes. Open [`backend`] first.
//!
//! | # | what happens | module |
//! |---|---|---|
//! | 1 | the client numbers the RPC and splits it into packets | [`outbound`], `nebula-requester` |
//! | 2 | the NIC reads the header | [`wire`] |
//! | 3 | queue longer than the SLO allows: NACK, at once | [`admission`] |
//! | 4 | slots of the one receive buffer, shared by all peers | [`recv_buffer`] |
//! | 5 | later packets find their RPC | [`reassembler`] |
//! | 6 | complete: a notification joins the arrival queue, the payload stays in place | [`arrival_queue`] |
//! | 7 | a core has credit: dispatched | [`dispatch`] |
//! | 8 | the payload is fetched while the core serves the previous RPC | [`steering`] |
//! | 9 | the core begins it | [`completion`] |
//! | 10 | slots and credit are returned | [`release`] |
//! | 11 | the reply or the NACK is matched with its request | `nebula-requester` |
//!
//! On networks that lose and duplicate packets, [`retention`] runs between stations 2 and 3 and
//! recognizes RPCs that arrived before. Where a coherent interconnect connects NIC and cores,
//! [`host_watch`] decides how the NIC learns of a core's writes. [`one_sided`] decides about remote
//! reads and writes of registered memory, which pass no station. Packets that a server forwards
//! leave in the [order of their flows](flow_order). A receiver of large messages [grants] their
//! packets.
//!
//! [`ending`] decides whether a client still waits, [`places`] which connections have a place, and
//! [`crowding`] how much memory incomplete requests may hold. A [`ledger`] decides whose work comes
//! next. [`turn`] decides how many RPCs an engine serves and refuses in a turn, and how long the
//! queue may be. [`early_drop`] thins the datagrams of heavy clients, and [`pool`] decides which
//! long RPCs the threads of a pool take.
//!
//! [`Backend`] joins stations 3 to 7 and the freeing of 10, [`Frontend`] stations 8 to 10 of one
//! core, `Requester` of the crate `nebula-requester` stations 1 and 11. [`decision`] logs their
//! decisions; [`sizing`] computes how large they should be.
//!
//! # Invariants
//!
//! - This crate sees no payload byte, clock, file or thread. *Enforced by* `no_std` and the types.
//! - Nothing is allocated per RPC. *Enforced by* `tests/no_allocation.rs`.
//! - No header, index, size or freed range is trusted: an invalid one is refused and counted.
//!   *Enforced by* the models in `tests/`, over all short histories and long random ones.
//! - A decision costs the same for 16 and for 10,000 clients, and for 16 and for 64 cores.
//!   *Enforced by* counting the instructions of `examples/instructions.rs`.
//! - Equal calls in equal order make equal decisions. *Enforced by* replaying decision logs.
//! - A one-sided operation gets no byte outside its region. *Enforced by* `tests/one_sided.rs`.
//! - Every policy keeps its bound, gives each RPC once and in order, and lets no RPC wait while a
//!   core that may serve it has credit. *Enforced by* `tests/dispatch_conformance.rs`.
//!
//! # The life of an RPC
//!
//! ```
//! use nebula_nic::*;
//!
//! let at = Timestamp::from_ps; // a call that decides by the time is told it
//! let mut nic = Backend::try_new(BackendConfig::new(1, Policy::Jbsq(2)))?;
//! let mut core = Frontend::new(CoreId(0), 2);
//!
//! // 1: 100 bytes are two packets of at most 64, and the network turns them round.
//! let request = Header { snid: NodeId(3), rpc_bytes: 100, ..Header::default() };
//! let mut packets: Vec<Header> = Outbound::new(request, Mtu::MIN).collect();
//! packets.reverse();
//!
//! // 2 to 5: the first to arrive takes slots for both; the other one finds them.
//! let slots = SlotRange::new(0, 2);
//! let later = Verdict::Write { slots, offset_bytes: 64, bytes: 36, complete: false };
//! assert_eq!(nic.handle_packet(at(1_000), packets[0]), later);
//! let first = Verdict::Write { slots, offset_bytes: 0, bytes: 64, complete: true };
//! assert_eq!(nic.handle_packet(at(1_512), packets[1]), first);
//!
//! // 6 and 7: it is whole, and the core has credit.
//! assert_eq!(nic.queue_depth(), 1);
//! let dispatch = nic.poll_dispatch().unwrap();
//! assert_eq!((dispatch.core, dispatch.arrival.bytes, nic.queue_depth()), (CoreId(0), 100, 0));
//!
//! // 8 and 9: nothing is ahead of it, so its payload is fetched and it begins.
//! assert_eq!(core.handle_dispatch(dispatch), Steer::Now);
//! let begin = core.poll_completion().unwrap();
//!
//! // 10: the handler is done.
//! let release = core.handle_release(begin.arrival.slots);
//! assert_eq!(nic.handle_free(release.core, release.slots), Freed::Taken);
//! assert_eq!((nic.slots_used(), nic.outstanding(CoreId(0))), (0, 0));
//!
//! // 11: the reply has the number of its request.
//! assert_eq!(Header::reply(begin.arrival.rpc, 8, 0).rpc(), request.rpc());
//! # Ok::<(), ConfigError>(())
//! ```

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

#[macro_use]
mod macros;

// -- identifiers, time and hashing --
pub mod id;
pub mod time;

// -- the stations, in the order of the path --
pub mod outbound;
pub mod wire;
pub mod retention;
pub mod admission;
pub mod fair_share;
pub mod recv_buffer;
pub mod reassembler;
pub mod nack_memory;
pub mod arrival_queue;
pub mod burst;
pub mod host_watch;
pub mod dispatch;
pub mod schedule;
pub mod steering;
pub mod completion;
pub mod release;

// // -- next to the path: operations without a core --
pub mod one_sided;

// // -- next to the path: who may send how much --
pub mod grants;

// // -- next to the path: packets that are served and forwarded --
pub mod flow_order;

// // -- next to the path: clients that wait no more, memory for what has not all arrived, whose
// // work comes next --
pub mod ending;
pub mod crowding;
pub mod places;
pub mod ledger;

// // -- around the path: the turns of an engine, datagrams that are lost unread, long RPCs --
pub mod turn;
pub mod early_drop;
pub mod pool;

// -- the machines that join them --
pub mod backend;
pub mod frontend;

// -- configuration, results and logs --
pub mod config;
pub mod counters;
pub mod decision;
pub mod verdict;

// -- supporting structures --
pub mod core_set;
pub mod hash;
pub mod sizing;

pub use admission::{Admission, CLIENTS_WAITING_MAX};
pub use arrival_queue::ArrivalQueue;
pub use backend::Backend;
pub use backend::group::{Adoption, GroupConfig, GroupConfigError, Migrations};
pub use burst::{BURST_MAX, Burst, BurstRpc, Run};
pub use completion::CompletionQueue;
pub use config::text::ParseConfigError;
pub use config::{BackendConfig, ConfigError};
pub use core_set::{CORES_MAX, CoreSet};
pub use counters::Counters;
pub use decision::replay::replay_text_with;
pub use decision::replay::{Difference, ReplayError, replay_text};
pub use decision::text::ParseDecisionError;
pub use decision::{Decision, Input, LogLine, replay};
pub use dispatch::{
    Availability, CentralDispatch, Choose, CustomPolicy, CustomState, Dispatcher, Groups, ParsePolicyError, PerCore,
    Placement, Policy, PolicyName, PolicyNameError, Quantum, Queues, WithState,
};
pub use dispatch::{
    JBSQ_BOUND_MAX, Jbsq, KeyHash, PER_CORE_BOUND, Random, RoundRobin, Rss, STEALABLE_BOUND, SingleQueue, StaticFlow,
    TwoChoices,
};
pub use fair_share::{FairShare, SOURCE_BITS_MAX, Sources, TENANTS_MAX, Tenants};
pub use flow_order::{FlowOrder, Ticket};
pub use frontend::{Begin, Frontend};
pub use grants::{Grant, Grants, GrantsConfig};
pub use host_watch::{HostWatch, HostWatchConfig, HostWatchConfigError, Watching};
pub use id::{CoreId, DomainId, GroupId, NodeId, RpcKey, SLOT_BYTES, Slot, SlotRange, TransferId};
pub use ledger::Ledger;
pub use one_sided::{
    ACCESS_BYTES, Access, AccessKind, AccessRefusal, BLOCK_BYTES, REGIONS_MAX, RegionError, RegionId, RegionTable,
    RegionWindow, Registration, Rights,
};
pub use outbound::{BURST_PACKETS, Outbound, UNASKED_PACKETS};
pub use reassembler::{Incomplete, Missing, Part, Reassembler};
pub use recv_buffer::{Holder, RecvBuffer, SLOTS_MAX, ScrubMode, SlotOrder};
pub use release::Release;
pub use retention::{
    EntryId, RETENTION_ENTRIES_MAX, ReplyAt, Retention, RetentionConfig, RetentionFull, RetentionKey, Seen,
};
pub use schedule::lending::Lending;
pub use sizing::{
    CorePlan, ENGINE_TIME, QueueRule, Sizing, SizingError, erlang_b, erlang_c, queue_bound_for_slo, queue_depth_mean,
};
pub use steering::{Steer, Steering};
pub use time::{ParseSpanError, Span, Timestamp};
pub use verdict::{Abandoned, Arrival, Dispatch, DropReason, Freed, NackReason, ParseReasonError, Verdict};
pub use wire::{DecodeError, Header, Kind, Mtu, MtuError, WIRE_VERSION, slots_of};

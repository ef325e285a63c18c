//! Every decision of a microsecond-scale RPC NIC and of its requester, as plain state machines.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod backend;
mod completion;
mod config;
mod frontend;
mod release;
mod steering;
mod id;
mod time;

mod admission;
mod arrival_queue;
mod core_set;
mod dispatch;
mod hash;
mod nack_memory;
mod reassembler;
mod recv_buffer;
mod verdict;
mod wire;
mod counters;
pub use admission::Admission;
pub use arrival_queue::ArrivalQueue;
pub use backend::Backend;
pub use completion::CompletionQueue;
pub use config::{BackendConfig, ConfigError, ParseConfigError};
pub use core_set::{CORES_MAX, CoreSet};
pub use counters::Counters;
pub use dispatch::*;
pub use frontend::{Begin, Frontend};
pub use id::{CoreId, DomainId, NodeId, RpcKey, SLOT_BYTES, Slot, SlotRange, TransferId};
pub use reassembler::{Incomplete, Part, Reassembler};
pub use recv_buffer::{Holder, RecvBuffer, SLOTS_MAX, ScrubMode};
pub use release::Release;
pub use steering::{Steer, Steering};
pub use time::{ParseSpanError, Span, Timestamp};
pub use verdict::*;
pub use wire::*;

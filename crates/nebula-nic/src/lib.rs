//! Every decision of a microsecond-scale RPC NIC and of its requester, as plain state machines.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod id;
mod time;

pub use id::{CoreId, DomainId, NodeId, RpcKey, SLOT_BYTES, Slot, SlotRange, TransferId};
pub use time::{ParseSpanError, Span, Timestamp};

//! One RPC, as engine, worker and client hand it on: its slot, its reply, the room for an answer,
//! the service, and how a thread rests while there is none.

pub(crate) mod numbered;
pub(crate) mod slot;
pub(crate) mod region;
pub(crate) mod fault;
pub(crate) mod handler;
pub(crate) mod safe_point;
pub(crate) mod recipient;
pub(crate) mod cancel;
pub(crate) mod answer;
pub(crate) mod later;
pub(crate) mod reply;
pub(crate) mod requests;
pub(crate) mod store_counters;
pub(crate) mod rpc_types;
pub(crate) mod description;
pub(crate) mod service;
pub(crate) mod parking;
pub(crate) mod job;

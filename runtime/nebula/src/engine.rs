//! The software NIC: one thread that plays the papers' NIC for a group of workers.
//!
//! It owns a [`Backend`](nebula_nic::Backend), which decides, and carries out what it decides:
//! polls the transport, copies payloads into the receive region, answers with NACKs, hands
//! dispatched RPCs to workers, takes their slots back. One turn does each once:
//!
//! ```text
//!   control ─▶ frees ─▶ ingress (stations 2–6) ─▶ dispatch (7) ─▶ answers out ─▶ time-outs, pace, status
//! ```
//!
//! One clock read a turn is the time of everything in it. Under `altocumulus:G` there are several
//! engines, each with its own clients and workers; between frees and ingress each reads what the
//! others have sent, and after the dispatch it hands RPCs over ([`groups`]).

pub(crate) mod turn;
mod long_turn;
mod recent;
mod rest;
mod release;
mod dispatch;
mod groups;
mod cpu;
mod lock;
pub(crate) mod run;

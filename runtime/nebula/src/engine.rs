//! The software NIC: one thread that plays the papers' NIC for a group of workers.
//!
//! Its [`Backend`](nebula_nic::Backend) decides. The engine carries out the decisions: it polls the
//! transport, copies payloads into the receive region, sends NACKs, hands RPCs to workers, and
//! frees their slots. One turn does each once:
//!
//! ```text
//!   control ─▶ frees ─▶ ingress (stations 2–6) ─▶ dispatch (7) ─▶ answers out ─▶ time-outs, pace, status
//! ```
//!
//! One clock read is the time of everything in a turn. Under `altocumulus:G` there are several
//! engines, each with its own clients and workers; each reads the others' messages between frees
//! and ingress, and hands RPCs over after the dispatch ([`groups`]).

pub(crate) mod turn;
mod paced;
mod recent;
mod rest;
mod release;
mod dispatch;
mod groups;
mod cpu;
mod lock;
pub(crate) mod run;

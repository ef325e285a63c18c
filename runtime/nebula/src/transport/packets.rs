//! Packets that a server forwards: one-way RPCs, whose replies leave as frames at the other side.
//!
//! ```text
//!   frame ─▶ the NIC's stations 2–6 ─▶ a core: the service's frame, or none ─▶ its flow's turn ─▶ the other side
//!              └─ no room: dropped and counted          └─ dropped by the service
//! ```
//!
//! - **A refusal is a drop** without a message, counted by its reason as a NACK.
//! - **Order.** If it is kept, a frame waits for the earlier ones of its flow
//!   ([`FlowOrder`](nebula_nic::FlowOrder)).
//! - **Every packet ends once**, and is counted by how it ends.

pub(crate) mod counters;
pub(crate) mod port;

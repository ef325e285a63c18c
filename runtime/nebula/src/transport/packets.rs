//! Packets that go through the server: each is an RPC of one way, whose reply is the frame that
//! leaves at the other side.
//!
//! ```text
//!   frame ─▶ the NIC's stations 2–6 ─▶ a core: the service's frame, or none ─▶ its flow's turn ─▶ the other side
//!              └─ no room: dropped and counted          └─ dropped by the service
//! ```
//!
//! - **A refusal is a drop**: nobody is told, and it is counted by its reason as a NACK.
//! - **Order.** Where it is kept, a frame waits for those of its flow that came before it
//!   ([`FlowOrder`](nebula_nic::FlowOrder)).
//! - **Every packet ends once**, and is counted where it ends.

pub(crate) mod counters;
pub(crate) mod port;

//! The memory-bandwidth model of NEBULA §III: when network buffers, not cores, limit a server.
//!
//! Separate buffers for each connection soon exceed the LLC. Every RPC then fetches blocks from
//! DRAM and writes dirty victims back, and DRAM bandwidth saturates before the cores do. The model
//! has just enough to show that: banks with queues, blocks, and cores that wait for some of them.
//!
//! ```text
//!  network ─▶ NI ──────────── hit ─────────────▶ ready ─▶ Backend ─▶ core: index ▸ compute ▸ result ─▶ done
//!              │                                   ▲     (policy)           │               │
//!              └ miss: fetch n blocks ── all here ─┘                        │               ├ copy n blocks
//!                      write n victims back                                 │               └ write n victims back
//!                            │                                              │               │
//!                            ▼                                              ▼               ▼
//!                    DRAM: channels, each one FIFO with many banks; 64 B an access
//! ```
//!
//! # Assumptions
//!
//! Unless stated otherwise, they are those of the simulator that the paper's first author
//! published. The model's saturation loads agree with the paper's figure.
//!
//! - An access moves 64 B on a random channel. It waits in the channel's one FIFO for any of its
//!   banks, which then takes the time of a row hit or of a row miss, drawn at random. There is no
//!   bus, and reads and writes cost the same.
//! - A buffer is in the LLC with the probability `LLC / buffer space`, at most 1: one draw per RPC,
//!   and separate draws for the victims.
//! - The NI is open loop. The fetches of an RPC begin a packet time apart and block nothing; their
//!   write-backs, if the victims are dirty, begin with the last fetch. The RPC is ready for a core
//!   when all its fetches have ended: **latency** counts from there until the core is done.
//! - A core waits for two accesses per RPC: the index before it computes, and the result
//!   afterwards. The copy of the value and its write-backs begin between the two, and the core does
//!   not wait.
//! - The load is the rate of offered RPCs times the service time, divided by the cores. It excludes
//!   waiting for DRAM.
//! - By default RPCs arrive as packets of one link: all gaps between packets are fixed, except the
//!   gap before an RPC's first packet, which is exponential with the same mean. These arrivals are
//!   much steadier than Poisson's; [`PacketGaps::Poisson`] are the textbook's.
//!
//! Departs: in the published simulator the cores of each queue pull; here `nebula-nic` dispatches,
//! at no cost. With a queue per core, the RPC behind the one in service waits at its core and not
//! at the NIC, which changes no latency.
//!
//! Departs: the paper's text has six channels; the default is the published simulator's four of 24
//! banks, which are as many banks.
//!
//! Departs: the published simulator ends when a core finds the mark behind the last RPC; here the
//! measured RPCs are those that arrive in a window, and the load goes on until all of them are
//! done.
//!
//! # Speed
//!
//! Both service times of a bank are constants and accesses begin in the order of time, so the
//! banks' next free times are two sorted FIFOs (`dram`). Streams of one kind have the same gap
//! between accesses, so they are a FIFO, too (`stream`). Only the ends of cores' actions, arrivals
//! and ready RPCs go through the [`Calendar`](crate::Calendar).
//!
//! Next: `model`, then `machine` for the run itself.

pub(crate) mod memory_run;
pub(crate) mod bounds;
mod chance;
mod design;
mod dram;
mod error;
mod machine;
mod measure;
mod model;
mod series;
mod stream;
mod tally;

pub use chance::Odds;
pub use design::Design;
pub use error::MemoryError;
pub use machine::{MemoryRun, run};
pub use model::{Dice, MemoryModel, PacketGaps};
pub use series::Bandwidth;
pub use tally::MemoryTally;

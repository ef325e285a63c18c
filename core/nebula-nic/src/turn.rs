//! The turns of an engine: how many RPCs one serves and refuses, and how long the queue may be.
//!
//! An engine works in turns: it takes packets, serves or dispatches RPCs, and sends answers. Pace
//! measures how long an RPC takes. From that follow the RPCs of a turn and the bound on the queue.

pub mod long_turn;
pub mod median;
pub mod pace;
pub mod refusals;

pub use long_turn::{Bounds, LongTurn};
pub use median::Median;
pub use pace::{Pace, PaceConfig};
pub use refusals::{Refusal, Refusals};

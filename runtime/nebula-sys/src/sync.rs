//! Atomics, fences, `Arc` and threads: std's, or loom's under `cfg(loom)`.
//!
//! Concurrent code imports its primitives only from here, so that it also runs under loom's
//! exhaustive scheduler.

#[cfg(not(loom))]
pub use std::{
    hint::spin_loop,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    },
    thread,
};

#[cfg(loom)]
pub use loom::{
    hint::spin_loop,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    },
    thread,
};

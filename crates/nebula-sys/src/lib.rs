//! The only crate of Nebula that contains `unsafe`: what the machine offers, behind safe borders.
//!
//! | module | what it gives |
//! |---|---|
//! | [`sync`] | atomics, fences, `Arc` and threads: std's, or loom's under `cfg(loom)` |
//! | [`mem`] | zero-filled memory on the largest pages that the machine grants |
//! | [`shared`] | memory that two processes share, sealed against being cut short |
//! | [`copy`] | copies from and to memory that others may write at the same time |
//! | [`prefetch`] | hints that a cache line is wanted soon |
//! | [`region`] | the receive region: slots that have one owner at a time |
//! | [`spsc`] | the ring between two threads: completion queues and free lists |
//! | [`mcs`] | a lock whose waiters stand in line, each with a line of its own |
//! | [`fiber`] | functions that can be suspended, on stacks of their own |
//! | [`clock`] | the time-stamp counter as a clock |
//! | [`affinity`] | which cores there are, and pinning a thread to one |
//! | [`process`] | who is at the other end of a socket, and ending with one's parent |
//! | [`udp`] | kernel UDP: many datagrams a system call, one buffer for many of one length |
//!
//! **Invariant:** shared memory is only ever seen as `&[AtomicU64]`. Another process that changes it at any moment is then a
//! relaxed data race between atomics, which has a meaning, and never undefined behaviour.
//! *Enforced by* the types: no function here hands out a `&[u8]` or `&mut [u8]` of shared memory.

#![deny(unsafe_op_in_unsafe_fn)]

pub mod sync;
pub mod mem;
#[cfg(not(loom))]
pub mod shared;
pub mod copy;
pub mod prefetch;
pub mod region;
pub mod spsc;
pub mod mcs;
#[cfg(not(loom))]
pub mod fiber;
#[cfg(not(loom))]
pub mod clock;
#[cfg(not(loom))]
pub mod affinity;
#[cfg(not(loom))]
pub mod process;
#[cfg(not(loom))]
pub mod udp;

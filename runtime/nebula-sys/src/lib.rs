//! The only Nebula crate with `unsafe`: operating-system and hardware facilities behind safe APIs.
//!
//! | module | purpose |
//! |---|---|
//! | [`sync`] | atomics, fences, `Arc` and threads: std's, or loom's under `cfg(loom)` |
//! | [`mem`] | zero-filled memory on the largest pages that the machine grants |
//! | [`mod@file`] | files whose memory outlives a process, locked by one process |
//! | [`shared`] | memory shared by two processes, sealed against shrinking |
//! | [`copy`] | copies from and to memory that others may write at the same time |
//! | [`window`] | any bytes of shared memory: consistent reads, writes, compare-and-swap |
//! | [`search`] | the words of a cache line that have a tag, compared at once |
//! | [`prefetch`] | hints that a cache line will be accessed soon |
//! | [`region`] | the receive region: slots with one owner at a time |
//! | [`spsc`] | the ring between two threads: completion queues and free lists |
//! | [`mcs`] | a fair queue lock: each waiter spins on its own cache line |
//! | [`wake`] | whether a thread sleeps, so that others wake it only then |
//! | [`doorbells`] | which of many clients have written something, in one look |
//! | [`fiber`] | functions that can be suspended, on separate stacks |
//! | [`foreign`] | decisions of another language, by the address of a function |
//! | [`clock`] | the time-stamp counter as a clock |
//! | [`affinity`] | the cores of the machine, and pinning a thread to one |
//! | [`limits`] | the memory and processor time that control groups leave to this process |
//! | [`fork`] | whether this process is a fork of the one that made something |
//! | [`process`] | the user of a Unix socket's peer, preemptions, ending with the parent process |
//! | [`stdio`] | whether the process was started with a standard output |
//! | [`xdp`] | Ethernet frames that bypass the kernel's network stack |
//! | [`udp`] | kernel UDP: many datagrams per system call, one buffer for many of equal length |
//!
//! **Invariant:** shared memory is only ever accessed as `&[AtomicU64]`. If another process changes
//! it, that is a race between relaxed atomics, and no undefined behavior. *Enforced by* the types:
//! no function here returns a `&[u8]` or `&mut [u8]` into shared memory.
//!
//! **Invariant:** slots of the receive region have one owner. *Enforced by* `SlotLease`, which
//! cannot be copied.
//!
//! **Invariant:** rings, wake-ups, the queue lock and words with a version hold under every
//! interleaving. *Enforced by* loom (`tests/loom_*.rs`).

#![deny(unsafe_op_in_unsafe_fn)]

pub mod sync;
pub mod mem;
#[cfg(not(any(loom, miri)))]
pub mod file;
#[cfg(not(loom))]
pub mod shared;
pub mod lines;
pub mod places;
pub mod copy;
pub mod window;
pub mod search;
#[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
mod pair;
#[cfg(not(any(miri, loom)))]
pub mod foreign;
pub mod prefetch;
pub mod region;
pub mod spsc;
pub mod mcs;
pub mod wake;
pub mod doorbells;
#[cfg(not(loom))]
pub mod fiber;
#[cfg(not(loom))]
pub mod clock;
#[cfg(not(loom))]
pub mod affinity;
pub mod limits;
#[cfg(not(loom))]
pub mod fork;
#[cfg(not(loom))]
pub mod process;
#[cfg(not(any(loom, miri)))]
pub mod stdio;
#[cfg(not(loom))]
pub mod udp;
#[cfg(not(loom))]
pub mod xdp;

//! Whether a thread sleeps or is about to, so that others wake it only then, by a system call.
//! [`WakeFlag`] is for threads of one process, [`SleepWord`] for two processes with shared memory.

use crate::sync::{AtomicBool, AtomicU64, Ordering, fence};
use rustix::thread::{MembarrierCommand, membarrier};
use std::sync::OnceLock;
use std::sync::atomic::compiler_fence;

/// Says whether a thread is about to sleep.
///
/// The thread [arms](Self::arm) it, looks for work once more, and only then sleeps. A thread that
/// gives it work [asks](Self::is_armed) after that. One of the two always sees the other, so work
/// never waits for a sleeping thread. *Enforced by* `tests/loom_wake.rs`.
///
/// Work is given far more often than a thread sleeps. So where the kernel has `membarrier`, the one
/// that sleeps has every running thread of the process fence, and giving work costs a load.
///
/// # Examples
///
/// ```
/// use nebula_sys::wake::WakeFlag;
///
/// let flag = WakeFlag::new();
/// assert!(!flag.is_armed());
/// flag.arm();
/// assert!(flag.is_armed(), "wake it");
/// flag.disarm();
/// assert!(!flag.is_armed());
/// ```
#[derive(Debug)]
pub struct WakeFlag {
    is_armed: AtomicBool,
    /// Whether [`arm`](Self::arm) fences for both.
    fences_all: bool,
}

impl Default for WakeFlag {
    fn default() -> Self {
        Self::new()
    }
}

impl WakeFlag {
    /// The flag of a thread that is awake.
    #[must_use]
    pub fn new() -> Self {
        Self { is_armed: AtomicBool::new(false), fences_all: can_fence_all() }
    }

    /// Whether giving work costs a load, and no fence.
    #[must_use]
    pub fn is_cheap_to_ask(&self) -> bool {
        self.fences_all
    }

    /// Says that the thread is about to sleep. It must look for work after this.
    ///
    /// # Cost
    ///
    /// A full fence, or a system call that interrupts each running thread of the process.
    #[inline]
    pub fn arm(&self) {
        self.is_armed.store(true, Ordering::Relaxed);
        // Orders this store before the look that follows; pairs with the fence in `is_armed`.
        if self.fences_all {
            fence_all();
        } else {
            fence(Ordering::SeqCst);
        }
    }

    /// Says that the thread is awake.
    #[inline]
    pub fn disarm(&self) {
        self.is_armed.store(false, Ordering::Relaxed);
    }

    /// Whether the thread sleeps or is about to, and may have missed the caller's earlier writes.
    ///
    /// # Cost
    ///
    /// A load, and a full fence unless it is [cheap](Self::is_cheap_to_ask).
    #[inline]
    #[must_use]
    pub fn is_armed(&self) -> bool {
        // Orders the caller's earlier writes before this load; pairs with the fence in `arm`.
        if self.fences_all {
            // The other side's barrier interrupts this thread before or after both, not between.
            compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
        self.is_armed.load(Ordering::Relaxed)
    }
}

/// Whether [`fence_all`] works: the kernel has it, and has been told of this process. Loom and Miri
/// do not know it.
fn can_fence_all() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    !cfg!(any(loom, miri)) && *CAN.get_or_init(|| membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok())
}

/// Has every running thread of this process execute a full fence, this one too.
#[cold]
fn fence_all() {
    // It fails only for a process that is not registered. Then a thread may miss its wake-up, and
    // sleeps for as long as it allows.
    let _ = membarrier(MembarrierCommand::PrivateExpedited);
}

/// A word of shared memory that says whether the other side's thread is about to sleep; 0 if not.
///
/// The rules are those of [`WakeFlag`]: the thread [arms](Self::arm) the word, looks for work once
/// more, and only then sleeps. A thread that gives it work [takes](Self::take) the word after that.
/// Only one of several such threads gets the word, so the thread is woken once. *Enforced by*
/// `tests/loom_wake.rs`.
///
/// The other side may write anything: that affects only whether it is woken.
///
/// # Examples
///
/// ```
/// use nebula_sys::{sync::AtomicU64, wake::SleepWord};
///
/// let shared = AtomicU64::new(0);
/// let word = SleepWord::new(&shared);
/// word.arm();
/// assert!(word.take(), "wake it");
/// assert!(!word.take(), "once");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SleepWord<'a>(&'a AtomicU64);

impl<'a> SleepWord<'a> {
    /// The word that both sides share.
    #[must_use]
    #[inline]
    pub fn new(word: &'a AtomicU64) -> Self {
        Self(word)
    }

    /// Says that the thread is about to sleep. It must look for work after this.
    ///
    /// # Cost
    ///
    /// A full fence.
    #[inline]
    pub fn arm(self) {
        self.0.store(1, Ordering::Relaxed);
        // Orders this store before the look that follows; pairs with the fence in `take`.
        fence(Ordering::SeqCst);
    }

    /// Says that the thread is awake. A side that has taken the word before may still wake it once.
    #[inline]
    pub fn disarm(self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether the caller must wake the thread, which may have missed the caller's earlier writes.
    ///
    /// # Cost
    ///
    /// A full fence and a load; a read-modify-write if the word is armed.
    #[inline]
    #[must_use]
    pub fn take(self) -> bool {
        // Orders the caller's earlier writes before this load; pairs with the fence in `arm`.
        fence(Ordering::SeqCst);
        self.0.load(Ordering::Relaxed) != 0 && self.0.swap(0, Ordering::Relaxed) != 0
    }
}

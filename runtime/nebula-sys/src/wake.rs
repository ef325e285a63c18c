//! Whether a thread sleeps or is about to: what others ask before they wake it, so that nobody
//! makes a system call for a thread that is awake.
//!
//! [`WakeFlag`] is for threads of one process, [`SleepWord`] for those of two that share memory.

use crate::sync::{AtomicBool, AtomicU64, Ordering, fence};

/// Says whether a thread is about to sleep.
///
/// The thread [arms](Self::arm) it, looks for work once more, and only then sleeps. Who gives it
/// work does so first and [asks](Self::is_armed) then. One of the two sees the other: work is never
/// left lying beside a thread that sleeps. *Enforced by* `tests/loom_wake.rs`.
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
#[derive(Debug, Default)]
pub struct WakeFlag {
    is_armed: AtomicBool,
}

impl WakeFlag {
    /// The flag of a thread that is awake.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The thread is about to sleep. It must look for work after this.
    ///
    /// # Cost
    ///
    /// A full fence.
    #[inline]
    pub fn arm(&self) {
        self.is_armed.store(true, Ordering::Relaxed);
        // Between this store and the look that follows: pairs with the fence in `is_armed`.
        fence(Ordering::SeqCst);
    }

    /// The thread is awake.
    #[inline]
    pub fn disarm(&self) {
        self.is_armed.store(false, Ordering::Relaxed);
    }

    /// Whether the thread sleeps or is about to, as far as it can have missed what the caller did
    /// before.
    ///
    /// # Cost
    ///
    /// A full fence.
    #[inline]
    #[must_use]
    pub fn is_armed(&self) -> bool {
        // Between what the caller has done and this load: pairs with the fence in `arm`.
        fence(Ordering::SeqCst);
        self.is_armed.load(Ordering::Relaxed)
    }
}

/// Says in a word of shared memory whether the thread at the other side is about to sleep. Zero is
/// a thread that is awake.
///
/// The rules are those of [`WakeFlag`]: the thread [arms](Self::arm) the word, looks for work once
/// more, and only then sleeps; one that gives it work does so first and then [takes](Self::take)
/// the word. Of several that give work at once, one gets it: a thread is woken once. *Enforced by*
/// `tests/loom_wake.rs`.
///
/// The other side may write anything: what that changes is whether it is woken.
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
    /// The word of both sides.
    #[must_use]
    #[inline]
    pub fn new(word: &'a AtomicU64) -> Self {
        Self(word)
    }

    /// The thread is about to sleep. It must look for work after this.
    ///
    /// # Cost
    ///
    /// A full fence.
    #[inline]
    pub fn arm(self) {
        self.0.store(1, Ordering::Relaxed);
        // Between this store and the look that follows: pairs with the fence in `take`.
        fence(Ordering::SeqCst);
    }

    /// The thread is awake. It may be woken once more, by one that has taken the word before.
    #[inline]
    pub fn disarm(self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether the caller is to wake the thread, which may have missed what the caller did before.
    ///
    /// # Cost
    ///
    /// A full fence and a load; a read-modify-write where the word is armed.
    #[inline]
    #[must_use]
    pub fn take(self) -> bool {
        // Between what the caller has done and this load: pairs with the fence in `arm`.
        fence(Ordering::SeqCst);
        self.0.load(Ordering::Relaxed) != 0 && self.0.swap(0, Ordering::Relaxed) != 0
    }
}

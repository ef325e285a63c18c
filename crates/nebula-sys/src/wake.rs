//! Whether a thread sleeps or is about to: what others ask before they wake it, so that nobody makes a system call for a thread that is awake.

use crate::sync::{AtomicBool, Ordering, fence};

/// Says whether a thread is about to sleep.
///
/// The thread [arms](Self::arm) it, looks for work once more, and only then sleeps. Who gives it work does so first and
/// [asks](Self::is_armed) then. One of the two sees the other: work is never left lying beside a thread that sleeps.
/// *Enforced by* `tests/loom_wake.rs`.
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

    /// Whether the thread sleeps or is about to, as far as it can have missed what the caller did before.
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

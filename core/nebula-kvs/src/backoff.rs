//! How a thread waits for another thread's short critical section.

use nebula_sys::sync::{spin_loop, thread};

/// Spins before the thread yields its core: some microseconds, longer than any section takes while
/// its thread runs.
const SPINS_MAX: u32 = 256;

/// A wait that spins while the other thread is likely running, and yields the core once it likely
/// is not.
#[derive(Default)]
pub(crate) struct Backoff {
    spins: u32,
}

impl Backoff {
    /// Waits for a moment.
    #[cold]
    pub(crate) fn wait(&mut self) {
        if self.spins < SPINS_MAX {
            self.spins += 1;
            spin_loop();
        } else {
            thread::yield_now();
        }
    }
}

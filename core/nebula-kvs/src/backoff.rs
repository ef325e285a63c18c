//! The wait for another thread's short critical section.

use nebula_sys::sync::{spin_loop, thread};

/// Spins before the thread yields its core: some microseconds, longer than any section takes.
const SPINS_MAX: u32 = 256;

/// Spins while the other thread is likely running, then yields the core.
#[derive(Default)]
pub(crate) struct Backoff {
    spins: u32,
}

impl Backoff {
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

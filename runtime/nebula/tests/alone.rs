//! Tests that look at their whole process: its descriptors, its panics, the thread of its clients.
//! One runs at a time.

mod async_idle;
mod hostile;
mod hostile_handshake;
mod support;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held by the test that runs.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

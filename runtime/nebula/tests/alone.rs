//! Tests that look at their whole process: its descriptors, panics and client threads. They run one
//! at a time.

mod async_idle;
mod hostile;
mod hostile_handshake;
mod support;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Each test holds this while it runs.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

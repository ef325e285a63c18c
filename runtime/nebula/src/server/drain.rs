//! Draining: nothing is taken in any more, and what is inside is answered.

use crate::status::{PoolStatus, Status};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a server drains, as its engines and its listener look at it.
#[derive(Clone, Debug, Default)]
pub(super) struct Draining {
    flag: Arc<AtomicBool>,
}

impl Draining {
    /// What engines and listener look at.
    pub(super) fn flag(&self) -> Arc<AtomicBool> {
        self.flag.clone()
    }

    /// From now on.
    pub(super) fn begin(&self) {
        self.flag.store(true, Ordering::Release);
    }

    /// Whether every engine refuses what comes, and nothing is inside.
    pub(super) fn is_over(&self, status: &Status, pool: Option<&PoolStatus>) -> bool {
        let is_empty = status.queue_depth == 0 && status.slots_used == 0;
        status.is_draining && is_empty && pool.is_none_or(|pool| pool.held == 0)
    }
}

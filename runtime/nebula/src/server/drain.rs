//! Draining: the server refuses new RPCs and answers those inside.

use crate::status::{PoolStatus, Status};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Clone, Debug, Default)]
pub(super) struct Draining {
    flag: Arc<AtomicBool>,
}

impl Draining {
    pub(super) fn flag(&self) -> Arc<AtomicBool> {
        self.flag.clone()
    }

    pub(super) fn begin(&self) {
        self.flag.store(true, Ordering::Release);
    }

    /// Whether every engine refuses new RPCs and none is inside.
    pub(super) fn is_over(&self, status: &Status, pool: Option<&PoolStatus>) -> bool {
        let is_empty = status.queue_depth == 0 && status.slots_used == 0;
        status.is_draining && is_empty && pool.is_none_or(|pool| pool.held == 0)
    }
}

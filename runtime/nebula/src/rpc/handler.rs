//! Runs what a user wrote: a panic ends its RPC, and neither the thread nor other RPCs.

use super::fault::Fault;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of `handler`.
///
/// # Errors
///
/// It panicked.
#[inline(always)]
pub(crate) fn guarded<R>(handler: impl FnOnce() -> R) -> Result<R, Fault> {
    catch_unwind(AssertUnwindSafe(handler)).map_err(|_| Fault::HandlerPanicked)
}

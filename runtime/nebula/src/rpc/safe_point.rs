//! Safe points: where a handler lets others run, under `preemptive:Q`.
//!
//! Each RPC runs on its own stack. At a safe point it reads the clock. If its quantum is used, it
//! switches to the worker, which continues the first RPC in line; the suspended one goes to the
//! tail and later resumes on the same worker. It keeps slots and credit meanwhile, so the NIC gives
//! a worker two more RPCs than it can suspend. At shutdown suspended RPCs are unwound.

use nebula_sys::clock::Clock;
use nebula_sys::fiber;
use std::cell::Cell;

const NEVER: u64 = u64::MAX;

thread_local! {
    /// When the current RPC's quantum is used, in ticks of the machine's clock.
    static DUE: Cell<u64> = const { Cell::new(NEVER) };
}

/// A safe point. Under `preemptive:Q`, a handler that has used its quantum while other RPCs wait
/// for its worker is suspended here, and resumed at its next turn.
///
/// It can be called from any function that a handler calls. Elsewhere, and under other policies, it
/// does nothing.
///
/// Other handlers run on the same thread meanwhile. So place no safe point while the handler holds
/// a lock or a `RefCell`'s borrow, or has changed a thread-local halfway.
///
/// # Cost
///
/// One read of the machine's clock; less outside of a handler. A suspension costs two stack
/// switches and a poll of the completion queue, once a quantum.
///
/// # Examples
///
/// ```
/// use nebula::{Client, Reply, Server};
///
/// fn sum(request: &[u8]) -> u64 {
///     request.chunks(64).map(|chunk| {
///         nebula::yield_if_due();
///         chunk.iter().map(|&byte| u64::from(byte)).sum::<u64>()
///     }).sum()
/// }
///
/// let name = format!("shm://doc-yield-{}", std::process::id());
/// let server = Server::bind(&name)
///     .policy("preemptive:5us".parse()?)
///     .serve(|request: &[u8], reply: &mut Reply| reply.write(&sum(request).to_le_bytes()))?;
/// assert_eq!(Client::connect(&name)?.call(&[1; 1000])?, 1000_u64.to_le_bytes());
/// server.stop();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline]
pub fn yield_if_due() {
    let due = DUE.get();
    if due != NEVER && Clock::new().ticks() >= due {
        fiber::suspend();
    }
}

/// Sets when the current RPC's quantum is used, in ticks; returns the old value.
#[inline]
pub(crate) fn set_due(ticks: u64) -> u64 {
    DUE.replace(ticks)
}

//! Ctrl-C and other termination signals: a flag for loops to poll, and a blocking wait.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, Once, PoisonError};

use crate::output::Failure;

static IS_SET: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicU32 = AtomicU32::new(0);
static HAS_COME: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

/// After this call the first SIGINT, SIGTERM or SIGHUP sets the flag, and a second one ends the process at once.
pub(crate) fn catch() -> Result<(), Failure> {
    static ONCE: Once = Once::new();
    let mut caught = Ok(());
    ONCE.call_once(|| caught = ctrlc::set_handler(on_signal));
    caught.map_err(|error| Failure::fault(format!("cannot catch Ctrl-C: {error}")))
}

/// Runs on a separate thread, not in the signal handler, so it may lock.
fn on_signal() {
    IS_SET.store(true, Ordering::Relaxed);
    if COUNT.fetch_add(1, Ordering::Relaxed) > 0 {
        std::process::exit(130);
    }
    *HAS_COME.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
    HAS_COME.1.notify_all();
}

/// Whether a signal has arrived. Cheap enough for every iteration of a polling loop.
#[inline(always)]
pub(crate) fn has_come() -> bool {
    IS_SET.load(Ordering::Relaxed)
}

/// An error if a signal has arrived, for `?` between two steps.
pub(crate) fn check() -> Result<(), Failure> {
    if has_come() { Err(Failure::Interrupted) } else { Ok(()) }
}

/// Blocks until a signal arrives. The thread does not wake up in between, so it does not disturb measurements.
pub(crate) fn wait() {
    let (come, condvar) = &HAS_COME;
    let mut has_come = come.lock().unwrap_or_else(PoisonError::into_inner);
    while !*has_come {
        has_come = condvar.wait(has_come).unwrap_or_else(PoisonError::into_inner);
    }
}

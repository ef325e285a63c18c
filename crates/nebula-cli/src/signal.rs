//! Ctrl-C and its like: a flag that loops look at, and a wait for it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, Once, PoisonError};

use crate::output::Failure;

static IS_SET: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicU32 = AtomicU32::new(0);
static HAS_COME: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

/// From here on SIGINT, SIGTERM and SIGHUP end the command at its next chance; a second one ends it at once.
pub(crate) fn catch() -> Result<(), Failure> {
    static ONCE: Once = Once::new();
    let mut caught = Ok(());
    ONCE.call_once(|| caught = ctrlc::set_handler(on_signal));
    caught.map_err(|error| Failure::fault(format!("cannot catch Ctrl-C: {error}")))
}

/// Runs on a thread of its own, so it may lock.
fn on_signal() {
    IS_SET.store(true, Ordering::Relaxed);
    if COUNT.fetch_add(1, Ordering::Relaxed) > 0 {
        std::process::exit(130);
    }
    *HAS_COME.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
    HAS_COME.1.notify_all();
}

/// Whether a signal has come. Cheap enough for every turn of a loop that spins.
#[inline(always)]
pub(crate) fn has_come() -> bool {
    IS_SET.load(Ordering::Relaxed)
}

/// An error once a signal has come, for `?` between two steps.
pub(crate) fn check() -> Result<(), Failure> {
    if has_come() { Err(Failure::Interrupted) } else { Ok(()) }
}

/// Sleeps until a signal comes, without waking up in between: nothing disturbs those who measure.
pub(crate) fn wait() {
    let (come, bell) = &HAS_COME;
    let mut has_come = come.lock().unwrap_or_else(PoisonError::into_inner);
    while !*has_come {
        has_come = bell.wait(has_come).unwrap_or_else(PoisonError::into_inner);
    }
}

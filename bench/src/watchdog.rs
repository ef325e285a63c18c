//! Ends a benchmark that hangs: its loops poll, and would poll forever if a peer never answered.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// Runs `work`, and ends this program with an error if it takes longer than `limit`. Children are
/// tied to this program's life.
pub fn within<T>(limit: Duration, what: &str, work: impl FnOnce() -> T) -> T {
    let (working, watch) = mpsc::channel::<()>();
    let late = format!("{what}: no end after {} s, given up", limit.as_secs());
    std::thread::spawn(move || {
        // The other end is dropped when the work ends, even by a panic.
        if watch.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{late}");
            std::process::exit(1);
        }
    });
    let result = work();
    drop(working);
    result
}

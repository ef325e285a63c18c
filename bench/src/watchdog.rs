//! A benchmark that hangs ends with an error: its loops poll, and a peer that never answers would keep them polling.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// Does `work`, and ends this program with an error when that takes longer than `limit`.
///
/// Children end with it, since they have tied their lives to it.
pub fn within<T>(limit: Duration, what: &str, work: impl FnOnce() -> T) -> T {
    let (working, watch) = mpsc::channel::<()>();
    let late = format!("{what}: no end after {} s, given up", limit.as_secs());
    std::thread::spawn(move || {
        // The other end goes when the work ends, by a panic too.
        if watch.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{late}");
            std::process::exit(1);
        }
    });
    let result = work();
    drop(working);
    result
}

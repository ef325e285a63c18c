//! An end to every wait: a test that hangs ends the process, and says where.

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How long any single wait may take, on the busiest machine.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Ends the process if it is not dropped in time.
pub(crate) struct Watchdog {
    /// Hangs up when dropped.
    _alive: Sender<()>,
}

impl Watchdog {
    pub(crate) fn new(test: &'static str, seconds: u64) -> Self {
        let (alive, watched) = channel::<()>();
        std::thread::spawn(move || {
            if watched.recv_timeout(Duration::from_secs(seconds)) == Err(RecvTimeoutError::Timeout) {
                let _ = writeln!(std::io::stderr(), "{test}: not over after {seconds} s");
                std::process::abort();
            }
        });
        Self { _alive: alive }
    }
}

/// Asks again and again until there is an answer.
pub(crate) fn wait_until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(started.elapsed() < WAIT_MAX, "waited in vain for: {what}");
        std::thread::yield_now();
    }
}

/// Keeps this core busy for a time, as a handler that computes.
pub(crate) fn spin(time: Duration) {
    let started = Instant::now();
    while started.elapsed() < time {
        std::hint::spin_loop();
    }
}

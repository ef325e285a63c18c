//! An end to every wait: a test that hangs ends the process, and says where.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How long any single wait may take, on the busiest machine.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(60);

/// How long any test may take: some ten seconds' work on a tenth of a core.
const TEST_MAX: Duration = Duration::from_secs(180);
/// A wait of this length is no short one: it then leaves the core to those who are waited for.
const YIELDING_MAX: Duration = Duration::from_micros(100);
const PAUSE: Duration = Duration::from_micros(50);

/// Ends the process if it is not dropped in time.
pub(crate) struct Watchdog {
    /// Hangs up when dropped.
    _alive: Sender<()>,
}

impl Watchdog {
    pub(crate) fn new(test: &'static str) -> Self {
        Self::within(TEST_MAX, test)
    }

    /// For a test that takes longer, where it is told to.
    pub(crate) fn within(time_max: Duration, test: &'static str) -> Self {
        let (alive, watched) = channel::<()>();
        std::thread::spawn(move || {
            if watched.recv_timeout(time_max) == Err(RecvTimeoutError::Timeout) {
                let _ = writeln!(std::io::stderr(), "{test}: not over after {time_max:?}");
                std::process::abort();
            }
        });
        Self { _alive: alive }
    }
}

/// Raises a flag as it is dropped, also by a panic. A scope waits for its threads: those that run until the flag is raised would never end, and the
/// panic that ends the others would not be seen.
pub(crate) struct RaisedAtTheEnd<'a>(pub(crate) &'a AtomicBool);

impl Drop for RaisedAtTheEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Asks again and again until there is an answer.
pub(crate) fn wait_until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        let waited = started.elapsed();
        assert!(waited < WAIT_MAX, "waited too long for: {what}");
        if waited < YIELDING_MAX {
            std::thread::yield_now();
        } else {
            std::thread::park_timeout(PAUSE);
        }
    }
}

/// Keeps this core busy for a time, as a handler that computes.
pub(crate) fn spin(time: Duration) {
    let started = Instant::now();
    while started.elapsed() < time {
        std::hint::spin_loop();
    }
}

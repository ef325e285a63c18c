//! An end to every wait: a test that hangs fails, and says where.
//!
//! The one place where tests read the time: a deadline here only turns a hang into a failure. A
//! test never asserts how long something took, and does not sleep; `cargo xtask tidy` checks both.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How long any single wait may take, on the busiest machine.
pub const WAIT_MAX: Duration = Duration::from_secs(120);

/// How long any test may take: some ten seconds' work on a fiftieth of a core.
const TEST_MAX: Duration = Duration::from_secs(600);
/// A wait of this length is no short one: it then leaves the core to those who are waited for.
const YIELDING_MAX: Duration = Duration::from_micros(100);
const PAUSE: Duration = Duration::from_micros(50);

/// Ends the process if it is not dropped in time.
#[derive(Debug)]
pub struct Watchdog {
    /// Hangs up when dropped.
    _alive: Sender<()>,
}

impl Watchdog {
    /// For any test.
    #[must_use]
    pub fn new(test: &'static str) -> Self {
        Self::within(TEST_MAX, test)
    }

    /// For a test that takes longer.
    #[must_use]
    pub fn within(time_max: Duration, test: &'static str) -> Self {
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

/// Raises a flag as it is dropped, also by a panic. A scope waits for its threads: those that run
/// until the flag is raised would never end, and the panic that ends the others would not be seen.
#[derive(Debug)]
pub struct RaisedAtTheEnd<'a>(
    /// The flag.
    pub &'a AtomicBool,
);

impl Drop for RaisedAtTheEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// An end to a loop that does more than ask: [`check`](Self::check) it each time round.
#[derive(Debug)]
pub struct Limit {
    what: &'static str,
    started: Instant,
}

impl Limit {
    /// The loop that waits for `what` begins.
    #[must_use]
    pub fn new(what: &'static str) -> Self {
        Self { what, started: Instant::now() }
    }

    /// One time round.
    ///
    /// # Panics
    ///
    /// Where it takes longer than anything takes on the busiest machine.
    pub fn check(&self) {
        assert!(self.started.elapsed() < WAIT_MAX, "waited too long for: {}", self.what);
    }
}

/// Asks again and again until there is an answer.
///
/// # Panics
///
/// Where there is none after [`WAIT_MAX`].
pub fn wait_until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
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

/// Waits until `read` gives the same for `time` without a break, and returns it.
///
/// For what costs nothing while nothing comes: it is true at any speed. A machine that is busy, or
/// that runs other threads meanwhile, only makes it take longer.
///
/// # Panics
///
/// Where that does not come within [`WAIT_MAX`].
pub fn wait_until_unchanged<T: PartialEq>(what: &str, time: Duration, mut read: impl FnMut() -> T) -> T {
    let (mut value, mut since) = (read(), Instant::now());
    wait_until(what, || {
        let now = read();
        if now != value {
            (value, since) = (now, Instant::now());
        }
        (since.elapsed() >= time).then_some(())
    });
    value
}

/// Checks again and again while `time` passes, once at least. What is checked holds at any speed:
/// on a busy machine it is looked at less often.
pub fn throughout(time: Duration, mut check: impl FnMut()) {
    let started = Instant::now();
    loop {
        check();
        if started.elapsed() >= time {
            return;
        }
        std::thread::yield_now();
    }
}

/// Keeps this core busy for a time, as a handler that computes.
pub fn spin(time: Duration) {
    let started = Instant::now();
    while started.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_answer_ends_a_wait() {
        let mut asked = 0;
        let answer = wait_until("the third", || {
            asked += 1;
            (asked == 3).then_some(asked)
        });
        assert_eq!(answer, 3);
    }

    #[test]
    #[should_panic(expected = "waited too long for: nothing")]
    fn a_loop_past_its_limit_fails() {
        let long_ago = Instant::now().checked_sub(WAIT_MAX).expect("the clock is older than a minute");
        Limit { what: "nothing", started: long_ago }.check();
    }

    #[test]
    fn a_flag_is_raised_by_a_panic_too() {
        let flag = AtomicBool::new(false);
        let panicked = std::panic::catch_unwind(|| {
            let _raised = RaisedAtTheEnd(&flag);
            panic!("on purpose");
        });
        assert!(panicked.is_err() && flag.load(Ordering::Acquire));
    }
}

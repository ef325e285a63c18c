//! Ctrl-C and other termination signals: a flag for loops to poll, and a blocking wait.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::Failure;

static IS_SET: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicU32 = AtomicU32::new(0);
/// Whether SIGHUP is news for a server rather than its end.
static HANGS_UP: AtomicBool = AtomicBool::new(false);
static COME: (Mutex<Come>, Condvar) = (Mutex::new(Come { is_end: false, has_hung_up: false }), Condvar::new());

struct Come {
    is_end: bool,
    has_hung_up: bool,
}

/// The meaning of a signal for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGHUP: its files have changed.
    HangUp,
    /// It must end.
    End,
}

/// After this call the first SIGINT, SIGTERM or SIGHUP sets the flag, and a second one ends the
/// process at once.
pub fn catch() -> Result<(), Failure> {
    static ONCE: Once = Once::new();
    let mut caught = Ok(());
    ONCE.call_once(|| caught = listen());
    caught.map_err(|error| Failure::fault(format!("cannot catch Ctrl-C: {error}")))
}

/// Like [`catch`], but SIGHUP ends nothing: [`wait`] returns it.
pub fn catch_with_hang_up() -> Result<(), Failure> {
    HANGS_UP.store(true, Ordering::Relaxed);
    catch()
}

/// Signals go to a separate thread instead of interrupting others, so that acting on one may lock.
fn listen() -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let thread = std::thread::Builder::new().name("nebula-signals".to_owned());
    thread.spawn(move || signals.forever().for_each(on_signal)).map(drop)
}

fn on_signal(signal: i32) {
    if signal == SIGHUP && HANGS_UP.load(Ordering::Relaxed) {
        come().has_hung_up = true;
    } else {
        IS_SET.store(true, Ordering::Relaxed);
        if COUNT.fetch_add(1, Ordering::Relaxed) > 0 {
            std::process::exit(130);
        }
        come().is_end = true;
    }
    COME.1.notify_all();
}

fn come() -> MutexGuard<'static, Come> {
    COME.0.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a signal to end has arrived. Cheap enough for every iteration of a polling loop.
#[inline(always)]
pub fn has_come() -> bool {
    IS_SET.load(Ordering::Relaxed)
}

/// An error if a signal to end has arrived, for `?` between two steps.
pub fn check() -> Result<(), Failure> {
    if has_come() { Err(Failure::Interrupted) } else { Ok(()) }
}

/// Blocks until a signal arrives. The thread does not wake up in between, so that it does not
/// disturb measurements.
pub fn wait() -> Signal {
    let mut come = come();
    loop {
        if let Some(signal) = take(&mut come) {
            return signal;
        }
        come = COME.1.wait(come).unwrap_or_else(PoisonError::into_inner);
    }
}

/// [`wait`], or [`Signal::End`] once `goes_on` is false, which it checks ten times a second.
pub fn wait_while(goes_on: impl Fn() -> bool) -> Signal {
    let mut come = come();
    while goes_on() {
        if let Some(signal) = take(&mut come) {
            return signal;
        }
        come = COME.1.wait_timeout(come, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
    }
    Signal::End
}

/// Sleeps for `time`; a signal to end interrupts it.
///
/// # Errors
///
/// `Interrupted` after a signal.
pub fn sleep(time: Duration) -> Result<(), Failure> {
    let until = std::time::Instant::now() + time;
    let mut come = come();
    while !come.is_end {
        let left = until.saturating_duration_since(std::time::Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        come = COME.1.wait_timeout(come, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    Err(Failure::Interrupted)
}

const LOOK_EVERY: Duration = Duration::from_millis(100);

fn take(come: &mut Come) -> Option<Signal> {
    if come.is_end {
        return Some(Signal::End);
    }
    std::mem::take(&mut come.has_hung_up).then_some(Signal::HangUp)
}

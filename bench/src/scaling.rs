//! The gain of more cores: workers behind one engine, with the tail compared with the laboratory's,
//! and engines side by side.
//!
//! Every thread has a physical core. Rows that need more of them than this process may use are left
//! out and reported.

mod engines;
mod load;
mod service;
mod workers;

use crate::Failure;
use crate::watchdog::within;
use nebula::Span;
use nebula_sys::affinity::{allowed_cores, one_thread_each, siblings_of};
use std::time::Duration;

/// Long enough that nothing is refused.
const SLO: Span = Span::from_ms(50);
/// For everything, which takes about a minute with 16 cores.
const LIMIT: Duration = Duration::from_secs(300);

pub fn run() -> Result<(), Failure> {
    let allowed = allowed_cores();
    allowed.iter().for_each(|&core| eprintln!("core {core}: hardware threads {:?}", siblings_of(core)));
    let cores = one_thread_each(&allowed, siblings_of);
    within(LIMIT, "scaling", || {
        engines::compare(&cores)?;
        workers::compare(&cores)
    })
}

/// The `counts` that fit on `cores`, if each takes `needed(count)`; standard error names the
/// others.
fn affordable(what: &str, counts: &[u16], cores: usize, needed: impl Fn(usize) -> usize) -> Vec<u16> {
    let (fit, others): (Vec<u16>, Vec<u16>) = counts.iter().partition(|&&count| needed(usize::from(count)) <= cores);
    if let Some(&least) = others.first() {
        let needed = needed(usize::from(least));
        eprintln!("{what}: {others:?} left out: {least} take {needed} cores, and this process may use {cores}");
    }
    fit
}

/// `1 worker`, `4 workers`.
fn counted(count: u16, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::affordable;

    #[test]
    fn what_takes_more_cores_than_there_are_is_left_out() {
        assert_eq!(affordable("engines", &[1, 2, 4], 4, |engines| 2 * engines), [1, 2]);
        assert_eq!(affordable("engines", &[1, 2, 4], 8, |engines| 2 * engines), [1, 2, 4]);
        assert!(affordable("engines", &[1, 2, 4], 1, |engines| 2 * engines).is_empty());
    }
}

//! Real servers and clients on a network that loses, doubles, delays, reorders, changes and cuts
//! datagrams, with crashes, restarts, partitions and changes of address: a thousand runs in
//! simulated time, one per seed.
//!
//! | of every run | |
//! |---|---|
//! | each call ends once | with a reply, a NACK, or an error |
//! | in time | by its deadline, or without one, once the network has healed |
//! | at most once | no call is executed twice, whatever restarts |
//! | truthfully | `CallError::was_executed` holds: *no* was never executed, *yes* once; a reply has the right bytes of the one execution |
//! | nothing is lost | at the end no slot and no place is held; the server's memory has a bound |
//! | repeatable | the same seed gives the same run |
//! | replayable | the decision log of each server |
//!
//! To repeat a failed run: `cargo xtask network --seed N --trace`. Environment variables:
//! `NEBULA_SEEDS` and `NEBULA_SEED_FROM` (number and first seed), `NEBULA_TRACE` (print the
//! events).

mod adversary;
mod oracle;
mod scenario;
mod world;

use nebula::NackReason;
use nebula_nic::replay_text;
use oracle::End;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use world::{Outcome, run, run_logged};

/// Runs of a test; the environment variable `NEBULA_SEEDS` overrides it.
const SEEDS: u64 = 100;
/// After this many runs each kind of end must have occurred. The later tests make as many, and
/// `cargo xtask network` ten times as many.
const ALL_SEEN: u64 = 1_000;
const FAILURES_MAX: usize = 20;

#[derive(Debug, Default)]
struct Sum {
    seeds: u64,
    ends: BTreeMap<End, u64>,
    long: [u64; 2],
    lost: u64,
    doubled: u64,
    changed: u64,
    crashes: u64,
    repeated: u64,
    /// Runs that lost datagrams and in which every call's end was definite.
    mended: u64,
    late_ps: u64,
    server_bytes_max: i64,
    failures: Vec<(u64, String)>,
}

impl Sum {
    fn add(&mut self, seed: u64, outcome: Result<Outcome, String>) {
        self.seeds += 1;
        let Outcome { oracle, fates, crashes, repeated, server_bytes_max, .. } = match outcome {
            Ok(outcome) => outcome,
            Err(panic) => return self.failures.push((seed, format!("panicked: {panic}"))),
        };
        if let Some(first) = oracle.violations.first() {
            self.failures.push((seed, format!("{first} ({} violations)", oracle.violations.len())));
        }
        let unknown = oracle.ended(End::TimedOut) + oracle.ended(End::ServerGone);
        self.mended += u64::from(fates.lost > 0 && unknown == 0);
        for (end, count) in oracle.ends {
            *self.ends.entry(end).or_default() += count;
        }
        (0..2).for_each(|way| self.long[way] += oracle.long[way]);
        self.lost += fates.lost;
        self.doubled += fates.doubled + fates.replayed;
        self.changed += fates.changed;
        self.crashes += crashes;
        self.repeated += repeated;
        self.late_ps = self.late_ps.max(oracle.late_ps);
        self.server_bytes_max = self.server_bytes_max.max(server_bytes_max);
    }

    /// Fails if a run did, and prints how to repeat it.
    fn check(&mut self) {
        self.failures.sort();
        for (seed, failure) in self.failures.iter().take(FAILURES_MAX) {
            say(format_args!("seed {seed}: {failure}; again: cargo xtask network --seed {seed} --trace"));
        }
        assert!(self.failures.is_empty(), "{} of {} runs failed", self.failures.len(), self.seeds);
    }
}

fn say(what: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stdout(), "{what}");
}

fn run_caught(seed: u64, is_traced: bool) -> Result<Outcome, String> {
    catch_unwind(AssertUnwindSafe(|| run(seed, is_traced))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned())).unwrap_or_default()
    })
}

fn told(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn run_all(from: u64, seeds: u64, is_traced: bool) -> Sum {
    let (next, sum) = (AtomicU64::new(from), Mutex::new(Sum::default()));
    let threads = if is_traced { 1 } else { std::thread::available_parallelism().map_or(1, usize::from) };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Relaxed);
                    if seed >= from + seeds {
                        break;
                    }
                    let outcome = run_caught(seed, is_traced);
                    sum.lock().expect("no panic gets here").add(seed, outcome);
                }
            });
        }
    });
    sum.into_inner().expect("no panic gets here")
}

#[test]
fn whatever_the_network_does_each_call_ends_once_and_truly() {
    let (from, seeds) = (told("NEBULA_SEED_FROM").unwrap_or(0), told("NEBULA_SEEDS").unwrap_or(SEEDS));
    let mut sum = run_all(from, seeds, told("NEBULA_TRACE").is_some());
    say(format_args!("{sum:?}"));
    sum.check();
    if seeds < ALL_SEEN {
        return;
    }
    // Every kind of end must have occurred.
    let nacked = [NackReason::BufferFull, NackReason::QueueBound, NackReason::Incomplete];
    let often = [
        End::Replied,
        End::Stale,
        End::ServerGone,
        End::TimedOut,
        End::Expired,
        End::Cancelled,
        End::Faulted,
        End::NotSent,
    ];
    for end in often.into_iter().chain(nacked.map(End::Nacked)) {
        assert!(sum.ends.get(&end).is_some_and(|&count| count >= 20), "hardly a call ended as {end:?}");
    }
    assert!(sum.ends[&End::Replied] > 20 * seeds, "few replies");
    assert!(sum.long.iter().all(|&count| count > seeds), "few RPCs of several packets: {:?}", sum.long);
    assert!(sum.lost > seeds && sum.doubled > seeds && sum.changed > seeds / 2, "a good network");
    assert!(sum.repeated > 10 * seeds, "{} requests were sent again", sum.repeated);
    assert!(sum.crashes > seeds / 10 && sum.mended > seeds / 50, "{} crashes, {} repaired", sum.crashes, sum.mended);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 0..20 {
        let hashes = [run(seed, false).hash, run(seed, false).hash];
        assert_eq!(hashes[0], hashes[1], "seed {seed}");
    }
}

#[test]
fn the_decision_log_of_each_server_replays() {
    let mut all = String::new();
    for seed in 0..40 {
        for log in run_logged(seed).logs {
            let lines = replay_text(&log).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert_eq!(lines, log.lines().count() - 1, "seed {seed}: every line but the configuration's");
            all += &log;
        }
    }
    for decided in ["nack expired", "nack cancelled", "-> fits", "give-back", "-> nack buffer-full", "-> answered"] {
        assert!(all.contains(decided), "no {decided:?} in any log");
    }
}

//! The clock of items' expiry: whole seconds, read from the time-stamp counter.

use nebula_sys::clock::Clock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// 0 means never, and 1 expired.
const FIRST: u32 = 2;

/// The Unix second at the server's start, and the seconds since. Items may outlive the server, so
/// the next server's clock goes on from there. A step of the Unix clock meanwhile changes nothing.
#[derive(Debug)]
pub(super) struct Seconds {
    clock: Clock,
    first: u32,
    began: u64,
    ticks_each: u64,
    /// The last second that was read, in the low half.
    second: AtomicU64,
    /// In ticks.
    next: AtomicU64,
}

impl Seconds {
    pub(super) fn new() -> Self {
        let clock = Clock::new();
        let ticks_each = clock.ticks_of(1_000_000_000_000).max(1);
        let began = clock.ticks();
        let next = AtomicU64::new(began + ticks_each);
        let first = unix_second();
        Self { clock, first, began, ticks_each, second: AtomicU64::new(first.into()), next }
    }

    /// The current second, at the cost of reading the counter.
    #[inline]
    pub(super) fn now(&self) -> u32 {
        let ticks = self.clock.ticks();
        // Relaxed: a thread that sees only one of the two stores is a second off, as it may be in
        // any case.
        if ticks < self.next.load(Ordering::Relaxed) {
            return u32::try_from(self.second.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
        }
        self.read(ticks)
    }

    #[cold]
    fn read(&self, ticks: u64) -> u32 {
        let passed = ticks.saturating_sub(self.began) / self.ticks_each;
        let second = u32::try_from(passed).unwrap_or(u32::MAX).saturating_add(self.first);
        self.second.store(second.into(), Ordering::Relaxed);
        self.next.store(self.began + (passed + 1) * self.ticks_each, Ordering::Relaxed);
        second
    }

    pub(super) fn uptime(&self) -> u32 {
        self.now() - self.first
    }

    pub(super) fn unix_now() -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }
}

pub(in crate::kv) fn unix_second() -> u32 {
    u32::try_from(Seconds::unix_now()).unwrap_or(u32::MAX).max(FIRST)
}

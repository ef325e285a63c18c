//! An estimate of the server's clock: the latest time in its frames, plus the time since.
//!
//! A frame's time is late by the frame's delay, so the estimate is late by the shortest recent
//! delay. It is ahead by the drift of the two clocks within some seconds at most. That matters
//! because the server ignores stamps from the future.

use nebula_nic::{Span, Timestamp};

/// How long a frame counts, at least: two clocks that differ by 100 parts in a million drift 100 µs
/// apart in that time.
const PERIOD: Span = Span::from_secs(1);

/// Frames older than this are ignored: no network delays one as long, and 2^32 RPCs take longer at
/// any rate.
const LONG_AGO_NS: u64 = 10_000_000_000;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ServerTime {
    /// The server's time minus this client's, in nanoseconds: the largest of this period, and of
    /// the period before.
    ahead_ns: i64,
    ahead_before_ns: i64,
    since: Option<Timestamp>,
}

impl ServerTime {
    #[inline]
    pub(super) fn note(&mut self, now: Timestamp, server_ns: u64) {
        let ahead_ns = server_ns.wrapping_sub(ns(now)).cast_signed();
        match self.since {
            Some(since) if now - since < PERIOD => self.ahead_ns = self.ahead_ns.max(ahead_ns),
            since => self.begin_period(since, now, ahead_ns),
        }
    }

    /// Whether a frame is too old: its RPC numbers may be in use again.
    #[inline]
    pub(super) fn is_long_ago(&self, now: Timestamp, server_ns: u64) -> bool {
        self.since.is_some() && server_ns.saturating_add(LONG_AGO_NS) < self.at(now)
    }

    /// As [`note`](Self::note), of a frame that cannot be old. If its time is, the server's clock
    /// stopped.
    pub(super) fn note_fresh(&mut self, now: Timestamp, server_ns: u64) {
        if self.is_long_ago(now, server_ns) {
            *self = Self::default();
        }
        self.note(now, server_ns);
    }

    fn begin_period(&mut self, since: Option<Timestamp>, now: Timestamp, ahead_ns: i64) {
        let is_next = since.is_some_and(|since| now - since < PERIOD * 2);
        self.ahead_before_ns = if is_next { self.ahead_ns } else { ahead_ns };
        (self.ahead_ns, self.since) = (ahead_ns, Some(now));
    }

    /// The least that the server's clock shows, in nanoseconds; never 0.
    #[inline]
    pub(super) fn at(&self, now: Timestamp) -> u64 {
        ns(now).wrapping_add_signed(self.ahead_ns.max(self.ahead_before_ns)).max(1)
    }
}

#[inline]
fn ns(at: Timestamp) -> u64 {
    at.as_ps() / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: u64) -> Timestamp {
        Timestamp::from_ps(ms * 1_000_000_000)
    }

    #[test]
    fn the_frame_with_the_shortest_way_counts() {
        let mut time = ServerTime::default();
        for (ms, way_us) in [(2000, 300), (2100, 100), (2200, 500)] {
            time.note(at_ms(ms), (ms - 1000) * 1_000_000 - way_us * 1000);
        }
        assert_eq!(time.at(at_ms(3000)), 2_000_000_000 - 100_000);
    }

    #[test]
    fn a_clock_that_goes_faster_than_the_servers_does_not_get_ahead() {
        let mut time = ServerTime::default();
        for ms in 0..100_000 {
            // The server's runs slower by 100 parts in a million.
            let server_ns = 5_000_000_000 + ms * (1_000_000 - 100);
            time.note(at_ms(ms), server_ns);
            assert!(time.at(at_ms(ms)) <= server_ns + 2 * 100_000, "after {ms} ms");
        }
    }
}

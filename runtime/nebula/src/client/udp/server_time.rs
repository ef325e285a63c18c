//! What the server's clock shows, as far as a client can know: the latest that its frames have
//! said, and the time since.
//!
//! A frame's time is older by its way here, so the estimate is late by the shortest way seen
//! lately, and never ahead but for the drift of the two clocks within some seconds. Ahead would
//! harm: stamps from the future are ignored.

use nebula_nic::{Span, Timestamp};

/// How long a frame counts, at least: in that time two clocks that differ by 100 parts in a million
/// drift 100 µs apart.
const PERIOD: Span = Span::from_secs(1);

/// The age from which on a frame is not believed: longer than any network keeps one, and 2^32 RPCs
/// take longer at any rate that a server has.
const LONG_AGO_NS: u64 = 10_000_000_000;

/// The server's clock, estimated.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ServerTime {
    /// The server's time less this client's, in nanoseconds, the largest of this period and of the
    /// one before.
    ahead_ns: i64,
    ahead_before_ns: i64,
    /// The beginning of this period; `None` before the first frame.
    since: Option<Timestamp>,
}

impl ServerTime {
    /// A frame has come that was sent when the server's clock showed `server_ns`.
    #[inline]
    pub(super) fn note(&mut self, now: Timestamp, server_ns: u64) {
        let ahead_ns = server_ns.wrapping_sub(ns(now)).cast_signed();
        match self.since {
            Some(since) if now - since < PERIOD => self.ahead_ns = self.ahead_ns.max(ahead_ns),
            since => self.begin_period(since, now, ahead_ns),
        }
    }

    /// Whether a frame of that time is too old to be believed: RPCs have numbers of 32 bits, which
    /// no client uses up in as long.
    #[inline]
    pub(super) fn is_long_ago(&self, now: Timestamp, server_ns: u64) -> bool {
        self.since.is_some() && server_ns.saturating_add(LONG_AGO_NS) < self.at(now)
    }

    /// As [`note`](Self::note), from a frame that cannot be old. Where it is of long ago all the
    /// same, the server's clock has been stopped.
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

    /// What the server's clock shows at least, in nanoseconds; never 0.
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
        // The server's clock is 1 s behind; ways of 300, 100 and 500 µs.
        for (ms, way_us) in [(2000, 300), (2100, 100), (2200, 500)] {
            time.note(at_ms(ms), (ms - 1000) * 1_000_000 - way_us * 1000);
        }
        assert_eq!(time.at(at_ms(3000)), 2_000_000_000 - 100_000);
    }

    #[test]
    fn a_clock_that_goes_faster_than_the_servers_does_not_get_ahead() {
        let mut time = ServerTime::default();
        for ms in 0..100_000 {
            // The server's goes slower by 100 parts in a million.
            let server_ns = 5_000_000_000 + ms * (1_000_000 - 100);
            time.note(at_ms(ms), server_ns);
            assert!(time.at(at_ms(ms)) <= server_ns + 2 * 100_000, "after {ms} ms");
        }
    }
}

//! How many packets may be on their way: as many as the network and the server have been seen to take.

use crate::time::Timestamp;

/// Bounds of the window, in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowConfig {
    /// At the start.
    pub first: u32,
    /// At most.
    pub max: u32,
}

impl Default for WindowConfig {
    fn default() -> Self {
        Self { first: 64, max: 4096 }
    }
}

/// What is left when nothing is answered any more.
const WINDOW_MIN: u32 = 2;
/// Of what was sent, the share that may be lost without consequence: 1 / 20. BBRv2 allows 2 % on the way there; here either way may
/// lose, and the share is measured of few losses. Random loss on a link is below it, that of an overflowing queue is not.
const LOSS_SHARE: u32 = 20;
/// Losses, each of another moment, from which a share is believed: one datagram carries many packets, and is lost once. Of fewer, three in
/// a row by chance would count for much.
const LOSSES_BELIEVED: u32 = 8;
/// Windows' worth of packets after which too few losses are forgotten.
const WINDOWS_PATIENT: u32 = 64;

/// The packets that may be in flight.
///
/// It doubles each round trip at first, then grows by one. A refusal for want of room takes 3/10 of it, at most once a round trip.
/// Losses take their share, when that is more than 1/20, and at most half. Silence takes all but two packets.
///
/// # Cost
///
/// O(1), no allocation.
///
/// # Source
///
/// Growth as RFC 5681 §3.1; the bound on loss as BBRv2's.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Timestamp, Window, WindowConfig};
///
/// let mut window = Window::new(WindowConfig::default());
/// window.answered(64, 64);
/// assert_eq!(window.packets(), 128);
/// let (sent, now) = (Timestamp::ZERO, Timestamp::from_ps(9));
/// window.refused(now, sent);
/// window.refused(now, sent);
/// assert_eq!(window.packets(), 89, "once, for what was sent before it was known");
/// ```
#[derive(Clone, Debug)]
pub struct Window {
    packets: u32,
    max: u32,
    /// It doubles below.
    threshold: u32,
    /// Packets answered since it grew by one.
    credit: u32,
    /// Packets of this round whose fate is known, those lost among them, and the moments of sending that those have.
    counted: u32,
    lost: u32,
    losses: u32,
    lost_of: Option<Timestamp>,
    /// What was sent before is not refused a second time.
    backed_off: Option<Timestamp>,
}

impl Window {
    /// A window of the first size.
    #[must_use]
    pub fn new(config: WindowConfig) -> Self {
        let max = config.max.max(WINDOW_MIN);
        let packets = config.first.clamp(WINDOW_MIN, max);
        Self {
            packets,
            max,
            threshold: u32::MAX,
            credit: 0,
            counted: 0,
            lost: 0,
            losses: 0,
            lost_of: None,
            backed_off: None,
        }
    }

    /// Packets that may be in flight.
    #[must_use]
    #[inline]
    pub const fn packets(&self) -> u32 {
        self.packets
    }

    /// `packets` have been answered; in the last round trip at most `in_flight` were on their way. A window that is not used does not grow.
    #[inline]
    pub fn answered(&mut self, packets: u32, in_flight: u32) {
        self.count(packets);
        if in_flight < self.packets / 2 || self.packets >= self.max {
            return;
        }
        if self.packets < self.threshold {
            self.packets = self.packets.saturating_add(packets).min(self.threshold).min(self.max);
        } else {
            self.credit += packets;
            if self.credit >= self.packets {
                self.credit -= self.packets;
                self.packets += 1;
            }
        }
    }

    /// One sent at `sent` was refused for want of room.
    pub fn refused(&mut self, now: Timestamp, sent: Timestamp) {
        self.count(1);
        if self.backed_off.is_none_or(|at| sent >= at) {
            self.backed_off = Some(now);
            self.shrink_to(u64::from(self.packets) * 7 / 10);
        }
    }

    /// `packets` sent at `sent` are held for lost.
    pub fn lost(&mut self, packets: u32, sent: Timestamp) {
        self.lost += packets;
        if self.lost_of != Some(sent) {
            (self.lost_of, self.losses) = (Some(sent), self.losses + 1);
        }
        self.count(packets);
    }

    /// `packets` that were held for lost are not.
    pub fn found(&mut self, packets: u32) {
        self.lost = self.lost.saturating_sub(packets);
        if self.lost == 0 {
            self.losses = 0;
        }
    }

    /// Nothing has been answered for longer than a time-out, and what was sent since is not either.
    pub fn silence(&mut self) {
        self.threshold = (self.packets / 2).max(WINDOW_MIN);
        (self.packets, self.credit) = (WINDOW_MIN, 0);
        self.end_round();
    }

    #[inline]
    fn count(&mut self, packets: u32) {
        self.counted += packets;
        if self.counted >= self.packets {
            self.judge();
        }
    }

    /// A window's worth of packets has met its fate.
    fn judge(&mut self) {
        if self.losses >= LOSSES_BELIEVED {
            if self.lost.saturating_mul(LOSS_SHARE) > self.counted {
                let kept = u64::from(self.counted - self.lost.min(self.counted / 2));
                self.shrink_to(u64::from(self.packets) * kept / u64::from(self.counted));
            }
            self.end_round();
        } else if self.losses == 0 || self.counted >= self.packets.saturating_mul(WINDOWS_PATIENT) {
            self.end_round();
        }
    }

    fn end_round(&mut self) {
        (self.counted, self.lost, self.losses, self.lost_of) = (0, 0, 0, None);
    }

    fn shrink_to(&mut self, packets: u64) {
        self.packets = u32::try_from(packets).unwrap_or(self.max).clamp(WINDOW_MIN, self.max);
        (self.threshold, self.credit) = (self.packets, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ps: u64) -> Timestamp {
        Timestamp::from_ps(ps)
    }

    /// A window of 100 packets that grows by one a round trip.
    fn steady() -> Window {
        let mut window = Window::new(WindowConfig { first: 100, max: 4096 });
        window.threshold = 100;
        window
    }

    #[test]
    fn after_the_first_back_off_it_grows_by_one_a_round_trip() {
        let mut window = Window::new(WindowConfig { first: 10, max: 1000 });
        for expected in [20, 40, 80] {
            window.answered(window.packets(), window.packets());
            assert_eq!(window.packets(), expected);
        }
        window.refused(at(5), at(4));
        for expected in [57, 58, 59] {
            window.answered(window.packets(), window.packets());
            assert_eq!(window.packets(), expected);
        }
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut window = Window::new(WindowConfig::default());
        for _ in 0..1000 {
            window.answered(1, 20);
        }
        assert_eq!(window.packets(), 64);
    }

    #[test]
    fn refusals_shrink_it_once_a_round_trip() {
        let mut window = steady();
        window.refused(at(10), at(1));
        window.refused(at(11), at(9));
        assert_eq!(window.packets(), 70);
        window.refused(at(20), at(10));
        assert_eq!(window.packets(), 49);
        for now in 30..200 {
            window.refused(at(now), at(now));
        }
        assert_eq!(window.packets(), 2);
    }

    #[test]
    fn random_loss_of_two_in_a_hundred_costs_nothing() {
        let mut window = steady();
        for round in 0..100 {
            for packet in 0..100 {
                let sent = at(round * 100 + packet);
                if packet % 50 == 0 { window.lost(1, sent) } else { window.answered(1, 100) }
            }
        }
        assert!(window.packets() > 160, "{}", window.packets());
    }

    #[test]
    fn loss_beyond_the_bound_takes_its_share_and_at_most_half() {
        for (lost, expected) in [(10, 90), (90, 50)] {
            let mut window = steady();
            for packet in 0..100 {
                if packet < lost { window.lost(1, at(packet)) } else { window.answered(1, 10) }
            }
            assert_eq!(window.packets(), expected, "{lost} lost of a hundred");
        }
    }

    #[test]
    fn one_datagram_of_many_packets_is_one_loss() {
        let mut window = steady();
        window.lost(64, at(1));
        for _ in 0..1000 {
            window.answered(10, 10);
        }
        assert_eq!(window.packets(), 100);
    }

    #[test]
    fn what_is_found_again_does_not_count() {
        let mut window = steady();
        for sent in 0..10 {
            window.lost(1, at(sent));
        }
        window.found(10);
        window.answered(90, 10);
        assert_eq!(window.packets(), 100);
    }

    #[test]
    fn silence_leaves_two_and_half_is_won_back_quickly() {
        let mut window = steady();
        window.silence();
        assert_eq!(window.packets(), 2);
        for expected in [4, 8, 16, 32, 50, 51] {
            window.answered(window.packets(), window.packets());
            assert_eq!(window.packets(), expected);
        }
    }
}

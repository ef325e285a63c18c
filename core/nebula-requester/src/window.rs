//! Congestion window: the packets that may be in flight, by what network and server accepted.

use super::flow::{FlowControl, Progress};
use nebula_nic::time::{Span, Timestamp};

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

/// The minimum when nothing is answered any more.
const WINDOW_MIN: u32 = 2;
/// The window is counted in parts of a packet: below one, one is sent per several round trips.
const PARTS: u32 = 1024;
/// The minimum after repeated refusals: one packet per 16 round trips.
const PARTS_MIN: u32 = PARTS / 16;
/// Below `SMALL` packets, a window reduced by refusals grows by 32 parts per round trip, and below
/// one packet by 4; from there on, by a whole packet. A refusal takes 3/10 of the window, so if
/// many clients shared little room and grew by a whole packet, every second RPC would be refused.
const SMALL: u32 = 6;
const SMALL_GROWTH: u32 = 32;
const LEAST_GROWTH: u32 = 4;
/// The share of lost packets that is tolerated: 1 / 20. BBRv2 allows 2 % in one direction; here
/// both directions may lose, and the share is estimated from few losses. Random loss on a link is
/// below it; loss from an overflowing queue is not.
const LOSS_SHARE: u32 = 20;
/// Losses at different times before the share is acted on: with fewer, three random losses in a row
/// would weigh too much. The packets of one datagram are lost together.
const LOSSES_BELIEVED: u32 = 8;
/// Windows of packets after which fewer losses are forgotten.
const WINDOWS_PATIENT: u32 = 64;

/// The packets that may be in flight.
///
/// It doubles each round trip at first, then grows by one packet, and more slowly while it is
/// small. A refusal for lack of room reduces it by 3/10, at most once per round trip, even below
/// one packet: then packets are sent [at intervals](Self::pace). Losses reduce it by their share,
/// if that is more than 1/20, and at most by half. Silence reduces it to two packets. O(1), no
/// allocation.
///
/// Source: growth as RFC 5681 §3.1; the bound on loss as BBRv2's; windows below one packet as
/// Swift's (SIGCOMM 2020, §3.4).
///
/// # Examples
///
/// ```
/// use nebula_nic::Timestamp;
/// use nebula_requester::{FlowControl, Window, WindowConfig};
///
/// let mut window = Window::new(WindowConfig::default());
/// window.answered(64, 64);
/// assert_eq!(window.packets(), 128);
/// let (sent, now) = (Timestamp::ZERO, Timestamp::from_ps(9));
/// window.refused(now, sent);
/// window.refused(now, sent);
/// assert_eq!(window.packets(), 89, "only once for what was sent before the refusal was known");
/// ```
#[derive(Clone, Debug)]
pub struct Window {
    /// In units of 1/[`PARTS`] packet.
    parts: u32,
    max: u32,
    /// It doubles below this.
    threshold: u32,
    /// Packets answered since it grew by one.
    credit: u32,
    /// Packets of this round whose outcome is known, including lost ones; lost packets; and the
    /// number of different times at which those were sent.
    counted: u32,
    lost: u32,
    losses: u32,
    lost_of: Option<Timestamp>,
    /// Refusals of earlier transmissions do not reduce it again.
    backed_off: Option<Timestamp>,
    /// It is small because of refusals, not losses.
    is_refused: bool,
}

impl Window {
    /// A window of the first size.
    #[must_use]
    pub fn new(config: WindowConfig) -> Self {
        let max = config.max.max(WINDOW_MIN);
        let packets = config.first.clamp(WINDOW_MIN, max);
        Self {
            parts: packets * PARTS,
            max,
            threshold: u32::MAX,
            credit: 0,
            counted: 0,
            lost: 0,
            losses: 0,
            lost_of: None,
            backed_off: None,
            is_refused: false,
        }
    }

    /// Packets that may be in flight.
    #[must_use]
    #[inline]
    pub const fn packets(&self) -> u32 {
        let packets = self.parts / PARTS;
        if packets == 0 { 1 } else { packets }
    }

    #[inline]
    fn count(&mut self, packets: u32) {
        self.counted += packets;
        if self.counted >= self.packets() {
            self.judge();
        }
    }

    /// Acts on the losses of one window of packets.
    fn judge(&mut self) {
        if self.losses >= LOSSES_BELIEVED {
            if self.lost.saturating_mul(LOSS_SHARE) > self.counted {
                let kept = u64::from(self.counted - self.lost.min(self.counted / 2));
                self.shrink_to(u64::from(self.packets()) * kept / u64::from(self.counted));
            }
            self.end_round();
        } else if self.losses == 0 || self.counted >= self.packets().saturating_mul(WINDOWS_PATIENT) {
            self.end_round();
        }
    }

    fn end_round(&mut self) {
        (self.counted, self.lost, self.losses, self.lost_of) = (0, 0, 0, None);
    }

    fn shrink_to(&mut self, packets: u64) {
        let packets = u32::try_from(packets).unwrap_or(self.max).clamp(WINDOW_MIN, self.max);
        // A loss leaves at least two packets; a window reduced further by refusals stays as it is.
        self.parts = self.parts.min(packets * PARTS);
        (self.threshold, self.credit) = (self.packets(), 0);
    }
}

impl FlowControl for Window {
    #[inline]
    fn room(&self, in_flight: u32, message: Progress) -> u32 {
        self.room_of_all(in_flight).min(message.left())
    }

    #[inline]
    fn room_of_all(&self, in_flight: u32) -> u32 {
        self.packets().saturating_sub(in_flight)
    }

    #[inline]
    fn is_refused(&self) -> bool {
        self.is_refused
    }

    #[inline]
    fn pace(&self, round_trip: Span) -> Option<Span> {
        (self.parts < PARTS).then(|| round_trip * u64::from(PARTS) / u64::from(self.parts))
    }

    #[inline]
    fn answered(&mut self, packets: u32, in_flight: u32) {
        self.count(packets);
        let window = self.packets();
        // A window that is not used does not grow.
        if in_flight < window / 2 || window >= self.max {
            return;
        }
        if window < self.threshold {
            self.parts = window.saturating_add(packets).min(self.threshold).min(self.max) * PARTS;
        } else if window < SMALL && self.is_refused {
            let a_round_trip = if self.parts < PARTS { LEAST_GROWTH } else { SMALL_GROWTH };
            self.parts += packets.min(window) * (a_round_trip * PARTS / self.parts).max(1);
        } else {
            self.is_refused = false;
            self.credit += packets;
            if self.credit >= window {
                self.credit -= window;
                self.parts += PARTS;
            }
        }
    }

    fn refused(&mut self, now: Timestamp, sent: Timestamp) {
        self.count(1);
        if self.backed_off.is_none_or(|at| sent >= at) {
            (self.backed_off, self.is_refused) = (Some(now), true);
            self.parts = (self.parts / 10 * 7).max(PARTS_MIN);
            (self.threshold, self.credit) = (self.packets(), 0);
        }
    }

    fn lost(&mut self, packets: u32, sent: Timestamp) {
        self.lost += packets;
        if self.lost_of != Some(sent) {
            (self.lost_of, self.losses) = (Some(sent), self.losses + 1);
        }
        self.count(packets);
    }

    fn found(&mut self, packets: u32) {
        self.lost = self.lost.saturating_sub(packets);
        if self.lost == 0 {
            self.losses = 0;
        }
    }

    fn silence(&mut self) {
        self.threshold = (self.packets() / 2).max(WINDOW_MIN);
        (self.parts, self.credit) = (self.parts.min(WINDOW_MIN * PARTS), 0);
        self.end_round();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ps: u64) -> Timestamp {
        Timestamp::from_ps(ps)
    }

    /// A window of 100 packets that grows by one per round trip.
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
        assert_eq!((window.packets(), window.pace(Span::from_us(10))), (1, Some(Span::from_us(160))));
    }

    #[test]
    fn a_window_below_a_packet_sends_so_far_apart_and_grows_back() {
        let mut window = Window::new(WindowConfig { first: 2, max: 4096 });
        assert_eq!(window.pace(Span::from_us(10)), None);
        (1..5).for_each(|now| window.refused(at(now), at(now)));
        let pace = window.pace(Span::from_us(10)).unwrap();
        assert!(pace > Span::from_us(18) && pace < Span::from_us(24), "{pace}");
        let mut answers = 0;
        while window.pace(Span::from_us(10)).is_some() {
            window.answered(1, 1);
            answers += 1;
        }
        assert!((80..120).contains(&answers), "half a packet at 4 parts per round trip, not {answers}");
    }

    #[test]
    fn many_that_share_little_room_share_it_fairly_and_are_seldom_refused() {
        const ROOM: u32 = 6 * PARTS;
        let mut windows: [Window; 8] =
            core::array::from_fn(|i| Window::new(WindowConfig { first: if i == 0 { 64 } else { 2 }, max: 4096 }));
        windows.iter_mut().for_each(|window| (window.threshold, window.is_refused) = (1, true));
        let (mut refused, mut answered, mut shares) = (0_u32, 0_u32, [0_u64; 8]);
        for now in 0..4000_u64 {
            // A round trip: each sends its window, or a packet now and then if it is below one.
            for i in 0..8 {
                let parts = windows[i].parts;
                let is_sent = parts >= PARTS || now % u64::from(PARTS / parts) == i as u64 % u64::from(PARTS / parts);
                for _ in 0..if is_sent { windows[i].packets() } else { 0 } {
                    let wanted: u32 = windows.iter().map(|window| window.parts).sum();
                    if wanted > ROOM {
                        windows[i].refused(at(now + 1), at(now));
                        refused += 1;
                    } else {
                        let packets = windows[i].packets();
                        windows[i].answered(1, packets);
                        answered += 1;
                    }
                }
                shares[i] += u64::from(windows[i].parts);
            }
        }
        assert!(refused * 4 < answered, "{refused} refused, {answered} answered");
        let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
        assert!(most < &(least * 3), "{shares:?}");
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

//! RPCs of several packets: which packets to send next, and which packets of a reply to request.

use super::flow::Progress;
use nebula_nic::outbound::{BURST_PACKETS, UNASKED_PACKETS};

#[inline]
const fn first_bits(packets: u32) -> u64 {
    if packets >= 64 { u64::MAX } else { (1 << packets) - 1 }
}

/// A multi-packet request in transfer: bursts, each acknowledged.
///
/// A burst has packets from the first missing one on, at most [`BURST_PACKETS`] ahead of it, so
/// that one acknowledgment covers them all. O(1) per packet, no allocation.
///
/// # Examples
///
/// ```
/// use nebula_requester::{BurstPacket, Upload};
///
/// let mut upload = Upload::new(3);
/// assert_eq!(upload.begin_burst(10), 3);
/// let sent: Vec<_> = std::iter::from_fn(|| upload.poll_packet()).collect();
/// assert_eq!(sent[2], BurstPacket { pkt_idx: 2, wants_ack: true });
/// upload.handle_ack(1, 0b10); // packets 0 and 2 have come
/// upload.begin_burst(10);
/// assert_eq!(upload.poll_packet(), Some(BurstPacket { pkt_idx: 1, wants_ack: true }));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Upload {
    packets: u32,
    /// All packets before it have arrived.
    first_missing: u32,
    /// Bit `i`: packet `first_missing + i` has arrived.
    arrived: u64,
    /// Packets of the burst that have not been sent, from `first_missing` on.
    to_send: u64,
    last: u32,
    /// Under grants: all packets before it were sent.
    sent_end: u32,
    /// Packets from `first_missing` on that a later one overtook, and that were not sent since.
    overtaken: u64,
}

/// A packet of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstPacket {
    /// Its index.
    pub pkt_idx: u32,
    /// Whether it requests an acknowledgment: the last of each burst does.
    pub wants_ack: bool,
}

impl Upload {
    /// A request of `packets` packets, none sent.
    #[must_use]
    pub const fn new(packets: u32) -> Self {
        Self { packets, first_missing: 0, arrived: 0, to_send: 0, last: 0, sent_end: 0, overtaken: 0 }
    }

    /// The progress, when the receiver has granted `granted` packets. Packets that have arrived
    /// count as sent, and under [grants](Self::begin_granted) all that were sent.
    #[must_use]
    pub const fn progress(&self, granted: u32) -> Progress {
        let arrived = self.first_missing + self.arrived.count_ones();
        let sent = if self.sent_end > arrived { self.sent_end } else { arrived };
        Progress { packets: self.packets, sent, granted }
    }

    /// Begins a burst under grants, as far as one acknowledgment covers it: packets that the last
    /// acknowledgment has shown to be overtaken, and `room` new ones. Returns how many. Other
    /// packets may be in flight meanwhile: a grant does not wait for the acknowledgment of earlier
    /// ones.
    pub fn begin_granted(&mut self, room: u32) -> u32 {
        let sent = self.sent_end.saturating_sub(self.first_missing).min(BURST_PACKETS);
        let end = sent.saturating_add(room).min(self.packets - self.first_missing);
        let wanted = core::mem::take(&mut self.overtaken) | (first_bits(end) & !first_bits(sent));
        self.to_send = wanted;
        if wanted != 0 {
            self.last = self.first_missing + wanted.ilog2();
            self.sent_end = self.sent_end.max(self.last + 1);
        }
        wanted.count_ones()
    }

    /// Packets sent under grants that are not known to have arrived.
    #[must_use]
    pub const fn unacknowledged(&self) -> u32 {
        (first_bits(self.sent_end.saturating_sub(self.first_missing)) & !self.arrived).count_ones()
    }

    /// Begins a burst of missing and new packets, at most `room`; returns how many.
    pub fn begin_burst(&mut self, room: u32) -> u32 {
        let ahead = first_bits(self.packets - self.first_missing);
        let mut wanted = ahead & !self.arrived;
        while wanted.count_ones() > room {
            wanted &= !(1 << wanted.ilog2());
        }
        self.to_send = wanted;
        if wanted != 0 {
            self.last = self.first_missing + wanted.ilog2();
        }
        wanted.count_ones()
    }

    /// The next packet of the burst.
    #[inline]
    pub fn poll_packet(&mut self) -> Option<BurstPacket> {
        if self.to_send == 0 {
            return None;
        }
        let pkt_idx = self.first_missing + self.to_send.trailing_zeros();
        self.to_send &= self.to_send - 1;
        Some(BurstPacket { pkt_idx, wants_ack: self.to_send == 0 })
    }

    /// The server has all packets before `first_missing`, and of those from there on the ones in
    /// the bits. Returns whether that is new.
    pub fn handle_ack(&mut self, first_missing: u32, arrived: u64) -> bool {
        if first_missing < self.first_missing || first_missing >= self.packets {
            return false;
        }
        // Packets known to have arrived after the first missing one stay known.
        let by = first_missing - self.first_missing;
        let kept = if by >= 64 { 0 } else { self.arrived >> by };
        let known = (kept | arrived) & !1 & first_bits(self.packets - first_missing);
        let is_progress = by > 0 || known != self.arrived;
        (self.first_missing, self.arrived, self.to_send) = (first_missing, known, 0);
        self.overtaken = if known == 0 { 0 } else { first_bits(known.ilog2()) & !known };
        is_progress
    }

    /// There was no acknowledgment in time: the last packet sent asks again.
    #[must_use]
    pub const fn handle_timeout(&self) -> BurstPacket {
        let pkt_idx = if self.sent_end > self.last { self.sent_end - 1 } else { self.last };
        BurstPacket { pkt_idx, wants_ack: true }
    }
}

/// A multi-packet reply in transfer: the first packets arrive without a request, the others are
/// pulled. O(1), no allocation.
///
/// # Examples
///
/// ```
/// use nebula_requester::{Download, Pull};
///
/// let mut download = Download::new(40);
/// assert_eq!(download.expected(0), 32, "without a request");
/// // All of them but number 5 have come.
/// assert!(download.is_due(31));
/// let pull = download.pull(5, u64::MAX >> (64 - 27) & !1, 64).unwrap();
/// assert_eq!((pull.first, pull.packets()), (5, 1 + 8));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Download {
    packets: u32,
    /// Packets before this arrive without a request or were requested.
    asked: u32,
}

/// Packets of a reply to request: bit `i` is packet `first + i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pull {
    /// The first packet.
    pub first: u32,
    /// The packets.
    pub bitmap: u64,
}

impl Pull {
    /// The number of packets.
    #[must_use]
    pub const fn packets(&self) -> u32 {
        self.bitmap.count_ones()
    }
}

impl Download {
    /// A reply of `packets` packets, the first of which has arrived.
    #[must_use]
    pub fn new(packets: u32) -> Self {
        Self { packets, asked: packets.min(UNASKED_PACKETS) }
    }

    /// Packets still in flight when `arrived` of them have arrived.
    #[must_use]
    pub const fn expected(&self, arrived: u32) -> u32 {
        self.asked.saturating_sub(arrived)
    }

    /// Whether to pull after packet `pkt_idx` has arrived, because it is the last one expected.
    #[must_use]
    #[inline]
    pub const fn is_due(&self, pkt_idx: u32) -> bool {
        pkt_idx + 1 == self.asked
    }

    /// The packets to pull: missing and new ones, at most `room`; bit `i` of `arrived` says that
    /// packet `first_missing + i` has arrived. `None` if the reply is complete.
    pub fn pull(&mut self, first_missing: u32, arrived: u64, room: u32) -> Option<Pull> {
        let mut bitmap = first_bits(self.packets.saturating_sub(first_missing)) & !arrived;
        while bitmap.count_ones() > room.max(1) {
            bitmap &= !(1 << bitmap.ilog2());
        }
        if bitmap == 0 {
            return None;
        }
        self.asked = first_missing + bitmap.ilog2() + 1;
        Some(Pull { first: first_missing, bitmap })
    }
}

#[cfg(test)]
mod tests {
    use super::super::flow::{FlowControl, Homa};
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    /// The first missing one of `packets`, and the bits after it.
    fn acknowledgment(arrived: &BTreeSet<u32>, packets: u32) -> Option<(u32, u64)> {
        let first = (0..packets).find(|packet| !arrived.contains(packet))?;
        let bits = (0..64).filter(|bit| arrived.contains(&(first + bit)));
        Some((first, bits.fold(0, |bits, bit| bits | 1 << bit)))
    }

    #[test]
    fn an_upload_ends_whatever_is_lost_and_sends_no_more_than_it_may() {
        nebula_testing::seeded(|u| {
            let packets = u.int_in_range(2..=400)?;
            let mut upload = Upload::new(packets);
            let mut arrived = BTreeSet::new();
            for _ in 0..packets * 4 {
                let room = u.int_in_range(1..=100)?;
                let count = upload.begin_burst(room);
                let burst: Vec<_> = core::iter::from_fn(|| upload.poll_packet()).collect();
                assert!(burst.len() == count as usize && count >= 1 && count <= room.min(BURST_PACKETS));
                assert!(burst.windows(2).all(|pair| pair[0].pkt_idx < pair[1].pkt_idx && !pair[0].wants_ack));
                assert!(burst.last().is_some_and(|last| last.wants_ack && last.pkt_idx < packets));
                assert_eq!(burst.last(), Some(&upload.handle_timeout()));
                for packet in burst {
                    assert!(!arrived.contains(&packet.pkt_idx), "{} is known to have arrived", packet.pkt_idx);
                    if u.ratio(2, 3).unwrap_or(true) || u.is_empty() {
                        arrived.insert(packet.pkt_idx);
                    }
                }
                let Some((first_missing, bits)) = acknowledgment(&arrived, packets) else { return Ok(()) };
                upload.handle_ack(first_missing, bits);
                // An older acknowledgment changes nothing.
                let before = upload;
                assert!(!upload.handle_ack(first_missing.saturating_sub(1), 0) || first_missing == 0);
                assert_eq!(upload, before);
            }
            panic!("{} of {packets} after many bursts", arrived.len());
        });
    }

    #[test]
    fn an_upload_under_grants_ends_whatever_is_lost_and_sends_nothing_that_was_not_granted() {
        nebula_testing::seeded(|u| {
            let (packets, unscheduled) = (u.int_in_range(2..=400)?, u.int_in_range(1..=20)?);
            let homa = Homa::new(unscheduled);
            let (mut upload, mut granted) = (Upload::new(packets), 0_u32);
            let mut arrived = BTreeSet::new();
            for _ in 0..packets * 20 {
                // At random a grant arrives, an acknowledgment arrives, or the time is over.
                let is_overdue = u.ratio(1, 4).unwrap_or(true);
                let come = u32::try_from(arrived.len()).unwrap();
                granted = granted.max((come + u.int_in_range(1..=20)?).min(packets));
                let before = upload.progress(granted).sent;
                let room = homa.room(0, upload.progress(granted));
                let count = upload.begin_granted(room);
                let burst: Vec<_> = core::iter::from_fn(|| upload.poll_packet()).collect();
                assert_eq!(burst.len(), count as usize);
                assert!(burst.iter().all(|packet| packet.pkt_idx < granted.max(unscheduled).min(packets)));
                assert!(burst.iter().all(|packet| packet.pkt_idx >= before || !arrived.contains(&packet.pkt_idx)));
                let again = (is_overdue || count == 0).then(|| upload.handle_timeout());
                let mut asked = false;
                for packet in burst.into_iter().chain(again) {
                    if u.ratio(2, 3).unwrap_or(true) || u.is_empty() {
                        arrived.insert(packet.pkt_idx);
                        asked |= packet.wants_ack;
                    }
                }
                assert!(upload.unacknowledged() <= BURST_PACKETS);
                if asked {
                    let Some((first_missing, bits)) = acknowledgment(&arrived, packets) else { return Ok(()) };
                    upload.handle_ack(first_missing, bits);
                }
            }
            panic!("{} of {packets} after many bursts", arrived.len());
        });
    }

    #[test]
    fn an_acknowledgment_that_makes_no_sense_changes_nothing() {
        let mut upload = Upload::new(70);
        upload.begin_burst(64);
        for (first_missing, bits) in [(70, 0), (1000, u64::MAX), (0, 0), (0, 1)] {
            assert!(!upload.handle_ack(first_missing, bits), "{first_missing} {bits}");
        }
    }

    #[test]
    fn a_download_ends_whatever_is_lost() {
        nebula_testing::seeded(|u| {
            let packets = u.int_in_range(2..=400)?;
            let mut download = Download::new(packets);
            let mut arrived: BTreeSet<u32> = (0..packets.min(UNASKED_PACKETS)).collect();
            arrived.retain(|_| u.ratio(1, 2).unwrap_or(true));
            for _ in 0..packets * 4 {
                let Some((first, bits)) = acknowledgment(&arrived, packets) else { return Ok(()) };
                let room = u.int_in_range(0..=100)?;
                let pull = download.pull(first, bits, room).expect("it is incomplete");
                assert!(pull.packets() >= 1 && pull.packets() <= room.clamp(1, BURST_PACKETS));
                let wanted: Vec<_> = (0..64).filter(|bit| pull.bitmap >> bit & 1 == 1).map(|bit| first + bit).collect();
                assert!(wanted.iter().all(|packet| *packet < packets && !arrived.contains(packet)));
                assert!(download.is_due(*wanted.last().unwrap()));
                arrived.extend(wanted.into_iter().filter(|_| u.ratio(2, 3).unwrap_or(true)));
            }
            panic!("{} of {packets} after many pulls", arrived.len());
        });
    }

    #[test]
    fn a_reply_that_is_whole_pulls_nothing() {
        assert_eq!(Download::new(2).pull(2, 0, 64), None);
    }
}

//! How much memory requests may hold of which not all has arrived.
//!
//! An incomplete request holds memory until its last packet comes or it ages out, as an attacker's
//! do. [`Crowding`] bounds the part of the receive buffer that they hold:
//!
//! - One part in eight of the buffer is for RPCs that are complete when they come.
//! - While more than half of the rest is held, no host has more than a quarter of it. Hosts are
//!   counted by one of [`HOSTS`] values of a hash, so memory does not grow with them.
//!
//! The longest RPC is accepted if no other is incomplete, whatever the shares. [`kept`] is the rule
//! for byte streams, whose incomplete requests wait outside the receive buffer.

use crate::id::SLOT_BYTES;
use crate::time::{Span, Timestamp};
use crate::verdict::NackReason;

/// The values by which hosts are distinguished.
pub const HOSTS: usize = 256;
/// The part of the buffer that incomplete RPCs may not use.
const RESERVED_SHARE: u32 = 8;
/// A host's share of the room, while others need it.
const HOST_SHARE: u32 = 4;

/// Bytes of large incomplete requests that an engine keeps, over all its connections.
const KEPT_MAX: u64 = 64 << 20;
/// The time for the rest of one, while room is scarce.
const REST_WITHIN: Span = Span::from_secs(2);
/// An incomplete request up to this length is always kept: the number of connections is bounded.
const SMALL_BYTES: u64 = 4 << 10;

/// The slots that incomplete RPCs hold, in all and by host.
#[derive(Clone, Debug)]
pub struct Crowding {
    slots: u32,
    slots_max: u32,
    rpc_bytes_max: u32,
    by_host: [u32; HOSTS],
}

impl Crowding {
    /// Nothing is held of a receive buffer of `slots` slots. No RPC is longer than `rpc_bytes_max`.
    #[must_use]
    pub const fn new(slots: u32, rpc_bytes_max: u32) -> Self {
        Self { slots: 0, slots_max: slots - slots / RESERVED_SHARE, rpc_bytes_max, by_host: [0; HOSTS] }
    }

    /// Why another RPC of `rpc_bytes` bytes and several packets is refused, if `host` has no room
    /// for it. An RPC that is too long is refused elsewhere.
    #[must_use]
    pub fn refusal(&self, host: u8, rpc_bytes: u32) -> Option<NackReason> {
        if self.slots == 0 || rpc_bytes > self.rpc_bytes_max {
            return None;
        }
        let more = rpc_bytes.div_ceil(SLOT_BYTES);
        let of_host = self.by_host[usize::from(host)];
        let (with_it, of_host_with_it) = (self.slots.saturating_add(more), of_host.saturating_add(more));
        let is_beyond_share = of_host > 0 && of_host_with_it > self.slots_max / HOST_SHARE;
        if with_it > self.slots_max || (with_it > self.slots_max / 2 && is_beyond_share) {
            Some(NackReason::BufferFull)
        } else {
            None
        }
    }

    /// An RPC of `host` holds `slots` slots until it is complete or abandoned.
    pub fn hold(&mut self, host: u8, slots: u32) {
        self.slots = self.slots.saturating_add(slots);
        let of_host = &mut self.by_host[usize::from(host)];
        *of_host = of_host.saturating_add(slots);
    }

    /// An RPC of `host` that held `slots` slots is complete or abandoned.
    pub fn give_back(&mut self, host: u8, slots: u32) {
        self.slots = self.slots.saturating_sub(slots);
        let of_host = &mut self.by_host[usize::from(host)];
        *of_host = of_host.saturating_sub(slots);
    }
}

/// Why an incomplete request of `bytes` bytes is not kept until it is complete, next to `held`
/// bytes of others; `None` if it is kept.
#[must_use]
#[inline]
pub const fn kept(held: u64, bytes: u64) -> Option<NackReason> {
    if bytes <= SMALL_BYTES || held.saturating_add(bytes) <= KEPT_MAX { None } else { Some(NackReason::BufferFull) }
}

/// Whether an incomplete request that has waited for its rest from `since` on is given up, next to
/// `held` bytes of all of them: while more than half of the room is held, after two seconds.
#[must_use]
#[inline]
pub const fn is_overdue(held: u64, since: Timestamp, now: Timestamp) -> bool {
    held > KEPT_MAX / 2 && now.since(since).as_ps() >= REST_WITHIN.as_ps()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u32 = 64 * 100;

    /// 700 of 800 slots are available.
    fn room() -> Crowding {
        Crowding::new(800, 64 * 400)
    }

    #[test]
    fn one_host_leaves_room_for_others_and_all_of_them_for_what_is_whole() {
        let mut room = room();
        let mut held = [0; 2];
        for host in [0, 1] {
            while room.refusal(host, BYTES).is_none() {
                room.hold(host, 100);
                held[usize::from(host)] += 1;
            }
        }
        assert_eq!(held, [3, 1]);
        (0..held[0]).for_each(|_| room.give_back(0, 100));
        room.give_back(1, 100);
        assert_eq!((room.slots, room.by_host), (0, [0; HOSTS]));
    }

    #[test]
    fn the_longest_is_let_in_alone_and_one_too_long_is_judged_elsewhere() {
        let mut room = room();
        assert_eq!(room.refusal(0, 64 * 400), None);
        room.hold(0, 400);
        assert_eq!([0, 1].map(|host| room.refusal(host, 64 * 400)), [Some(NackReason::BufferFull); 2]);
        assert_eq!(room.refusal(0, 64 * 400 + 1), None);
    }

    #[test]
    fn one_that_does_not_go_on_is_given_up_when_room_is_scarce() {
        let at = |seconds| Timestamp::ZERO + Span::from_secs(seconds);
        assert!(is_overdue(KEPT_MAX / 2 + 1, at(1), at(3)));
        assert!(!is_overdue(KEPT_MAX / 2 + 1, at(2), at(3)) && !is_overdue(KEPT_MAX / 2, at(1), at(1000)));
    }

    #[test]
    fn small_requests_are_kept_and_large_ones_while_there_is_room() {
        assert_eq!(kept(KEPT_MAX, SMALL_BYTES), None);
        assert_eq!(kept(KEPT_MAX - SMALL_BYTES - 1, SMALL_BYTES + 1), None);
        assert_eq!(kept(KEPT_MAX - SMALL_BYTES, SMALL_BYTES + 1), Some(NackReason::BufferFull));
        assert_eq!(kept(1, u64::MAX), Some(NackReason::BufferFull));
    }
}

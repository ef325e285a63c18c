//! The bound on the receive buffer that incomplete RPCs hold.
//!
//! An incomplete RPC holds it until its last packet comes or it ages out, as an attacker's do. So
//!
//! - one part in eight of the buffer is for RPCs that are complete when they come;
//! - while more than half of the rest is held, no host has more than a quarter of it. Hosts are
//!   identified by address, because a client can use any number of ids and ports. They are counted
//!   by one of 256 values of a hash, so memory does not grow with them.
//!
//! The longest RPC is accepted if no other is incomplete, whatever the shares.

use crate::rpc::answer::Answer;
use nebula_nic::{BackendConfig, SLOT_BYTES};
use siphasher::sip::SipHasher24;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;

/// The part of the buffer that incomplete RPCs may not use.
const RESERVED_SHARE: u32 = 8;
/// A host's share of the room, while others need it.
const HOST_SHARE: u32 = 4;
const COUNTS: usize = 256;

#[derive(Debug)]
pub(super) struct Incomplete {
    slots: u32,
    slots_max: u32,
    rpc_bytes_max: u32,
    by_host: [u32; COUNTS],
    seed: u64,
}

impl Incomplete {
    pub(super) fn new(backend: &BackendConfig, seed: u64) -> Self {
        let slots_max = backend.slots - backend.slots / RESERVED_SHARE;
        Self { slots: 0, slots_max, rpc_bytes_max: backend.rpc_bytes_max, by_host: [0; COUNTS], seed }
    }

    /// Whether `host` has no room for another RPC. RPCs that are too long are refused elsewhere.
    pub(super) fn is_crowded(&self, host: IpAddr, rpc_bytes: u32) -> bool {
        if self.slots == 0 || rpc_bytes > self.rpc_bytes_max {
            return false;
        }
        let more = rpc_bytes.div_ceil(SLOT_BYTES);
        let of_host = self.by_host[self.place(host)];
        let is_beyond_share = of_host > 0 && of_host + more > self.slots_max / HOST_SHARE;
        self.slots + more > self.slots_max || (self.slots + more > self.slots_max / 2 && is_beyond_share)
    }

    pub(super) fn take(&mut self, answer: &mut Answer, slots: u32) {
        answer.incomplete_slots = slots;
        self.slots += slots;
        self.by_host[self.place(answer.ending.recipient.route.peer.ip())] += slots;
    }

    pub(super) fn give_back(&mut self, answer: &mut Answer) {
        let slots = std::mem::take(&mut answer.incomplete_slots);
        self.slots -= slots;
        self.by_host[self.place(answer.ending.recipient.route.peer.ip())] -= slots;
    }

    fn place(&self, host: IpAddr) -> usize {
        let mut hasher = SipHasher24::new_with_keys(self.seed, !self.seed);
        host.hash(&mut hasher);
        usize::from(hasher.finish().to_le_bytes()[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_nic::Policy;
    use std::net::Ipv4Addr;

    const BYTES: u32 = 64 * 100;

    fn answer(host: IpAddr) -> Answer {
        let mut answer = Answer::new(0);
        answer.ending.recipient.route = std::net::SocketAddr::from((host, 1)).into();
        answer
    }

    /// 700 of 800 slots are available.
    fn room() -> Incomplete {
        let backend = BackendConfig::new(1, Policy::Jbsq(2)).slots(800).rpc_bytes_max(64 * 400);
        Incomplete::new(&backend, 7)
    }

    fn hosts(room: &Incomplete) -> [IpAddr; 2] {
        let first = IpAddr::from(Ipv4Addr::from_bits(1));
        let others = (2..).map(|bits| IpAddr::from(Ipv4Addr::from_bits(bits)));
        [first, others.into_iter().find(|&other| room.place(other) != room.place(first)).unwrap()]
    }

    #[test]
    fn one_host_leaves_room_for_others_and_all_of_them_for_what_is_whole() {
        let mut room = room();
        let [flood, honest] = hosts(&room);
        let mut held = Vec::new();
        for host in [flood, honest] {
            while !room.is_crowded(host, BYTES) {
                let mut answer = answer(host);
                room.take(&mut answer, 100);
                held.push(answer);
            }
        }
        let count = |host| held.iter().filter(|answer| answer.ending.recipient.route.peer.ip() == host).count();
        assert_eq!([count(flood), count(honest)], [3, 1]);
        for answer in &mut held {
            room.give_back(answer);
        }
        assert_eq!((room.slots, room.by_host), (0, [0; COUNTS]));
    }

    #[test]
    fn the_longest_is_let_in_alone_and_one_too_long_is_judged_elsewhere() {
        let mut room = room();
        let [host, other] = hosts(&room);
        assert!(!room.is_crowded(host, 64 * 400));
        room.take(&mut answer(host), 400);
        assert!(room.is_crowded(host, 64 * 400) && room.is_crowded(other, 64 * 400));
        assert!(!room.is_crowded(host, 64 * 400 + 1));
    }
}

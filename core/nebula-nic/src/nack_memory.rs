//! Station 5, too: *has this RPC been refused already?*
//!
//! One packet of an RPC causes its NACK while the others are still in flight. If another were
//! admitted as the start of the RPC, it would hold slots for packets that never come again; under
//! overload such orphans would fill the buffer. So the keys of refused RPCs are kept for a while,
//! and their other packets are dropped.
//!
//! The memory is a direct-mapped array: one key may evict another, and a possible orphan times out.
//! A key is forgotten when all its packets have arrived, when its lifetime has passed, or with its
//! peer, so that a peer that restarts with the same numbers is served.
//!
//! Departs: the papers do not say what happens to the other packets of a refused RPC.

use crate::hash::mix;
use crate::id::{NodeId, RpcKey};
use crate::time::{Span, Timestamp};
use alloc::boxed::Box;
use alloc::vec;

#[derive(Clone, Copy, Debug, Default)]
struct Refused {
    rpc: RpcKey,
    until: Timestamp,
    /// 0: the entry is empty.
    packets_left: u32,
}

/// Keys of refused RPCs of which more packets may arrive.
#[derive(Clone, Debug)]
pub struct NackMemory {
    refused: Box<[Refused]>,
    seed: u64,
    lifetime: Span,
}

impl NackMemory {
    /// A memory for at least `keys` keys, each for `lifetime`.
    pub fn new(keys: u32, lifetime: Span, seed: u64) -> Self {
        let keys = (keys as usize).next_power_of_two();
        Self { refused: vec![Refused::default(); keys].into(), seed, lifetime }
    }

    /// Remembers that `rpc` was refused, while `packets_left` of its packets may still arrive.
    pub fn remember(&mut self, now: Timestamp, rpc: RpcKey, packets_left: u32) {
        if packets_left == 0 {
            return;
        }
        let until = now + self.lifetime;
        *self.place(rpc) = Refused { rpc, until, packets_left };
    }

    /// Whether a packet belongs to a refused RPC; if so, one packet fewer is expected.
    pub fn recall(&mut self, now: Timestamp, rpc: RpcKey) -> bool {
        let refused = self.place(rpc);
        if refused.packets_left == 0 || refused.rpc != rpc || refused.until <= now {
            return false;
        }
        refused.packets_left -= 1;
        true
    }

    /// Forgets the refused RPCs of `snid`.
    pub fn forget_peer(&mut self, snid: NodeId) {
        for refused in self.refused.iter_mut().filter(|refused| refused.rpc.snid == snid) {
            refused.packets_left = 0;
        }
    }

    fn place(&mut self, rpc: RpcKey) -> &mut Refused {
        #[expect(clippy::cast_possible_truncation, reason = "masked to the length of the array")]
        let hash = mix(rpc.to_bits() ^ self.seed) as usize;
        &mut self.refused[hash & (self.refused.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::TransferId;

    const RPC: RpcKey = RpcKey { snid: NodeId(3), tid: TransferId(7) };

    fn memory() -> NackMemory {
        let mut memory = NackMemory::new(8, Span::from_us(1), 1);
        memory.remember(Timestamp::ZERO, RPC, 2);
        memory
    }

    #[test]
    fn a_refused_rpc_is_recalled_once_for_each_packet_to_come() {
        let mut memory = memory();
        assert_eq!([(); 3].map(|()| memory.recall(Timestamp::ZERO, RPC)), [true, true, false]);
        assert!(!memory.recall(Timestamp::ZERO, RpcKey { tid: TransferId(8), ..RPC }));
    }

    #[test]
    fn time_and_the_end_of_the_peer_make_it_forget() {
        assert!(!memory().recall(Timestamp::ZERO + Span::from_us(1), RPC));
        let mut memory = memory();
        memory.forget_peer(NodeId(4));
        assert!(memory.recall(Timestamp::ZERO, RPC));
        memory.forget_peer(NodeId(3));
        assert!(!memory.recall(Timestamp::ZERO, RPC));
    }

    #[test]
    fn an_rpc_of_which_nothing_comes_takes_no_place() {
        let mut memory = NackMemory::new(1, Span::from_us(1), 1);
        memory.remember(Timestamp::ZERO, RPC, 1);
        memory.remember(Timestamp::ZERO, RpcKey { tid: TransferId(8), ..RPC }, 0);
        assert!(memory.recall(Timestamp::ZERO, RPC));
    }
}

//! Which packets have arrived: one bit each, at the half slot where the packet's payload begins.
//! Half slots, since the slots of a client's ring in shared memory carry 16 bytes less than whole
//! ones.

use crate::id::{SLOT_BYTES, SlotRange};
use crate::wire::Mtu;
use alloc::boxed::Box;
use alloc::vec;
use core::ops::Range;

/// The packets that an incomplete RPC lacks, as reported to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The first packet that has not arrived.
    pub first: u32,
    /// Bit `i`: packet `first + i` has arrived. Bit 0 is never set.
    pub bitmap: u64,
}

/// Bytes for each bit: at most those of any packet but the last.
const BYTES_PER_BIT: u32 = SLOT_BYTES / 2;
const BITS_PER_SLOT: u32 = SLOT_BYTES / BYTES_PER_BIT;

const _: () = assert!(Mtu::BYTES_MIN >= BYTES_PER_BIT, "two packets must not share a bit");

/// A second bitvector over the slots of the receive buffer.
#[derive(Clone, Debug)]
pub(super) struct Arrived {
    bits: Box<[u64]>,
    mtu_bytes: u32,
}

impl Arrived {
    pub(super) fn new(slots: u32, mtu: Mtu) -> Self {
        let bits = vec![0; words_of(slots)].into();
        Self { bits, mtu_bytes: mtu.bytes() }
    }

    /// For a buffer whose slots are numbered from `first`. Those before it waste two bits each,
    /// which saves an instruction per packet.
    pub(super) fn number_from(&mut self, first: u32) {
        self.bits = vec![0; self.bits.len() + words_of(first)].into();
    }

    /// Marks a packet as arrived; `false` if it was marked already.
    pub(super) fn set(&mut self, slots: SlotRange, pkt_idx: u32) -> bool {
        let (word, bit) = self.place(slots, pkt_idx);
        let is_first = self.bits[word] & bit == 0;
        self.bits[word] |= bit;
        is_first
    }

    /// Marks consecutive packets as arrived; `false`, and marks none, if one was marked already.
    pub(super) fn set_run(&mut self, slots: SlotRange, packets: Range<u32>) -> bool {
        if packets.clone().any(|pkt_idx| self.has(slots, pkt_idx)) {
            return false;
        }
        for pkt_idx in packets {
            self.set(slots, pkt_idx);
        }
        true
    }

    pub(super) fn clear(&mut self, range: SlotRange) {
        let (start, end) = (range.start.0 * BITS_PER_SLOT, (range.start.0 + range.slots) * BITS_PER_SLOT);
        for word in start / 64..end.div_ceil(64) {
            let below_end = u64::MAX >> (64 - (end - word * 64).min(64));
            self.bits[word as usize] &= !(below_end & (u64::MAX << start.saturating_sub(word * 64)));
        }
    }

    pub(super) fn missing(&self, slots: SlotRange, packets: u32) -> Option<Missing> {
        let first = (0..packets).find(|&pkt_idx| !self.has(slots, pkt_idx))?;
        let behind = (first..packets).take(64).enumerate();
        let bitmap = behind.fold(0, |bitmap, (bit, pkt_idx)| bitmap | u64::from(self.has(slots, pkt_idx)) << bit);
        Some(Missing { first, bitmap })
    }

    fn has(&self, slots: SlotRange, pkt_idx: u32) -> bool {
        let (word, bit) = self.place(slots, pkt_idx);
        self.bits[word] & bit != 0
    }

    const fn place(&self, slots: SlotRange, pkt_idx: u32) -> (usize, u64) {
        let at = slots.start.0 * BITS_PER_SLOT + pkt_idx * self.mtu_bytes / BYTES_PER_BIT;
        ((at / 64) as usize, 1 << (at % 64))
    }
}

const fn words_of(slots: u32) -> usize {
    (slots * BITS_PER_SLOT).div_ceil(64) as usize
}

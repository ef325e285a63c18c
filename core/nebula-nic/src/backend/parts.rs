//! RPCs of several packets in the back end: stations 3 to 6, with the reassembler between.

use super::Backend;
use crate::dispatch::{CentralDispatch, Placement};
use crate::id::SlotRange;
use crate::reassembler::{Incomplete, Part};
use crate::time::Timestamp;
use crate::verdict::{Arrival, DropReason, NackReason, Verdict};
use crate::wire::{Header, Kind};

impl<D: CentralDispatch> Backend<D> {
    /// Decides about consecutive packets of one RPC, beginning with `header`'s, up to the first one
    /// that is not written. Returns the decision about the last. The result is that of one call for
    /// each packet. Cost: one search for the RPC if it has an entry, instead of one a packet.
    ///
    /// # Panics
    ///
    /// If there are no packets.
    pub fn handle_packets(&mut self, now: Timestamp, header: Header, packets: u32) -> Verdict {
        assert!(packets > 0, "a decision is about a packet");
        let (mut header, mut left) = (header, packets);
        while left > 1 {
            let before_last = left - 1;
            if self.takes_parts(&header, before_last) {
                self.counters.packets += u64::from(before_last);
                header.pkt_idx += before_last;
                break;
            }
            let verdict = self.handle_packet(now, header);
            if !matches!(verdict, Verdict::Write { .. }) {
                return verdict;
            }
            header.pkt_idx = header.pkt_idx.saturating_add(1);
            left -= 1;
        }
        self.handle_packet(now, header)
    }

    fn takes_parts(&mut self, header: &Header, packets: u32) -> bool {
        let has_parts = header.kind == Kind::Request && header.rpc_bytes > self.one_packet_bytes_max;
        has_parts && self.reassembler.take_packets(header, packets)
    }

    #[inline(never)]
    pub(super) fn handle_part(&mut self, now: Timestamp, header: &Header) -> Verdict {
        let packets = self.config.mtu.packets(header.rpc_bytes);
        match self.reassembler.handle_packet(header) {
            Some(Ok(part)) => return self.write_part(now, part, header),
            Some(Err(reason)) => return self.drop(reason),
            None => {}
        }
        if header.pkt_idx >= packets {
            return self.drop(DropReason::IndexOutOfRange);
        }
        if self.nacked.recall(now, header.rpc()) {
            return self.drop(DropReason::AlreadyNacked);
        }
        match self.admit_part(now, header) {
            Ok((slots, placement)) => {
                let rpc = Incomplete {
                    rpc: header.rpc(),
                    slots,
                    bytes: header.rpc_bytes,
                    key_hash: header.key_hash,
                    placement,
                };
                self.reassembler.start(now, rpc, header.pkt_idx);
                self.write(slots, header, false)
            }
            Err(reason) => {
                self.nacked.remember(now, header.rpc(), packets - 1);
                self.nack(reason)
            }
        }
    }

    fn admit_part(&mut self, now: Timestamp, header: &Header) -> Result<(SlotRange, Placement), NackReason> {
        if header.rpc_bytes > self.config.rpc_bytes_max {
            return Err(NackReason::TooLarge);
        }
        if self.reassembler.is_full() || self.reassembler.is_beyond_share(header.snid) {
            return Err(NackReason::ReassemblerFull);
        }
        let placement = self.dispatch.place(header, &self.queue);
        self.admit(now, header, placement).map(|slots| (slots, placement))
    }

    fn write_part(&mut self, now: Timestamp, part: Part, header: &Header) -> Verdict {
        match part {
            Part::More(rpc) => self.write(rpc.slots, header, false),
            Part::Last(rpc) => {
                let Incomplete { rpc: key, slots, bytes, key_hash, placement } = rpc;
                self.complete(placement, Arrival { rpc: key, slots, bytes, key_hash, arrived: now });
                self.write(rpc.slots, header, true)
            }
        }
    }

    fn write(&self, slots: SlotRange, header: &Header, complete: bool) -> Verdict {
        let mtu = self.config.mtu;
        let offset_bytes = header.pkt_idx * mtu.bytes();
        Verdict::Write { slots, offset_bytes, bytes: mtu.packet_bytes(header.rpc_bytes, header.pkt_idx), complete }
    }
}

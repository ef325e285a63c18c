//! Between stations 4 and 6: a complete RPC joins its queue, at the tail or in front.

use super::Backend;
use crate::burst::{Burst, Run};
use crate::dispatch::{CentralDispatch, Placement};
use crate::id::NodeId;
use crate::time::Timestamp;
use crate::verdict::{Arrival, Verdict};
use crate::wire::Header;

impl<D: CentralDispatch> Backend<D> {
    /// Whether `rpcs` RPCs of any source have room in the queue behind `waiting` others.
    #[inline(always)]
    pub(super) fn has_room_for_all(&self, waiting: u32, rpcs: u32) -> bool {
        rpcs <= self.admission.quick().saturating_sub(waiting)
    }

    /// Takes in as many of the first RPCs of a burst as the buffer allows without a search; the
    /// queue has room for all.
    #[inline(always)]
    pub(super) fn take_in(&mut self, now: Timestamp, burst: &Burst, (waiting, rpcs): (u32, u32)) -> Option<Run> {
        let (first_slot, rpcs) = self.buffer.alloc_burst(burst.slots_each, rpcs)?;
        self.counters.completed += u64::from(rpcs);
        let run = self.queue.push_burst(burst, first_slot, now, rpcs);
        self.count_admitted(burst.first.snid, waiting, rpcs);
        Some(run)
    }

    /// The same where room is short or kept: takes in the first RPCs that are served alike.
    #[cold]
    #[inline(never)]
    pub(super) fn take_in_sharing(
        &mut self,
        now: Timestamp,
        burst: &Burst,
        (waiting, rpcs): (u32, u32),
    ) -> Option<Run> {
        let (snid, open) = (burst.first.snid, self.admission.open());
        let most = self.admission.room(now, (&self.queue, &self.share), snid, rpcs);
        let is_kept = self.share.is_kept(now);
        self.admission.keep(is_kept);
        if most == 0 {
            return None;
        }
        let (is_first, most) = match is_kept {
            true => self.served_first(snid, waiting, most),
            false if waiting + most > open => (false, self.share.until_kept(snid, (waiting, open), most)),
            false => (false, most),
        };
        let (first_slot, rpcs) = self.buffer.alloc_burst(burst.slots_each, most)?;
        self.counters.completed += u64::from(rpcs);
        let run = if is_first {
            self.queue.push_first(burst, first_slot, now, rpcs)
        } else {
            self.queue.push_burst(burst, first_slot, now, rpcs)
        };
        self.count_admitted(snid, waiting, rpcs);
        if waiting + rpcs > open {
            self.share.note(now, snid);
            self.admission.keep(self.share.is_kept(now));
        }
        Some(run)
    }

    /// An RPC of one packet for the shared queue, if room is short or kept; its words are in place.
    #[cold]
    #[inline(never)]
    pub(super) fn handle_sharing(&mut self, now: Timestamp, header: &Header, burst: &Burst, waiting: u32) -> Verdict {
        match self.take_in_sharing(now, burst, (waiting, 1)) {
            None => self.handle_whole(now, header, Placement::Shared),
            Some(run) => {
                Verdict::Write { slots: run.slots(0), offset_bytes: 0, bytes: header.rpc_bytes, complete: true }
            }
        }
    }

    /// Whether the first of `most` RPCs of `snid` is served first, and how many are served like it.
    fn served_first(&mut self, snid: NodeId, waiting: u32, most: u32) -> (bool, u32) {
        let (is_first, most) = self.share.served_first(snid, waiting > 0, most);
        match self.queue.first_places() {
            0 => (false, most),
            places if is_first => (true, most.min(places)),
            _ => (false, most),
        }
    }

    /// An RPC that was admitted alone, or whose last packet has come, joins its queue.
    #[inline(always)]
    pub(super) fn complete(&mut self, placement: Placement, arrival: Arrival) {
        self.counters.completed += 1;
        let waiting = self.queue.waiting_at(placement);
        if placement == Placement::Shared && self.share.is_kept(arrival.arrived) {
            return self.complete_sharing(waiting, arrival);
        }
        self.count_admitted(arrival.rpc.snid, waiting, 1);
        match &mut self.by_type {
            None => self.queue.push(placement, arrival),
            Some(_) => self.push_by_type(arrival),
        }
    }

    /// The same for the shared queue while room is kept.
    #[inline(never)]
    fn complete_sharing(&mut self, waiting: u32, arrival: Arrival) {
        let snid = arrival.rpc.snid;
        let (is_first, _) = self.served_first(snid, waiting, 1);
        self.count_admitted(snid, waiting, 1);
        match is_first {
            // The types decide which of those is first.
            _ if self.by_type.is_some() => self.push_by_type(arrival),
            true => self.queue.push_first_alone(&arrival),
            false => self.queue.push(Placement::Shared, arrival),
        }
    }

    /// Counts RPCs of `snid` that find `waiting` others. If none waits, the first takes no other's
    /// room.
    #[inline(always)]
    pub(super) fn count_admitted(&mut self, snid: NodeId, waiting: u32, rpcs: u32) {
        let counted = rpcs - u32::from(waiting == 0);
        if counted > 0 {
            self.share.handle_admitted(snid, counted);
        }
    }
}

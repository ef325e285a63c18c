//! The quick way through a server: serves requests of a datagram without queueing them.
//!
//! They are consecutive RPCs of one client, of one packet each and one stamp, new to the server and
//! without a deadline; nothing waits before them, and the core is idle. Then client, admission and
//! slots are decided once for all of them ([`Run`](nebula_nic::Run)). Every other request goes [one
//! by one](super::requests). The decision log is the same on both ways.

use super::message::{Messages, REQUEST_BYTES, rpc_key};
use super::outbox::Outbox;
use super::outcomes::Outcomes;
use super::requests::{Memory, Peer, WHOLE};
use crate::nic::ingress::{AtOnce, Intake};
use crate::rpc::answer::{Ending, Keep};
use crate::rpc::requests::Replies;
use crate::rpc::slot::Slots;
use crate::status::Status;
use nebula_nic::{Burst, BurstRpc, EntryId, Seen, Timestamp, TransferId, slots_of};
use std::slice::Iter;

struct Gathered {
    first: TransferId,
    stamp_ns: u64,
    slots_each: u32,
    count: u32,
    bytes: usize,
}

impl Memory {
    /// Serves the first requests of `messages` at once, if possible. Returns their number.
    #[inline(always)]
    pub(super) fn take_run(
        &mut self,
        now: Timestamp,
        peer: &Peer,
        messages: &mut Messages<'_>,
        (intake, outbox): (&mut Intake, &mut Outbox),
        at_once: &mut impl AtOnce,
    ) -> Option<usize> {
        let (core, most) = at_once.most();
        let most = most.min(self.outcomes.retention.room());
        if most == 0 {
            return None;
        }
        let Gathered { first, stamp_ns, slots_each, count, bytes } = self.gather(now, peer, messages, most, intake)?;
        let burst = Burst { first: rpc_key(peer.number, first), step: 1, slots_each };
        let run = intake.plan_run(now, core, &burst, count)?;
        intake.copy_payloads(&run, messages.bytes(), REQUEST_BYTES)?;
        outbox.address(&peer.recipient);
        let Self { outcomes, counters, at_once: answer, run_entries, .. } = self;
        // All before the first is served, so that the misses of their distant entries overlap.
        run_entries.clear();
        for index in 0..count {
            let entry = outcomes.retention.begin(peer.key(run.tid(index)), stamp_ns, WHOLE);
            run_entries.push(entry.expect("asked above whether there is room for all"));
        }
        answer.ending.recipient = peer.recipient;
        let mut keeper = Keeper { outcomes, counters, outbox, next: first, entries: run_entries.iter() };
        let to = Replies::Kept(answer, &mut keeper);
        at_once.serve(&run, intake.backend.rpcs_of(&run), intake.payloads.from(run.first_slot), to);
        intake.end_at_once(now, core, &run);
        messages.skip_bytes(bytes);
        Some(count as usize)
    }

    /// Gathers the first requests of `messages` that can be one run, in the back end's places.
    #[inline(always)]
    fn gather(
        &self,
        now: Timestamp,
        peer: &Peer,
        messages: &Messages<'_>,
        most: u32,
        intake: &mut Intake,
    ) -> Option<Gathered> {
        let longest = intake.backend.one_packet_bytes_max().min(self.mtu.bytes());
        let places = intake.backend.burst_places();
        let head = messages.head()?;
        let mut run = Gathered {
            first: head.tid(),
            stamp_ns: head.stamp_ns(),
            slots_each: slots_of(head.payload_bytes()),
            count: 0,
            bytes: 0,
        };
        // The first request has the datagram's latest stamp.
        if !self.has_come(now, run.stamp_ns) {
            return None;
        }
        let mut next = Some(head);
        for place in places.iter_mut().take(most as usize) {
            let Some(head) = next else { break };
            let tid = TransferId(run.first.0.wrapping_add(run.count));
            let payload_bytes = head.payload_bytes();
            let is_one_of_them = head.is_whole_request(tid, run.stamp_ns)
                && payload_bytes <= longest
                && slots_of(payload_bytes) == run.slots_each
                && self.outcomes.retention.look(peer.key(tid), run.stamp_ns) == Seen::New;
            if !is_one_of_them {
                break;
            }
            *place = BurstRpc::new(payload_bytes, head.key_hash());
            run.count += 1;
            run.bytes += REQUEST_BYTES + payload_bytes as usize;
            next = messages.head_at(run.bytes);
        }
        (run.count > 0).then_some(run)
    }
}

/// Remembers and sends the answers to the RPCs of a run.
#[derive(Debug)]
struct Keeper<'k> {
    outcomes: &'k mut Outcomes,
    counters: &'k mut Status,
    outbox: &'k mut Outbox,
    /// The next RPC, and its entry in the memory.
    next: TransferId,
    entries: Iter<'k, EntryId>,
}

impl Keep for Keeper<'_> {
    #[inline]
    fn keep(&mut self, first: Slots<'_>, ending: &Ending) -> bool {
        let Some(&entry) = self.entries.next() else { return true };
        let tid = self.next;
        self.next = TransferId(tid.0.wrapping_add(1));
        self.outcomes.end((tid, entry), (first, ending), (self.counters, self.outbox));
        true
    }
}

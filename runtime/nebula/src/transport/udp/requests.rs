//! Processes a client's messages: station 2's second question, *has this RPC come before?*, and
//! then the NIC's stations.
//!
//! | the RPC is | a request | a pull |
//! |---|---|---|
//! | new | decided about by the NIC | refused as stale |
//! | in the server | a packet more of it; else "keep waiting" | "keep waiting" |
//! | answered, and remembered | answered again | the packets asked for |
//! | older than what is remembered | refused as stale, and never run | refused as stale |

use super::granting::Granting;
use super::incomplete::Incomplete;
use super::message::{Message, Messages, NO_BUDGET, Request, rpc_key};
use super::outbox::{Body, Outbox, UNASKED_BITS};
use super::outcomes::{Outcomes, nack};
use crate::config::server::ServerConfig;
use crate::net::Watch;
use crate::nic::ingress::{AtOnce, Intake};
use crate::nic::one_sided::{OPERATION_BYTES_MAX, OneSided, changes};
use crate::nic::recorder::Recorder;
use crate::rpc::answer::Answer;
use crate::rpc::cancel::Cancels;
use crate::rpc::recipient::Recipient;
use crate::status::Status;
use nebula_nic::ending::{NEVER, over};
use nebula_nic::{
    Access, BURST_MAX, BackendConfig, Decision, EntryId, Grant, Header, Input, Kind, Missing, Mtu, NackReason, NodeId,
    Retention, RetentionConfig, RetentionKey, Seen, Timestamp, TransferId, Verdict,
};

/// How far a stamp may be ahead of the server's time: a later one would raise the floor for all.
const AHEAD_NS: u64 = 2_000_000;
/// The most reply packets that one datagram can have sent again: 16 full pulls. Without a bound, a
/// thousand pulls in one datagram would occupy the server.
const AGAIN_PACKETS: u32 = 1024;
/// Bytes of an unread datagram whose copying costs as much as a packet.
const UNREAD_BYTES: usize = 2048;
/// How long after its stamp a one-sided read may arrive.
const READ_WITHIN_NS: u64 = 10_000_000_000;
/// The flag in an RPC's note, next to its first slot, that the RPC is complete.
pub(super) const WHOLE: u32 = 1 << 31;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) recipient: Recipient,
    pub(crate) number: NodeId,
    /// Distinguishes clients that have had the same number.
    pub(crate) tag: u32,
}

impl Peer {
    #[inline(always)]
    pub(super) const fn key(&self, tid: TransferId) -> RetentionKey {
        RetentionKey { rpc: rpc_key(self.recipient.snid, tid), tag: self.tag }
    }
}

/// A server's memory of the last RPCs of all its clients together.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(super) outcomes: Outcomes,
    pub(super) at_once: Box<Answer>,
    pub(super) run_entries: Vec<EntryId>,
    #[expect(clippy::vec_box, reason = "an answer travels with its RPC: as a pointer")]
    spare: Vec<Box<Answer>>,
    /// The cancellation flags of RPCs in the server, and how many are set.
    cancels: Cancels,
    cancelled: usize,
    reply_bytes_max: u32,
    pub(super) mtu: Mtu,
    incomplete: Incomplete,
    pub(super) granting: Granting,
    one_sided: OneSided,
    again: u32,
    watch: Watch,
    pub(super) counters: Status,
}

impl Memory {
    pub(super) fn new(
        (config, backend): (&ServerConfig, &BackendConfig),
        seed: u64,
        one_sided: OneSided,
        watch: Watch,
    ) -> Self {
        // An RPC in the server takes a slot and an entry; the last ended ones need entries too.
        let entries = config.retention_rpcs.max(2 * backend.slots);
        let outcomes = Outcomes::new(RetentionConfig::new(entries, config.retained_bytes()).seed(seed));
        Self {
            cancels: Cancels::new(outcomes.retention.entries()),
            cancelled: 0,
            at_once: Box::new(Answer::new(config.reply_bound())),
            run_entries: Vec::with_capacity(BURST_MAX as usize),
            outcomes,
            spare: Vec::with_capacity(backend.slots as usize),
            reply_bytes_max: config.reply_bound(),
            mtu: backend.mtu,
            incomplete: Incomplete::new(backend, seed),
            granting: Granting::new(),
            one_sided,
            again: 0,
            watch,
            counters: Status::default(),
        }
    }

    pub(super) fn replies(&self) -> (&Retention, &[u8]) {
        self.outcomes.replies()
    }

    pub(super) fn counters(&self) -> Status {
        let OneSided { done: operations, refused: operations_refused, .. } = self.one_sided;
        Status { operations, operations_refused, ..self.counters }
    }

    /// Requests neither served nor refused by a NACK so far, in datagrams that were read.
    #[inline(always)]
    pub(super) fn unanswered(&self) -> u64 {
        self.counters.unanswered
    }

    #[cold]
    pub(super) fn leave_unread(&mut self, bytes: usize, intake: &mut Intake) {
        intake.refusals.count_unanswered(cost_unread(bytes));
        self.counters.unread += 1;
    }

    /// Takes the messages of a datagram. `at_once` may serve the first requests before any is
    /// queued. Returns the number of request packets.
    #[inline]
    pub(super) fn take_messages(
        &mut self,
        now: Timestamp,
        peer: &Peer,
        body: &[u8],
        (intake, outbox): (&mut Intake, &mut Outbox),
        mut at_once: Option<&mut impl AtOnce>,
    ) -> usize {
        let mut packets = 0;
        let unanswered = self.counters.unanswered;
        self.again = AGAIN_PACKETS;
        let mut messages = Messages::new(body);
        while let Some(at_once) = &mut at_once
            && let Some(run) = self.take_run(now, peer, &mut messages, (intake, outbox), *at_once)
        {
            packets += run;
        }
        while let Some(message) = messages.next() {
            match message {
                Ok(Message::Request(request)) => {
                    packets += 1;
                    self.take_request(now, peer, &request, intake, outbox);
                    if self.counters.unanswered > unanswered && intake.turns_away_all(now, peer.number) {
                        let (bytes, left) = messages.left(request.payload.len());
                        return packets + self.lose_rest(bytes, left, intake);
                    }
                }
                Ok(Message::Operation(operation)) => {
                    packets += 1;
                    self.take_operation(now, peer, &operation, outbox);
                }
                Ok(Message::Pull { tid, first, bitmap }) => self.pull(peer, tid, first, bitmap, outbox),
                Ok(Message::Cancel { tid, stamp_ns }) => self.cancel(peer, tid, stamp_ns),
                Ok(
                    Message::Reply { .. }
                    | Message::Nack { .. }
                    | Message::Ack { .. }
                    | Message::Fault { .. }
                    | Message::Grant { .. },
                )
                | Err(_) => self.counters.violations += 1,
            }
        }
        packets
    }

    #[inline(always)]
    fn take_request(
        &mut self,
        now: Timestamp,
        peer: &Peer,
        request: &Request<'_>,
        intake: &mut Intake,
        outbox: &mut Outbox,
    ) {
        match self.outcomes.retention.look(peer.key(request.tid), request.stamp_ns) {
            Seen::New => self.begin(now, peer, request, intake, outbox),
            Seen::InServer(entry) => self.go_on(now, peer, entry, request, intake, outbox),
            seen => {
                self.counters.repeated += u64::from(seen != Seen::Stale);
                self.counters.nacked_stale += u64::from(seen == Seen::Stale);
                self.answer_again(peer, request.tid, seen, UNASKED, outbox);
            }
        }
    }

    /// Carries out a one-sided operation at once. A read may be done twice, and is not remembered;
    /// a change of memory is remembered as RPCs are.
    #[inline(never)]
    fn take_operation(&mut self, now: Timestamp, peer: &Peer, operation: &Request<'_>, outbox: &mut Outbox) {
        let &Request { tid, stamp_ns, payload, .. } = operation;
        let now_ns = now.as_ps() / 1000;
        let is_one_packet = operation.pkt_idx == 0
            && operation.rpc_bytes as usize == payload.len()
            && payload.len() <= OPERATION_BYTES_MAX.min(self.mtu.bytes() as usize);
        if !is_one_packet || !self.has_come(now, stamp_ns) {
            self.counters.violations += 1;
            return;
        }
        let decoded = Access::decode(payload);
        if !changes(decoded) {
            // Numbers repeat: the answer to an old copy must not pass for that to another read.
            if now_ns.saturating_sub(stamp_ns) < READ_WITHIN_NS {
                let (answer, bytes) = self.one_sided.execute(decoded);
                outbox.address(&peer.recipient);
                outbox.push_copy(tid, &answer[..bytes.min(self.mtu.bytes() as usize)]);
            }
            return;
        }
        let key = peer.key(tid);
        match self.outcomes.retention.look(key, stamp_ns) {
            Seen::New => {
                // It cannot be remembered, so it must not be executed; its client tries again.
                let Ok(entry) = self.outcomes.retention.begin(key, stamp_ns, WHOLE) else { return };
                let (answer, bytes) = self.one_sided.execute(decoded);
                outbox.address(&peer.recipient);
                self.outcomes.end_with((tid, entry), &answer[..bytes], outbox);
            }
            seen => {
                self.counters.repeated += u64::from(seen != Seen::Stale);
                self.counters.nacked_stale += u64::from(seen == Seen::Stale);
                self.answer_again(peer, tid, seen, UNASKED, outbox);
            }
        }
    }

    /// Whether the time of a stamp has come, or nearly. On a busy core the turn's time may be far
    /// behind the clock.
    #[inline(always)]
    pub(super) fn has_come(&self, now: Timestamp, stamp_ns: u64) -> bool {
        stamp_ns <= now.as_ps() / 1000 + AHEAD_NS || self.has_come_meanwhile(stamp_ns)
    }

    #[cold]
    fn has_come_meanwhile(&self, stamp_ns: u64) -> bool {
        stamp_ns <= self.watch.now_ps() / 1000 + AHEAD_NS
    }

    /// The first packet of an RPC that arrives.
    #[inline(always)]
    fn begin(&mut self, now: Timestamp, peer: &Peer, request: &Request<'_>, intake: &mut Intake, outbox: &mut Outbox) {
        let key = peer.key(request.tid);
        if !self.has_come(now, request.stamp_ns) || !self.is_sound(request) {
            self.counters.violations += 1;
            return;
        }
        let deadline = match request.budget_us {
            NO_BUDGET => NEVER,
            budget => {
                let ns = request.stamp_ns.saturating_add(u64::from(budget) * 1000);
                Timestamp::from_ps(ns.saturating_mul(1000))
            }
        };
        if let Some(reason) = over(deadline, false, || now) {
            if let Some(recorder) = &mut intake.recorder {
                let input = Input::Over { rpc: rpc_key(peer.number, request.tid), deadline, is_cancelled: false };
                recorder.outside(now, input, Some(Decision::nack(reason)));
            }
            return self.refuse(now, peer, key, request, reason, (intake, outbox));
        }
        if self.outcomes.retention.is_full() {
            // It cannot be remembered, so it must not be executed; its client tries again.
            return;
        }
        if request.rpc_bytes > self.mtu.bytes() {
            let (rpc, host) = (rpc_key(peer.number, request.tid), peer.recipient.route.peer.ip());
            if intake.missing(rpc).is_some() {
                // Two clients of a host may have one number at the NIC. Their RPCs must not mix.
                self.counters.violations += 1;
                return;
            }
            if let Some(reason) = self.incomplete.refusal(now, host, (rpc, request.rpc_bytes), &mut intake.recorder) {
                self.counters.nacked_buffer_full += 1;
                return self.refuse(now, peer, key, request, reason, (intake, outbox));
            }
        }
        if intake.refusals.is_used_up() && intake.turns_away(now, peer.number) {
            return self.lose(intake);
        }
        match intake.receive(now, header(peer.number, request)) {
            Verdict::Write { slots, offset_bytes, complete, .. } => {
                let whole = if complete { WHOLE } else { 0 };
                let entry = self.outcomes.retention.begin(key, request.stamp_ns, slots.start.0 | whole);
                let entry = entry.expect("asked above whether there is room");
                let mut answer = self.spare.pop().unwrap_or_else(|| Box::new(Answer::new(self.reply_bytes_max)));
                answer.reset();
                (answer.ending.recipient, answer.ending.deadline) = (peer.recipient, deadline);
                (answer.tid, answer.entry, answer.number) = (request.tid, entry, peer.number);
                self.cancels.put(entry, &mut answer.ending.cancel);
                if !complete {
                    self.incomplete.take(now, &mut answer, slots.slots, &mut intake.recorder);
                }
                intake.payloads.set_answer(slots, answer);
                intake.payloads.write_bytes(slots, offset_bytes, request.payload);
                if complete {
                    intake.note_fresh(slots, request.rpc_bytes);
                } else {
                    self.take_first(now, peer, request, intake, outbox);
                }
            }
            Verdict::Nack { reason } => self.refuse(now, peer, key, request, reason, (intake, outbox)),
            Verdict::Drop { reason } => match reason.nack() {
                // It was refused when there was no time for a NACK. A client that waits for grants
                // sends no packets by which the NIC would forget that.
                Some(reason) if request.wants.grants() && request.wants.ack() => {
                    self.refuse(now, peer, key, request, reason, (intake, outbox));
                }
                // A real client learns its RPC's fate when it asks again.
                _ => self.counters.violations += 1,
            },
        }
    }

    fn go_on(
        &mut self,
        now: Timestamp,
        peer: &Peer,
        entry: EntryId,
        request: &Request<'_>,
        intake: &mut Intake,
        outbox: &mut Outbox,
    ) {
        let note = self.outcomes.retention.note(entry);
        if note & WHOLE != 0 {
            self.counters.repeated += 1;
            Self::redirect(entry, note, peer, intake);
            return self.wait_on(peer, request.tid, outbox);
        }
        // An RPC of one packet is complete with its first: this one would begin another.
        if !self.is_sound(request) || request.rpc_bytes <= self.mtu.bytes() {
            self.counters.violations += 1;
            return;
        }
        let answer = intake.payloads.answer(note).filter(|answer| answer.entry == entry);
        // The number from when the RPC began: the client's address may have changed.
        let Some(number) = answer.map(|answer| answer.number) else { return };
        let mut is_whole = false;
        if let Verdict::Write { slots, offset_bytes, complete, .. } = intake.receive(now, header(number, request)) {
            intake.payloads.write_bytes(slots, offset_bytes, request.payload);
            is_whole = complete;
            if complete {
                if let Some(answer) = intake.payloads.answer(slots.start.0) {
                    self.incomplete.give_back(now, answer, &mut intake.recorder);
                    answer.ending.recipient = peer.recipient;
                }
                self.outcomes.retention.set_note(entry, note | WHOLE);
                intake.note_fresh(slots, request.rpc_bytes);
                self.granting.forget(rpc_key(number, request.tid));
            } else if request.wants.grants() {
                let packets = self.mtu.packets(request.rpc_bytes);
                self.granting.handle_packet(now, rpc_key(number, request.tid), packets, &peer.recipient);
            }
        }
        if request.wants.ack() && is_whole {
            self.wait_on(peer, request.tid, outbox);
        } else if request.wants.ack() {
            self.acknowledge(now, peer, (number, request), intake, outbox);
        }
    }

    /// Sends the answer to the client's latest address, unless a core has the RPC already.
    fn redirect(entry: EntryId, note: u32, peer: &Peer, intake: &mut Intake) {
        if let Some(answer) = intake.payloads.answer(note & !WHOLE).filter(|answer| answer.entry == entry) {
            answer.ending.recipient = peer.recipient;
        }
    }

    #[inline(never)]
    fn take_first(&mut self, now: Timestamp, peer: &Peer, request: &Request<'_>, intake: &Intake, outbox: &mut Outbox) {
        if request.wants.grants() {
            let packets = self.mtu.packets(request.rpc_bytes);
            self.granting.handle_packet(now, rpc_key(peer.number, request.tid), packets, &peer.recipient);
        }
        if request.wants.ack() {
            self.acknowledge(now, peer, (peer.number, request), intake, outbox);
        }
    }

    /// Reports which packets have arrived, and a grant if the client waits for one.
    fn acknowledge(
        &mut self,
        now: Timestamp,
        peer: &Peer,
        (number, request): (NodeId, &Request<'_>),
        intake: &Intake,
        outbox: &mut Outbox,
    ) {
        let (tid, rpc) = (request.tid, rpc_key(number, request.tid));
        let Some(missing) = intake.missing(rpc) else { return };
        let Missing { first, bitmap } = missing;
        let first_missing = u16::try_from(first).unwrap_or(u16::MAX);
        send(outbox, peer, Body::Message(Message::Ack { tid, is_whole: false, first_missing, bitmap }));
        if request.wants.grants() {
            let packets = self.mtu.packets(request.rpc_bytes);
            let grant = self.granting.handle_ask(now, rpc, packets, missing, &peer.recipient);
            send(outbox, peer, Body::Message(Message::Grant { tid, packets: grant.packets }));
        }
    }

    #[cold]
    pub(super) fn grant(&mut self, now: Timestamp, outbox: &mut Outbox) {
        while let Some((Grant { rpc, packets }, recipient)) = self.granting.poll_grant(now) {
            outbox.address(&recipient);
            outbox.push(Body::Message(Message::Grant { tid: rpc.tid, packets }));
        }
    }

    /// Reports that the RPC is complete and will be answered.
    fn wait_on(&self, peer: &Peer, tid: TransferId, outbox: &mut Outbox) {
        let ack = Message::Ack { tid, is_whole: true, first_missing: 0, bitmap: 0 };
        send(outbox, peer, Body::Message(ack));
    }

    /// Refuses an RPC of which the server has nothing, for good. If there is no time for a NACK,
    /// acts as if the request had been lost.
    #[cold]
    fn refuse(
        &mut self,
        now: Timestamp,
        peer: &Peer,
        key: RetentionKey,
        request: &Request<'_>,
        reason: NackReason,
        (intake, outbox): (&mut Intake, &mut Outbox),
    ) {
        if !intake.may_refuse(now, peer.number) {
            return self.lose(intake);
        }
        intake.count_refusal(now);
        // A NACK that is not remembered would not hold for the next copy.
        if self.outcomes.retention.nacked(key, request.stamp_ns, reason).is_ok() {
            self.counters.nacked_expired += u64::from(reason == NackReason::Expired);
            send(outbox, peer, nack(request.tid, reason));
        }
    }

    /// Drops a request: its client sends it again.
    #[cold]
    fn lose(&mut self, intake: &mut Intake) {
        intake.refusals.count_unanswered(1);
        self.counters.unanswered += 1;
    }

    /// Drops the rest of a datagram: `bytes`, the length of `packets` requests.
    #[cold]
    fn lose_rest(&mut self, bytes: usize, packets: usize, intake: &mut Intake) -> usize {
        intake.refusals.count_unanswered(cost_unread(bytes));
        self.counters.unanswered += packets as u64;
        packets
    }

    #[cold]
    fn answer_again(&mut self, peer: &Peer, tid: TransferId, seen: Seen, wanted: Wanted, outbox: &mut Outbox) {
        let body = match seen {
            Seen::Replied(at) => {
                let Wanted { first, bitmap } = wanted;
                let wanted = bitmap.count_ones().min(self.mtu.packets(at.bytes));
                let Some(left) = self.again.checked_sub(wanted) else { return };
                self.again = left;
                Body::Packets { tid, at, first, bitmap }
            }
            Seen::Faulted(code) => Body::Message(Message::Fault { tid, code: code.into() }),
            seen => match seen.refusal() {
                Some(reason) => nack(tid, reason),
                None => return self.wait_on(peer, tid, outbox),
            },
        };
        send(outbox, peer, body);
    }

    fn pull(&mut self, peer: &Peer, tid: TransferId, first: u16, bitmap: u64, outbox: &mut Outbox) {
        let key = peer.key(tid);
        let seen = self.outcomes.retention.recall(key).unwrap_or(Seen::Stale);
        self.answer_again(peer, tid, seen, Wanted { first: first.into(), bitmap }, outbox);
    }

    /// The answer is not needed: informs the core that has the RPC, or gets it.
    fn cancel(&mut self, peer: &Peer, tid: TransferId, stamp_ns: u64) {
        let key = peer.key(tid);
        let Some(Seen::InServer(entry)) = self.outcomes.retention.recall(key) else { return };
        // Numbers repeat, stamps do not: this one cancels an RPC that ended long ago.
        if self.outcomes.retention.stamp_ns(entry) != stamp_ns {
            self.counters.violations += 1;
            return;
        }
        // A core looks there before it begins the RPC, and its handler while it runs.
        self.cancelled += usize::from(!self.cancels.set(entry, true));
    }

    /// Ends an RPC that never became complete.
    #[cold]
    pub(super) fn abandon(
        &mut self,
        now: Timestamp,
        mut answer: Box<Answer>,
        outbox: &mut Outbox,
        log: &mut Option<Recorder>,
    ) {
        if answer.incomplete_slots > 0 {
            self.incomplete.give_back(now, &mut answer, log);
        }
        self.end(answer, outbox);
    }

    #[inline]
    pub(super) fn end(&mut self, mut answer: Box<Answer>, outbox: &mut Outbox) {
        let (tid, entry) = (answer.tid, answer.entry);
        if self.cancelled > 0 && self.cancels.set(entry, false) {
            self.cancelled -= 1;
        }
        outbox.address(&answer.ending.recipient);
        let (first, ending, _) = answer.room();
        self.outcomes.end((tid, entry), (first, ending), (&mut self.counters, outbox));
        self.spare.push(answer);
    }

    #[inline(always)]
    fn is_sound(&self, request: &Request<'_>) -> bool {
        let bytes = self.mtu.packet_bytes(request.rpc_bytes, request.pkt_idx.into());
        // The NIC refuses an RPC that is too long.
        bytes as usize == request.payload.len()
    }
}

/// The cost of receiving bytes that are not read, in packets that are.
fn cost_unread(bytes: usize) -> u32 {
    u32::try_from(bytes / UNREAD_BYTES).unwrap_or(u32::MAX).saturating_add(1)
}

#[derive(Clone, Copy, Debug)]
struct Wanted {
    first: u32,
    bitmap: u64,
}

const UNASKED: Wanted = Wanted { first: 0, bitmap: UNASKED_BITS };

#[inline(always)]
fn header(number: NodeId, request: &Request<'_>) -> Header {
    let &Request { tid, rpc_bytes, pkt_idx, key_hash, .. } = request;
    Header { kind: Kind::Request, snid: number, tid, rpc_bytes, pkt_idx: pkt_idx.into(), key_hash }
}

#[inline(always)]
fn send(outbox: &mut Outbox, peer: &Peer, body: Body) {
    outbox.address(&peer.recipient);
    outbox.push(body);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Time;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn a_stamp_may_be_ahead_of_a_long_turn_but_not_of_the_clock() {
        let config = ServerConfig::default();
        let time = Time::Manual(Arc::new(AtomicU64::new(1_000_000_000_000)));
        let backend = config.backend_config().unwrap();
        let memory = Memory::new((&config, &backend), 1, OneSided::try_new(&config).unwrap(), Watch::new(&time));
        let (turn, now_ns) = (Timestamp::from_ps(900_000_000_000), 1_000_000_000);
        assert!(memory.has_come(turn, now_ns) && memory.has_come(turn, now_ns + AHEAD_NS));
        assert!(!memory.has_come(turn, now_ns + AHEAD_NS + 1));
    }
}

//! Turns a connection's requests into RPCs: served at once by the core, or queued.

use super::connection::{Connection, PENDING_MAX};
use super::connections::Connections;
use super::framing::{Frame, Framing};
use crate::nic::ingress::{AtOnce, Intake};
use crate::rpc::answer::{Answer, Ending, Keep};
use crate::rpc::requests::Replies;
use crate::rpc::slot::Slots;
use nebula_nic::{Burst, BurstRpc, Header, Kind, NodeId, RpcKey, SlotRange, Timestamp, Verdict, slots_of};
use std::sync::Arc;

/// At least so many connections can share the queue before any request is refused.
pub(super) const CONNECTIONS_SERVED_MIN: u32 = 4;
/// A buffer with a longer reply is freed instead of reused.
const SPARE_BYTES: u32 = 64 << 10;

#[derive(Debug)]
pub(super) struct Taker {
    pub(super) framing: Arc<dyn Framing>,
    at_once: Answer,
    #[expect(clippy::vec_box, reason = "answers go out and come back in their boxes")]
    spare: Vec<Box<Answer>>,
    reply_bytes_max: u32,
    /// RPCs of a connection that may be in the server at once.
    pub(super) pending_max: u32,
    pub(super) crowded: u64,
    pub(super) violations: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// All complete requests were taken; so many bytes are needed for more.
    Incomplete(usize),
    /// There is no room for more RPCs or answers of the client.
    Blocked,
    /// The core is to serve others first.
    Later,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    pub(super) bytes: usize,
    pub(super) rpcs: usize,
    pub(super) stop: Stop,
}

pub(super) struct Turn<'t, A> {
    pub(super) now: Timestamp,
    pub(super) share: Option<Share>,
    pub(super) intake: &'t mut Intake,
    pub(super) at_once: &'t mut A,
}

/// A connection's share of a turn, in RPCs: more would wait, and others would be refused.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// Of the queue.
    queue: u32,
    /// Of all RPCs taken, if the core serves at once.
    turn: u32,
}

impl Share {
    pub(super) fn of(intake: &Intake, at_once: &impl AtOnce, connections: usize) -> Self {
        let queue = (intake.backend.queue_open() / CONNECTIONS_SERVED_MIN).max(1);
        let (_, most) = at_once.most();
        let connections = u32::try_from(connections.max(1)).unwrap_or(u32::MAX);
        Self { queue, turn: if most > 0 { (most / connections).max(queue) } else { u32::MAX } }
    }

    fn left(self, rpcs: usize) -> u32 {
        self.turn.saturating_sub(u32::try_from(rpcs).unwrap_or(u32::MAX))
    }
}

#[derive(Clone, Copy)]
struct Gathered {
    count: u32,
    bytes: usize,
    slots_each: u32,
}

impl Taker {
    /// For replies of at most `reply_bytes_max` bytes; `keeps_order` allows several RPCs each.
    pub(super) fn new(framing: Arc<dyn Framing>, reply_bytes_max: u32, keeps_order: bool) -> Self {
        Self {
            framing,
            at_once: Answer::new(reply_bytes_max),
            spare: Vec::new(),
            reply_bytes_max,
            pending_max: if keeps_order { PENDING_MAX } else { 1 },
            crowded: 0,
            violations: 0,
        }
    }

    pub(super) fn take(
        &mut self,
        turn: &mut Turn<'_, impl AtOnce>,
        (id, connection): (u32, &mut Connection),
        connections: &Connections,
        bytes: &[u8],
    ) -> Taken {
        let (mut at, mut rpcs, mut refused, mut is_full) = (0, 0, 0, false);
        let stop = loop {
            let skipped = connection.discard.min(bytes.len() - at);
            (at, connection.discard) = (at + skipped, connection.discard - skipped);
            let left = &bytes[at..];
            if left.is_empty() || connection.is_closing {
                break Stop::Incomplete(0);
            }
            let room = match turn.share {
                None => connection.room(self.pending_max),
                Some(share) => connection.room(self.pending_max.min(share.queue)).min(share.left(rpcs - refused)),
            };
            if room == 0 {
                break Stop::Blocked;
            }
            if !turn.at_once.may_turn_away(&turn.intake.refusals) {
                break Stop::Later;
            }
            let kept_max = connections.unsent_room();
            // After a refusal the following requests are refused too.
            if !is_full && let Some((count, run_bytes)) = self.take_run(turn, (id, connection), left, (room, kept_max))
            {
                (at, rpcs) = (at + run_bytes, rpcs + count as usize);
                continue;
            }
            match self.framing.next(left) {
                Frame::Request { bytes, key_hash, discard } => {
                    rpcs += 1;
                    is_full = !self.take_one(turn, id, connection, (&left[..bytes.min(left.len())], key_hash));
                    refused += usize::from(is_full);
                    (at, connection.discard) = (at + bytes, discard);
                }
                Frame::Incomplete { bytes_min } => {
                    match connections.refusal(turn.now, bytes_min, &mut turn.intake.recorder) {
                        None => break Stop::Incomplete(bytes_min),
                        Some(reason) => {
                            self.crowded += 1;
                            connection.say(self.framing.refused(left, reason));
                            connection.discard = bytes_min;
                        }
                    }
                }
                Frame::End => connection.is_closing = true,
                Frame::Broken(answer) => {
                    self.violations += 1;
                    connection.say(answer);
                    connection.is_closing = true;
                }
            }
        };
        Taken { bytes: at.min(bytes.len()), rpcs, stop }
    }

    /// Takes a run of requests, at once or into the queue. Returns their number and bytes.
    #[inline]
    fn take_run(
        &mut self,
        turn: &mut Turn<'_, impl AtOnce>,
        (id, connection): (u32, &mut Connection),
        bytes: &[u8],
        (room, kept_max): (u32, usize),
    ) -> Option<(u32, usize)> {
        let Turn { now, intake, at_once, .. } = turn;
        if !intake.backend.takes_bursts() || self.pending_max == 1 {
            return None;
        }
        let (core, most) = at_once.most();
        let is_first = most > 0 && connection.pending() == 0;
        let gathered = self.gather(intake, bytes, if is_first { room.min(most) } else { room })?;
        let Gathered { count, slots_each, .. } = gathered;
        let first = RpcKey { snid: NodeId(id), tid: connection.next_tid() };
        let burst = Burst { first, step: 1, slots_each };
        if is_first
            && let Some(run) = intake.plan_run(*now, core, &burst, count)
            && intake.copy_payloads(&run, bytes, 0).is_some()
        {
            connection.begin(count);
            let Self { framing, at_once: answer, .. } = self;
            let mut keeper = Keeper { connection, framing: &**framing, room: kept_max };
            let to = Replies::Kept(answer, &mut keeper);
            at_once.serve(&run, intake.backend.rpcs_of(&run), intake.payloads.from(run.first_slot), to);
            intake.end_at_once(*now, core, &run);
            return Some((count, gathered.bytes));
        }
        let run = intake.receive_burst(*now, &burst, count).filter(|run| run.rpcs > 0)?;
        let mut at = 0;
        for index in 0..run.rpcs {
            let rpc_bytes = intake.backend.rpcs_of(&run)[index as usize].bytes() as usize;
            self.keep(intake, (id, connection), run.slots(index), &bytes[at..at + rpc_bytes]);
            at += rpc_bytes;
        }
        intake.note_fresh_run(&run);
        Some((run.rpcs, at))
    }

    /// Gathers the first requests of `bytes` that can be one run, in the back end's places.
    #[inline]
    fn gather(&self, intake: &mut Intake, bytes: &[u8], most: u32) -> Option<Gathered> {
        let longest = intake.backend.one_packet_bytes_max() as usize;
        let mut run = Gathered { count: 0, bytes: 0, slots_each: 0 };
        for place in intake.backend.burst_places().iter_mut().take(most as usize) {
            let left = &bytes[run.bytes..];
            if left.is_empty() {
                break;
            }
            let Frame::Request { bytes: rpc_bytes, key_hash, discard: 0 } = self.framing.next(left) else { break };
            let Ok(payload) = u32::try_from(rpc_bytes) else { break };
            let slots = slots_of(payload);
            if rpc_bytes == 0 || rpc_bytes > longest.min(left.len()) || run.count > 0 && slots != run.slots_each {
                break;
            }
            *place = BurstRpc::new(payload, key_hash);
            run = Gathered { count: run.count + 1, bytes: run.bytes + rpc_bytes, slots_each: slots };
        }
        (run.count > 0).then_some(run)
    }

    /// Takes one request into the queue, or refuses it. Returns whether it was taken.
    fn take_one(
        &mut self,
        turn: &mut Turn<'_, impl AtOnce>,
        id: u32,
        connection: &mut Connection,
        (request, key_hash): (&[u8], u32),
    ) -> bool {
        let Turn { now, intake, .. } = turn;
        let rpc_bytes = u32::try_from(request.len()).unwrap_or(u32::MAX);
        let tid = connection.next_tid();
        let header = Header { kind: Kind::Request, snid: NodeId(id), tid, rpc_bytes, pkt_idx: 0, key_hash };
        match intake.receive(*now, header) {
            Verdict::Write { slots, complete: true, .. } => {
                self.keep(intake, (id, connection), slots, request);
                intake.note_fresh(slots, rpc_bytes);
                true
            }
            Verdict::Nack { reason } => {
                intake.count_refusal(*now);
                connection.say(self.framing.refused(request, reason));
                false
            }
            Verdict::Write { .. } | Verdict::Drop { .. } => {
                self.violations += 1;
                connection.die();
                false
            }
        }
    }

    fn keep(
        &mut self,
        intake: &mut Intake,
        (id, connection): (u32, &mut Connection),
        slots: SlotRange,
        request: &[u8],
    ) {
        let mut answer = self.spare.pop().unwrap_or_else(|| Box::new(Answer::new(self.reply_bytes_max)));
        answer.reset();
        (answer.number, answer.tid) = (NodeId(id), connection.next_tid());
        connection.begin(1);
        intake.payloads.set_answer(slots, answer);
        intake.payloads.write_bytes(slots, 0, request);
    }

    #[inline]
    pub(super) fn give_back(&mut self, answer: Box<Answer>) {
        if answer.reply_bytes() <= SPARE_BYTES {
            self.spare.push(answer);
        }
    }
}

/// Appends the answers of a run to its client's output.
#[derive(Debug)]
struct Keeper<'k> {
    connection: &'k mut Connection,
    framing: &'k dyn Framing,
    room: usize,
}

impl Keep for Keeper<'_> {
    #[inline]
    fn keep(&mut self, first: Slots<'_>, ending: &Ending) {
        self.connection.end(first, ending, self.framing, self.room.saturating_sub(self.connection.unsent()));
    }
}

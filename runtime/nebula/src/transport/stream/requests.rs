//! Turns a connection's requests into RPCs: served at once by the core, or queued.

use super::connection::{Connection, PENDING_MAX, UNKNOWN};
use super::connections::Connections;
use super::framing::{Frame, Framing};
use crate::nic::ingress::{AtOnce, Intake};
use crate::rpc::answer::{Answer, Ending, Keep};
use crate::rpc::requests::Replies;
use crate::rpc::slot::Slots;
use nebula_nic::ledger::{Visit, Work};
use nebula_nic::turn::long_turn;
use nebula_nic::{Burst, BurstRpc, Header, Kind, NodeId, RpcKey, SlotRange, Span, Timestamp, Verdict, slots_of};
use std::sync::Arc;

/// At least so many connections can share the queue before any request is refused.
pub(super) const CONNECTIONS_SERVED_MIN: u32 = 4;
/// A connection has the SLO divided by this of a visit. So one that asks for little waits for a
/// small part of the SLO behind others that have more work.
pub(super) const VISITS_PER_SLO: u64 = 16;
/// The queue's share of the SLO, in the quanta of visits.
pub(super) const QUANTA_OF_QUEUE: u64 = VISITS_PER_SLO / long_turn::QUEUE_SHARE;
/// The most that waits in a queue of RPCs that take longer than others.
const QUANTA_QUEUED_MAX: u64 = 2 * QUANTA_OF_QUEUE;
/// RPCs of a client's first run, which shows what they take.
const FIRST_RPCS: u32 = 4;
/// One that waits before it is known what it takes counts as one in so many of those.
const UNKNOWN_PART: u64 = 8;
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
    /// It has had its share, or the core is to serve others first.
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
    /// RPCs of a connection that may wait in the queue, while others may want the rest of it.
    pub(super) share: Option<u32>,
    /// How much the connection may have now.
    pub(super) visit: Progress,
    /// What all have put into the queue.
    pub(super) queued: Span,
    /// With so much in the queue, a core that serves takes in no more.
    pub(super) queued_max: Span,
    /// Whether the core had time to serve on arrival as the turn began. If an RPC takes longer than
    /// that, all go through the queue.
    serves_at_once: bool,
    /// Whether a visit ends with its allowance. What a datagram asks for is not kept for later.
    pub(super) is_cut: bool,
    pub(super) intake: &'t mut Intake,
    pub(super) at_once: &'t mut A,
}

impl<'t, A: AtOnce> Turn<'t, A> {
    pub(super) fn new(now: Timestamp, visit: Visit, intake: &'t mut Intake, at_once: &'t mut A) -> Self {
        let share = Some((intake.backend.queue_open() / CONNECTIONS_SERVED_MIN).max(1));
        let visit = Progress::new(visit, at_once.looked_ps());
        let queued_max = visit.visit.allowance * QUANTA_QUEUED_MAX;
        let serves_at_once = at_once.most().1 > 0;
        let (queued, is_cut) = (Span::ZERO, true);
        Self { now, share, visit, queued, queued_max, serves_at_once, is_cut, intake, at_once }
    }

    /// Whether the core has served on arrival in this turn, and has no time left for it.
    pub(super) fn is_served_out(&self) -> bool {
        self.serves_at_once && self.at_once.most().1 == 0
    }

    /// What is left of the visit.
    #[inline]
    fn left(&self) -> Span {
        let visit = Progress { queued: Span::ZERO, ..self.visit };
        visit.visit.allowance - visit.work(self.at_once.looked_ps()).cost()
    }
}

/// A visit, and what it has had.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    pub(super) visit: Visit,
    pub(super) began_ps: u64,
    pub(super) bytes: u64,
    /// The time that what it put into the queue will take.
    pub(super) queued: Span,
}

impl Progress {
    pub(super) const fn new(visit: Visit, began_ps: u64) -> Self {
        Self { visit, began_ps, bytes: 0, queued: Span::ZERO }
    }

    #[inline]
    pub(super) fn work(&self, now_ps: u64) -> Work {
        Work { time: Span::from_ps(now_ps.saturating_sub(self.began_ps)) + self.queued, bytes: self.bytes }
    }

    #[inline]
    fn bytes_left(&self) -> usize {
        usize::try_from(self.visit.bytes().saturating_sub(self.bytes)).unwrap_or(usize::MAX)
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
        let (mut at, mut rpcs, mut is_full) = (0, 0, false);
        let stop = loop {
            let skipped = connection.discard.min(bytes.len() - at);
            (at, connection.discard) = (at + skipped, connection.discard - skipped);
            let left = &bytes[at..];
            if left.is_empty() || connection.is_closing {
                break Stop::Incomplete(0);
            }
            let (room, queue_room) = (connection.room(self.pending_max), turn.share.unwrap_or(u32::MAX));
            if room == 0 {
                break Stop::Blocked;
            }
            // What it has asked for beyond its share waits until others have had theirs.
            let is_beyond = turn.share.is_some() && (turn.is_served_out() || connection.pending() >= queue_room);
            let is_queued = turn.at_once.most().1 == 0 || connection.pending() > 0;
            let is_late = is_queued && turn.at_once.serves() && turn.queued >= turn.queued_max;
            let left_ps = turn.left().as_ps();
            // Another would end beyond the visit.
            let is_long = rpcs > 0 && connection.each_ps != UNKNOWN && connection.each_ps > left_ps;
            if turn.is_cut && (is_beyond || is_late || left_ps == 0 || is_long && turn.share.is_some()) {
                break Stop::Later;
            }
            if !turn.at_once.may_turn_away(&turn.intake.refusals) {
                break Stop::Later;
            }
            let kept_max = connections.unsent_room();
            // After a refusal the following requests are refused too.
            let rooms = (room, queue_room - connection.pending());
            if !is_full && let Some((count, run_bytes)) = self.take_run(turn, (id, connection), left, (rooms, kept_max))
            {
                (at, rpcs) = (at + run_bytes, rpcs + count as usize);
                continue;
            }
            match self.framing.next(left) {
                Frame::Request { bytes, key_hash, discard } => {
                    rpcs += 1;
                    is_full = !self.take_one(turn, id, connection, (&left[..bytes.min(left.len())], key_hash));
                    turn.visit.bytes += bytes as u64;
                    turn.queued += Work { bytes: bytes as u64, time: Span::ZERO }.cost();
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
        ((room, queue_room), kept_max): ((u32, u32), usize),
    ) -> Option<(u32, usize)> {
        let left_ps = turn.left().as_ps();
        let queue_left_ps = (turn.queued_max - turn.queued).as_ps();
        let Turn { now, visit, intake, at_once, .. } = turn;
        if !intake.backend.takes_bursts() || self.pending_max == 1 {
            return None;
        }
        let (core, most) = at_once.most();
        let is_first = most > 0 && connection.pending() == 0;
        let each_ps = connection.each_ps;
        let in_time = |ps: u64| match each_ps {
            UNKNOWN if is_first => FIRST_RPCS,
            UNKNOWN => 1,
            _ => u32::try_from(ps / each_ps.max(1)).unwrap_or(u32::MAX).max(1),
        };
        let most = match is_first {
            true => room.min(most).min(in_time(left_ps)).min(intake.backend.queue_open().max(1)),
            false if at_once.serves() => room.min(queue_room).min(in_time(queue_left_ps)),
            false => room.min(queue_room),
        };
        let gathered = self.gather(intake, bytes, (most, visit.bytes_left()))?;
        let Gathered { count, slots_each, .. } = gathered;
        let first = RpcKey { snid: NodeId(id), tid: connection.next_tid() };
        let burst = Burst { first, step: 1, slots_each };
        if is_first
            && let Some(run) = intake.plan_run(*now, core, &burst, count)
            && intake.copy_payloads(&run, bytes, 0).is_some()
        {
            connection.begin(count);
            let (began_ps, unsent) = (at_once.looked_ps(), connection.unsent());
            let stops_at = unsent.saturating_add(visit.bytes_left().saturating_sub(gathered.bytes).max(1));
            let Self { framing, at_once: answer, .. } = self;
            let mut keeper = Keeper { connection, framing: &**framing, room: kept_max, stops_at, kept: 0 };
            let to = Replies::Kept(answer, &mut keeper);
            at_once.serve(&run, intake.backend.rpcs_of(&run), intake.payloads.from(run.first_slot), to);
            let served = keeper.kept;
            at_once.uncount(count - served);
            connection.begin_less(count - served);
            let run = run.first(served);
            let rpcs = intake.backend.rpcs_of(&run);
            let run_bytes = rpcs.iter().map(|rpc| rpc.bytes() as usize).sum();
            visit.bytes += (run_bytes + connection.unsent() - unsent) as u64;
            // Long ones are remembered for some runs.
            let each_ps = (at_once.looked_ps() - began_ps) / u64::from(served.max(1));
            let before = if connection.each_ps == UNKNOWN { 0 } else { connection.each_ps };
            connection.each_ps = each_ps.max(before / 8 * 7);
            intake.end_at_once(*now, core, &run);
            return Some((served, run_bytes));
        }
        let run = intake.receive_burst(*now, &burst, count).filter(|run| run.rpcs > 0)?;
        let mut at = 0;
        for index in 0..run.rpcs {
            let rpc_bytes = intake.backend.rpcs_of(&run)[index as usize].bytes() as usize;
            self.keep(intake, (id, connection), run.slots(index), &bytes[at..at + rpc_bytes]);
            at += rpc_bytes;
        }
        intake.note_fresh_run(&run);
        visit.bytes += at as u64;
        let each = if each_ps == UNKNOWN {
            Span::from_ps(turn.queued_max.as_ps() / UNKNOWN_PART)
        } else {
            Span::from_ps(each_ps)
        };
        let time = each * u64::from(run.rpcs);
        visit.queued += time;
        turn.queued += Work { bytes: at as u64, time }.cost();
        Some((run.rpcs, at))
    }

    /// Gathers the first requests of `bytes` that can be one run, in the back end's places.
    #[inline]
    fn gather(&self, intake: &mut Intake, bytes: &[u8], (most, bytes_most): (u32, usize)) -> Option<Gathered> {
        let longest = intake.backend.one_packet_bytes_max() as usize;
        let mut run = Gathered { count: 0, bytes: 0, slots_each: 0 };
        for place in intake.backend.burst_places().iter_mut().take(most as usize) {
            let left = &bytes[run.bytes..];
            if left.is_empty() || run.bytes > bytes_most {
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

/// Appends the answers of a run to its client's output, until they are many.
#[derive(Debug)]
struct Keeper<'k> {
    connection: &'k mut Connection,
    framing: &'k dyn Framing,
    room: usize,
    /// Unsent bytes with which the run ends.
    stops_at: usize,
    kept: u32,
}

impl Keep for Keeper<'_> {
    #[inline]
    fn keep(&mut self, first: Slots<'_>, ending: &Ending) -> bool {
        self.connection.end(first, ending, self.framing, self.room.saturating_sub(self.connection.unsent()));
        self.kept += 1;
        self.connection.unsent() < self.stops_at
    }
}

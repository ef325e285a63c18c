//! The server's end: bytes in, answers out. A turn asks the kernel which connections have input,
//! and visits them in the order of the [ledger](nebula_nic::ledger): it reads a connection only if
//! no whole request of it waits, serves as much as its visit allows, and sends its answers by one
//! call where it can. What comes in between is heard after a visit.

use super::connection::{Connection, DATAGRAM_ANSWERS_MAX, DATAGRAM_BYTES, HEADER_BYTES_MAX, Peer, UNKNOWN};
use super::connections::{Connections, Moved};
use super::framing::Framing;
use super::requests::{CONNECTIONS_SERVED_MIN, Progress, QUANTA_OF_QUEUE, Stop, Taken, Taker, Turn, VISITS_PER_SLO};
use crate::net::{News, Route, Sockets, Wire};
use crate::nic::ingress::{AtOnce, Intake};
use crate::nic::recorder::Recorder;
use crate::nic::transport::Transport;
use crate::rpc::answer::{Answer, Fate};
use crate::rpc::fault::Fault;
use crate::status::Status;
use nebula_nic::ledger::Visit;
use nebula_nic::{Abandoned, NodeId, RpcKey, Sources, Span, Timestamp};
use std::io::Write;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

const READ_BYTES: usize = 64 << 10;
/// Up to this many kept bytes are read again together with what follows them.
const AGAIN_BYTES: usize = READ_BYTES / 2;
/// With so many bytes read and not taken, of all connections, reads are short.
const INPUT_MANY: usize = 64 << 20;
const READ_SHORT: usize = 4 << 10;
const VISIT_MIN: Span = Span::from_us(1);
/// Of one connection in a turn at most so much is refused; of all as much as serving had, and
/// twice the queue's share of the SLO.
const QUANTA_OF_REFUSALS: u64 = 6;
/// A longer request grows in steps, so that announcing much and sending little uses little.
const GROWTH_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub(crate) enum Ears {
    Stream(Sockets),
    Datagrams(Box<dyn Wire>),
}

#[derive(Debug)]
pub(crate) struct StreamPort {
    ears: Ears,
    connections: Connections,
    taker: Taker,
    scratch: Vec<u8>,
    /// Whose answers wait for those of its next visit, unless another's comes before.
    held: Option<u32>,
}

/// The end of a visit.
struct Looked {
    rpcs: usize,
    has_moved: bool,
}

impl Ears {
    pub(crate) fn local(&self) -> std::io::Result<SocketAddr> {
        match self {
            Self::Stream(sockets) => sockets.local(),
            Self::Datagrams(wire) => Ok(wire.local()),
        }
    }
}

impl StreamPort {
    /// A port for at most `clients_max` clients and replies of at most `reply_bytes_max` bytes.
    /// With `keeps_order` the engine serves a client's RPCs in the order of their arrival.
    pub(crate) fn new(
        ears: Ears,
        framing: Arc<dyn Framing>,
        (clients_max, slo): (u32, Span),
        reply_bytes_max: u32,
        keeps_order: bool,
    ) -> Self {
        let quantum = Span::from_ps(slo.as_ps() / VISITS_PER_SLO).max(VISIT_MIN);
        Self {
            ears,
            connections: Connections::new(clients_max, quantum),
            taker: Taker::new(framing, reply_bytes_max, keeps_order),
            scratch: vec![0; READ_BYTES],
            held: None,
        }
    }

    fn hear(&mut self) {
        let Self { ears: Ears::Stream(sockets), connections, taker, .. } = self else { return };
        sockets.look(|News { id, may_read, has_ended, may_send }| connections.wake(id, may_read, has_ended, may_send));
        let crowded = taker.framing.crowded();
        sockets.accept(crowded, |sockets, stream| connections.add(stream, |stream, id| sockets.watch(stream, id)));
    }

    /// Serves the clients in line, until each has had its share or the turn's time is over.
    fn serve_line(&mut self, turn: &mut Turn<'_, impl AtOnce>) -> usize {
        let (mut rpcs, mut heard_ps) = (0, turn.at_once.look());
        let mut left = if turn.at_once.serves() { u32::MAX } else { self.connections.ready() };
        while left > 0 && !turn.is_served_out() {
            let Some(visit) = self.connections.next_ready() else { break };
            let looked = self.look_at(visit, turn);
            rpcs += looked.rpcs;
            left = if looked.has_moved { left - 1 } else { 0 };
            // What waits in the queue comes before all that is read from here on, and so does the
            // rest of a turn in which much was read and little served.
            let quantum = self.connections.ledger.quantum();
            let took = Span::from_ps(turn.at_once.looked_ps().saturating_sub(turn.now.as_ps()));
            if turn.at_once.serves() && (turn.queued >= quantum || took >= quantum * VISITS_PER_SLO) {
                break;
            }
            self.hear_again(turn, &mut heard_ps);
        }
        rpcs
    }

    /// Clients beyond their share get the rest of the queue, and excess requests, which would grow
    /// old unread, are refused. A client that may be served before them ends this. One that has
    /// sent more than can be refused waits instead.
    fn refuse_line(&mut self, turn: &mut Turn<'_, impl AtOnce>) -> usize {
        let (mut rpcs, mut heard_ps) = (0, turn.at_once.look());
        let quantum = self.connections.ledger.quantum();
        let served_ps = heard_ps.saturating_sub(turn.now.as_ps());
        let ends_ps = heard_ps + served_ps + (quantum * QUANTA_OF_QUEUE * 2).as_ps();
        for _ in 0..self.connections.ready() {
            let left = Span::from_ps(ends_ps.saturating_sub(turn.at_once.looked_ps()));
            if left == Span::ZERO {
                break;
            }
            let Some(visit) = self.connections.next_ready() else { break };
            if self.connections.get(NodeId(visit.source)).is_some_and(|connection| connection.is_overfull) {
                // The next turn begins with it.
                self.connections.ledger.ask(visit.source);
                break;
            }
            let allowance = (quantum * QUANTA_OF_REFUSALS).min(left);
            rpcs += self.look_at(Visit { allowance, ..visit }, turn).rpcs;
            let below = self.connections.ledger.below();
            self.hear_again(turn, &mut heard_ps);
            if self.connections.ledger.below() > below && turn.at_once.serves() {
                break;
            }
        }
        rpcs
    }

    /// Asks the kernel for news again, if it was asked long ago.
    fn hear_again(&mut self, turn: &mut Turn<'_, impl AtOnce>, heard_ps: &mut u64) {
        let quantum = self.connections.ledger.quantum();
        if turn.at_once.looked_ps().saturating_sub(*heard_ps) >= quantum.as_ps() {
            self.hear();
            *heard_ps = turn.at_once.look();
        }
    }

    /// Reads a client once if necessary, takes complete requests, and sends answers: as much as its
    /// visit allows.
    fn look_at(&mut self, visit: Visit, turn: &mut Turn<'_, impl AtOnce>) -> Looked {
        let id = visit.source;
        if let Some(held) = self.held.take_if(|held| *held != id) {
            self.send_to(held);
            turn.at_once.look();
        }
        let nothing = Looked { rpcs: 0, has_moved: true };
        let Some(mut connection) = self.connections.take(id) else { return nothing };
        turn.visit = Progress::new(visit, turn.at_once.looked_ps());
        let mut scratch = std::mem::take(&mut self.scratch);
        let (taken, read) = self.read_and_take(turn, (id, &mut connection), &mut scratch);
        self.scratch = scratch;
        if taken.rpcs > 0 {
            connection.is_closing |= !self.connections.prove(id);
            connection.half_since = turn.now;
        }
        if connection.has_ended && !connection.may_read && matches!(taken.stop, Stop::Incomplete(_)) {
            connection.is_closing = true;
        }
        // An early answer shares a call with the answers of this turn.
        let (answers, waits_for_more) = (connection.unsent(), connection.pending() > 0 && connection.unsent() > 0);
        let is_held = turn.share.is_some() && taken.stop == Stop::Later && answers > 0 && !waits_for_more;
        if answers > 0 && !waits_for_more && !is_held {
            connection.send();
        }
        let may_send = connection.unsent() > 0 && connection.may_send && !waits_for_more && !is_held;
        let has_whole = !matches!(taken.stop, Stop::Incomplete(_));
        let is_read = !connection.is_closing && connection.wants_to_be_read(has_whole, self.taker.pending_max);
        let has_more = is_read || may_send;
        let is_refused = turn.share.is_none() && connection.each_ps != UNKNOWN;
        connection.is_overfull = has_more && (connection.is_overfull || is_refused);
        let work = Progress { bytes: turn.visit.bytes + read as u64, ..turn.visit }.work(turn.at_once.look());
        self.connections.ledger.charge(id, work);
        let has_moved = taken.bytes + read > 0 || connection.unsent() < answers || !has_more;
        self.connections.put(id, connection, has_more);
        if is_held {
            self.held = Some(id);
        }
        if waits_for_more || is_held {
            self.connections.mark_dirty(id);
        }
        Looked { rpcs: taken.rpcs, has_moved }
    }

    fn read_and_take(
        &mut self,
        turn: &mut Turn<'_, impl AtOnce>,
        (id, connection): (u32, &mut Connection),
        scratch: &mut [u8],
    ) -> (Taken, usize) {
        let (mut input, mut from) = (std::mem::take(&mut connection.input), std::mem::take(&mut connection.taken));
        let kept = input.len() - from;
        let has_room = connection.room(self.taker.pending_max) > 0;
        // Whole requests that were read come first.
        let is_open = connection.may_read && has_room && !connection.is_closing;
        let reads = is_open && (kept == 0 || connection.needs_more);
        let most = if self.connections.input_bytes() > INPUT_MANY { READ_SHORT } else { GROWTH_BYTES };
        let (taken, read);
        if kept < AGAIN_BYTES && reads {
            scratch[..kept].copy_from_slice(&input[from..]);
            input.clear();
            let end = scratch.len().min(kept + most);
            let got = connection.read(&mut scratch[..end], kept);
            read = got - kept;
            taken = self.taker.take(turn, (id, connection), &self.connections, &scratch[..got]);
            input.extend_from_slice(&scratch[taken.bytes..got]);
            from = 0;
        } else {
            let mut got = input.len();
            if reads {
                input.drain(..from);
                from = 0;
                input.resize(kept + most, 0);
                got = connection.read(&mut input, kept);
            }
            read = got - from - kept;
            taken = self.taker.take(turn, (id, connection), &self.connections, &input[from..got]);
            input.truncate(got);
            from += taken.bytes;
        }
        connection.needs_more = matches!(taken.stop, Stop::Incomplete(_));
        if !connection.is_closing {
            connection.keep(input, from);
        }
        (taken, read)
    }

    /// Sends a client's waiting answers; those to a datagram once all of them are known.
    fn send_to(&mut self, id: u32) {
        let Some(mut connection) = self.connections.take(id) else { return };
        connection.is_dirty = false;
        let Self { ears, taker, .. } = self;
        match (ears, &connection.peer) {
            (Ears::Datagrams(wire), &Peer::Datagram(route, asked)) => {
                if connection.pending() == 0 {
                    send_datagrams(&mut **wire, route, &asked, &connection.take_output(), &*taker.framing);
                }
            }
            _ => connection.send(),
        }
        let has_room = connection.is_blocked && connection.room(taker.pending_max) > 0;
        connection.is_blocked &= !has_room;
        let may_send = connection.unsent() > 0 && connection.may_send && connection.pending() == 0;
        self.connections.put(id, connection, has_room || may_send);
    }

    /// Takes datagrams. Each is a client until it is answered. Returns the number of RPCs.
    fn poll_datagrams(&mut self, turn: &mut Turn<'_, impl AtOnce>) -> usize {
        let Self { ears: Ears::Datagrams(wire), connections, taker, .. } = self else { return 0 };
        let header_bytes = taker.framing.datagram_header_bytes().min(HEADER_BYTES_MAX);
        let mut rpcs = 0;
        let _ = wire.recv(&mut |route, datagram| {
            let parts = datagram.split_at_mut_checked(header_bytes);
            let Some((header, requests)) = parts.filter(|(header, _)| taker.framing.takes_datagram(header)) else {
                taker.violations += 1;
                return;
            };
            let mut asked = [0; HEADER_BYTES_MAX];
            asked[..header_bytes].copy_from_slice(header);
            let Some(id) = connections.add_sender(Peer::Datagram(route, asked)) else { return };
            let Some(mut connection) = connections.take(id) else { return };
            connection.bytes_read = (header_bytes + requests.len()) as u64;
            turn.visit = Progress::new(turn.visit.visit, turn.at_once.looked_ps());
            let taken = taker.take(turn, (id, &mut connection), connections, requests);
            rpcs += taken.rpcs;
            connection.is_closing = true;
            let is_answered = connection.unsent() > 0;
            connections.put(id, connection, false);
            if is_answered {
                connections.mark_dirty(id);
            }
        });
        rpcs
    }
}

fn send_datagrams(wire: &mut dyn Wire, route: Route, asked: &[u8], answers: &[u8], framing: &dyn Framing) {
    let header_bytes = framing.datagram_header_bytes().min(HEADER_BYTES_MAX);
    let is_short = answers.len() <= DATAGRAM_ANSWERS_MAX;
    let answers = if is_short { answers } else { framing.failed(Fault::ReplyTooLarge) };
    let pieces = answers.chunks(DATAGRAM_BYTES - header_bytes);
    let Ok(count) = u16::try_from(pieces.len()) else { return };
    let mut datagram = Vec::with_capacity(DATAGRAM_BYTES);
    for (index, piece) in (0..count).zip(pieces) {
        datagram.clear();
        datagram.resize(header_bytes, 0);
        if framing.answer_header(&asked[..header_bytes], index, count, &mut datagram).is_none() {
            return;
        }
        let _ = datagram.write_all(piece);
        // A datagram that cannot be sent is lost.
        let _ = wire.send(route, &datagram, datagram.len());
    }
}

impl Transport for StreamPort {
    const MAKES_SYSTEM_CALLS: bool = true;
    const SENDS_AT_ONCE: bool = true;
    /// All RPCs are refused alike: serving light sources first would reorder a connection's RPCs.
    const SOURCES: Option<Sources> = Some(Sources::ONE);

    fn poll(&mut self, now: Timestamp, intake: &mut Intake, at_once: &mut impl AtOnce) -> usize {
        let quantum = self.connections.ledger.quantum();
        let nobody = Visit { source: 0, allowance: quantum };
        let mut turn = Turn::new(now, nobody, intake, at_once);
        if matches!(self.ears, Ears::Datagrams(_)) {
            turn.is_cut = false;
            return self.poll_datagrams(&mut turn);
        }
        self.connections.begin_turn(now);
        self.hear();
        let ready = self.connections.ready();
        let mut rpcs = self.serve_line(&mut turn);
        // Fewer clients just wait.
        if ready >= CONNECTIONS_SERVED_MIN {
            turn.share = None;
            rpcs += self.refuse_line(&mut turn);
        }
        self.held = None;
        rpcs
    }

    #[inline]
    fn ended(&mut self, snid: NodeId, answer: Option<Box<Answer>>) {
        let Some(mut answer) = answer else { return };
        let room = self.connections.unsent_room();
        if let Some(connection) = self.connections.get(snid) {
            let before = connection.unsent();
            let (first, ending, _) = answer.room();
            connection.end(first, ending, &*self.taker.framing, room);
            let more = connection.unsent() - before;
            self.connections.count_unsent(more);
            self.connections.mark_dirty(snid.0);
        }
        self.taker.give_back(answer);
    }

    /// No request takes several packets.
    fn abandoned(&mut self, _: Timestamp, rpc: RpcKey, answer: Option<Box<Answer>>, _: &mut Option<Recorder>) {
        if let Some(mut answer) = answer {
            answer.ending.fate = Fate::Refused(Abandoned::REASON);
            self.ended(rpc.snid, Some(answer));
        }
    }

    #[inline]
    fn flush(&mut self, _: Timestamp) {
        while let Some(id) = self.connections.next_dirty() {
            self.send_to(id);
        }
        if let Ears::Datagrams(wire) = &mut self.ears {
            let _ = wire.flush();
        }
    }

    /// A datagram is a client only until it is answered: those are left out.
    #[inline]
    fn clients_active(&self) -> Option<u32> {
        Some(if matches!(self.ears, Ears::Stream(_)) { self.connections.active() } else { 0 })
    }

    fn let_nobody_in(&mut self) {
        if let Ears::Stream(sockets) = &mut self.ears {
            sockets.stop_listening();
        }
    }

    fn counters(&self) -> Status {
        let Taker { violations, crowded: nacked_buffer_full, .. } = self.taker;
        let &Moved { connections, refused: connections_refused, bytes_read, bytes_written } = &self.connections.moved;
        let moved = Status { connections, connections_refused, bytes_read, bytes_written, ..Status::default() };
        Status { clients: self.connections.count().into(), violations, nacked_buffer_full, ..moved }
    }

    fn wait(&mut self, timeout: Option<Duration>, parker: BorrowedFd<'_>) -> bool {
        match &mut self.ears {
            Ears::Stream(_) if self.connections.ready() > 0 => {}
            Ears::Stream(sockets) => sockets.wait(timeout, Some(parker)),
            Ears::Datagrams(wire) => {
                let _ = wire.wait(timeout, Some(parker));
            }
        }
        true
    }
}

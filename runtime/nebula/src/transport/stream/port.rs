//! The server's end: bytes in, answers out. One turn asks the kernel once which connections have
//! input, reads each of those once, and sends each connection's answers by one call.

use super::connection::{Connection, DATAGRAM_ANSWERS_MAX, DATAGRAM_BYTES, HEADER_BYTES_MAX, Peer};
use super::connections::{Connections, Moved};
use super::framing::Framing;
use super::requests::{CONNECTIONS_SERVED_MIN, Share, Stop, Taken, Taker, Turn};
use crate::net::{News, Route, Sockets, Wire};
use crate::nic::ingress::{AtOnce, Intake};
use crate::nic::recorder::Recorder;
use crate::nic::transport::Transport;
use crate::rpc::answer::{Answer, Fate};
use crate::rpc::fault::Fault;
use crate::status::Status;
use nebula_nic::{Abandoned, NodeId, RpcKey, Sources, Timestamp};
use std::io::Write;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

const READ_BYTES: usize = 64 << 10;
/// Up to this many kept bytes are read again together with what follows them.
const AGAIN_BYTES: usize = READ_BYTES / 2;
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
    beyond: Vec<u32>,
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
        clients_max: u32,
        reply_bytes_max: u32,
        keeps_order: bool,
    ) -> Self {
        Self {
            ears,
            connections: Connections::new(clients_max),
            taker: Taker::new(framing, reply_bytes_max, keeps_order),
            scratch: vec![0; READ_BYTES],
            beyond: Vec::new(),
        }
    }

    fn hear(&mut self) {
        let Self { ears: Ears::Stream(sockets), connections, taker, .. } = self else { return };
        sockets.look(|News { id, may_read, has_ended, may_send }| connections.wake(id, may_read, has_ended, may_send));
        let crowded = taker.framing.crowded();
        sockets.accept(crowded, |sockets, stream| connections.add(stream, |stream, id| sockets.watch(stream, id)));
    }

    /// Reads a client once, and takes the complete requests. Returns the number of RPCs.
    fn look_at(&mut self, id: u32, turn: &mut Turn<'_, impl AtOnce>) -> usize {
        let Some(mut connection) = self.connections.take(id) else { return 0 };
        // A client that is read again stays in the list.
        connection.is_listed &= turn.share.is_none();
        let mut scratch = std::mem::take(&mut self.scratch);
        let taken = self.read_and_take(turn, (id, &mut connection), &mut scratch);
        self.scratch = scratch;
        if taken.rpcs > 0 {
            connection.is_closing |= !self.connections.prove(id);
            connection.half_since = turn.now;
        }
        let has_room = connection.room(self.taker.pending_max) > 0;
        connection.is_blocked = taken.stop == Stop::Blocked || !has_room && connection.may_read;
        if taken.stop == Stop::Blocked && turn.share.is_some() {
            self.beyond.push(id);
        }
        if connection.has_ended && !connection.may_read && matches!(taken.stop, Stop::Incomplete(_)) {
            connection.is_closing = true;
        }
        // An early answer shares a call with the answers of this turn.
        let waits_for_more = connection.pending() > 0 && connection.unsent() > 0;
        if connection.unsent() > 0 && !waits_for_more {
            connection.send();
        }
        let has_more = taken.stop == Stop::Later || connection.may_read || connection.is_blocked;
        // A blocked client is read again when an RPC has ended or answers were read.
        connection.is_blocked &= connection.room(self.taker.pending_max) == 0;
        let has_more = has_more && !connection.is_blocked;
        self.connections.put(id, connection, has_more);
        if waits_for_more {
            self.connections.mark_dirty(id);
        }
        taken.rpcs
    }

    fn read_and_take(
        &mut self,
        turn: &mut Turn<'_, impl AtOnce>,
        (id, connection): (u32, &mut Connection),
        scratch: &mut [u8],
    ) -> Taken {
        let mut input = std::mem::take(&mut connection.input);
        let (kept, reads) = (input.len(), connection.may_read && connection.room(self.taker.pending_max) > 0);
        if kept < AGAIN_BYTES && reads {
            scratch[..kept].copy_from_slice(&input);
            input.clear();
            let got = connection.read(scratch, kept);
            let taken = self.taker.take(turn, (id, connection), &self.connections, &scratch[..got]);
            if !connection.is_closing {
                input.extend_from_slice(&scratch[taken.bytes..got]);
                connection.keep(input);
            }
            return taken;
        }
        let mut got = kept;
        if reads {
            input.resize(kept + GROWTH_BYTES, 0);
            got = connection.read(&mut input, kept);
        }
        let taken = self.taker.take(turn, (id, connection), &self.connections, &input[..got]);
        if !connection.is_closing {
            input.truncate(got);
            input.drain(..taken.bytes);
            connection.keep(input);
        }
        taken
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
        self.connections.put(id, connection, has_room);
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
        if matches!(self.ears, Ears::Datagrams(_)) {
            let share = Some(Share::of(intake, at_once, 1));
            return self.poll_datagrams(&mut Turn { now, share, intake, at_once });
        }
        self.connections.begin_turn(now);
        self.hear();
        let (mut rpcs, ready) = (0, self.connections.ready());
        let share = Some(Share::of(intake, at_once, ready));
        let mut turn = Turn { now, share, intake, at_once };
        for _ in 0..ready {
            let Some(id) = self.connections.next_ready() else { break };
            rpcs += self.look_at(id, &mut turn);
        }
        // If several clients have asked, those beyond their share get the rest of the queue, and
        // excess requests, which would grow old unread, are refused. Fewer clients just wait.
        turn.share = None;
        let mut beyond = std::mem::take(&mut self.beyond);
        if ready >= CONNECTIONS_SERVED_MIN as usize {
            rpcs += beyond.iter().map(|&id| self.look_at(id, &mut turn)).sum::<usize>();
        }
        beyond.clear();
        self.beyond = beyond;
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

//! The clients of one engine: which to read, which to send to, and their memory together.

use super::connection::{Connection, Peer};
use crate::nic::recorder::Recorder;
use nebula_nic::ledger::Visit;
use nebula_nic::places::{Place, Places, PlacesConfig, prefix};
use nebula_nic::{Decision, Input, Ledger, NackReason, NodeId, Span, Timestamp, TransferId, crowding};
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::net::TcpStream;

const UNSENT_MAX: usize = 256 << 20;
/// A client counts as active for one to two rounds after it connected or sent something.
const ROUND: Span = Span::from_secs(1);

#[derive(Debug)]
pub(super) struct Connections {
    clients: Vec<Option<Box<Connection>>>,
    /// Without keys, a whole request is the proof. One that has none loses its place to a new one
    /// when there is no other.
    places: Places,
    hasher: RandomState,
    now: Timestamp,
    /// Those that keep a part of a request, in the order in which they began to.
    halves: VecDeque<u32>,
    /// Whom to read next, and how much of it.
    pub(super) ledger: Ledger,
    dirty: Vec<u32>,
    input_bytes: usize,
    unsent_bytes: usize,
    count: u32,
    active: Active,
    pub(super) moved: Moved,
}

/// Counts since the server began.
#[derive(Debug, Default)]
pub(super) struct Moved {
    pub(super) connections: u64,
    pub(super) refused: u64,
    pub(super) bytes_read: u64,
    pub(super) bytes_written: u64,
}

/// Clients that were active in this round, and in the one before.
#[derive(Debug)]
struct Active {
    round: u32,
    ends: Timestamp,
    now: u32,
    before: u32,
}

impl Active {
    #[inline]
    fn begin_turn(&mut self, now: Timestamp) {
        if now >= self.ends {
            self.round = self.round.wrapping_add(1);
            self.ends = now + ROUND;
            self.before = std::mem::take(&mut self.now);
        }
    }

    #[inline]
    fn note(&mut self, connection: &mut Connection) {
        if std::mem::replace(&mut connection.round, self.round) != self.round {
            self.now += 1;
        }
    }
}

impl Connections {
    /// For at most `most` clients, each with about `quantum` of a visit.
    pub(super) fn new(most: u32, quantum: Span) -> Self {
        let places = PlacesConfig::of_requests(most);
        Self {
            clients: Vec::new(),
            places: Places::new(places),
            hasher: RandomState::new(),
            now: Timestamp::ZERO,
            halves: VecDeque::new(),
            ledger: Ledger::new(places.places_max, quantum),
            dirty: Vec::new(),
            input_bytes: 0,
            unsent_bytes: 0,
            count: 0,
            moved: Moved::default(),
            active: Active { round: 1, ends: Timestamp::ZERO, now: 0, before: 0 },
        }
    }

    #[inline]
    pub(super) fn begin_turn(&mut self, now: Timestamp) {
        self.active.begin_turn(now);
        self.now = now;
        if !self.halves.is_empty() {
            self.end_halves();
        }
    }

    /// Ends connections that hold a part of a request for too long.
    fn end_halves(&mut self) {
        while let Some(id) = self.halves.pop_front() {
            let Some(Some(connection)) = self.clients.get_mut(id as usize) else { continue };
            if connection.input.is_empty() {
                connection.is_half = false;
            } else if crowding::is_overdue(self.input_bytes as u64, connection.half_since, self.now) {
                self.end(id);
            } else {
                // Younger ones follow, or one that has gone on.
                return self.halves.push_back(id);
            }
        }
    }

    fn end(&mut self, id: u32) {
        if let Some(mut connection) = self.take(id) {
            connection.die();
            self.put(id, connection, false);
        }
    }

    /// Clients that connected or sent something within the last round or two.
    #[inline]
    pub(super) fn active(&self) -> u32 {
        self.active.now.max(self.active.before).min(self.count)
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Adds a client after `watch` was called with its number; gives it back if there is no place.
    pub(super) fn add(
        &mut self,
        stream: TcpStream,
        watch: impl FnOnce(&TcpStream, u32) -> std::io::Result<()>,
    ) -> Result<(), TcpStream> {
        // Clients of a local socket, which have no address, are one source.
        let peer = stream.peer_addr().ok().map(|peer| prefix(peer.ip()));
        let [source, ..] = self.hasher.hash_one(peer).to_le_bytes();
        let Some(id) = self.arrive(source) else {
            self.moved.refused += 1;
            return Err(stream);
        };
        match watch(&stream, id) {
            Ok(()) => {
                self.moved.connections += 1;
                self.settle(id, Peer::Stream(stream));
            }
            Err(_) => self.places.leave(id),
        }
        Ok(())
    }

    /// Adds the sender of a datagram until it is answered; `None` if there is no place.
    pub(super) fn add_sender(&mut self, peer: Peer) -> Option<u32> {
        let id = self.arrive(0)?;
        self.prove(id);
        self.settle(id, peer);
        Some(id)
    }

    fn arrive(&mut self, source: u8) -> Option<u32> {
        let Place { id, evicts } = self.places.arrive(self.now, source)?;
        if evicts.is_some_and(|evicted| self.take(evicted).is_some()) {
            self.count -= 1;
        }
        Some(id)
    }

    fn settle(&mut self, id: u32, peer: Peer) {
        let mut connection = Box::new(Connection::new(peer, TransferId(0)));
        self.active.note(&mut connection);
        self.ledger.enter(id);
        let place = id as usize;
        if self.clients.len() <= place {
            self.clients.resize_with(place + 1, || None);
        }
        self.clients[place] = Some(connection);
        self.count += 1;
    }

    /// A client has sent a whole request: it keeps its place, or has none if it returns false.
    #[inline]
    pub(super) fn prove(&mut self, id: u32) -> bool {
        self.places.prove(id)
    }

    pub(super) fn get(&mut self, snid: NodeId) -> Option<&mut Connection> {
        self.clients.get_mut(snid.0 as usize)?.as_deref_mut()
    }

    /// Takes a client out, to be [put back](Self::put).
    #[inline]
    pub(super) fn take(&mut self, id: u32) -> Option<Box<Connection>> {
        let connection = self.clients.get_mut(id as usize)?.take()?;
        self.input_bytes -= connection.input.len();
        self.unsent_bytes -= connection.unsent();
        Some(connection)
    }

    /// Puts a client back, or forgets it if it is over. Lists it if there is more to read.
    #[inline]
    pub(super) fn put(&mut self, id: u32, mut connection: Box<Connection>, has_more: bool) {
        self.moved.bytes_read += std::mem::take(&mut connection.bytes_read);
        self.moved.bytes_written += std::mem::take(&mut connection.bytes_written);
        if connection.is_over() {
            self.count -= 1;
            self.places.leave(id);
            return;
        }
        if !connection.input.is_empty() && !std::mem::replace(&mut connection.is_half, true) {
            connection.half_since = self.now;
            self.halves.push_back(id);
        }
        self.input_bytes += connection.input.len();
        self.unsent_bytes += connection.unsent();
        let is_wanted = has_more && (!connection.is_closing || connection.unsent() > 0);
        self.clients[id as usize] = Some(connection);
        if is_wanted {
            self.ledger.ask(id);
        }
    }

    pub(super) fn wake(&mut self, id: u32, may_read: bool, has_ended: bool, may_send: bool) {
        let Some(Some(connection)) = self.clients.get_mut(id as usize) else { return };
        if may_read {
            self.active.note(connection);
        }
        connection.may_read |= may_read || has_ended;
        connection.has_ended |= has_ended;
        connection.may_send |= may_send;
        if may_send && connection.unsent() > 0 {
            self.mark_dirty(id);
        }
        if may_read || has_ended {
            self.ledger.ask(id);
        }
    }

    #[inline]
    pub(super) fn mark_dirty(&mut self, id: u32) {
        if let Some(Some(connection)) = self.clients.get_mut(id as usize)
            && !std::mem::replace(&mut connection.is_dirty, true)
        {
            self.dirty.push(id);
        }
    }

    pub(super) fn ready(&self) -> u32 {
        self.ledger.waiting()
    }

    pub(super) fn next_ready(&mut self) -> Option<Visit> {
        self.ledger.next_visit()
    }

    pub(super) fn next_dirty(&mut self) -> Option<u32> {
        self.dirty.pop()
    }

    /// Why an incomplete request of `bytes` bytes is not kept until it is complete, if so.
    pub(super) fn refusal(&self, now: Timestamp, bytes: usize, log: &mut Option<Recorder>) -> Option<NackReason> {
        let (held, bytes) = (self.input_bytes as u64, bytes as u64);
        let refusal = crowding::kept(held, bytes);
        if let Some(recorder) = log {
            recorder.outside(now, Input::Keep { held, bytes }, Some(refusal.map_or(Decision::Fits, Decision::nack)));
        }
        refusal
    }

    /// Bytes that were read and wait.
    #[inline]
    pub(super) fn input_bytes(&self) -> usize {
        self.input_bytes
    }

    /// Room for more unread answers, in bytes.
    #[inline]
    pub(super) fn unsent_room(&self) -> usize {
        UNSENT_MAX.saturating_sub(self.unsent_bytes)
    }

    /// Counts unsent bytes of a client that was not taken out.
    #[inline]
    pub(super) fn count_unsent(&mut self, bytes: usize) {
        self.unsent_bytes += bytes;
    }
}

//! The clients of one engine: which to read, which to send to, and their memory together.

use super::connection::{Connection, Peer};
use crate::nic::recorder::Recorder;
use nebula_nic::ledger::Visit;
use nebula_nic::{Decision, Input, Ledger, NackReason, NodeId, Span, Timestamp, TransferId, crowding};

const UNSENT_MAX: usize = 256 << 20;
/// A client counts as active for one to two rounds after it connected or sent something.
const ROUND: Span = Span::from_secs(1);

#[derive(Debug)]
pub(super) struct Connections {
    places: Vec<Option<Box<Connection>>>,
    free: Vec<u32>,
    /// Whom to read next, and how much of it.
    pub(super) ledger: Ledger,
    dirty: Vec<u32>,
    input_bytes: usize,
    unsent_bytes: usize,
    count: u32,
    active: Active,
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
        Self {
            places: (0..most).map(|_| None).collect(),
            free: (0..most).rev().collect(),
            ledger: Ledger::new(most, quantum),
            dirty: Vec::new(),
            input_bytes: 0,
            unsent_bytes: 0,
            count: 0,
            active: Active { round: 1, ends: Timestamp::ZERO, now: 0, before: 0 },
        }
    }

    #[inline]
    pub(super) fn begin_turn(&mut self, now: Timestamp) {
        self.active.begin_turn(now);
    }

    /// Clients that connected or sent something within the last round or two.
    #[inline]
    pub(super) fn active(&self) -> u32 {
        self.active.now.max(self.active.before).min(self.count)
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// Adds a client, which `peer` makes for its number; `None` if there is no place or no client.
    pub(super) fn add_with(&mut self, peer: impl FnOnce(u32) -> Option<Peer>) -> Option<u32> {
        let id = *self.free.last()?;
        let peer = peer(id)?;
        self.free.pop();
        self.count += 1;
        let mut connection = Box::new(Connection::new(peer, TransferId(0)));
        self.active.note(&mut connection);
        self.ledger.enter(id);
        self.places[id as usize] = Some(connection);
        Some(id)
    }

    pub(super) fn get(&mut self, snid: NodeId) -> Option<&mut Connection> {
        self.places.get_mut(snid.0 as usize)?.as_deref_mut()
    }

    /// Takes a client out, to be [put back](Self::put).
    #[inline]
    pub(super) fn take(&mut self, id: u32) -> Option<Box<Connection>> {
        let connection = self.places.get_mut(id as usize)?.take()?;
        self.input_bytes -= connection.input.len();
        self.unsent_bytes -= connection.unsent();
        Some(connection)
    }

    /// Puts a client back, or forgets it if it is over. Lists it if there is more to read.
    #[inline]
    pub(super) fn put(&mut self, id: u32, connection: Box<Connection>, has_more: bool) {
        if connection.is_over() {
            self.count -= 1;
            self.free.push(id);
            return;
        }
        self.input_bytes += connection.input.len();
        self.unsent_bytes += connection.unsent();
        let is_wanted = has_more && (!connection.is_closing || connection.unsent() > 0);
        self.places[id as usize] = Some(connection);
        if is_wanted {
            self.ledger.ask(id);
        }
    }

    pub(super) fn wake(&mut self, id: u32, may_read: bool, has_ended: bool, may_send: bool) {
        let Some(Some(connection)) = self.places.get_mut(id as usize) else { return };
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
        if let Some(Some(connection)) = self.places.get_mut(id as usize)
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

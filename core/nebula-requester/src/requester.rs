//! Station 11: *which RPC does this reply belong to, and what follows a NACK?*
//!
//! The client's side of an RPC: numbers, the table of outstanding RPCs, the match of a reply or a
//! NACK with its request, the deadline, and the policy after a NACK. It holds no payload: a `token`
//! of the caller identifies the RPC, and the caller sends the headers that [`Outbound`] gives.
//!
//! The table is indexed by the low bits of the transfer id, so a match is one lookup. Each try of
//! an RPC has its own number: a late packet for an earlier try changes nothing. A number is reused
//! only after its place has been used 2^32 / capacity times.
//!
//! Packets of a multi-packet reply are counted with one bit each; the first one determines the
//! size, and packets that disagree are refused.
//!
//! On networks that lose packets, [`Retransmit`](crate::Retransmit) decides when to send again, and
//! [`Upload`](crate::Upload) and [`Download`](crate::Download) which packets; they identify an RPC
//! by its [place](Requester::place) in the table.
//!
//! Next: station 1, [`outbound`](nebula_nic::outbound), for the RPC after it.

use crate::config::{RequesterConfig, RequesterConfigError};
use crate::outcome::{Call, Expired, Outcome, Resend, TableFull};
use crate::retry::{Next, Retries};
use crate::table::{Entry, State, Table};
use crate::timers::Timers;
use nebula_nic::id::TransferId;
use nebula_nic::outbound::Outbound;
use nebula_nic::time::{Span, Timestamp};
use nebula_nic::verdict::{DropReason, NackReason};
use nebula_nic::wire::{Header, Kind, Mtu};

/// Decides for a client: the number of an RPC, the RPC of a packet, and what follows a NACK.
///
/// [`handle_packet`](Self::handle_packet) returns what to do. After
/// [`handle_timeout`](Self::handle_timeout) and [`handle_server_gone`](Self::handle_server_gone),
/// drain [`poll_expired`](Self::poll_expired), then [`poll_retry`](Self::poll_retry);
/// [`poll_timeout`](Self::poll_timeout) gives the latest time of the next call. Cost: O(1) for a
/// begin and a match while numbers are freed in order; O(log outstanding) for a back-off or an
/// individual deadline. No allocation.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Header, NodeId, Timestamp};
/// use nebula_requester::{Outcome, Requester, RequesterConfig};
///
/// let now = Timestamp::ZERO;
/// let mut client = Requester::try_new(RequesterConfig::new(NodeId(3), 64))?;
/// let request = client.begin(now, 40, 7).unwrap().next().unwrap();
/// let reply = Header::reply(request.rpc(), 8, 0);
/// assert!(matches!(client.handle_packet(now, reply), Outcome::Reply { token: 7, bytes: 8, .. }));
/// assert_eq!(client.handle_packet(now, reply), Outcome::Duplicate);
/// # Ok::<(), nebula_requester::RequesterConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Requester {
    config: RequesterConfig,
    table: Table,
    retries: Retries,
    backoffs: Timers,
    deadlines: Timers,
}

impl Requester {
    /// A requester with nothing outstanding.
    pub fn try_new(config: RequesterConfig) -> Result<Self, RequesterConfigError> {
        config.validate()?;
        let table = Table::new(config.outstanding, config.mtu.packets(config.reply_bytes_max), config.first_tid);
        let backoffs = Timers::of_tries(table.capacity());
        let deadlines = Timers::of_deadlines(table.capacity());
        Ok(Self { config, table, retries: Retries::new(config.retry), backoffs, deadlines })
    }

    /// Numbers an RPC of `bytes` payload bytes to server 0.
    ///
    /// # Errors
    ///
    /// If as many are outstanding as the table holds.
    #[inline]
    pub fn begin(&mut self, now: Timestamp, bytes: u32, token: u64) -> Result<Outbound, TableFull> {
        self.begin_call(now, Call { bytes, token, ..Call::default() })
    }

    /// Numbers an RPC with a key, or to another server.
    ///
    /// # Errors
    ///
    /// If as many are outstanding as the table holds.
    #[inline]
    pub fn begin_call(&mut self, now: Timestamp, call: Call) -> Result<Outbound, TableFull> {
        let place = self.begin_until(now + self.config.deadline, call)?;
        Ok(self.outbound(place))
    }

    /// Like [`begin_call`](Self::begin_call), with an earlier deadline than the configured one.
    ///
    /// # Errors
    ///
    /// If as many are outstanding as the table holds.
    pub fn begin_within(&mut self, now: Timestamp, deadline: Span, call: Call) -> Result<Outbound, TableFull> {
        let until = now + deadline.min(self.config.deadline);
        let place = self.begin_until(until, call)?;
        if deadline < self.config.deadline {
            self.deadlines.push(until, place, &self.table);
        }
        Ok(self.outbound(place))
    }

    #[inline]
    fn begin_until(&mut self, deadline: Timestamp, call: Call) -> Result<usize, TableFull> {
        let place = self.table.begin(call, deadline, self.retries.first_delay());
        place.ok_or(TableFull { outstanding: self.table.outstanding() })
    }

    /// Matches a packet with its RPC.
    #[inline]
    pub fn handle_packet(&mut self, now: Timestamp, header: Header) -> Outcome {
        let place = self.table.place(header.tid);
        let entry = self.table.entry(place);
        if header.snid != self.config.snid || entry.tid != header.tid {
            return Outcome::Unknown;
        }
        match (header.kind, entry.state) {
            (Kind::Request, _) | (_, State::Unused | State::Expired) => Outcome::Unknown,
            // Answered, or NACKed because of another of its packets.
            (_, State::Answered | State::BackOff) => Outcome::Duplicate,
            (Kind::Reply, State::Sent) => self.handle_reply(place, &header),
            (Kind::Nack, State::Sent) => self.handle_nack(now, place, header.nack_reason()),
            (Kind::Ack, State::Sent) => Outcome::Acked { token: entry.call.token },
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due: a deadline, or another try.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let due = [self.table.oldest_deadline(), self.backoffs.earliest(), self.deadlines.earliest()];
        due.into_iter().flatten().min()
    }

    /// Ends the RPCs whose deadline has passed. O(RPCs ended).
    pub fn handle_timeout(&mut self, now: Timestamp) {
        while let Some(place) = self.table.oldest().filter(|&place| self.table.entry(place).deadline <= now) {
            self.table.expire(place);
        }
        while let Some(place) = self.deadlines.pop_due(now, &self.table) {
            self.table.expire(place);
        }
    }

    /// Ends the RPCs that wait for a lost server, or to be tried again there. O(RPCs outstanding).
    pub fn handle_server_gone(&mut self, server: u16) {
        let mut next = self.table.oldest();
        while let Some(place) = next {
            next = self.table.newer(place);
            if self.table.entry(place).call.server == server {
                self.table.expire(place);
            }
        }
    }

    /// The next RPC that ended without an answer.
    pub fn poll_expired(&mut self) -> Option<Expired> {
        self.poll_expired_place().map(|(_, expired)| expired)
    }

    /// Like [`poll_expired`](Self::poll_expired), with its place.
    pub fn poll_expired_place(&mut self) -> Option<(u32, Expired)> {
        self.table.pop_expired().map(|(place, token)| (place, Expired { token }))
    }

    /// The next RPC whose back-off is over, with the number of its next try.
    pub fn poll_retry(&mut self, now: Timestamp) -> Option<Resend> {
        let place = self.backoffs.pop_due(now, &self.table)?;
        let Call { token, server, .. } = self.table.entry(place).call;
        self.table.renumber(place);
        Some(Resend { token, server, outbound: self.outbound(place) })
    }

    /// The place of the RPC with number `tid`, below the [`capacity`](Self::capacity): its own
    /// while it is outstanding, whatever number its next try has.
    #[must_use]
    #[inline]
    pub fn place(&self, tid: TransferId) -> u32 {
        self.table.number(tid)
    }

    /// Ends the RPC at `place` at the caller's request; returns its token, if there is one.
    ///
    /// # Panics
    ///
    /// If there is no such place.
    pub fn end(&mut self, place: u32) -> Option<u64> {
        let entry = self.table.entry(place as usize);
        let token = matches!(entry.state, State::Sent | State::BackOff).then_some(entry.call.token)?;
        self.table.take_back(place as usize);
        Some(token)
    }

    /// The place of an RPC by its token. O(RPCs outstanding).
    #[must_use]
    pub fn find(&self, token: u64) -> Option<u32> {
        let mut next = self.table.oldest();
        while let Some(place) = next {
            if self.table.entry(place).call.token == token {
                return u32::try_from(place).ok();
            }
            next = self.table.newer(place);
        }
        None
    }

    /// For the reply to the RPC at `place`: the first packet that has not arrived, and a bit for
    /// each of the 64 from there on that has. `None` before its first packet.
    ///
    /// # Panics
    ///
    /// If there is no such place.
    #[must_use]
    pub fn reply_missing(&self, place: u32) -> Option<(u32, u64)> {
        self.table.reply_missing(place as usize)
    }

    /// Sets the payload of one packet, which a client may only learn from its server.
    ///
    /// # Panics
    ///
    /// If part of a reply has arrived: it was split differently.
    pub fn set_mtu(&mut self, mtu: Mtu) {
        self.config.mtu = mtu;
        self.table.resize_replies(mtu.packets(self.config.reply_bytes_max));
    }

    /// RPCs begun and not ended.
    #[must_use]
    #[inline]
    pub const fn outstanding(&self) -> u32 {
        self.table.outstanding()
    }

    /// The most RPCs that can be outstanding.
    #[must_use]
    pub fn capacity(&self) -> u32 {
        self.table.capacity()
    }

    #[inline]
    fn outbound(&self, place: usize) -> Outbound {
        let Entry { tid, call, .. } = *self.table.entry(place);
        let (kind, snid) = (Kind::Request, self.config.snid);
        let header = Header { kind, snid, tid, rpc_bytes: call.bytes, pkt_idx: 0, key_hash: call.key_hash };
        Outbound::new(header, self.config.mtu)
    }

    #[inline]
    fn handle_reply(&mut self, place: usize, header: &Header) -> Outcome {
        let Entry { call: Call { token, .. }, reply_bytes, .. } = *self.table.entry(place);
        let Header { rpc_bytes: bytes, pkt_idx, .. } = *header;
        if reply_bytes.unwrap_or(bytes) != bytes || bytes > self.config.reply_bytes_max {
            return Outcome::Refused { token, reason: DropReason::SizeMismatch };
        }
        let packets = self.config.mtu.packets(bytes);
        if pkt_idx >= packets {
            return Outcome::Refused { token, reason: DropReason::IndexOutOfRange };
        }
        let offset_bytes = pkt_idx * self.config.mtu.bytes();
        let packet_bytes = self.config.mtu.packet_bytes(bytes, pkt_idx);
        if packets > 1 {
            match self.table.mark_reply(place, bytes, packets, pkt_idx) {
                None => return Outcome::Duplicate,
                Some(0) => {}
                Some(_) => return Outcome::Part { token, offset_bytes, packet_bytes },
            }
        }
        self.table.end(place);
        Outcome::Reply { token, bytes, offset_bytes, packet_bytes }
    }

    fn handle_nack(&mut self, now: Timestamp, place: usize, reason: Option<NackReason>) -> Outcome {
        let Entry { call, deadline, .. } = *self.table.entry(place);
        let token = call.token;
        match self.retries.next(self.table.entry_mut(place), reason) {
            Next::After(delay) if now + delay <= deadline => {
                let at = now + delay;
                self.backoffs.push(at, place, &self.table);
                Outcome::Retry { token, at }
            }
            Next::AnotherServer(server) => {
                self.table.renumber(place);
                Outcome::Redirect { token, server, outbound: self.outbound(place) }
            }
            Next::After(_) | Next::GiveUp => {
                self.table.end(place);
                Outcome::GaveUp { token, reason }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_nic::{NodeId, TransferId};

    #[test]
    fn numbers_go_on_past_the_largest() {
        let config = RequesterConfig::new(NodeId(0), 4).first_tid(TransferId(u32::MAX - 3));
        let mut client = Requester::try_new(config).unwrap();
        for (token, tid) in (u32::MAX - 3..=u32::MAX).chain(0..6).enumerate() {
            let request = client.begin(Timestamp::ZERO, 0, token as u64).unwrap();
            assert_eq!(request.tid(), TransferId(tid));
            let reply = Header::reply(request.clone().next().unwrap().rpc(), 0, 0);
            assert!(matches!(client.handle_packet(Timestamp::ZERO, reply), Outcome::Reply { .. }));
        }
    }
}

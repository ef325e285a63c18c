//! A client over shared memory: a ring of slots that it owns, and the server's counters.

use super::call::{Caller, call};
use super::connection::Connection;
use super::retained::Retained;
use super::ring::{self, Answered, Entry, Next, REPLY_BYTES_FIRST, Ring, State};
use super::tracked::Tracked;
use crate::client::error::{CallError, ConnectError, SubmitError};
use crate::client::ticket::{Completion, Ticket};
use crate::config::client::{ClientConfig, Options};
use crate::nic::one_sided::ROOM_BYTES;
use crate::rpc::fault::Fault;
use crate::rpc::slot::{IN_LINE_BYTES, Mark, SPAN_MAX, SlotHeader};
use crate::status::StatusReader;
use crate::transport::shm::handshake::Mappable;
use nebula_nic::{Header, Kind, NodeId, Outbound, RpcKey, Span, Timestamp, TransferId};
use nebula_requester::{Call, Expired, Outcome};
use nebula_sys::clock::Clock;
use nebula_sys::copy::UNIT_BYTES;
use nebula_sys::copy::store_bytes_and;
use nebula_sys::fork::ForkMark;
use nebula_sys::sync::AtomicU64;
use std::collections::VecDeque;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

/// Polls without a result before other slots, deadlines and the server are checked.
const MISSES_PER_LOOK: u32 = 4;
/// Shorter waits do not yield the core, which takes some microseconds.
const YIELD_FROM: Span = Span::from_us(10);

/// Result of a first look.
#[derive(Clone, Copy, Debug)]
pub enum Glance {
    /// The reply to this RPC, and its bytes.
    Reply(Ticket, u32),
    /// Nothing has come.
    Nothing,
    /// There may be more: not a short reply, or time has passed.
    Otherwise,
}

/// A client over shared memory.
///
/// Its ring is the only record of an RPC. Only an RPC with a deadline, or one that may be sent
/// again after a NACK, is in the requester too.
#[derive(Debug)]
pub(crate) struct ShmClient {
    pub(super) ring: Ring,
    mark: ForkMark,
    /// Requests shorter than this go the short way: one packet in one slot, unknown to the
    /// requester.
    whole_end: usize,
    whole_reply_max: u32,
    /// Outstanding RPCs that only the ring has.
    sent: u32,
    misses: u32,
    /// The longest wait for an RPC; [`Span::MAX`] without limit.
    deadline: Span,
    call_timeout: Duration,
    requester: Tracked,
    snid: NodeId,
    status: StatusReader,
    clock: Clock,
    /// Deadlines or back-offs are in use, and so is the clock.
    is_timed: bool,
    retained: Retained,
    /// Tickets that ended without an answer in the ring.
    ended: VecDeque<(Ticket, CallError)>,
    resends: VecDeque<(u64, Outbound)>,
    reply: Vec<u8>,
    next_ticket: u64,
    rpc_bytes_max: u32,
    reply_bytes_max: u32,
    /// Neither side has said how long replies are: one may fill its RPC's slots, so that an echo of
    /// any length fits.
    fills_slots: bool,
    /// The longest reply that the server announces.
    server_reply_bytes_max: Option<u32>,
    slo: Span,
    regions: Vec<(Mappable, OwnedFd)>,
}

impl ShmClient {
    pub(crate) fn connect(name: &str, config: &ClientConfig, may_sleep: bool) -> Result<Self, ConnectError> {
        let mark =
            ForkMark::new().map_err(|cause| ConnectError::System { endpoint: format!("shm://{name}"), cause })?;
        let ring::Connected { ring, welcome, status, regions } = ring::connect(name, config, may_sleep)?;
        let geometry = ring.geometry();
        let said = Some(welcome.reply_bytes_max).filter(|&bytes| bytes > 0);
        // Rounded up to whole slots, which the server may fill.
        let whole_slots = || said.map_or(1, |said| geometry.packets(said)).saturating_mul(geometry.mtu_bytes);
        let reply_bytes_max = config.reply_bytes_max.unwrap_or_else(whole_slots);
        let reply_bytes_max = reply_bytes_max.max(if config.one_sided { ROOM_BYTES } else { 0 });
        if reply_bytes_max < welcome.reply_bytes_max {
            return Err(ConnectError::ReplyRoom { server: welcome.reply_bytes_max, client: reply_bytes_max });
        }
        let span = geometry.packets(reply_bytes_max);
        if span > geometry.slots.min(SPAN_MAX) {
            let bytes = config.reply_bytes_max.or(said).unwrap_or(reply_bytes_max);
            return Err(ConnectError::ReplyTooLarge { bytes, slots: geometry.slots });
        }
        let wanted = config.requester(NodeId(welcome.snid), geometry, reply_bytes_max);
        let requester = Tracked::try_new(wanted, config.is_timed())?;
        let rpc_bytes_max = welcome.rpc_bytes_max.min(geometry.slots.saturating_mul(geometry.mtu_bytes));
        let first = reply_bytes_max.min(REPLY_BYTES_FIRST);
        let goes_short = span == 1 && !config.is_timed();
        Ok(Self {
            whole_end: if goes_short { rpc_bytes_max.min(geometry.mtu_bytes) as usize + 1 } else { 0 },
            whole_reply_max: first.min(geometry.mtu_bytes),
            sent: 0,
            misses: 0,
            retained: Retained::new(config.keeps_requests()),
            is_timed: config.is_timed(),
            deadline: config.deadline,
            call_timeout: config.call_timeout.into(),
            snid: NodeId(welcome.snid),
            status: StatusReader::new(status, welcome.status_bytes as usize),
            clock: Clock::new(),
            ended: VecDeque::new(),
            resends: VecDeque::new(),
            reply: vec![0; (first as usize).max(IN_LINE_BYTES).next_multiple_of(UNIT_BYTES)],
            next_ticket: 0,
            rpc_bytes_max,
            reply_bytes_max,
            fills_slots: config.reply_bytes_max.or(said).is_none(),
            server_reply_bytes_max: said,
            slo: Span::from_ps(welcome.slo_ps),
            ring,
            mark,
            requester,
            regions,
        })
    }

    /// Whether a request of `bytes` bytes can be sent the short way, now.
    #[inline(always)]
    fn goes_short(&self, bytes: usize) -> bool {
        bytes < self.whole_end && self.ring.has_room(1) && !self.mark.is_forked()
    }

    /// The token of the RPC that is sent the short way.
    #[inline(always)]
    fn begin_short(&mut self) -> u64 {
        let token = self.next_ticket;
        self.next_ticket += 1;
        self.sent += 1;
        token
    }

    #[inline(never)]
    fn submit_longer(&mut self, request: &[u8], key_hash: u32) -> Result<Ticket, SubmitError> {
        if !self.goes_short(request.len()) {
            return self.submit_with(request, Options::default().key_hash(key_hash));
        }
        let token = self.begin_short();
        self.ring.send_whole(token, request.len() as u64 | u64::from(key_hash) << 32, request);
        Ok(Ticket(token))
    }

    /// As [`submit_keyed`](Self::submit_keyed), with `tail` appended; `None` if the short way is
    /// closed, or both do not lie in one piece of a slot.
    #[inline(always)]
    pub(crate) fn submit_and(&mut self, request: &[u8], tail: [u8; 4], key_hash: u32) -> Option<Ticket> {
        let end = request.len() + tail.len();
        self.submit_put(key_hash, |words| {
            if end > size_of_val(words) {
                return None;
            }
            store_bytes_and(words, request, tail);
            Some(end)
        })
    }

    /// Submits a request that `put` writes, the short way if possible. It returns the length in
    /// bytes, or `None` to send nothing.
    #[inline(always)]
    pub(crate) fn submit_put(
        &mut self,
        key_hash: u32,
        put: impl FnOnce(&[AtomicU64]) -> Option<usize>,
    ) -> Option<Ticket> {
        if !self.ring.has_room(1) || self.mark.is_forked() {
            return None;
        }
        let (token, end) = (self.next_ticket, self.whole_end);
        let sizes_of = |bytes: usize| bytes as u64 | u64::from(key_hash) << 32;
        self.ring.send_put(token, |room| put(room).filter(|&bytes| bytes < end).map(sizes_of))?;
        self.next_ticket += 1;
        self.sent += 1;
        Some(Ticket(token))
    }

    pub(crate) fn take_regions(&mut self) -> Vec<(Mappable, OwnedFd)> {
        std::mem::take(&mut self.regions)
    }

    /// Gives an RPC to the requester too. Returns its number there.
    fn track(&mut self, token: u64, bytes: u32, options: Options) -> Result<TransferId, SubmitError> {
        let (now, call) = (self.now(), Call { bytes, key_hash: options.key_hash, server: 0, token });
        self.requester.begin(now, options, call)
    }

    fn forsake(&mut self, token: u64) -> bool {
        let mut is_found = false;
        self.ring.visit(|entry| {
            is_found = entry.token == token && entry.state == State::Sent;
            if is_found {
                entry.state = State::Forsaken;
            }
            !is_found
        });
        self.sent -= u32::from(is_found);
        is_found
    }

    /// The first half of [`poll`](Self::poll), enough for most polls. Its results are numbers,
    /// which stay in registers.
    #[inline(always)]
    pub(crate) fn glance(&mut self) -> Glance {
        if self.mark.is_forked() {
            return Glance::Otherwise;
        }
        match self.ring.take_oldest(&mut self.reply, self.whole_reply_max) {
            Next::Reply { token, bytes } => {
                self.sent -= 1;
                Glance::Reply(Ticket(token), bytes)
            }
            Next::Pending => {
                self.misses = self.misses.wrapping_add(1);
                let is_look_due = self.misses.is_multiple_of(MISSES_PER_LOOK.min(self.ring.rove_every()));
                if is_look_due { Glance::Otherwise } else { Glance::Nothing }
            }
            // A retry that waits is not in the ring.
            Next::Empty if self.ended.is_empty() && !self.is_timed => Glance::Nothing,
            Next::Empty | Next::Other => Glance::Otherwise,
        }
    }

    /// The last reply, of `bytes` bytes.
    #[inline(always)]
    pub(crate) fn taken(&self, bytes: u32) -> &[u8] {
        &self.reply[..bytes as usize]
    }

    #[inline(never)]
    pub(crate) fn poll_otherwise(&mut self) -> Option<Completion<'_>> {
        if self.mark.is_forked() { self.poll_forked() } else { self.poll_all() }
    }

    #[cold]
    #[inline(never)]
    fn poll_forked(&mut self) -> Option<Completion<'_>> {
        if self.sent + self.requester.outstanding() > 0 {
            self.give_up_all(Some(&CallError::Forked));
        }
        let (ticket, error) = self.ended.pop_front()?;
        Some(Completion { ticket, result: Err(error) })
    }

    fn poll_all(&mut self) -> Option<Completion<'_>> {
        if let Some(answered) = self.ring.next_answer() {
            let (ticket, result) = self.take(answered)?;
            return Some(Completion { ticket, result: result.map(|bytes| &self.reply[..bytes]) });
        }
        self.poll_idle()
    }

    fn poll_idle(&mut self) -> Option<Completion<'_>> {
        if self.is_timed {
            self.keep_time();
        }
        if self.ended.is_empty() && self.ring.looks_gone() {
            self.give_up_all(Some(&CallError::ServerGone));
        }
        let (ticket, error) = self.ended.pop_front()?;
        Some(Completion { ticket, result: Err(error) })
    }

    #[inline(never)]
    fn take_others(&mut self, visit: &mut dyn FnMut(Completion<'_>)) {
        if self.mark.is_forked() {
            while let Some(completion) = self.poll_forked() {
                visit(completion);
            }
            return;
        }
        let mut position = self.ring.oldest();
        while let Some(answered) = self.ring.next_answer_from(&mut position) {
            if let Some((ticket, result)) = self.take(answered) {
                visit(Completion { ticket, result: result.map(|bytes| &self.reply[..bytes]) });
            }
        }
        if self.is_timed {
            self.keep_time();
        }
        while let Some((ticket, error)) = self.ended.pop_front() {
            visit(Completion { ticket, result: Err(error) });
        }
    }

    #[inline(always)]
    fn span(&self, request_bytes: u32) -> u32 {
        self.ring.geometry().packets(request_bytes.max(self.reply_bytes_max))
    }

    #[inline(always)]
    fn now(&self) -> Timestamp {
        if self.is_timed { Timestamp::from_ps(self.clock.now_ps()) } else { Timestamp::ZERO }
    }

    /// Takes an answer out of the ring, and its reply into `self.reply`.
    fn take(&mut self, answered: Answered) -> Option<(Ticket, Result<usize, CallError>)> {
        let Answered { position, entry, header } = answered;
        let ended = match entry.state {
            State::Sent => {
                self.sent -= 1;
                Some((Ticket(entry.token), self.result(position, entry, header)))
            }
            State::Tracked => self.take_tracked(position, entry, header),
            State::Forsaken | State::Over => None,
        };
        self.ring.end(position);
        self.resend();
        ended
    }

    fn result(&mut self, position: u32, entry: Entry, header: SlotHeader) -> Result<usize, CallError> {
        match header.mark {
            Mark::Reply if header.rpc_bytes <= self.reply_room(entry) => {
                self.copy_reply(position, header.rpc_bytes);
                Ok(header.rpc_bytes as usize)
            }
            // The slots carry whole packets: the server may have found more room than configured.
            Mark::Reply => Err(CallError::Fault(Fault::ReplyTooLarge)),
            Mark::Fault => Err(CallError::Fault(Fault::from_code(header.extra))),
            Mark::Nack => Err(CallError::refused(nack(RpcKey::default(), header).nack_reason())),
            Mark::Request | Mark::Cancelled | Mark::Operation => unreachable!("what the client sent is no answer"),
        }
    }

    fn take_tracked(
        &mut self,
        position: u32,
        entry: Entry,
        header: SlotHeader,
    ) -> Option<(Ticket, Result<usize, CallError>)> {
        let rpc = RpcKey { snid: self.snid, tid: entry.tid };
        if header.mark == Mark::Nack {
            return self.take_nack(nack(rpc, header));
        }
        // Any answer counts as a reply.
        let now = self.now();
        let Outcome::Reply { token, .. } = self.requester.handle_packet(now, Header::reply(rpc, 0, 0)) else {
            return None;
        };
        self.retained.drop_request(token);
        Some((Ticket(token), self.result(position, entry, header)))
    }

    fn reply_room(&self, entry: Entry) -> u32 {
        let slots = u32::from(entry.span).saturating_mul(self.ring.geometry().mtu_bytes);
        if self.fills_slots { slots } else { self.reply_bytes_max }
    }

    fn copy_reply(&mut self, position: u32, bytes: u32) {
        let mtu = self.ring.geometry().mtu_bytes as usize;
        if self.reply.len() < bytes as usize {
            self.reply.resize((bytes.max(self.reply_bytes_max) as usize).next_multiple_of(UNIT_BYTES), 0);
            self.whole_reply_max = self.ring.geometry().mtu_bytes.min(self.reply_bytes_max);
        }
        for (at, part) in (0..).zip(self.reply[..bytes as usize].chunks_mut(mtu)) {
            self.ring.load(position.wrapping_add(at), part);
        }
    }

    fn take_nack(&mut self, nack: Header) -> Option<(Ticket, Result<usize, CallError>)> {
        let now = self.now();
        match self.requester.handle_packet(now, nack) {
            Outcome::GaveUp { token, reason } => {
                self.retained.drop_request(token);
                let error = CallError::refused(reason);
                Some((Ticket(token), Err(error)))
            }
            Outcome::Redirect { token, outbound, .. } => {
                self.resends.push_back((token, outbound));
                None
            }
            _ => None,
        }
    }

    #[inline(never)]
    fn keep_time(&mut self) {
        let now = self.now();
        if self.requester.poll_timeout().is_some_and(|due| due <= now) {
            self.requester.handle_timeout(now);
            self.expire(&CallError::TimedOut);
            while let Some(resend) = self.requester.poll_retry(now) {
                self.resends.push_back((resend.token, resend.outbound));
            }
        }
        self.resend();
    }

    /// Ends every outstanding RPC, and reports `error` if there is one.
    #[cold]
    fn give_up_all(&mut self, error: Option<&CallError>) {
        let (ring, ended) = (&mut self.ring, &mut self.ended);
        ring.visit(|entry| {
            if entry.state == State::Sent {
                entry.state = State::Forsaken;
                ended.extend(error.map(|error| (Ticket(entry.token), error.clone())));
            }
            true
        });
        self.sent = 0;
        self.requester.handle_server_gone(0);
        match error {
            Some(error) => self.expire(error),
            None => while self.requester.poll_expired().is_some() {},
        }
    }

    fn expire(&mut self, error: &CallError) {
        while let Some(Expired { token }) = self.requester.poll_expired() {
            self.retained.drop_request(token);
            self.ended.push_back((Ticket(token), error.clone()));
        }
    }

    fn resend(&mut self) {
        while let Some((token, packets)) = self.resends.front() {
            let token = *token;
            // The request of an RPC that has ended otherwise is gone.
            if let Some(request) = self.retained.request(token) {
                let (tid, span) = (packets.tid(), self.span(packets.rpc_bytes()));
                if !self.ring.make_room(span) {
                    return;
                }
                let key_hash = packets.clone().next().map_or(0, |header| header.key_hash);
                self.ring.send(entry(token, Some(tid), span), request, key_hash);
            }
            self.resends.pop_front();
        }
    }
}

impl Connection for ShmClient {
    /// A request that lies in one cache line with its header, or else [`submit_longer`]. Apart, so
    /// that the registers for a longer copy are saved for it alone.
    ///
    /// [`submit_longer`]: Self::submit_longer
    #[inline(always)]
    fn submit_keyed(&mut self, request: &[u8], key_hash: u32) -> Result<Ticket, SubmitError> {
        let bytes = request.len();
        if bytes > IN_LINE_BYTES || !self.goes_short(bytes) {
            return self.submit_longer(request, key_hash);
        }
        let token = self.begin_short();
        self.ring.send_line(token, bytes as u64 | u64::from(key_hash) << 32, request);
        Ok(Ticket(token))
    }

    #[inline(never)]
    fn submit_with(&mut self, request: &[u8], options: Options) -> Result<Ticket, SubmitError> {
        // The ring is the parent's, which writes there too.
        if self.mark.is_forked() {
            return Err(SubmitError::Forked);
        }
        let bytes = u32::try_from(request.len()).ok().filter(|&bytes| bytes <= self.rpc_bytes_max);
        let Some(bytes) = bytes else {
            return Err(SubmitError::TooLarge { bytes: request.len(), max: self.rpc_bytes_max });
        };
        let span = self.span(bytes);
        // Retries go first, or they might wait without limit.
        if !self.ring.make_room(span) || !self.resends.is_empty() {
            return Err(self.ring.refusal());
        }
        self.is_timed |= options.deadline.is_some();
        let token = self.next_ticket;
        let tid = if self.is_timed { Some(self.track(token, bytes, options)?) } else { None };
        self.next_ticket += 1;
        self.sent += u32::from(tid.is_none());
        self.retained.keep(token, request);
        self.ring.send(entry(token, tid, span), request, options.key_hash);
        Ok(Ticket(token))
    }

    fn submit_operation(&mut self, token: Ticket, message: &[u8]) -> Result<(), SubmitError> {
        if self.mark.is_forked() {
            return Err(SubmitError::Forked);
        }
        if !self.ring.make_room(1) {
            return Err(self.ring.refusal());
        }
        self.sent += 1;
        self.ring.send_operation(token.0, message);
        Ok(())
    }

    fn packet_bytes(&self) -> u32 {
        self.ring.geometry().mtu_bytes
    }

    /// Ends an RPC; its answer is ignored and frees its slots. A mark in the slot notifies the
    /// server.
    fn cancel(&mut self, ticket: Ticket) -> bool {
        let is_outstanding = match self.requester.find(ticket.0) {
            Some(place) => self.requester.end(place).is_some(),
            None => self.forsake(ticket.0),
        };
        if is_outstanding {
            if !self.mark.is_forked() {
                self.ring.cancel(ticket.0);
            }
            self.retained.drop_request(ticket.0);
            self.ended.push_back((ticket, CallError::Cancelled));
        }
        is_outstanding
    }

    #[inline(always)]
    fn poll(&mut self) -> Option<Completion<'_>> {
        match self.glance() {
            Glance::Reply(ticket, bytes) => Some(Completion { ticket, result: Ok(self.taken(bytes)) }),
            Glance::Nothing => None,
            Glance::Otherwise => self.poll_otherwise(),
        }
    }

    /// Calls `visit` with every RPC that has ended. Looks at each outstanding one.
    fn take_all(&mut self, visit: &mut dyn FnMut(Completion<'_>)) {
        // Most have ended in their order.
        while let Glance::Reply(ticket, bytes) = self.glance() {
            visit(Completion { ticket, result: Ok(self.taken(bytes)) });
        }
        if self.sent + self.requester.outstanding() > 0 || !self.ended.is_empty() || self.is_timed {
            self.take_others(visit);
        }
    }

    fn take_wake_ups(&mut self) {
        if self.ring.take_wake_ups() {
            self.give_up_all(Some(&CallError::ServerGone));
        }
    }

    /// Whether a short request can be sent, or would fail at once.
    #[cfg(feature = "tower")]
    fn has_room(&mut self) -> bool {
        let span = self.span(0);
        (self.ring.make_room(span) && self.resends.is_empty()) || self.ring.looks_gone() || self.mark.is_forked()
    }

    fn due(&mut self) -> Option<Span> {
        if !self.is_timed || self.requester.outstanding() == 0 {
            return None;
        }
        Some(self.requester.poll_timeout()? - self.now())
    }

    fn call(&mut self, request: &[u8], options: Options) -> Result<&[u8], CallError> {
        let bytes = call(self, request, options)?;
        Ok(&self.reply[..bytes])
    }

    #[inline]
    fn outstanding(&self) -> u32 {
        self.sent + self.requester.outstanding() + u32::try_from(self.ended.len()).unwrap_or(u32::MAX)
    }

    fn status(&self) -> Option<&StatusReader> {
        Some(&self.status)
    }

    fn slo(&self) -> Span {
        self.slo
    }

    fn rpc_bytes_max(&self) -> u32 {
        self.rpc_bytes_max
    }

    fn server_reply_bytes_max(&self) -> Option<u32> {
        self.server_reply_bytes_max
    }

    fn buffer_bytes(&self) -> usize {
        self.ring.geometry().bytes()
    }

    fn wait(&mut self, timeout: Span) {
        let timeout = self.due().map_or(timeout, |due| due.min(timeout));
        if timeout < YIELD_FROM {
            std::hint::spin_loop();
        } else if !self.ring.may_sleep() || self.mark.is_forked() {
            std::thread::yield_now();
        } else if self.ended.is_empty() {
            self.ring.sleep(timeout.into());
        }
    }

    fn has_answer(&mut self) -> bool {
        !self.ended.is_empty() || self.ring.has_answer()
    }

    fn deadline(&self) -> Span {
        self.deadline
    }

    fn set_armed(&self, is_armed: bool) {
        self.ring.set_armed(is_armed);
    }

    fn is_watched_on_request(&self) -> bool {
        false
    }

    fn socket(&self) -> Option<BorrowedFd<'_>> {
        self.ring.may_sleep().then(|| self.ring.socket())
    }

    fn is_local(&self) -> bool {
        true
    }
}

impl Caller for ShmClient {
    type Place = usize;
    type Patience = ring::Idle;

    fn patience(&mut self) -> ring::Idle {
        ring::Idle::new(self.call_timeout)
    }

    #[inline]
    fn submit(&mut self, request: &[u8], options: Options) -> Result<Ticket, SubmitError> {
        if options.deadline.is_some() {
            self.submit_with(request, options)
        } else {
            self.submit_keyed(request, options.key_hash)
        }
    }

    #[inline]
    fn next_end(&mut self) -> Option<(Ticket, Result<usize, CallError>)> {
        let Completion { ticket, result } = self.poll()?;
        Some((ticket, result.map(<[u8]>::len)))
    }

    #[inline]
    fn pause(&mut self, idle: &mut ring::Idle) -> bool {
        idle.pause();
        if !self.ring.may_sleep() {
            return !idle.is_over();
        }
        let left = idle.left();
        left.into_iter().for_each(|left| self.wait(left.into()));
        left.is_none_or(|left| !left.is_zero())
    }

    fn abandon(&mut self, ticket: Ticket) {
        self.give_up_all(None);
        self.retained.drop_request(ticket.0);
    }
}

fn entry(token: u64, tid: Option<TransferId>, span: u32) -> Entry {
    let state = if tid.is_some() { State::Tracked } else { State::Sent };
    // A span has 12 bits.
    Entry { token, tid: tid.unwrap_or_default(), span: u16::try_from(span).unwrap_or(u16::MAX), state }
}

fn nack(rpc: RpcKey, header: SlotHeader) -> Header {
    Header { kind: Kind::Nack, snid: rpc.snid, tid: rpc.tid, rpc_bytes: 0, pkt_idx: 0, key_hash: header.extra }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Server;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, mpsc};

    #[test]
    fn a_fork_of_the_process_writes_nothing_and_its_rpcs_end() {
        for is_timed in [false, true] {
            let name = format!("fork-{is_timed}-{}", std::process::id());
            let (serve, served) = mpsc::channel();
            let is_over = Arc::new(AtomicBool::new(false));
            let go_on = is_over.clone();
            let service = move |request: &[u8], reply: &mut crate::Reply<'_>| {
                serve.send(request.to_vec()).unwrap();
                while !go_on.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                reply.write(request);
            };
            let server = Server::bind(&format!("shm://{name}")).serve(service).unwrap();
            let config = ClientConfig::default();
            let config = if is_timed { config.deadline(Span::from_secs(60)) } else { config };
            let mut client = ShmClient::connect(&name, &config, false).unwrap();
            let ticket = client.submit_keyed(b"before", 0).unwrap();
            assert_eq!(served.recv().unwrap(), b"before");
            client.mark.wipe();
            assert_eq!(
                client.poll().map(|done| (done.ticket, done.result.map(<[u8]>::len))),
                Some((ticket, Err(CallError::Forked)))
            );
            assert_eq!(client.submit_keyed(b"after", 0), Err(SubmitError::Forked));
            assert_eq!(client.submit_with(b"after", Options::default()), Err(SubmitError::Forked));
            assert_eq!(client.call(b"after", Options::default()), Err(CallError::NotSent(SubmitError::Forked)));
            is_over.store(true, Ordering::Release);
            assert!(client.poll().is_none() && client.outstanding() == 0);
            server.stop();
            assert!(served.try_recv().is_err(), "nothing else was executed");
        }
    }
}

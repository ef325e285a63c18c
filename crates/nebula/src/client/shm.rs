//! A client over shared memory: a ring of slots that it owns, and the server's counters.

use super::retained::Retained;
use super::ring::{self, Pending, Ring};
use super::{CallError, ClientConfig, Completion, ConnectError, Options, SubmitError, Ticket};
use crate::engine::reply::Fault;
use crate::status::StatusReader;
use crate::transport::shm::slot::{Mark, SPAN_MAX, SlotHeader};
use nebula_nic::{
    Call, Expired, Header, Kind, NodeId, Outbound, Outcome, Requester, RpcKey, Span, TableFull, Timestamp,
};
use nebula_sys::clock::Clock;
use std::collections::VecDeque;

/// Shorter waits leave the core to nobody else: that takes some microseconds.
const YIELD_FROM: Span = Span::from_us(10);

/// A client over shared memory.
#[derive(Debug)]
pub(crate) struct ShmClient {
    ring: Ring,
    requester: Requester,
    snid: NodeId,
    status: StatusReader,
    clock: Clock,
    /// Deadlines or back-offs are in use, and so is the clock.
    is_timed: bool,
    retained: Retained,
    /// Tickets that ended otherwise than by an answer in the ring.
    ended: VecDeque<(Ticket, CallError)>,
    /// Tries that wait for room in the ring.
    resends: VecDeque<(u64, Outbound)>,
    reply: Vec<u8>,
    next_ticket: u64,
    rpc_bytes_max: u32,
    /// Room for a reply.
    reply_bytes_max: u32,
    /// The longest reply that the server says it sends.
    server_reply_bytes_max: Option<u32>,
    /// Servers that the retry policy counts; all of them stand for the one that this client is connected to.
    servers: u16,
    slo: Span,
}

impl ShmClient {
    /// Connects to the server of `name`.
    pub(crate) fn connect(name: &str, config: &ClientConfig) -> Result<Self, ConnectError> {
        let ring::Connected { mut ring, welcome, status } = ring::connect(name, config.slots)?;
        ring.set_call_timeout(config.call_timeout.into());
        let geometry = ring.geometry();
        let said = Some(welcome.reply_bytes_max).filter(|&bytes| bytes > 0);
        let reply_bytes_max = config.reply_bytes_max.or(said).unwrap_or(geometry.mtu_bytes);
        if reply_bytes_max < welcome.reply_bytes_max {
            return Err(ConnectError::ReplyRoom { server: welcome.reply_bytes_max, client: reply_bytes_max });
        }
        let span = geometry.packets(reply_bytes_max);
        if span > geometry.slots.min(SPAN_MAX) {
            return Err(ConnectError::ReplyTooLarge { bytes: reply_bytes_max, slots: geometry.slots });
        }
        let requester = Requester::try_new(config.requester(NodeId(welcome.snid), geometry, reply_bytes_max))?;
        Ok(Self {
            retained: Retained::new(config.keeps_requests()),
            is_timed: config.is_timed(),
            snid: NodeId(welcome.snid),
            status: StatusReader::new(status),
            clock: Clock::new(),
            ended: VecDeque::with_capacity(geometry.slots as usize),
            resends: VecDeque::new(),
            reply: vec![0; reply_bytes_max as usize],
            next_ticket: 0,
            rpc_bytes_max: welcome.rpc_bytes_max.min(geometry.slots.saturating_mul(geometry.mtu_bytes)),
            servers: config.servers(),
            reply_bytes_max,
            server_reply_bytes_max: said,
            slo: Span::from_ps(welcome.slo_ps),
            ring,
            requester,
        })
    }

    #[inline]
    pub(crate) fn submit_keyed(&mut self, request: &[u8], key_hash: u32) -> Result<Ticket, SubmitError> {
        let now = self.now();
        self.submit_at(request, key_hash, |requester, call| requester.begin_call(now, call))
    }

    pub(crate) fn submit_with(&mut self, request: &[u8], options: Options) -> Result<Ticket, SubmitError> {
        let Some(deadline) = options.deadline else { return self.submit_keyed(request, options.key_hash) };
        self.is_timed = true;
        let now = self.now();
        self.submit_at(request, options.key_hash, |requester, call| requester.begin_within(now, deadline, call))
    }

    #[inline(always)]
    fn submit_at(
        &mut self,
        request: &[u8],
        key_hash: u32,
        begin: impl FnOnce(&mut Requester, Call) -> Result<Outbound, TableFull>,
    ) -> Result<Ticket, SubmitError> {
        let bytes = u32::try_from(request.len()).ok().filter(|&bytes| bytes <= self.rpc_bytes_max);
        let Some(bytes) = bytes else {
            return Err(SubmitError::TooLarge { bytes: request.len(), max: self.rpc_bytes_max });
        };
        let span = self.span(bytes);
        // What waits to be sent again goes first, or it might wait without limit.
        if !self.ring.has_room(span) || !self.resends.is_empty() {
            return Err(self.ring.refusal());
        }
        let token = self.next_ticket;
        let Ok(packets) = begin(&mut self.requester, Call { bytes, key_hash, server: 0, token }) else {
            return Err(SubmitError::Full);
        };
        self.next_ticket += 1;
        self.retained.keep(token, request);
        self.ring.send(packets, span, request);
        Ok(Ticket(token))
    }

    /// Ends an RPC before its answer, which is ignored when it comes; its slots come free then.
    pub(crate) fn cancel(&mut self, ticket: Ticket) -> bool {
        let Some(place) = self.requester.find(ticket.0) else { return false };
        self.requester.end(place);
        self.retained.drop_request(ticket.0);
        self.ended.push_back((ticket, CallError::Cancelled));
        true
    }

    #[inline]
    pub(crate) fn poll(&mut self) -> Option<Completion<'_>> {
        if let Some((position, header)) = self.ring.next_answer() {
            let (ticket, result) = self.take(position, header)?;
            return Some(Completion { ticket, result: result.map(|bytes| &self.reply[..bytes]) });
        }
        self.poll_idle()
    }

    /// Nothing has come: deadlines, back-offs, and whether the server is still there.
    #[inline(never)]
    fn poll_idle(&mut self) -> Option<Completion<'_>> {
        if self.is_timed {
            self.keep_time();
        }
        if self.ended.is_empty() && self.ring.looks_gone() {
            self.give_up_all();
            self.expire(&CallError::ServerGone);
        }
        let (ticket, error) = self.ended.pop_front()?;
        Some(Completion { ticket, result: Err(error) })
    }

    pub(crate) fn call(&mut self, request: &[u8]) -> Result<&[u8], CallError> {
        let ticket = self.submit_in_time(request)?;
        let mut idle = ring::Idle::new(self.ring.call_timeout());
        let (ours, bytes) = loop {
            // The borrow of a reply cannot leave a loop that goes on, so what is kept is its length.
            match self.poll() {
                Some(Completion { ticket: t, result }) if t == ticket => break (ticket, result.map(<[u8]>::len)),
                Some(_) => idle.reset(),
                None if idle.is_over() => return Err(self.abandon(ticket)),
                None => idle.pause(),
            }
        };
        debug_assert_eq!(ours, ticket);
        bytes.map(|bytes| &self.reply[..bytes])
    }

    #[inline]
    pub(crate) fn outstanding(&self) -> u32 {
        self.requester.outstanding() + u32::try_from(self.ended.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn status(&self) -> &StatusReader {
        &self.status
    }

    pub(crate) fn slo(&self) -> Span {
        self.slo
    }

    pub(crate) fn rpc_bytes_max(&self) -> u32 {
        self.rpc_bytes_max
    }

    pub(crate) fn reply_bytes_max(&self) -> Option<u32> {
        self.server_reply_bytes_max
    }

    pub(crate) fn ring_bytes(&self) -> usize {
        self.ring.geometry().bytes()
    }

    /// Waits for as long as something else has the core, or a moment.
    pub(crate) fn wait(&self, timeout: Span) {
        if timeout < YIELD_FROM { std::hint::spin_loop() } else { std::thread::yield_now() }
    }

    #[inline(always)]
    fn span(&self, request_bytes: u32) -> u32 {
        self.ring.geometry().packets(request_bytes.max(self.reply_bytes_max))
    }

    #[inline(always)]
    fn now(&self) -> Timestamp {
        if self.is_timed { Timestamp::from_ps(self.clock.now_ps()) } else { Timestamp::ZERO }
    }

    /// Submits, waiting for room if a late answer still holds slots.
    fn submit_in_time(&mut self, request: &[u8]) -> Result<Ticket, CallError> {
        let mut idle = ring::Idle::new(self.ring.call_timeout());
        loop {
            match self.submit_keyed(request, 0) {
                Err(SubmitError::Full) if !idle.is_over() => {
                    let _ = self.poll();
                    idle.pause();
                }
                Err(SubmitError::Full) => return Err(CallError::TimedOut),
                submitted => return Ok(submitted?),
            }
        }
    }

    /// Gives up on the only outstanding RPC: its answer, should it still come, is ignored.
    fn abandon(&mut self, ticket: Ticket) -> CallError {
        self.give_up_all();
        while self.requester.poll_expired().is_some() {}
        self.retained.drop_request(ticket.0);
        CallError::TimedOut
    }

    /// Takes an answer out of the ring: the ticket it ends, with the bytes of its reply, which lie in `self.reply`.
    #[inline(always)]
    fn take(&mut self, position: Pending, header: SlotHeader) -> Option<(Ticket, Result<usize, CallError>)> {
        let rpc = RpcKey { snid: self.snid, tid: position.tid };
        match header.mark {
            Mark::Reply => self.take_reply(position, header, rpc),
            Mark::Nack => {
                let nack = Header {
                    kind: Kind::Nack,
                    snid: rpc.snid,
                    tid: rpc.tid,
                    rpc_bytes: 0,
                    pkt_idx: 0,
                    key_hash: header.extra,
                };
                self.ring.done(position);
                self.take_nack(nack)
            }
            Mark::Fault => self.take_fault(position, rpc, Fault::from_code(header.extra)),
            Mark::Request => None,
        }
    }

    /// Ends an RPC that was served and has no reply.
    #[inline(never)]
    fn take_fault(&mut self, at: Pending, rpc: RpcKey, fault: Fault) -> Option<(Ticket, Result<usize, CallError>)> {
        self.ring.done(at);
        let empty = Header::reply(rpc, 0, 0);
        let Outcome::Reply { token, .. } = self.requester.handle_packet(self.now(), empty) else { return None };
        self.retained.drop_request(token);
        Some((Ticket(token), Err(CallError::Fault(fault))))
    }

    #[inline(always)]
    fn take_reply(
        &mut self,
        at: Pending,
        header: SlotHeader,
        rpc: RpcKey,
    ) -> Option<(Ticket, Result<usize, CallError>)> {
        // The slots carry whole packets: the server may have found room for more than was provisioned.
        if header.rpc_bytes > self.reply_bytes_max {
            return self.take_fault(at, rpc, Fault::ReplyTooLarge);
        }
        let packets = self.ring.geometry().packets(header.rpc_bytes);
        let now = self.now();
        let mut ended = None;
        for pkt_idx in 0..packets {
            match self.requester.handle_packet(now, Header::reply(rpc, header.rpc_bytes, pkt_idx)) {
                Outcome::Reply { token, bytes, offset_bytes, packet_bytes } => {
                    self.copy(at.position.wrapping_add(pkt_idx), offset_bytes, packet_bytes);
                    ended = Some((Ticket(token), Ok(bytes as usize)));
                }
                Outcome::Part { offset_bytes, packet_bytes, .. } => {
                    self.copy(at.position.wrapping_add(pkt_idx), offset_bytes, packet_bytes);
                }
                // For an RPC that has expired: the other packets are ignored too.
                _ => break,
            }
        }
        self.ring.done(at);
        if let Some((ticket, _)) = ended {
            self.retained.drop_request(ticket.0);
        }
        ended
    }

    #[inline(always)]
    fn copy(&mut self, position: u32, offset_bytes: u32, packet_bytes: u32) {
        let from = offset_bytes as usize;
        self.ring.load(position, &mut self.reply[from..from + packet_bytes as usize]);
    }

    fn take_nack(&mut self, nack: Header) -> Option<(Ticket, Result<usize, CallError>)> {
        match self.requester.handle_packet(self.now(), nack) {
            Outcome::GaveUp { token, reason } => {
                self.retained.drop_request(token);
                let error = CallError::refused(reason);
                Some((Ticket(token), Err(error)))
            }
            Outcome::Redirect { token, outbound, .. } => {
                self.resends.push_back((token, outbound));
                self.resend();
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

    /// Ends every RPC that is outstanding.
    #[cold]
    fn give_up_all(&mut self) {
        for server in 0..self.servers {
            self.requester.handle_server_gone(server);
        }
    }

    fn expire(&mut self, error: &CallError) {
        while let Some(Expired { token }) = self.requester.poll_expired() {
            self.retained.drop_request(token);
            self.ended.push_back((Ticket(token), error.clone()));
        }
    }

    /// Sends kept requests again, as far as there is room in the ring.
    fn resend(&mut self) {
        while let Some(&(token, packets)) = self.resends.front() {
            // One that is over by other ways is not kept any more.
            if let Some(request) = self.retained.request(token) {
                let span = self.span(packets.rpc_bytes());
                if !self.ring.has_room(span) {
                    return;
                }
                self.ring.send(packets, span, request);
            }
            self.resends.pop_front();
        }
    }
}

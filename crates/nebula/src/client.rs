//! Stations 1 and 11, at the client: an RPC is numbered, cut into slots, sent; its reply or NACK is matched and handed over.

mod config;
mod error;
mod ring;
mod retained;

pub use config::ClientConfig;
pub use error::{CallError, ConnectError, SubmitError};

use crate::endpoint::{Endpoint, IntoEndpoint};
use crate::engine::egress::Fault;
use crate::status::StatusReader;
use crate::transport::shm::slot::{Mark, SPAN_MAX, SlotHeader};
use nebula_nic::{Call, Expired, Header, Kind, NodeId, Outbound, Outcome, Requester, RpcKey, Span, Timestamp};
use nebula_sys::clock::Clock;
use retained::Retained;
use ring::{Pending, Ring};
use std::collections::VecDeque;

/// An RPC that was submitted and is not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// The end of an RPC: each ticket gets exactly one.
#[derive(Debug)]
pub struct Completion<'c> {
    /// Which RPC.
    pub ticket: Ticket,
    /// Its reply, or why there is none.
    pub result: Result<&'c [u8], CallError>,
}

/// A connection to a server: a ring of slots that this client owns.
///
/// One thread uses it at a time; a process may have many. Sending never waits: it says [`SubmitError::Full`] when the ring is.
///
/// # Examples
///
/// Many RPCs at once:
///
/// ```
/// use nebula::{Client, Reply, Server};
///
/// let name = format!("shm://doc-client-{}", std::process::id());
/// let server = Server::bind(&name).serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
/// let mut client = Client::connect(&name)?;
/// let tickets: Vec<_> = (0..8_u8).map(|i| client.submit(&[i])).collect::<Result<_, _>>()?;
/// let mut answered = 0;
/// while answered < tickets.len() {
///     if let Some(done) = client.poll() {
///         assert_eq!(done.result?, [u8::try_from(done.ticket.0 - tickets[0].0)?]);
///         answered += 1;
///     }
/// }
/// # server.stop();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Client {
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
    reply_bytes_max: u32,
    /// Servers that the retry policy counts; all of them stand for the one that this client is connected to.
    servers: u16,
    slo: Span,
}

impl Client {
    /// Connects to the server at `endpoint`.
    ///
    /// # Errors
    ///
    /// [`ConnectError`] in one line: nobody serves there, another version, another user, no memory.
    pub fn connect(endpoint: impl IntoEndpoint) -> Result<Self, ConnectError> {
        Self::connect_with(endpoint, ClientConfig::default())
    }

    /// As [`connect`](Self::connect), with sizes, deadline and retry policy of the caller's.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub fn connect_with(endpoint: impl IntoEndpoint, config: ClientConfig) -> Result<Self, ConnectError> {
        let name = match endpoint.into_endpoint()? {
            Endpoint::Shm(name) => name,
            Endpoint::Udp(address) => {
                let cause = std::io::ErrorKind::Unsupported.into();
                return Err(ConnectError::System { name: address.to_string(), cause });
            }
        };
        let ring::Connected { mut ring, welcome, status } = ring::connect(&name, config.slots)?;
        ring.set_call_timeout(config.call_timeout);
        let geometry = ring.geometry();
        let reply_bytes_max = config.reply_bytes_max.unwrap_or(geometry.mtu_bytes);
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
            slo: Span::from_ps(welcome.slo_ps),
            ring,
            requester,
        })
    }

    /// Sends `request` and returns at once; the answer comes from [`poll`](Self::poll) under the ticket.
    ///
    /// # Errors
    ///
    /// [`SubmitError`]: the ring is full (take answers in first), the request is too large, the server is gone.
    ///
    /// # Cost
    ///
    /// One copy of the request into the ring. No allocation, no lock, no system call; no clock read unless a deadline or a back-off is
    /// configured.
    #[inline]
    pub fn submit(&mut self, request: &[u8]) -> Result<Ticket, SubmitError> {
        self.submit_keyed(request, 0)
    }

    /// As [`submit`](Self::submit), with the hash of the key that the request is about, for the policy `key-hash`.
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit).
    #[inline]
    pub fn submit_keyed(&mut self, request: &[u8], key_hash: u32) -> Result<Ticket, SubmitError> {
        let bytes = u32::try_from(request.len()).ok().filter(|&bytes| bytes <= self.rpc_bytes_max);
        let Some(bytes) = bytes else {
            return Err(SubmitError::TooLarge { bytes: request.len(), max: self.rpc_bytes_max });
        };
        let span = self.span(bytes);
        // What waits to be sent again goes first, or it might wait for ever.
        if !self.ring.has_room(span) || !self.resends.is_empty() {
            return Err(self.ring.refusal());
        }
        let (now, token) = (self.now(), self.next_ticket);
        let Ok(packets) = self.requester.begin_call(now, Call { bytes, key_hash, server: 0, token }) else {
            return Err(SubmitError::Full);
        };
        self.next_ticket += 1;
        self.retained.keep(token, request);
        self.ring.send(packets, span, request);
        Ok(Ticket(token))
    }

    /// The papers' name for [`submit`](Self::submit) (NEBULA §IV-B): sends, and says whether it was accepted for sending.
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit).
    #[inline]
    pub fn rpc_send(&mut self, request: &[u8]) -> Result<Ticket, SubmitError> {
        self.submit(request)
    }

    /// The next RPC that is over, if one is; the reply is borrowed until the next call.
    ///
    /// Never waits. When the server is gone, every outstanding RPC ends with [`CallError::ServerGone`]; that is noticed after some
    /// dozen calls without an answer that are spread over 50 µs or more.
    ///
    /// # Cost
    ///
    /// One look at the oldest outstanding slot, now and then at another. The reply is copied out of shared memory once.
    #[inline]
    pub fn poll(&mut self) -> Option<Completion<'_>> {
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

    /// Sends `request` and waits for its reply, which is borrowed until the next call. A NACK is retried as configured.
    ///
    /// # Errors
    ///
    /// [`CallError`]; a NACK is [`CallError::Nack`], with its reason. [`CallError::TimedOut`] after the configured
    /// [`call_timeout`](ClientConfig::call_timeout), whatever the server does.
    ///
    /// # Panics
    ///
    /// When RPCs submitted before are outstanding: their answers would be lost. Poll them first.
    pub fn call(&mut self, request: &[u8]) -> Result<&[u8], CallError> {
        assert_eq!(self.outstanding(), 0, "call() while submitted RPCs are outstanding: poll() their answers first");
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

    /// RPCs submitted and not over.
    #[must_use]
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.requester.outstanding() + u32::try_from(self.ended.len()).unwrap_or(u32::MAX)
    }

    /// The server's counters.
    #[must_use]
    pub fn status(&self) -> &StatusReader {
        &self.status
    }

    /// The SLO that the server keeps.
    #[must_use]
    pub fn slo(&self) -> Span {
        self.slo
    }

    /// The longest request that the server takes and this client's ring holds, in bytes.
    #[must_use]
    pub fn rpc_bytes_max(&self) -> u32 {
        self.rpc_bytes_max
    }

    /// Bytes of the ring that this client shares with the server: its own memory, whatever the number of other clients.
    #[must_use]
    pub fn ring_bytes(&self) -> usize {
        self.ring.geometry().bytes()
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
            match self.submit(request) {
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
                // For an RPC that has expired: nothing is to be had from the rest.
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
                let error = reason.map_or(CallError::Protocol, |reason| CallError::Nack { reason });
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
            self.requester.handle_server_gone(Timestamp::ZERO, server);
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

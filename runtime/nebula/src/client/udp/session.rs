//! The RPCs of a client over UDP, and how each ends: exactly once.

use super::done::Done;
use super::handshake::{Admitted, Handshake};
use super::outbox::Outbox;
use super::rpc::Rpc;
use super::server_time::ServerTime;
use super::unwanted::Unwanteds;
use crate::client::error::{CallError, ConnectError, Hint, SubmitError};
use crate::client::ticket::Ticket;
use crate::config::client::{ClientConfig, Options};
use crate::config::key::Keys;
use crate::endpoint::Endpoint;
use crate::net::{Time, Watch, Wire};
use crate::nic::one_sided::ROOM_BYTES;
use crate::transport::udp::handshake::{closed, derived};
use crate::transport::udp::message::NO_BUDGET;
use crate::transport::udp::seal::Seal;
use nebula_nic::{BURST_PACKETS, Span, Timestamp, TransferId};
use nebula_nic::{Mtu, NodeId, Outbound};
use nebula_requester::{Call, Overdue, Requester, RequesterConfig, Resend, Retransmit};
use nebula_requester::{FlowControl, FlowKind, RetransmitConfig, RttConfig, TableFull};
use nebula_sys::fork::ForkMark;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;

/// After so long without a frame the client asks for the server's time before it sends.
const SILENCE: Span = Span::from_secs(10);

const REPLY_BYTES_MAX: u32 = 1 << 20;
const PACKETS_MAX: u32 = 1 << 16;
/// Over a reliable stream: TCP's (RFC 6298 §2), as a repetition only queues behind the original.
const STREAM_RTT: RttConfig =
    RttConfig { rto_min: Span::from_ms(200), rto_max: Span::from_secs(1), rto_first: Span::from_secs(1) };
/// The most requests that wait to be sent together.
const QUEUED_MAX: usize = 64;
/// As [`QUEUED_MAX`], of one-sided operations. The server answers those of one datagram train
/// together: with shorter trains it answers the first while the client makes the next.
const OPERATIONS_QUEUED_MAX: usize = 32;

#[derive(Debug)]
pub(super) struct Session {
    pub(super) server: SocketAddr,
    watch: Watch,
    pub(super) mark: ForkMark,
    pub(super) now: Timestamp,
    pub(super) requester: Requester,
    pub(super) flights: Retransmit,
    pub(super) rpcs: Box<[Rpc]>,
    /// Places of RPCs to be sent for the first time; those in `begun` go before them.
    pub(super) queue: VecDeque<u32>,
    pub(super) begun: VecDeque<u32>,
    /// Length of `queue` at the last transmission.
    pub(super) sent_together: usize,
    pub(super) unwanted: Unwanteds,
    pub(super) done: Done,
    pub(super) outbox: Outbox,
    pub(super) handshake: Handshake,
    pub(super) server_time: ServerTime,
    pub(super) mtu: Mtu,
    pub(super) reply_bytes_max: u32,
    /// Requests of fewer bytes are accepted: one more than the longest, or 0 if the server is gone,
    /// grants nothing to a client that waits for grants, or sends replies too long for this client.
    request_bytes_end: u64,
    /// Whether this client is bound to one run of the server.
    is_bound: bool,
    is_gone: bool,
    pub(super) heard: Timestamp,
    pub(super) refusals: u32,
    is_lossless: bool,
    /// Welcomed on a connection, and nothing sent there so far.
    owes_proof: bool,
    transmissions_max: u32,
    /// Whether the connection has broken, which loses the packets in flight.
    pub(super) is_broken: bool,
    /// Breaks and refusals so far.
    pub(super) breaks: u32,
    pub(super) speaks_otherwise: bool,
    pub(super) ignored: u64,
    slots: u32,
    next_ticket: u64,
    deadline: Span,
    hello_timeout: Span,
}

impl Session {
    pub(super) fn new(
        (endpoint, server): (&Endpoint, SocketAddr),
        config: &ClientConfig,
        time: &Time,
        entropy: &[u8; 32],
        (datagram_bytes, is_lossless): (u16, bool),
    ) -> Result<Self, ConnectError> {
        let answer_bytes_max = if config.one_sided { ROOM_BYTES } else { 0 };
        let reply_bytes_max = config.reply_bytes_max.unwrap_or(REPLY_BYTES_MAX).max(answer_bytes_max);
        let [salt, secret, first] = [0, 1, 2].map(|what| derived(entropy, what).to_le_bytes());
        let [a, b, c, d, ..] = first;
        // A packet's payload is the server's to set. The client's number is in the frame.
        let bounds = RequesterConfig::new(NodeId(0), config.slots).deadline(config.deadline).retry(config.retry_here());
        let bounds = bounds.first_tid(TransferId(u32::from_le_bytes([a, b, c, d])));
        let requester = Requester::try_new(bounds.reply_bytes_max(reply_bytes_max))?;
        let slots = requester.capacity();
        let transmissions_max = config.transmissions_max;
        let flow = config.flow;
        let mut flights = RetransmitConfig { transmissions_max, is_lossless, flow, ..RetransmitConfig::new(slots) };
        if is_lossless {
            flights.rtt = STREAM_RTT;
        }
        let system = |cause| ConnectError::System { endpoint: endpoint.to_string(), cause };
        let mark = ForkMark::new().map_err(system)?;
        let watch = Watch::new(time);
        let now = Timestamp::from_ps(watch.now_ps());
        Ok(Self {
            server,
            now,
            requester,
            flights: Retransmit::new(flights),
            rpcs: (0..slots).map(|_| Rpc::new()).collect(),
            queue: VecDeque::with_capacity(slots as usize),
            begun: VecDeque::with_capacity(slots as usize),
            sent_together: 0,
            unwanted: Unwanteds::default(),
            done: Done::new(slots),
            outbox: Outbox::new(server, Seal::new(&config.keys, salt), datagram_bytes),
            handshake: Handshake::new(now, secret, config.domain),
            server_time: ServerTime::default(),
            mtu: Mtu::MIN,
            reply_bytes_max,
            request_bytes_end: u64::from(u32::MAX) + 1,
            is_bound: false,
            is_gone: false,
            heard: now,
            refusals: 0,
            is_lossless,
            owes_proof: false,
            transmissions_max,
            is_broken: false,
            breaks: 0,
            speaks_otherwise: false,
            ignored: 0,
            slots,
            next_ticket: 0,
            deadline: config.deadline,
            hello_timeout: config.call_timeout,
            watch,
            mark,
        })
    }

    /// Whether this is a fork, which must not send: nonces, numbers and answers are the parent's.
    /// Ends its outstanding RPCs.
    #[inline]
    pub(super) fn is_forked(&mut self) -> bool {
        let is_forked = self.mark.is_forked();
        if is_forked && self.requester.outstanding() > 0 {
            self.lose(|_| Some(CallError::Forked));
        }
        is_forked
    }

    pub(super) fn set_keys(&mut self, keys: &Keys) {
        self.outbox.seal.set_keys(keys);
    }

    #[inline]
    pub(super) fn tick(&mut self) -> Timestamp {
        // Readings on two cores may differ a little; the machines need time that never goes back.
        self.now = self.now.max(Timestamp::from_ps(self.watch.now_ps()));
        self.now
    }

    #[inline]
    pub(super) fn outstanding(&self) -> u32 {
        self.requester.outstanding() + self.done.len()
    }

    #[inline]
    pub(super) fn is_quiet(&self) -> bool {
        self.requester.outstanding() == 0 && self.unwanted.is_empty() && !self.handshake.is_asking()
    }

    pub(super) fn hint(&self) -> Hint {
        match self.handshake.hint {
            Hint::Nothing if self.outbox.seal.is_sealed() => Hint::OtherKey,
            hint => hint,
        }
    }

    pub(super) const fn deadline(&self) -> Span {
        self.deadline
    }

    pub(super) fn slo(&self) -> Span {
        self.handshake.admitted().map_or(Span::ZERO, |admitted| admitted.slo)
    }

    pub(super) fn rpc_bytes_max(&self) -> u32 {
        let admitted = self.handshake.admitted();
        admitted
            .map_or(u32::MAX, |admitted| admitted.rpc_bytes_max.min(admitted.mtu.bytes().saturating_mul(PACKETS_MAX)))
    }

    pub(super) fn server_reply_bytes_max(&self) -> Option<u32> {
        self.handshake.admitted().map(|admitted| admitted.reply_bytes_max).filter(|&bytes| bytes > 0)
    }

    /// The server's longest reply and the room for it, if there is too little room.
    pub(super) fn reply_room(&self) -> Option<(u32, u32)> {
        let longest = self.server_reply_bytes_max()?;
        (longest > self.reply_bytes_max).then_some((longest, self.reply_bytes_max))
    }

    pub(super) fn lacks_grants(&self) -> bool {
        let grants_none = self.handshake.admitted().is_some_and(|admitted| admitted.unscheduled_packets == 0);
        grants_none && self.flights.flow().kind() == FlowKind::Homa
    }

    #[inline]
    fn request_bytes(&self, bytes: usize) -> Option<u32> {
        if (bytes as u64) < self.request_bytes_end { u32::try_from(bytes).ok() } else { None }
    }

    /// Once another run of the server answers, every RPC ends with [`SubmitError::ServerGone`].
    pub(super) fn bind_to_server(&mut self) {
        self.is_bound = true;
    }

    #[cold]
    fn refusal(&self, bytes: usize) -> SubmitError {
        match self.reply_room() {
            _ if self.is_gone => SubmitError::ServerGone,
            Some((server, client)) => SubmitError::ReplyRoom { server, client },
            None if self.lacks_grants() => SubmitError::NoGrants,
            None => SubmitError::TooLarge { bytes, max: self.rpc_bytes_max() },
        }
    }

    pub(super) fn buffer_bytes(&self) -> usize {
        self.done.buffer_bytes() + self.rpcs.iter().map(Rpc::buffer_bytes).sum::<usize>()
    }

    #[inline]
    pub(super) fn submit(&mut self, request: &[u8], options: Options) -> Result<Ticket, SubmitError> {
        let place = self.take_in(request, options)?;
        let ticket = Ticket(self.next_ticket * u64::from(self.slots) + u64::from(place));
        self.next_ticket += 1;
        self.rpcs[place as usize].ticket = ticket;
        Ok(ticket)
    }

    #[inline]
    pub(super) fn submit_operation(&mut self, ticket: Ticket, message: &[u8]) -> Result<(), SubmitError> {
        let place = self.take_in(message, Options::default())?;
        let rpc = &mut self.rpcs[place as usize];
        (rpc.ticket, rpc.is_operation) = (ticket, true);
        Ok(())
    }

    #[inline]
    fn take_in(&mut self, request: &[u8], options: Options) -> Result<u32, SubmitError> {
        let Some(bytes) = self.request_bytes(request.len()) else { return Err(self.refusal(request.len())) };
        if self.outstanding() >= self.slots || self.is_backed_up() {
            return Err(SubmitError::Full);
        }
        let within = options.deadline.unwrap_or(Span::MAX).min(self.deadline);
        if within != Span::MAX || self.outstanding() == 0 {
            self.tick();
            self.refresh();
        }
        let key_hash = options.key_hash;
        let call = Call { bytes, key_hash, server: 0, token: self.next_ticket };
        let outbound = self.begin(call, within).map_err(|_| SubmitError::Full)?;
        let place = self.requester.place(outbound.tid());
        self.rpcs[place as usize].begin(outbound.tid(), key_hash, self.now + within, request);
        self.enqueue(place);
        Ok(place)
    }

    #[cfg(feature = "tower")]
    pub(super) fn has_room(&mut self) -> bool {
        self.mark.is_forked() || (self.outstanding() < self.slots && !self.is_backed_up())
    }

    /// Whether more must not be queued: the caller should see an overload.
    #[inline]
    fn is_backed_up(&mut self) -> bool {
        if self.handshake.open().is_none() {
            return false;
        }
        if self.flights.paced_until() > self.now {
            let now = self.tick();
            return self.flights.paced_until() > now;
        }
        let waiting = u32::try_from(self.queue.len()).unwrap_or(u32::MAX);
        // One may wait if only losses have shrunk the window: they end sooner than an overload.
        waiting >= self.flights.room(self.now) && (waiting > 0 || self.flights.flow().is_refused())
    }

    /// Numbers an RPC, at a place without an undelivered one: no two tickets there are alive.
    #[inline]
    fn begin(&mut self, call: Call, within: Span) -> Result<Outbound, TableFull> {
        let outbound = self.number(call, within)?;
        let place = self.requester.place(outbound.tid());
        if self.rpcs[place as usize].is_undelivered { self.begin_elsewhere(place, call, within) } else { Ok(outbound) }
    }

    #[inline]
    fn number(&mut self, call: Call, within: Span) -> Result<Outbound, TableFull> {
        if within < self.deadline {
            self.requester.begin_within(self.now, within, call)
        } else {
            self.requester.begin_call(self.now, call)
        }
    }

    #[cold]
    fn begin_elsewhere(&mut self, mut place: u32, call: Call, within: Span) -> Result<Outbound, TableFull> {
        loop {
            // Some place is free: no more RPCs are outstanding or undelivered than fit.
            let next = self.number(call, within);
            self.requester.end(place);
            let outbound = next?;
            place = self.requester.place(outbound.tid());
            if !self.rpcs[place as usize].is_undelivered {
                return Ok(outbound);
            }
        }
    }

    /// After a long silence, asks for the server's time and whether it is the same server.
    #[inline]
    fn refresh(&mut self) {
        if self.outstanding() == 0 && self.now - self.heard > SILENCE && !self.handshake.is_asking() {
            self.handshake.ask(self.now);
        }
    }

    #[inline]
    pub(super) fn enqueue(&mut self, place: u32) {
        let rpc = &mut self.rpcs[place as usize];
        if !rpc.is_queued {
            rpc.is_queued = true;
            self.queue.push_back(place);
        }
    }

    pub(super) fn enqueue_on(&mut self, place: u32) {
        let rpc = &mut self.rpcs[place as usize];
        if !rpc.is_queued {
            rpc.is_queued = true;
            self.begun.push_back(place);
        }
    }

    /// Whether to send the new request at once: it is alone, or there is a batch.
    #[inline]
    pub(super) fn is_to_send_at_once(&self) -> bool {
        self.is_alone() || self.queue.len() >= QUEUED_MAX
    }

    /// The same of an operation. After several sent together the first is not alone for long.
    #[inline]
    pub(super) fn is_operation_to_send_at_once(&self) -> bool {
        (self.sent_together <= 1 && self.is_alone()) || self.queue.len() >= OPERATIONS_QUEUED_MAX
    }

    #[inline]
    fn is_alone(&self) -> bool {
        self.requester.outstanding() == 1 && self.done.is_empty()
    }

    #[inline]
    pub(super) fn handed_out(&mut self, place: u32) {
        self.rpcs[place as usize].is_undelivered = false;
    }

    /// The RPC at `place` is over, and the requester has ended it.
    #[inline]
    pub(super) fn ended(&mut self, place: u32) -> Ticket {
        self.flights.ended(place);
        let rpc = &mut self.rpcs[place as usize];
        (rpc.is_live, rpc.is_undelivered) = (false, true);
        rpc.ticket
    }

    /// Ends the RPC at `place` without a reply, after the requester has.
    pub(super) fn fail(&mut self, place: u32, error: CallError) {
        let ticket = self.ended(place);
        self.done.push_error(ticket, place, error);
    }

    /// Ends the RPC at `place` and its entry in the requester, without a reply.
    pub(super) fn end_with(&mut self, place: u32, error: CallError) {
        self.requester.end(place);
        self.fail(place, error);
    }

    fn place_of(&self, ticket: Ticket) -> Option<u32> {
        let place = u32::try_from(ticket.0 & u64::from(self.slots - 1)).ok()?;
        let rpc = &self.rpcs[place as usize];
        (rpc.is_live && rpc.ticket == ticket).then_some(place)
    }

    pub(super) fn cancel(&mut self, ticket: Ticket) -> bool {
        let Some(place) = self.place_of(ticket) else { return false };
        let rpc = &self.rpcs[place as usize];
        if rpc.is_sent() {
            self.unwanted.add(rpc.tid, rpc.stamp_ns);
        }
        self.end_with(place, CallError::Cancelled);
        true
    }

    /// As [`cancel`](Self::cancel), without reporting the end.
    pub(super) fn abandon(&mut self, ticket: Ticket) {
        if self.cancel(ticket) {
            let taken = std::iter::from_fn(|| self.done.take());
            let places: Vec<_> = taken.map(|taken| taken.place).collect();
            places.into_iter().for_each(|place| self.handed_out(place));
        }
    }

    #[inline]
    pub(super) fn keep_time(&mut self, wire: &mut dyn Wire) {
        if self.requester.poll_timeout().is_some_and(|due| due <= self.now) {
            self.keep_deadlines();
        }
        while let Some(overdue) = self.flights.poll_overdue(self.now) {
            self.handle_overdue(overdue);
        }
        if !self.unwanted.is_empty() {
            self.unwanted.keep_time(self.now);
        }
        if self.handshake.is_asking() {
            self.keep_asking(wire);
        }
        if std::mem::take(&mut self.owes_proof) {
            self.prove(wire);
        }
    }

    /// Sends a frame without messages: a connection of which only hellos have come is soon closed.
    #[cold]
    fn prove(&mut self, wire: &mut dyn Wire) {
        let Some(admitted) = self.handshake.open() else { return };
        let frame = admitted.frame(self.outbox.datagram_bytes, self.outbox.seal.first());
        if let Some(datagram) = closed(&mut self.outbox.seal, &frame, &[]) {
            self.outbox.send_alone(wire, &datagram);
        }
        let flushed = wire.flush();
        self.note(flushed);
    }

    #[cold]
    fn keep_deadlines(&mut self) {
        self.requester.handle_timeout(self.now);
        while let Some((place, _)) = self.requester.poll_expired_place() {
            let is_sent = self.rpcs[place as usize].is_sent();
            self.fail(place, if is_sent { CallError::TimedOut } else { CallError::Expired });
        }
        while let Some(Resend { outbound, .. }) = self.requester.poll_retry(self.now) {
            self.try_again(outbound.tid());
        }
    }

    pub(super) fn try_again(&mut self, tid: TransferId) {
        let place = self.requester.place(tid);
        self.rpcs[place as usize].try_as(tid);
        self.enqueue(place);
    }

    fn handle_overdue(&mut self, overdue: Overdue) {
        match overdue {
            Overdue::Lost { place } => {
                self.rpcs[place as usize].is_overdue = true;
                self.enqueue_on(place);
            }
            Overdue::GaveUp { place } => {
                let error = if self.refusals > 0 { CallError::ServerGone } else { CallError::TimedOut };
                self.end_with(place, error);
            }
        }
    }

    #[cold]
    fn keep_asking(&mut self, wire: &mut dyn Wire) {
        // Over a connection only hellos are sent until one is answered: they are given up like
        // RPCs.
        let is_given_up = self.is_lossless && self.refusals > 0 && self.handshake.hellos() >= self.transmissions_max;
        if is_given_up || self.handshake.asked_for(self.now) >= self.hello_timeout {
            self.handshake.ask_on(self.now);
            self.lose(|is_sent| {
                Some(if is_sent { CallError::ServerGone } else { CallError::NotSent(SubmitError::ServerGone) })
            });
        }
        let datagram_bytes = self.outbox.datagram_bytes;
        if let Some(hello) = self.handshake.poll_hello(self.now, datagram_bytes) {
            if let Some(datagram) = hello.datagram(&mut self.outbox.seal) {
                self.outbox.send_alone(wire, &datagram);
            }
            let flushed = wire.flush();
            self.note(flushed);
        }
    }

    /// Ends the RPCs for which `end` returns an error; its argument is whether the RPC has been
    /// sent.
    fn lose(&mut self, end: impl Fn(bool) -> Option<CallError>) {
        for place in 0..self.slots {
            let rpc = &self.rpcs[place as usize];
            if let Some(error) = end(rpc.is_sent()).filter(|_| rpc.is_live) {
                self.end_with(place, error);
            }
        }
    }

    /// The server that got the sent RPCs is gone; the others wait for its successor.
    #[cold]
    pub(super) fn lose_server(&mut self) {
        self.lose(|is_sent| is_sent.then_some(CallError::ServerGone));
        self.unwanted.clear();
    }

    #[cold]
    pub(super) fn enter(&mut self, before: Option<Admitted>) {
        let Some(&admitted) = self.handshake.admitted() else { return };
        self.owes_proof = self.is_lossless;
        if before.is_some_and(|before| !before.is_of(admitted.incarnation, admitted.snid)) {
            self.lose_server();
            self.server_time = ServerTime::default();
            self.is_gone |= self.is_bound && before.is_some_and(|before| before.incarnation != admitted.incarnation);
        }
        if std::mem::take(&mut self.is_broken) {
            self.send_again();
        }
        if admitted.mtu != self.mtu {
            self.lose_server();
            self.mtu = admitted.mtu;
            self.requester.set_mtu(admitted.mtu);
        }
        self.flights.set_unscheduled(admitted.unscheduled_packets.min(BURST_PACKETS));
        let end = u64::from(self.rpc_bytes_max()) + 1;
        let takes_any = self.reply_room().is_none() && !self.is_gone && !self.lacks_grants();
        self.request_bytes_end = if takes_any { end } else { 0 };
        for place in 0..self.slots {
            let rpc = &self.rpcs[place as usize];
            let bytes = rpc.request.len();
            if rpc.is_live && self.request_bytes(bytes).is_none() {
                self.end_with(place, CallError::NotSent(self.refusal(bytes)));
            }
        }
    }

    fn send_again(&mut self) {
        for place in 0..self.slots {
            let rpc = &mut self.rpcs[place as usize];
            if rpc.is_live && rpc.is_sent() {
                rpc.is_overdue = true;
                self.enqueue_on(place);
            }
        }
    }

    pub(super) fn due(&mut self) -> Option<Span> {
        let due = self.poll_timeout()?;
        Some(due - self.tick())
    }

    /// How long pacing refuses every request, although nothing is outstanding.
    pub(super) fn paced_for(&mut self) -> Option<Span> {
        let until = self.flights.paced_until();
        Some(until - self.tick()).filter(|&span| span > Span::ZERO)
    }

    pub(super) fn poll_timeout(&self) -> Option<Timestamp> {
        // The requester may still list the deadline of a finished RPC, which no call would remove.
        if self.is_quiet() {
            return None;
        }
        let waits = !(self.queue.is_empty() && self.begun.is_empty());
        let paced = Some(self.flights.paced_until()).filter(|&until| waits && until > self.now);
        let due = [
            self.requester.poll_timeout(),
            self.flights.poll_timeout(),
            self.handshake.poll_timeout(),
            self.unwanted.poll_timeout(),
            paced,
        ];
        due.into_iter().flatten().min()
    }

    /// A broken connection makes the client ask whether the server is the same; other errors are
    /// losses.
    #[inline]
    pub(super) fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.note_error(error.kind());
        }
    }

    #[cold]
    fn note_error(&mut self, kind: io::ErrorKind) {
        match kind {
            io::ErrorKind::ConnectionRefused => {
                self.refusals += 1;
                self.breaks = self.breaks.wrapping_add(1);
            }
            io::ErrorKind::ConnectionReset => {
                self.is_broken = true;
                self.breaks = self.breaks.wrapping_add(1);
                self.handshake.ask_again(self.now);
            }
            io::ErrorKind::InvalidData => self.speaks_otherwise = true,
            _ => {}
        }
    }
}

const _: () = assert!(NO_BUDGET == u32::MAX);

//! The client's end: requests of any method of a server's services, over one connection.

use super::describe;
use super::error::{CallError, ConnectError};
use super::message::{Encoding, Message, Place};
use super::method::{self, Extension, MethodId};
use super::service::ServiceInfo;
use super::status;
use super::trace::TraceContext;
use nebula::IntoEndpoints;
use nebula::hooks::Glance;
use nebula::{self as client, Client, SubmitError, Ticket};
use nebula::{ClientConfig, Options};
use nebula_nic::Span;
use nebula_sys::clock::Clock;

/// A connection to one or several servers of typed services, which generated clients use. One
/// thread uses it at a time.
#[derive(Debug)]
pub struct Channel {
    client: Client,
    /// The method of each outstanding request, by its ticket modulo the slots.
    methods: Box<[MethodId]>,
    /// The buffer for requests that do not go straight into a ring.
    frame: Vec<u8>,
    trace: Option<TraceContext>,
}

/// The end of a submitted RPC.
#[derive(Debug)]
pub struct Ended<'c> {
    /// The RPC's ticket.
    pub ticket: Ticket,
    /// The method that it called.
    pub id: MethodId,
    reply: Result<&'c [u8], client::CallError>,
}

/// The result of a first look for an end, in a few numbers that stay in registers. A result in
/// memory would be written word by word and read in pairs, which waits for the writes.
#[derive(Clone, Copy, Debug)]
pub enum Found {
    /// The reply to an RPC, which [`Channel::replied`] returns.
    Reply(Replied),
    /// No RPC has ended.
    Nothing,
    /// There may be another end, which [`Channel::poll_otherwise`] returns.
    Otherwise,
}

/// A reply that a first look has found.
#[derive(Clone, Copy, Debug)]
pub struct Replied {
    /// The RPC's ticket.
    pub ticket: Ticket,
    /// The method that it called.
    pub id: MethodId,
    bytes: u32,
}

/// The end of a submitted RPC, decoded: its ticket, and its reply or why there is none.
pub type Decoded<E> = Option<(Ticket, Result<E, CallError>)>;

impl<'c> Ended<'c> {
    /// Its reply, as `wrap` keeps it, or why there is none. The reply is decoded in `place` unless
    /// it can be read where it lies. Generated clients call it.
    ///
    /// `wrap` makes the result where it is used: passed through several results, a message would be
    /// copied each time.
    #[inline(always)]
    pub fn decode<P: Message + 'c, E>(self, place: &'c mut Place<P>, wrap: impl FnOnce(&'c P) -> E) -> Decoded<E> {
        let Self { ticket, reply, .. } = self;
        match reply {
            Ok(reply) => match status::open_message(reply) {
                Some(body) => match P::As::read(body, place) {
                    Some(message) => Some((ticket, Ok(wrap(message)))),
                    None => Some((ticket, Err(CallError::Malformed))),
                },
                None => Some((ticket, Err(CallError::of_reply(reply)))),
            },
            Err(error) => Some((ticket, Err(error.into()))),
        }
    }

    /// As [`decode`](Self::decode), of a reply that is not read in place: not inlined into a
    /// client's poll.
    #[inline(never)]
    pub fn decode_apart<P: Message + 'c, E>(
        self,
        place: &'c mut Place<P>,
        wrap: impl FnOnce(&'c P) -> E,
    ) -> Decoded<E> {
        self.decode(place, wrap)
    }

    /// The end of an RPC of a method that the service does not have.
    #[cold]
    pub fn unknown<E>(self) -> Decoded<E> {
        Some((self.ticket, Err(self.reply.map_or_else(CallError::from, |_| CallError::Malformed))))
    }
}

impl Channel {
    /// Connects to the server at `endpoint`. [`check`](Self::check) asks whether it has a service.
    ///
    /// The connection is to one run of the server, over UDP too. After that run all calls end with
    /// [`ServerGone`](nebula::SubmitError::ServerGone); connect again for the next run.
    pub fn connect_with(endpoint: impl IntoEndpoints, config: ClientConfig) -> Result<Self, ConnectError> {
        let slots = config.slots;
        // A place for each outstanding call: the server must not grant more slots.
        let mut client = Client::connect_with(endpoint, config.slots(slots))?;
        // A server that restarts may have another schema.
        client.bind_to_server();
        Ok(Self { client, methods: vec![MethodId::new(0, 0); slots as usize].into(), frame: Vec::new(), trace: None })
    }

    /// The connection, for RPCs without types. Do not call its [`poll`](Client::poll) while typed
    /// RPCs are outstanding.
    #[must_use]
    pub const fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Sends `trace` with every request from here on.
    pub const fn set_trace(&mut self, trace: Option<TraceContext>) {
        self.trace = trace;
    }

    /// Compares the server's schema of `service` with the client's, in one round trip if both are
    /// the same. Each of several servers is asked whenever a connection to it is made; one whose
    /// schema does not fit gets no RPCs.
    ///
    /// # Errors
    ///
    /// [`ConnectError`]: the server lacks the service, does not answer, or its schema does not fit.
    pub fn check(&mut self, service: &ServiceInfo) -> Result<(), ConnectError> {
        let (greeting, misfit) = describe::greeting(service);
        if self.client.greet(greeting) {
            return Ok(());
        }
        Err(describe::misfit(service, &misfit, self.client.outstanding()))
    }

    /// Sends `request` to the method `id`, and waits for its reply.
    #[inline]
    pub fn call<Q: Message, P: Message>(&mut self, id: MethodId, request: &Q) -> Result<P, CallError> {
        self.call_with(id, request, Options::default())
    }

    /// As [`call`](Self::call), with options for this RPC; the key's hash is the request's.
    #[inline]
    pub fn call_with<Q: Message, P: Message>(
        &mut self,
        id: MethodId,
        request: &Q,
        options: Options,
    ) -> Result<P, CallError> {
        let options = options.key_hash(request.key_hash());
        Q::As::write(request, |body| self.put_together(id, body, &[], &options));
        read_reply(self.client.call_with(&self.frame, options)?)
    }

    pub(super) fn call_window(
        &mut self,
        id: MethodId,
        body: &[u8],
        cursor: &[u8],
        key_hash: u32,
    ) -> Result<&[u8], CallError> {
        let options = Options::default().key_hash(key_hash);
        self.put_together(id, body, cursor, &options);
        let reply = self.client.call_with(&self.frame, options)?;
        status::open_message(reply).ok_or_else(|| CallError::of_reply(reply))
    }

    /// Sends `request` to the method `id`. [`poll`](Self::poll) returns its end, under the ticket.
    #[inline(always)]
    pub fn submit<Q: Message>(&mut self, id: MethodId, request: &Q) -> Result<Ticket, SubmitError> {
        self.submit_with(id, request, Options::default())
    }

    /// As [`submit`](Self::submit), with options for this RPC; the key's hash is the request's.
    ///
    /// # Cost
    ///
    /// That of [`Client::submit`], and one store. Constant options are compiled away: a struct in
    /// memory would be written in parts and read as a whole, which waits for the writes.
    #[inline(always)]
    pub fn submit_with<Q: Message>(
        &mut self,
        id: MethodId,
        request: &Q,
        options: Options,
    ) -> Result<Ticket, SubmitError> {
        let options = options.key_hash(request.key_hash());
        match Q::As::in_place(request) {
            Some(body) => self.submit_body(id, body, options),
            None => self.submit_put(id, request, options),
        }
    }

    /// As [`submit_body`](Self::submit_body), encoded straight into the ring. Not inlined.
    #[inline(never)]
    fn submit_put<Q: Message>(&mut self, id: MethodId, request: &Q, options: Options) -> Result<Ticket, SubmitError> {
        if self.may_go_short(&options)
            && let Some(ticket) =
                self.client.submit_whole(options.key_hash, |room| Q::As::put(request, id.to_bytes(), room))
        {
            self.note_method(ticket, id);
            return Ok(ticket);
        }
        Q::As::write(request, |body| self.submit_framed(id, body, options))
    }

    #[inline(always)]
    fn submit_body(&mut self, id: MethodId, body: &[u8], options: Options) -> Result<Ticket, SubmitError> {
        if self.may_go_short(&options)
            && let Some(ticket) = self.client.submit_and(body, id.to_bytes(), options.key_hash)
        {
            self.note_method(ticket, id);
            return Ok(ticket);
        }
        self.submit_framed(id, body, options)
    }

    /// The slow path: over UDP, with an extension, in several packets, or without room in the ring.
    #[inline(never)]
    fn submit_framed(&mut self, id: MethodId, body: &[u8], options: Options) -> Result<Ticket, SubmitError> {
        self.put_together(id, body, &[], &options);
        let ticket = self.client.submit_with(&self.frame, options)?;
        self.note_method(ticket, id);
        Ok(ticket)
    }

    #[inline]
    fn put_together(&mut self, id: MethodId, body: &[u8], cursor: &[u8], options: &Options) {
        let until_ticks = self.client.waits_for(options).map(ticks_after);
        put_together(&mut self.frame, body, id, &Extension { trace: self.trace.as_ref(), cursor, until_ticks });
    }

    #[inline(always)]
    const fn may_go_short(&self, options: &Options) -> bool {
        self.trace.is_none() && options.deadline.is_none()
    }

    #[inline(always)]
    fn note_method(&mut self, ticket: Ticket, id: MethodId) {
        let place = place(ticket, self.methods.len());
        self.methods[place] = id;
    }

    /// The next RPC that has ended, in the order of the ends. Never waits.
    #[inline(always)]
    pub fn poll(&mut self) -> Option<Ended<'_>> {
        let done = self.client.poll()?;
        let id = self.methods[place(done.ticket, self.methods.len())];
        Some(Ended { ticket: done.ticket, id, reply: done.result })
    }

    /// The first half of [`poll`](Self::poll), enough for most ends. Generated clients call it.
    #[inline(always)]
    pub fn glance(&mut self) -> Found {
        match self.client.glance() {
            Glance::Reply(ticket, bytes) => {
                let id = self.methods[place(ticket, self.methods.len())];
                Found::Reply(Replied { ticket, id, bytes })
            }
            Glance::Nothing => Found::Nothing,
            Glance::Otherwise => Found::Otherwise,
        }
    }

    /// The end that [`glance`](Self::glance) has found.
    #[inline(always)]
    pub fn replied(&self, found: Replied) -> Ended<'_> {
        Ended { ticket: found.ticket, id: found.id, reply: Ok(self.client.taken(found.bytes)) }
    }

    /// The second half of [`poll`](Self::poll), if [`glance`](Self::glance) asks for it.
    #[inline(never)]
    pub fn poll_otherwise(&mut self) -> Option<Ended<'_>> {
        let done = self.client.poll_otherwise()?;
        let id = self.methods[place(done.ticket, self.methods.len())];
        Some(Ended { ticket: done.ticket, id, reply: done.result })
    }

    /// RPCs submitted and not ended.
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        self.client.outstanding()
    }
}

/// The bytes of a request of the method `id`, for a client without types.
pub fn request_bytes<Q: Message>(id: MethodId, request: &Q) -> Vec<u8> {
    let mut frame = Vec::new();
    Q::As::write(request, |body| put_together(&mut frame, body, id, &Extension::default()));
    frame
}

/// Decodes a server's reply.
///
/// # Errors
///
/// [`CallError::Status`] if the service answered with one, and [`CallError::Malformed`].
#[inline]
pub fn read_reply<P: Message>(bytes: &[u8]) -> Result<P, CallError> {
    match status::open_message(bytes) {
        Some(body) => P::As::take(body, Ok, || Err(CallError::Malformed)),
        None => Err(CallError::of_reply(bytes)),
    }
}

/// The tickets of outstanding RPCs differ modulo the slots, a power of two.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the low bits")]
const fn place(ticket: Ticket, slots: usize) -> usize {
    ticket.0 as usize & (slots - 1)
}

#[inline]
pub(super) fn put_together(frame: &mut Vec<u8>, body: &[u8], id: MethodId, extension: &Extension<'_>) {
    frame.clear();
    frame.extend_from_slice(body);
    method::end(frame, id, extension);
}

pub(super) fn ticks_after(span: Span) -> u64 {
    let clock = Clock::new();
    clock.ticks().saturating_add(clock.ticks_of(span.as_ps()))
}

//! The client's end: requests of any method of a server's services, over one connection.

use super::describe;
use super::error::{CallError, ConnectError};
use super::message::{Encoding, Message, Place};
use super::method::{self, Extension, MethodId};
use super::service::ServiceInfo;
use super::status;
use super::trace::TraceContext;
use nebula::IntoEndpoints;
use nebula::hooks::ClientHooks as _;
use nebula::hooks::Glance;
use nebula::{self as client, Client, SubmitError, Ticket};
use nebula::{ClientConfig, Options};
use nebula_nic::Span;
use nebula_sys::clock::Clock;

/// A connection to a server of typed services, or to several, which generated clients are made
/// over.
///
/// One thread uses it at a time.
#[derive(Debug)]
pub struct Channel {
    client: Client,
    /// The method of each outstanding request, by its ticket modulo the slots.
    methods: Box<[MethodId]>,
    /// Requests that do not go straight into a ring are put together here.
    frame: Vec<u8>,
    trace: Option<TraceContext>,
}

/// The end of a submitted RPC.
#[derive(Debug)]
pub struct Ended<'c> {
    /// Which one.
    pub ticket: Ticket,
    /// The method that it called.
    pub id: MethodId,
    reply: Result<&'c [u8], client::CallError>,
}

/// What a first look for an end has found: numbers, which stay in registers. A result that went
/// through memory would be written in words and read in pairs of them, which waits for the writes.
#[derive(Clone, Copy, Debug)]
pub enum Found {
    /// The reply to an RPC, which [`Channel::replied`] has.
    Reply(Replied),
    /// Nothing has ended.
    Nothing,
    /// There may be another end: [`Channel::poll_otherwise`] has it.
    Otherwise,
}

/// A reply that a first look has found.
#[derive(Clone, Copy, Debug)]
pub struct Replied {
    /// To which RPC.
    pub ticket: Ticket,
    /// The method that it called.
    pub id: MethodId,
    bytes: u32,
}

/// The end of a submitted RPC, decoded: its ticket, and its reply or why there is none.
pub type Decoded<E> = Option<(Ticket, Result<E, CallError>)>;

impl<'c> Ended<'c> {
    /// Its reply, as `wrap` keeps it, or why there is none. `place` is where it is put together if
    /// it does not lie whole in what came. Generated clients call it.
    ///
    /// The result is made where it is used: a message that went through several results would be
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

    /// As [`decode`](Self::decode), of a reply that is not read in place: nothing of that is
    /// inlined into a client's poll.
    #[inline(never)]
    pub fn decode_apart<P: Message + 'c, E>(
        self,
        place: &'c mut Place<P>,
        wrap: impl FnOnce(&'c P) -> E,
    ) -> Decoded<E> {
        self.decode(place, wrap)
    }

    /// The end of an RPC whose method is none of the service's.
    #[cold]
    pub fn unknown<E>(self) -> Decoded<E> {
        Some((self.ticket, Err(self.reply.map_or_else(CallError::from, |_| CallError::Malformed))))
    }
}

impl Channel {
    /// Connects to the server at `endpoint`. Whether it has a service is asked by
    /// [`check`](Self::check).
    ///
    /// The connection is to one run of the server, over UDP too: when that has ended, all calls end
    /// with [`ServerGone`](nebula::SubmitError::ServerGone), and the next one is to be compared
    /// with by connecting again.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Connect`].
    pub fn connect_with(endpoint: impl IntoEndpoints, config: ClientConfig) -> Result<Self, ConnectError> {
        let slots = config.slots as usize;
        let mut client = Client::connect_with(endpoint, config)?;
        // A server that comes back may have another schema.
        client.bind_to_server();
        Ok(Self { client, methods: vec![MethodId::new(0, 0); slots].into(), frame: Vec::new(), trace: None })
    }

    /// The connection, for what has no types: [`poll`](Client::poll) is not to be called on it
    /// while typed RPCs are outstanding.
    #[must_use]
    pub const fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Sends `trace` with every request from here on, in its extension.
    pub const fn set_trace(&mut self, trace: Option<TraceContext>) {
        self.trace = trace;
    }

    /// Asks the server for its schema of `service`, and compares: with one round trip where both
    /// have the same. Of several servers each is asked, whenever a connection to it is made: one
    /// whose schema does not fit gets no RPCs.
    ///
    /// # Errors
    ///
    /// [`ConnectError`]: the server lacks the service, or does not answer, or its schema does not
    /// fit.
    pub fn check(&mut self, service: &ServiceInfo) -> Result<(), ConnectError> {
        let (greeting, misfit) = describe::greeting(service);
        if self.client.greet(greeting) {
            return Ok(());
        }
        Err(describe::misfit(service, &misfit, self.client.outstanding()))
    }

    /// Sends `request` to the method `id`, and waits for its reply.
    ///
    /// # Errors
    ///
    /// [`CallError`].
    #[inline]
    pub fn call<Q: Message, P: Message>(&mut self, id: MethodId, request: &Q) -> Result<P, CallError> {
        self.call_with(id, request, Options::default())
    }

    /// As [`call`](Self::call), with options for this RPC alone; the key's hash is the request's.
    ///
    /// # Errors
    ///
    /// [`CallError`].
    #[inline]
    pub fn call_with<Q: Message, P: Message>(
        &mut self,
        id: MethodId,
        request: &Q,
        options: Options,
    ) -> Result<P, CallError> {
        let options = options.key_hash(request.key_hash());
        let until_ticks = self.client.waits_for(&options).map(ticks_after);
        let extension = Extension { trace: self.trace.as_ref(), until_ticks, ..Extension::default() };
        Q::As::write(request, |body| put_together(&mut self.frame, body, id, &extension));
        let reply = self.client.call_with(&self.frame, options)?;
        match status::open_message(reply) {
            Some(body) => P::As::take(body, Ok, || Err(CallError::Malformed)),
            None => Err(CallError::of_reply(reply)),
        }
    }

    /// The window of a stream that begins at `cursor`.
    pub(super) fn call_window(
        &mut self,
        id: MethodId,
        body: &[u8],
        cursor: &[u8],
        key_hash: u32,
    ) -> Result<&[u8], CallError> {
        let options = Options::default().key_hash(key_hash);
        let until_ticks = self.client.waits_for(&options).map(ticks_after);
        put_together(&mut self.frame, body, id, &Extension { trace: self.trace.as_ref(), cursor, until_ticks });
        let reply = self.client.call_with(&self.frame, options)?;
        status::open_message(reply).ok_or_else(|| CallError::of_reply(reply))
    }

    /// Sends `request` to the method `id`; its end comes from [`poll`](Self::poll) under the
    /// ticket.
    ///
    /// # Errors
    ///
    /// [`SubmitError`].
    #[inline(always)]
    pub fn submit<Q: Message>(&mut self, id: MethodId, request: &Q) -> Result<Ticket, SubmitError> {
        self.submit_with(id, request, Options::default())
    }

    /// As [`submit`](Self::submit), with options for this RPC alone; the key's hash is the
    /// request's.
    ///
    /// # Errors
    ///
    /// [`SubmitError`].
    ///
    /// # Cost
    ///
    /// That of [`Client::submit`], and one store. The options are compiled away where they are
    /// known: as a struct in memory they would be written in parts and read as a whole, which waits
    /// for the writes.
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

    /// As [`submit_body`](Self::submit_body), of a request that is put together as it is written.
    /// Nothing of that is inlined beside others.
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

    /// Where a request does not go straight into a ring: over UDP, with an extension, in several
    /// packets, or where there is no room.
    #[inline(never)]
    fn submit_framed(&mut self, id: MethodId, body: &[u8], options: Options) -> Result<Ticket, SubmitError> {
        let until_ticks = self.client.waits_for(&options).map(ticks_after);
        let extension = Extension { trace: self.trace.as_ref(), until_ticks, ..Extension::default() };
        put_together(&mut self.frame, body, id, &extension);
        let ticket = self.client.submit_with(&self.frame, options)?;
        self.note_method(ticket, id);
        Ok(ticket)
    }

    /// Whether a request has no extension.
    #[inline(always)]
    const fn may_go_short(&self, options: &Options) -> bool {
        self.trace.is_none() && options.deadline.is_none()
    }

    #[inline(always)]
    fn note_method(&mut self, ticket: Ticket, id: MethodId) {
        let place = place(ticket, self.methods.len());
        self.methods[place] = id;
    }

    /// The next RPC that has ended, in the order of their ends. Never waits.
    #[inline(always)]
    pub fn poll(&mut self) -> Option<Ended<'_>> {
        let done = self.client.poll()?;
        let id = self.methods[place(done.ticket, self.methods.len())];
        Some(Ended { ticket: done.ticket, id, reply: done.result })
    }

    /// The first half of [`poll`](Self::poll), which most ends need nothing beside. Generated
    /// clients call it.
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

    /// The second half of [`poll`](Self::poll), where [`glance`](Self::glance) asks for it.
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

/// The bytes of a request of the method `id`, for a client of bytes.
pub fn request_bytes<Q: Message>(id: MethodId, request: &Q) -> Vec<u8> {
    let mut frame = Vec::new();
    Q::As::write(request, |body| put_together(&mut frame, body, id, &Extension::default()));
    frame
}

/// The reply that these bytes of a server are.
///
/// # Errors
///
/// [`CallError::Status`], if the service answered with one, and [`CallError::Malformed`].
pub fn read_reply<P: Message>(bytes: &[u8]) -> Result<P, CallError> {
    match status::open_message(bytes) {
        Some(body) => P::As::take(body, Ok, || Err(CallError::Malformed)),
        None => Err(CallError::of_reply(bytes)),
    }
}

/// The tickets of outstanding RPCs differ modulo the slots, of which there is a power of two.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the low bits")]
const fn place(ticket: Ticket, slots: usize) -> usize {
    ticket.0 as usize & (slots - 1)
}

/// Makes `frame` the request of which `body` is the message.
#[inline]
pub(super) fn put_together(frame: &mut Vec<u8>, body: &[u8], id: MethodId, extension: &Extension<'_>) {
    frame.clear();
    frame.extend_from_slice(body);
    method::end(frame, id, extension);
}

/// The tick of the machine's clock that is as far ahead.
pub(super) fn ticks_after(span: Span) -> u64 {
    let clock = Clock::new();
    clock.ticks().saturating_add(clock.ticks_of(span.as_ps()))
}

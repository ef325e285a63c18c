//! The client's end: requests of any method of a server's services, over one connection.

use super::describe::{self, Ask, Told};
use super::error::{CallError, ConnectError};
use super::head::{self, Head};
use super::message::{Encoding, Message};
use super::service::ServiceInfo;
use super::status::{self, Code, Status};
use super::trace::TraceContext;
use crate::client::{Client, SubmitError, Ticket};
use crate::config::client::{ClientConfig, Options};
use crate::endpoint::IntoEndpoint;
use nebula_schema::{Fingerprint, Schema, fit};
use zerocopy::{FromBytes, IntoBytes};

/// A connection to a server of typed services, which generated clients are made over.
///
/// One thread uses it at a time.
#[derive(Debug)]
pub struct Channel {
    client: Client,
    /// The head of each outstanding request, by its ticket modulo the slots.
    heads: Box<[Head]>,
    /// Requests that have an extension are put together here.
    frame: Vec<u8>,
    trace: Option<TraceContext>,
}

/// The end of a submitted RPC.
#[derive(Debug)]
pub struct Ended<'c> {
    /// Which one.
    pub ticket: Ticket,
    /// The method that it called.
    pub head: Head,
    body: Result<&'c [u8], CallError>,
}

impl Ended<'_> {
    /// Its reply, or why there is none.
    ///
    /// # Errors
    ///
    /// [`CallError`].
    pub fn reply<P: Message>(self) -> Result<P, CallError> {
        P::As::decode(self.body?).ok_or(CallError::Malformed)
    }
}

/// The longest schema that a server is believed to have, in bytes.
const SCHEMA_BYTES_MAX: usize = 1 << 20;

/// What the server says of its schema.
struct Description {
    fingerprint: Fingerprint,
    /// Empty where the fingerprints are the same.
    schema: Vec<u8>,
}

impl Channel {
    /// Connects to the server at `endpoint`. Whether it has a service is asked by [`check`](Self::check).
    ///
    /// # Errors
    ///
    /// [`ConnectError::Connect`].
    pub fn connect_with(endpoint: impl IntoEndpoint, config: ClientConfig) -> Result<Self, ConnectError> {
        let slots = config.slots as usize;
        let client = Client::connect_with(endpoint, config)?;
        Ok(Self { client, heads: vec![Head::new(0, 0); slots].into(), frame: Vec::new(), trace: None })
    }

    /// The connection, for what has no types: [`poll`](Client::poll) is not to be called on it while typed RPCs are outstanding.
    #[must_use]
    pub const fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Sends `trace` with every request from here on, in its extension.
    pub const fn set_trace(&mut self, trace: Option<TraceContext>) {
        self.trace = trace;
    }

    /// Asks the server for its schema of `service`, and compares: with one round trip where both have the same.
    ///
    /// # Errors
    ///
    /// [`ConnectError`]: the server lacks the service, or does not answer, or its schema does not fit.
    pub fn check(&mut self, service: &ServiceInfo) -> Result<(), ConnectError> {
        let Description { fingerprint, schema } = self.description(service).map_err(|cause| match cause.status() {
            Some(status) if status.code() == Code::Unimplemented => ConnectError::NotServed { service: service.name },
            _ => ConnectError::Asked { service: service.name, cause },
        })?;
        if fingerprint == service.fingerprint {
            return Ok(());
        }
        let asked = |cause| ConnectError::Asked { service: service.name, cause };
        let theirs = Schema::from_bytes(&schema).map_err(|_| asked(CallError::Malformed))?;
        fit(&service.schema(), &theirs).map_err(|misfit| ConnectError::Schema {
            service: service.name,
            client: service.fingerprint,
            server: fingerprint,
            misfit,
        })
    }

    fn description(&mut self, service: &ServiceInfo) -> Result<Description, CallError> {
        let (mut schema, head) = (Vec::new(), Head::new(service.id, describe::METHOD));
        loop {
            let from = u32::try_from(schema.len()).map_err(|_| CallError::Malformed)?;
            let ask = Ask { fingerprint: service.fingerprint.0.into(), from: from.into() };
            let reply = self.client.call(&[&head.to_bytes(), ask.as_bytes()].concat())?;
            let body = opened(reply)?;
            let (told, part) = Told::read_from_prefix(body).map_err(|_| CallError::Malformed)?;
            schema.extend_from_slice(part);
            let bytes = told.schema_bytes.get() as usize;
            if schema.len() == bytes {
                return Ok(Description { fingerprint: Fingerprint(told.fingerprint.get()), schema });
            }
            if part.is_empty() || schema.len() > bytes || bytes > SCHEMA_BYTES_MAX {
                return Err(CallError::Malformed);
            }
        }
    }

    /// Sends `request` to the method that `head` means, and waits for its reply.
    ///
    /// # Errors
    ///
    /// [`CallError`].
    #[inline]
    pub fn call<Q: Message, P: Message>(&mut self, head: Head, request: &Q) -> Result<P, CallError> {
        let options = Options::default().key_hash(request.key_hash());
        let Self { client, frame, trace, .. } = self;
        let reply = Q::As::write(request, head.to_bytes(), |bytes| match trace {
            None => client.call_with(bytes, options),
            Some(trace) => client.call_with(extended(frame, head, trace, bytes), options),
        })?;
        P::As::decode(opened(reply)?).ok_or(CallError::Malformed)
    }

    /// Sends `request` to the method that `head` means; its end comes from [`poll`](Self::poll) under the ticket.
    ///
    /// # Errors
    ///
    /// [`SubmitError`].
    #[inline]
    pub fn submit<Q: Message>(&mut self, head: Head, request: &Q) -> Result<Ticket, SubmitError> {
        let key_hash = request.key_hash();
        let Self { client, frame, trace, .. } = self;
        let ticket = Q::As::write(request, head.to_bytes(), |bytes| match trace {
            None => client.submit_keyed(bytes, key_hash),
            Some(trace) => client.submit_keyed(extended(frame, head, trace, bytes), key_hash),
        })?;
        let place = self.place(ticket);
        self.heads[place] = head;
        Ok(ticket)
    }

    /// The next RPC that has ended, in the order of their ends. Never waits.
    #[inline]
    pub fn poll(&mut self) -> Option<Ended<'_>> {
        let slots = self.heads.len();
        let done = self.client.poll()?;
        let head = self.heads[place(done.ticket, slots)];
        Some(Ended { ticket: done.ticket, head, body: done.result.map_err(CallError::from).and_then(opened) })
    }

    /// RPCs submitted and not ended.
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        self.client.outstanding()
    }

    #[inline(always)]
    fn place(&self, ticket: Ticket) -> usize {
        place(ticket, self.heads.len())
    }
}

/// The tickets of outstanding RPCs differ modulo the slots, of which there is a power of two.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the low bits")]
const fn place(ticket: Ticket, slots: usize) -> usize {
    ticket.0 as usize & (slots - 1)
}

/// The request with its extension: `bytes` has its head and its body.
#[cold]
fn extended<'f>(frame: &'f mut Vec<u8>, head: Head, trace: &TraceContext, bytes: &[u8]) -> &'f [u8] {
    head::begin_extended(frame, head, trace);
    frame.extend_from_slice(&bytes[Head::BYTES..]);
    frame
}

#[inline(always)]
fn opened(reply: &[u8]) -> Result<&[u8], CallError> {
    match status::open(reply) {
        Some(Ok(body)) => Ok(body),
        other => Err(unanswered(other.and_then(Result::err))),
    }
}

#[cold]
fn unanswered(status: Option<Status>) -> CallError {
    status.map_or(CallError::Malformed, CallError::Status)
}

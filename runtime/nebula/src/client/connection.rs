//! The operations of a connection, to one server or to several.

use super::error::{CallError, ConnectError, SubmitError};
use super::ticket::{Completion, Ticket};
use crate::config::client::{ClientConfig, Options};
use crate::config::key::Keys;
use crate::endpoint::Endpoint;
use nebula_nic::Span;
use std::fmt;
use std::os::fd::BorrowedFd;

/// Whether a client may sleep and needs wake-ups. A client over UDP may sleep without them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    Polls,
    Sleeps,
}

pub(super) trait Connection: Sized + Send + fmt::Debug + 'static {
    fn connect_to(endpoint: Endpoint, config: &ClientConfig, rest: Rest) -> Result<Self, ConnectError>;

    fn submit_keyed(&mut self, request: &[u8], key_hash: u32) -> Result<Ticket, SubmitError>;

    fn submit_with(&mut self, request: &[u8], options: Options) -> Result<Ticket, SubmitError>;

    fn poll(&mut self) -> Option<Completion<'_>>;

    fn flush(&mut self);

    fn cancel(&mut self, ticket: Ticket) -> bool;

    fn call(&mut self, request: &[u8], options: Options) -> Result<&[u8], CallError>;

    fn set_keys(&mut self, keys: &Keys);

    /// Binds to this run of the server, as over shared memory; with several servers, to one run
    /// each.
    fn bind_to_server(&mut self);

    fn outstanding(&self) -> u32;

    fn slo(&self) -> Span;

    fn rpc_bytes_max(&self) -> u32;

    fn server_reply_bytes_max(&self) -> Option<u32>;

    fn buffer_bytes(&self) -> usize;

    fn take_all(&mut self, visit: &mut dyn FnMut(Completion<'_>));

    /// Over shared memory: asks the server for a wake-up, or for none. A caller that asks for one
    /// must look at all outstanding RPCs afterwards.
    fn set_armed(&self, is_armed: bool);

    fn take_wake_ups(&mut self);

    /// Whether the socket is readable at times although no task sleeps: then it is watched only
    /// while one does.
    fn is_watched_on_request(&self) -> bool;

    fn socket(&self) -> Option<BorrowedFd<'_>>;

    /// How long until something is due without an answer: a deadline, a retransmission.
    fn due(&mut self) -> Option<Span>;

    #[cfg(feature = "tower")]
    fn has_room(&mut self) -> bool;

    /// How long there is no room for an RPC, whatever is answered.
    fn paced_for(&mut self) -> Option<Span>;

    fn wait(&mut self, timeout: Span);

    /// Payload bytes of a packet, for one-sided operations.
    fn packet_bytes(&self) -> u32;

    /// As [`poll`](Self::poll), for one-sided operations.
    fn poll_next(&mut self) -> Option<Completion<'_>>;

    fn submit_operation(&mut self, token: Ticket, message: &[u8]) -> Result<(), SubmitError>;
}

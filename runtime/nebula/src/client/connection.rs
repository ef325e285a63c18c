//! What a client needs of a connection, to one server or to several.

use super::error::{CallError, ConnectError, SubmitError};
use super::ticket::{Completion, Ticket};
use crate::config::client::{ClientConfig, Options};
use crate::config::key::Keys;
use crate::endpoint::Endpoint;
use nebula_nic::Span;
use std::fmt;
use std::os::fd::BorrowedFd;

/// Whether a client may sleep, and is woken then. A client over UDP may anyhow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// It polls.
    Polls,
    /// It sleeps: the server is told.
    Sleeps,
}

/// A connection.
pub(super) trait Connection: Sized + Send + fmt::Debug + 'static {
    /// Connects to one server.
    fn connect_to(endpoint: Endpoint, config: &ClientConfig, rest: Rest) -> Result<Self, ConnectError>;

    fn submit_keyed(&mut self, request: &[u8], key_hash: u32) -> Result<Ticket, SubmitError>;

    fn submit_with(&mut self, request: &[u8], options: Options) -> Result<Ticket, SubmitError>;

    fn poll(&mut self) -> Option<Completion<'_>>;

    fn flush(&mut self);

    fn cancel(&mut self, ticket: Ticket) -> bool;

    fn call(&mut self, request: &[u8], options: Options) -> Result<&[u8], CallError>;

    fn set_keys(&mut self, keys: &Keys);

    /// Speaks with this run of the server alone, as over shared memory; of several servers with one
    /// run over each connection.
    fn bind_to_server(&mut self);

    fn outstanding(&self) -> u32;

    fn slo(&self) -> Span;

    fn rpc_bytes_max(&self) -> u32;

    fn reply_bytes_max(&self) -> Option<u32>;

    fn ring_bytes(&self) -> usize;

    /// Calls `visit` with every RPC that has ended.
    fn take_all(&mut self, visit: &mut dyn FnMut(Completion<'_>));

    /// Over shared memory: asks the server for a wake-up. All that is outstanding has to be looked
    /// at after this.
    fn arm(&self);

    /// Needs no wake-up any more.
    fn disarm(&self);

    /// Over shared memory: takes off the socket what has woken the client.
    fn take_wake_ups(&mut self);

    /// Whether something is readable there from time to time although nobody sleeps: then it is
    /// watched only while somebody does.
    fn is_watched_on_request(&self) -> bool;

    /// What is readable once the client is to look for answers.
    fn socket(&self) -> Option<BorrowedFd<'_>>;

    /// How long until something is to be done that no answer says: a deadline, a retransmission.
    fn due(&mut self) -> Option<Span>;

    /// Whether there is room for an RPC, as far as can be told before its length is known.
    #[cfg(feature = "tower")]
    fn has_room(&mut self) -> bool;

    /// How long there is no room for an RPC, whatever is answered.
    fn paced_for(&mut self) -> Option<Span>;
}

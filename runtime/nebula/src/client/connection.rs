//! The operations of a connection: over shared memory or a network, or around another connection.

use super::error::{CallError, ConnectError, SubmitError};
use super::ticket::{Completion, Ticket};
use crate::config::client::{ClientConfig, Options};
use crate::config::key::Keys;
use crate::endpoint::Endpoint;
use crate::status::StatusReader;
use nebula_nic::Span;
use std::fmt;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// Whether a client may sleep and needs wake-ups. A client over UDP may sleep without them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    Polls,
    Sleeps,
}

/// A call over a connection, which returns the reply.
pub type AskOne<'c> = dyn FnMut(&[u8]) -> Result<Vec<u8>, CallError> + 'c;

/// Calls a server over a new connection with the given function. Returns whether to use the
/// connection.
pub type Greeting = dyn Fn(&mut AskOne<'_>) -> bool + Send + Sync;

/// Makes a connection to one server.
pub(super) type Open = fn(Endpoint, &ClientConfig, Rest) -> Result<Box<dyn Connection>, ConnectError>;

pub(super) trait Connection: Send + fmt::Debug {
    fn submit_keyed(&mut self, request: &[u8], key_hash: u32) -> Result<Ticket, SubmitError> {
        self.submit_with(request, Options::default().key_hash(key_hash))
    }

    fn submit_with(&mut self, request: &[u8], options: Options) -> Result<Ticket, SubmitError>;

    fn poll(&mut self) -> Option<Completion<'_>>;

    /// Sends requests that wait to share a datagram.
    fn flush(&mut self) {}

    fn cancel(&mut self, ticket: Ticket) -> bool;

    fn call(&mut self, request: &[u8], options: Options) -> Result<&[u8], CallError>;

    fn set_keys(&mut self, _keys: &Keys) {}

    /// Binds to this run of the server, as over shared memory; with several servers, to one run
    /// each.
    fn bind_to_server(&mut self) {}

    /// Has `greeting` ask the server. Returns whether it accepted the server; `false` if others'
    /// answers would be lost.
    fn greet(&mut self, greeting: Arc<Greeting>) -> bool {
        self.outstanding() == 0 && greeting(&mut |request| self.call(request, Options::default()).map(<[u8]>::to_vec))
    }

    fn outstanding(&self) -> u32;

    /// The longest wait for an RPC; [`Span::MAX`] without limit.
    fn deadline(&self) -> Span;

    /// Whether a server does not read the time limit in a header, as over shared memory.
    fn is_local(&self) -> bool {
        false
    }

    /// The time limit that a request must carry itself.
    fn waits_for(&self, options: &Options) -> Option<Span> {
        let waits = options.deadline.unwrap_or(Span::MAX).min(self.deadline());
        (waits != Span::MAX && self.is_local()).then_some(waits)
    }

    /// How often the kernel has reported that the connection is broken, or that no process is at
    /// its other end. Over shared memory every RPC ends then.
    fn breaks(&self) -> u32 {
        0
    }

    /// Whether it was broken and no other one in its place has been answered yet.
    fn is_broken(&self) -> bool {
        false
    }

    fn has_several_servers(&self) -> bool {
        false
    }

    /// The server's counters, over shared memory.
    fn status(&self) -> Option<&StatusReader> {
        None
    }

    fn slo(&self) -> Span;

    fn rpc_bytes_max(&self) -> u32;

    fn server_reply_bytes_max(&self) -> Option<u32>;

    fn buffer_bytes(&self) -> usize;

    fn take_all(&mut self, visit: &mut dyn FnMut(Completion<'_>));

    /// Over shared memory: asks the server for a wake-up, or for none. A caller that asks for one
    /// must look at all outstanding RPCs afterwards.
    fn set_armed(&self, _is_armed: bool) {}

    fn take_wake_ups(&mut self) {}

    /// Over shared memory: whether an RPC has ended. Over a network the socket says so.
    fn has_answer(&mut self) -> bool {
        false
    }

    /// Whether the socket is readable at times although no task sleeps: then it is watched only
    /// while one does.
    fn is_watched_on_request(&self) -> bool {
        true
    }

    /// Readable when something has come, for a client that sleeps.
    fn socket(&self) -> Option<BorrowedFd<'_>>;

    /// How long until something is due without an answer: a deadline, a retransmission.
    fn due(&mut self) -> Option<Span>;

    /// Whether a short request can be sent, or would fail at once.
    #[cfg(feature = "tower")]
    fn has_room(&mut self) -> bool;

    /// How long there is no room for an RPC, whatever is answered.
    fn paced_for(&mut self) -> Option<Span> {
        None
    }

    fn wait(&mut self, timeout: Span);

    /// Payload bytes of a packet, for one-sided operations.
    fn packet_bytes(&self) -> u32;

    fn submit_operation(&mut self, token: Ticket, message: &[u8]) -> Result<(), SubmitError>;
}

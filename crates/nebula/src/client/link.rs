//! A connection over either transport: what clients of one thread and of many tasks are built on.

use super::error::{CallError, ConnectError, SubmitError};
use super::shm::ShmClient;
use super::ticket::{Completion, Ticket};
use super::udp::UdpClient;
use crate::config::client::{ClientConfig, Options};
use crate::config::key::Keys;
use crate::endpoint::Endpoint;
use crate::status::StatusReader;
use nebula_nic::Span;
use std::os::fd::BorrowedFd;

/// Whether a client may sleep, and is woken then. A client over UDP may anyhow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// It polls.
    Polls,
    /// It sleeps: the server is told.
    Sleeps,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one a client, and shared memory is to need no further look")]
pub(super) enum Link {
    Shm(ShmClient),
    Udp(Box<UdpClient>),
}

impl Link {
    pub(super) fn connect(endpoint: Endpoint, config: &ClientConfig, rest: Rest) -> Result<Self, ConnectError> {
        Ok(match endpoint {
            Endpoint::Shm(name) => Self::Shm(ShmClient::connect(&name, config, rest == Rest::Sleeps)?),
            Endpoint::Udp(server) => Self::Udp(Box::new(UdpClient::connect(server, config)?)),
        })
    }

    #[inline]
    pub(super) fn submit_keyed(&mut self, request: &[u8], key_hash: u32) -> Result<Ticket, SubmitError> {
        match self {
            Self::Shm(shm) => shm.submit_keyed(request, key_hash),
            Self::Udp(udp) => udp.submit(request, Options::default().key_hash(key_hash)),
        }
    }

    pub(super) fn submit_with(&mut self, request: &[u8], options: Options) -> Result<Ticket, SubmitError> {
        match self {
            Self::Shm(shm) => shm.submit_with(request, options),
            Self::Udp(udp) => udp.submit(request, options),
        }
    }

    #[inline]
    pub(super) fn poll(&mut self) -> Option<Completion<'_>> {
        match self {
            Self::Shm(shm) => shm.poll(),
            Self::Udp(udp) => udp.poll(),
        }
    }

    #[inline]
    pub(super) fn flush(&mut self) {
        if let Self::Udp(udp) = self {
            udp.flush();
        }
    }

    pub(super) fn wait(&mut self, timeout: Span) {
        match self {
            Self::Shm(shm) => shm.wait(timeout),
            Self::Udp(udp) => udp.wait(timeout),
        }
    }

    pub(super) fn cancel(&mut self, ticket: Ticket) -> bool {
        match self {
            Self::Shm(shm) => shm.cancel(ticket),
            Self::Udp(udp) => udp.cancel(ticket),
        }
    }

    pub(super) fn call(&mut self, request: &[u8], options: Options) -> Result<&[u8], CallError> {
        match self {
            Self::Shm(shm) => shm.call(request, options),
            Self::Udp(udp) => udp.call(request, options),
        }
    }

    pub(super) fn set_keys(&mut self, keys: &Keys) {
        if let Self::Udp(udp) = self {
            udp.set_keys(keys);
        }
    }

    /// Speaks with this run of the server alone, as over shared memory.
    #[cfg(feature = "typed")]
    pub(super) fn bind_to_server(&mut self) {
        if let Self::Udp(udp) = self {
            udp.bind_to_server();
        }
    }

    #[inline]
    pub(super) fn outstanding(&self) -> u32 {
        match self {
            Self::Shm(shm) => shm.outstanding(),
            Self::Udp(udp) => udp.outstanding(),
        }
    }

    pub(super) fn status(&self) -> Option<&StatusReader> {
        match self {
            Self::Shm(shm) => Some(shm.status()),
            Self::Udp(_) => None,
        }
    }

    pub(super) fn slo(&self) -> Span {
        match self {
            Self::Shm(shm) => shm.slo(),
            Self::Udp(udp) => udp.slo(),
        }
    }

    pub(super) fn rpc_bytes_max(&self) -> u32 {
        match self {
            Self::Shm(shm) => shm.rpc_bytes_max(),
            Self::Udp(udp) => udp.rpc_bytes_max(),
        }
    }

    pub(super) fn reply_bytes_max(&self) -> Option<u32> {
        match self {
            Self::Shm(shm) => shm.reply_bytes_max(),
            Self::Udp(udp) => udp.reply_bytes_max(),
        }
    }

    pub(super) fn ring_bytes(&self) -> usize {
        match self {
            Self::Shm(shm) => shm.ring_bytes(),
            Self::Udp(udp) => udp.buffer_bytes(),
        }
    }

    // -- of a client that sleeps --

    /// Calls `visit` with every RPC that has ended.
    pub(super) fn take_all(&mut self, visit: &mut dyn FnMut(Completion<'_>)) {
        match self {
            Self::Shm(shm) => shm.take_all(visit),
            Self::Udp(udp) => udp.take_all(visit),
        }
    }

    /// Over shared memory: asks the server for a wake-up. All that is outstanding has to be looked at after this.
    pub(super) fn arm(&self) {
        if let Self::Shm(shm) = self {
            shm.arm();
        }
    }

    /// Needs no wake-up any more.
    pub(super) fn disarm(&self) {
        if let Self::Shm(shm) = self {
            shm.disarm();
        }
    }

    /// Over shared memory: takes off the socket what has woken the client.
    pub(super) fn take_wake_ups(&mut self) {
        if let Self::Shm(shm) = self {
            shm.take_wake_ups();
        }
    }

    /// What is readable once the client is to look for answers.
    pub(super) fn socket(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Shm(shm) => Some(shm.socket()),
            Self::Udp(udp) => udp.socket(),
        }
    }

    /// How long until something is to be done that no answer says: a deadline, a retransmission.
    pub(super) fn due(&mut self) -> Option<Span> {
        match self {
            Self::Shm(shm) => shm.due(),
            Self::Udp(udp) => udp.due(),
        }
    }

    /// Whether there is room for an RPC, as far as can be told before its length is known.
    #[cfg(feature = "tower")]
    pub(super) fn has_room(&mut self) -> bool {
        match self {
            Self::Shm(shm) => shm.has_room(),
            Self::Udp(udp) => udp.has_room(),
        }
    }

    /// How long there is no room for an RPC, whatever is answered.
    pub(super) fn paced_for(&mut self) -> Option<Span> {
        match self {
            Self::Shm(_) => None,
            Self::Udp(udp) => udp.paced_for(),
        }
    }
}

//! Stations 1 and 11, at the client: an RPC is numbered, cut into slots, sent; its reply or NACK is matched and handed over.

mod config;
mod error;
mod ring;
mod retained;
mod shm;
mod udp;

pub use config::{ClientConfig, Options, Wait};
pub use error::{CallError, ConnectError, Hint, SubmitError};

use crate::endpoint::{Endpoint, IntoEndpoint};
use crate::net::Environment;
use crate::status::StatusReader;
use nebula_nic::Span;
use shm::ShmClient;
use std::net::SocketAddr;
use udp::UdpClient;

/// An RPC that was submitted and is not over.
///
/// No two that are not over have the same remainder when divided by the configured slots.
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

/// A connection to a server.
///
/// One thread uses it at a time; a process may have many. Sending never waits: it says [`SubmitError::Full`] when as many RPCs are
/// outstanding as it has room for.
///
/// Over shared memory it is a ring of slots that this client owns. Over UDP each RPC is sent again until it is answered, and is executed
/// at most once; what is submitted while others are outstanding goes out with the next [`poll`](Self::poll) or
/// [`flush`](Self::flush), several to a datagram. There, poll while anything is outstanding: that is also what sends again.
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
    link: Link,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one a client, and shared memory is to need no further look")]
enum Link {
    Shm(ShmClient),
    Udp(Box<UdpClient>),
}

impl Client {
    /// Connects to the server at `endpoint`.
    ///
    /// # Errors
    ///
    /// [`ConnectError`] in one line: nobody serves there, another version, another user, no key, no memory.
    pub fn connect(endpoint: impl IntoEndpoint) -> Result<Self, ConnectError> {
        Self::connect_with(endpoint, ClientConfig::default())
    }

    /// As [`connect`](Self::connect), with sizes, deadline and retry policy of the caller's.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub fn connect_with(endpoint: impl IntoEndpoint, config: ClientConfig) -> Result<Self, ConnectError> {
        let link = match endpoint.into_endpoint()? {
            Endpoint::Shm(name) => Link::Shm(ShmClient::connect(&name, &config)?),
            Endpoint::Udp(server) => Link::Udp(Box::new(UdpClient::connect(server, &config)?)),
        };
        Ok(Self { link })
    }

    /// A client of the server at `server` over any network. It returns before the server has answered: [`poll`](Self::poll) goes on with
    /// it, and what is submitted before waits.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Open`], or a configuration that cannot be.
    pub fn connect_over(
        server: SocketAddr,
        environment: Environment,
        config: ClientConfig,
    ) -> Result<Self, ConnectError> {
        Ok(Self { link: Link::Udp(Box::new(UdpClient::connect_over(server, environment, &config)?)) })
    }

    /// Sends `request` and returns at once; the answer comes from [`poll`](Self::poll) under the ticket.
    ///
    /// # Errors
    ///
    /// [`SubmitError`]: there is no room (take answers in first), the request is too large, the server is gone.
    ///
    /// # Cost
    ///
    /// Shared memory: one copy of the request into the ring. No allocation, no lock, no system call; no clock read unless a deadline or a
    /// back-off is configured. UDP: one copy to keep and one into a datagram; system calls only when nothing else is outstanding, and for
    /// every 64 requests.
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
        match &mut self.link {
            Link::Shm(shm) => shm.submit_keyed(request, key_hash),
            Link::Udp(udp) => udp.submit(request, Options::default().key_hash(key_hash)),
        }
    }

    /// As [`submit`](Self::submit), with what is to be said of this RPC alone.
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit).
    pub fn submit_with(&mut self, request: &[u8], options: Options) -> Result<Ticket, SubmitError> {
        match &mut self.link {
            Link::Shm(shm) => shm.submit_with(request, options),
            Link::Udp(udp) => udp.submit(request, options),
        }
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
    /// Never waits. When the server is gone, every outstanding RPC ends with [`CallError::ServerGone`]: over shared memory that is noticed
    /// after some dozen calls without an answer that are spread over 50 µs or more, over UDP when its successor answers.
    ///
    /// # Cost
    ///
    /// Shared memory: one look at the oldest outstanding slot, now and then at another. The reply is copied out of shared memory once.
    /// UDP: one look into a queue; when that is empty, what waits is sent and what has come is taken in.
    #[inline]
    pub fn poll(&mut self) -> Option<Completion<'_>> {
        match &mut self.link {
            Link::Shm(shm) => shm.poll(),
            Link::Udp(udp) => udp.poll(),
        }
    }

    /// Sends what waits to be sent together with more. Over shared memory nothing does.
    #[inline]
    pub fn flush(&mut self) {
        if let Link::Udp(udp) = &mut self.link {
            udp.flush();
        }
    }

    /// Sleeps until something may have come, or there is something to be sent again, or `timeout` is over. Over shared memory it only lets
    /// others run for a moment.
    pub fn wait(&mut self, timeout: impl Into<Span>) {
        match &mut self.link {
            Link::Shm(shm) => shm.wait(timeout.into()),
            Link::Udp(udp) => udp.wait(timeout.into()),
        }
    }

    /// Ends an RPC, whose answer is of no use any more, with [`CallError::Cancelled`]; `false` when it is over already.
    ///
    /// Over UDP the server is told once, and does not begin it if it has not. Over shared memory its slots come free when its answer comes.
    pub fn cancel(&mut self, ticket: Ticket) -> bool {
        match &mut self.link {
            Link::Shm(shm) => shm.cancel(ticket),
            Link::Udp(udp) => udp.cancel(ticket),
        }
    }

    /// Sends `request` and waits for its reply, which is borrowed until the next call. A NACK is retried as configured.
    ///
    /// # Errors
    ///
    /// [`CallError`]; a NACK is [`CallError::Nack`], with its reason. [`CallError::TimedOut`] after the configured
    /// [`call_timeout`](ClientConfig::call_timeout), whatever the server does.
    ///
    pub fn call(&mut self, request: &[u8]) -> Result<&[u8], CallError> {
        let outstanding = self.outstanding();
        if outstanding > 0 {
            return Err(CallError::Outstanding { rpcs: outstanding });
        }
        match &mut self.link {
            Link::Shm(shm) => shm.call(request),
            Link::Udp(udp) => udp.call(request),
        }
    }

    /// RPCs submitted and not over.
    #[must_use]
    #[inline]
    pub fn outstanding(&self) -> u32 {
        match &self.link {
            Link::Shm(shm) => shm.outstanding(),
            Link::Udp(udp) => udp.outstanding(),
        }
    }

    /// The server's counters, over shared memory.
    #[must_use]
    pub fn status(&self) -> Option<&StatusReader> {
        match &self.link {
            Link::Shm(shm) => Some(shm.status()),
            Link::Udp(_) => None,
        }
    }

    /// The SLO that the server keeps; zero while it has not answered.
    #[must_use]
    pub fn slo(&self) -> Span {
        match &self.link {
            Link::Shm(shm) => shm.slo(),
            Link::Udp(udp) => udp.slo(),
        }
    }

    /// The longest request that the server takes and this client has room for, in bytes.
    #[must_use]
    pub fn rpc_bytes_max(&self) -> u32 {
        match &self.link {
            Link::Shm(shm) => shm.rpc_bytes_max(),
            Link::Udp(udp) => udp.rpc_bytes_max(),
        }
    }

    /// The longest reply that the server says it sends, in bytes; `None` when it does not say, or has not answered yet.
    ///
    /// A client with less room than that is refused as it connects ([`ConnectError::ReplyRoom`]), so that no reply is lost for want of
    /// room after its RPC was executed.
    #[must_use]
    pub fn reply_bytes_max(&self) -> Option<u32> {
        match &self.link {
            Link::Shm(shm) => shm.reply_bytes_max(),
            Link::Udp(udp) => udp.reply_bytes_max(),
        }
    }

    /// Bytes of the ring that this client shares with the server: its own memory, whatever the number of other clients. Over UDP those of
    /// its own buffers.
    #[must_use]
    pub fn ring_bytes(&self) -> usize {
        match &self.link {
            Link::Shm(shm) => shm.ring_bytes(),
            Link::Udp(udp) => udp.buffer_bytes(),
        }
    }
}

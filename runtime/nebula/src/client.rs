//! Stations 1 and 11, at the client: number an RPC, cut it into slots and send it; match its reply
//! or NACK and return it.

mod error;
mod call;
mod ticket;
mod connection;
mod ring;
mod doorbell;
mod retained;
mod tracked;
mod one_sided;
mod shm;
mod udp;
mod balanced;
mod link;
mod tasks;
mod observer;

pub use error::{CallError, ConnectError, Executed, Hint, SubmitError};
pub use observer::Observer;
pub use tasks::{AsyncClient, Call, Connecting};
pub use ticket::{Completion, Ticket};

use crate::config::client::{ClientConfig, Options, Wait};
use crate::config::key::Keys;
use crate::endpoint::IntoEndpoints;
use crate::net::Environment;
use crate::status::StatusReader;
use connection::Rest;
pub use connection::{AskOne, Greeting};
use link::Link;
use nebula_nic::{RegionId, Span};
use nebula_sys::sync::AtomicU64;
use one_sided::Wanted;
pub use shm::Glance;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// A connection to a server, or one to each of several that have the same service.
///
/// One thread uses a client at a time; a process may have many clients. [`submit`](Self::submit)
/// never waits: it fails with [`SubmitError::Full`] while there is no room for another RPC.
///
/// Over shared memory the client owns a ring of slots. Over UDP it sends each RPC again until it is
/// answered, and the server executes it at most once. An RPC submitted while others are outstanding
/// is sent by the next [`poll`](Self::poll) or [`flush`](Self::flush), several in a datagram.
/// `poll` also repeats lost RPCs, so call it while RPCs are outstanding.
///
/// # Several servers
///
/// [`balance`](ClientConfig::balance) chooses the server of each RPC. A server at which an RPC was
/// lost gets none for a while. A refused RPC is sent to each other server at most once, except
/// under [`Balance::KeyHash`](crate::Balance::KeyHash); then [`retry`](ClientConfig::retry)
/// decides. An RPC that may have been executed is sent to no other server unless it is
/// [idempotent](Options::idempotent): at most once holds over all servers. While the client is
/// used, a thread reconnects lost connections. The client keeps a copy of each request until its
/// end, and copies each reply once more.
///
/// ```
/// use nebula::{Client, Reply, Server};
///
/// let names: Vec<String> = (0..2).map(|n| format!("shm://doc-several-{}-{n}", std::process::id())).collect();
/// let echo = |request: &[u8], reply: &mut Reply| reply.write(request);
/// let servers = names.iter().map(|name| Server::bind(name).serve(echo)).collect::<Result<Vec<_>, _>>()?;
/// let mut client = Client::connect(&names.join(","))?;
/// assert_eq!(client.call(b"hello")?, b"hello");
/// servers.into_iter().for_each(|server| drop(server.stop()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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

/// What a client that [rests](Client::rest) waits for.
#[derive(Clone, Copy, Debug)]
pub struct Awaited<'c> {
    /// Readable once something may have ended. Only the client reads it.
    pub descriptor: BorrowedFd<'c>,
    /// How long the client can rest even if nothing comes; `None` without limit. RPCs submitted
    /// meanwhile may need it earlier.
    pub within: Option<Span>,
}

impl Client {
    /// Connects to the server at `endpoint`, or to several:
    /// `"udp://10.0.0.1:7400,udp://10.0.0.2:7400"`. See [`Endpoints`](crate::Endpoints).
    ///
    /// # Errors
    ///
    /// [`ConnectError`], which says in one line why. With several servers one must answer; the
    /// client tries the others again later.
    pub fn connect(endpoint: impl IntoEndpoints) -> Result<Self, ConnectError> {
        Self::connect_with(endpoint, ClientConfig::default())
    }

    /// As [`connect`](Self::connect), with your configuration.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub fn connect_with(endpoint: impl IntoEndpoints, config: ClientConfig) -> Result<Self, ConnectError> {
        let rest = match config.wait {
            Wait::Spin => Rest::Polls,
            Wait::Block => Rest::Sleeps,
        };
        Ok(Self { link: Link::connect(endpoint.into_endpoints()?, &config, rest)? })
    }

    /// Connects to `server` over a network of the caller's, and returns before the server has
    /// answered: [`poll`](Self::poll) completes the handshake, and RPCs submitted before wait for
    /// it.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Open`], and [`ConnectError::Requester`] for an impossible configuration.
    pub fn connect_over(
        server: SocketAddr,
        environment: Environment,
        config: ClientConfig,
    ) -> Result<Self, ConnectError> {
        Ok(Self { link: Link::over(server, environment, &config)? })
    }

    /// As [`connect_over`](Self::connect_over), to several servers.
    ///
    /// # Errors
    ///
    /// As there, and [`ConnectError::TooManyServers`].
    pub fn connect_all_over(
        servers: Vec<(SocketAddr, Environment)>,
        config: ClientConfig,
    ) -> Result<Self, ConnectError> {
        Ok(Self { link: Link::over_all(servers, &config)?.0 })
    }

    /// Sends `request` and returns at once; [`poll`](Self::poll) returns the answer under the
    /// ticket.
    ///
    /// # Errors
    ///
    /// [`SubmitError`]: there is no room (call [`poll`](Self::poll) first), the request is too
    /// large, or the server is gone.
    ///
    /// # Cost
    ///
    /// Over shared memory one copy of the request into the ring: no allocation, lock or system
    /// call, and no clock read unless a deadline or a back-off is configured. Over UDP one copy to
    /// keep and one into a datagram; a system call if no other RPC is outstanding, and one for
    /// every 64 requests.
    #[inline]
    pub fn submit(&mut self, request: &[u8]) -> Result<Ticket, SubmitError> {
        self.submit_keyed(request, 0)
    }

    /// As [`submit`](Self::submit), with the hash of the request's key for the policy `key-hash`.
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit).
    #[inline]
    pub fn submit_keyed(&mut self, request: &[u8], key_hash: u32) -> Result<Ticket, SubmitError> {
        self.link.submit_keyed(request, key_hash)
    }

    /// Sends `request` followed by `tail`; `None` unless both fit a ring of shared memory at once.
    #[doc(hidden)]
    #[inline(always)]
    pub fn submit_and(&mut self, request: &[u8], tail: [u8; 4], key_hash: u32) -> Option<Ticket> {
        match &mut self.link {
            Link::Shm(shm) => shm.submit_and(request, tail, key_hash),
            Link::OneSided(_) | Link::Other(_) => None,
        }
    }

    /// Has `put` write a request into the ring of shared memory and return its length in bytes;
    /// `None` if there is no such ring or no room.
    #[doc(hidden)]
    #[inline(always)]
    pub fn submit_whole(&mut self, key_hash: u32, put: impl FnOnce(&[AtomicU64]) -> Option<usize>) -> Option<Ticket> {
        match &mut self.link {
            Link::Shm(shm) => shm.submit_put(key_hash, put),
            Link::OneSided(_) | Link::Other(_) => None,
        }
    }

    /// As [`submit`](Self::submit), with options for this RPC alone.
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit).
    pub fn submit_with(&mut self, request: &[u8], options: Options) -> Result<Ticket, SubmitError> {
        self.link.submit_with(request, options)
    }

    /// The papers' name for [`submit`](Self::submit) (NEBULA §IV-B).
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit).
    #[inline]
    pub fn rpc_send(&mut self, request: &[u8]) -> Result<Ticket, SubmitError> {
        self.submit(request)
    }

    /// Reads `bytes` bytes, at most 64 MiB, from `at` on of the server's `region`, without its
    /// workers: the engine reads them, or this thread does where the region is mapped.
    /// [`poll`](Self::poll) returns them under the ticket, or [`CallError::Refused`].
    ///
    /// Each aligned word of 8 bytes is read atomically; different words may be from before and
    /// after a concurrent write. For a consistent object, see [`read_whole`](Self::read_whole).
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit), and [`SubmitError::NotOneSided`] without
    /// [`ClientConfig::one_sided`].
    ///
    /// # Cost
    ///
    /// One copy where the region is mapped, otherwise one operation of the engine for every 64
    /// bytes. Over UDP a lone operation is sent at once; after several sent together it waits for
    /// the next [`poll`](Self::poll), [`flush`](Self::flush) or [`wait`](Self::wait), or for 31
    /// more.
    ///
    /// # Examples
    ///
    /// See [`Server::register`](crate::Server::register).
    #[inline]
    pub fn read(&mut self, region: RegionId, at: u64, bytes: u32) -> Result<Ticket, SubmitError> {
        self.operate(region, Wanted::Read { at, bytes }, &[])
    }

    /// As [`read`](Self::read), of an object with a version word at `version_at`, a multiple of 8:
    /// all its bytes are of one version. The completion has the version in its first 8 bytes,
    /// little-endian, and then the object.
    ///
    /// An object that is being written at every look ends with
    /// [`AccessRefusal::Torn`](crate::AccessRefusal::Torn).
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula::{Client, ClientConfig, Region, RegionId, Reply, Rights, Server};
    ///
    /// let region = Region::create(4096)?;
    /// let server = Server::bind("udp://127.0.0.1:0").inline(true).register(&region, Rights::READ);
    /// let server = server.serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
    /// region.write_whole(0, 8, &[7; 200])?;
    /// let mut client = Client::connect_with(server.endpoint().clone(), ClientConfig::default().one_sided(true))?;
    /// let ticket = client.read_whole(RegionId(0), 0, 8, 200)?;
    /// let (version, object) = client.finish(ticket)?.split_at(8);
    /// assert_eq!((version[0], object), (2, &[7; 200][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_whole(
        &mut self,
        region: RegionId,
        version_at: u64,
        at: u64,
        bytes: u32,
    ) -> Result<Ticket, SubmitError> {
        self.operate(region, Wanted::Whole { version_at, at, bytes }, &[])
    }

    /// Writes `bytes` into the server's `region` from `at` on. Over UDP each block is written at
    /// most once.
    ///
    /// Each whole aligned word is written atomically. The bytes around the written ones stay.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn write(&mut self, region: RegionId, at: u64, bytes: &[u8]) -> Result<Ticket, SubmitError> {
        self.operate(region, Wanted::Write { at }, bytes)
    }

    /// Replaces the word at `at`, a multiple of 8, with `desired` if it is `expected`, atomically.
    /// The completion has the 8 bytes found, little-endian. Over UDP this happens at most once.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula::{Client, ClientConfig, Region, RegionId, Reply, Rights, Server};
    ///
    /// let name = format!("shm://doc-swap-{}", std::process::id());
    /// let region = Region::create(64)?;
    /// let server = Server::bind(&name).register(&region, Rights::READ | Rights::WRITE);
    /// let server = server.serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
    /// let mut client = Client::connect_with(&name, ClientConfig::default().one_sided(true))?;
    /// let ticket = client.compare_swap(RegionId(0), 8, 0, 5)?;
    /// assert_eq!(client.finish(ticket)?, 0_u64.to_le_bytes());
    /// assert_eq!(region.compare_swap(8, 0, 6)?, 5);
    /// server.stop();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compare_swap(
        &mut self,
        region: RegionId,
        at: u64,
        expected: u64,
        desired: u64,
    ) -> Result<Ticket, SubmitError> {
        self.operate(region, Wanted::Swap { at, expected, desired }, &[])
    }

    #[inline]
    fn operate(&mut self, region: RegionId, wanted: Wanted, data: &[u8]) -> Result<Ticket, SubmitError> {
        self.link.operations().ok_or(SubmitError::NotOneSided)?.begin(region, wanted, data)
    }

    /// Waits for a one-sided operation, the only one outstanding, and returns the bytes of its
    /// completion.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call), and [`CallError::Refused`].
    pub fn finish(&mut self, ticket: Ticket) -> Result<&[u8], CallError> {
        let operations = self.link.operations().ok_or(CallError::NotSent(SubmitError::NotOneSided))?;
        operations.finish(ticket)
    }

    /// Returns the next RPC or one-sided operation that has ended, if any, without waiting. The
    /// reply is borrowed until the next call.
    ///
    /// When the server is gone, every outstanding RPC ends with [`CallError::ServerGone`]. Over
    /// shared memory the client notices this after some dozen calls without an answer that span at
    /// least 50 µs; over UDP when a new server answers at the address, or when the last
    /// retransmission has failed.
    ///
    /// # Cost
    ///
    /// Over shared memory one read of the oldest outstanding slot, and now and then of another, and
    /// one copy of the reply. Over UDP one look into a queue; an empty one sends waiting requests
    /// and receives datagrams.
    #[inline]
    pub fn poll(&mut self) -> Option<Completion<'_>> {
        self.link.poll()
    }

    /// Calls `visit` with every RPC and one-sided operation that has ended, without waiting, and
    /// returns their number.
    ///
    /// Use it when the caller rests between looks: [`poll`](Self::poll) finds answers that come out
    /// of order only after many looks.
    ///
    /// # Cost
    ///
    /// Over shared memory one read of a slot of each outstanding RPC, which costs the server a line
    /// transfer if the RPC is not answered; over UDP as `poll`.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula::{Client, Reply, Server};
    ///
    /// let name = format!("shm://doc-take-all-{}", std::process::id());
    /// let _server = Server::bind(&name).serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
    /// let mut client = Client::connect(&name)?;
    /// let tickets = [client.submit(b"one")?, client.submit(b"two")?];
    /// let mut ended = Vec::new();
    /// while ended.len() < 2 {
    ///     client.take_all(|completion| ended.push(completion.ticket));
    /// }
    /// assert!(tickets.iter().all(|ticket| ended.contains(ticket)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take_all(&mut self, mut visit: impl FnMut(Completion<'_>)) -> usize {
        let mut taken = 0;
        self.link.take_all(&mut |completion| {
            taken += 1;
            visit(completion);
        });
        taken
    }

    /// The first half of [`poll`](Self::poll): a reply that has come over a ring.
    #[doc(hidden)]
    #[inline(always)]
    pub fn glance(&mut self) -> Glance {
        self.link.glance()
    }

    #[doc(hidden)]
    #[inline(always)]
    pub fn taken(&self, bytes: u32) -> &[u8] {
        self.link.taken(bytes)
    }

    /// The second half of [`poll`](Self::poll), where the [first](Self::glance) asks for it.
    #[doc(hidden)]
    pub fn poll_otherwise(&mut self) -> Option<Completion<'_>> {
        self.link.poll_otherwise()
    }

    /// Over UDP: sends requests that wait to share a datagram. Over shared memory it does nothing.
    #[inline]
    pub fn flush(&mut self) {
        self.link.flush();
    }

    /// Sleeps until an RPC may have ended, something else is due, or `timeout` is over. Over shared
    /// memory only a client with [`Wait::Block`] sleeps; others yield the core for a moment.
    pub fn wait(&mut self, timeout: impl Into<Span>) {
        self.link.wait(timeout.into())
    }

    /// Takes all that has ended, as [`take_all`](Self::take_all) does. If nothing had, it returns
    /// what an event loop of the caller's is to wait for, before it calls this again: for a client
    /// with [`Wait::Block`], whose servers wake it.
    ///
    /// `None` if `visit` was called, or if there is nothing to sleep on: the client polls.
    ///
    /// # Cost
    ///
    /// Over shared memory a look at each outstanding RPC, or two before sleep, and two system calls
    /// for the wake-ups that have come.
    ///
    /// # Examples
    ///
    /// An event loop of one client, with `poll` of the `rustix` crate:
    ///
    /// ```
    /// use nebula::{Client, ClientConfig, Reply, Server, Wait};
    /// use rustix::event::{PollFd, PollFlags, Timespec, poll};
    ///
    /// let name = format!("shm://doc-rest-{}", std::process::id());
    /// let server = Server::bind(&name).serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
    /// let mut client = Client::connect_with(&name, ClientConfig::default().wait(Wait::Block))?;
    /// client.submit(b"hello")?;
    /// let mut reply = None;
    /// while reply.is_none() {
    ///     let awaited = client.rest(|ended| reply = ended.result.ok().map(<[u8]>::to_vec));
    ///     if let Some(awaited) = awaited {
    ///         let within = awaited.within.map(std::time::Duration::from).map(Timespec::try_from).transpose()?;
    ///         poll(&mut [PollFd::new(&awaited.descriptor, PollFlags::IN)], within.as_ref())?;
    ///     }
    /// }
    /// assert_eq!(reply.as_deref(), Some(&b"hello"[..]));
    /// # server.stop();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rest(&mut self, mut visit: impl FnMut(Completion<'_>)) -> Option<Awaited<'_>> {
        self.link.flush();
        self.link.set_armed(false);
        self.link.take_wake_ups();
        if self.take_all(&mut visit) > 0 {
            return None;
        }
        // What is answered between the look and this finds nobody asleep: hence a second look.
        self.link.set_armed(true);
        if self.take_all(&mut visit) > 0 {
            return None;
        }
        let within = self.link.due();
        Some(Awaited { descriptor: self.link.socket()?, within })
    }

    /// Ends an RPC with [`CallError::Cancelled`]. Returns `false` if it had ended already.
    ///
    /// Over UDP the client notifies the server up to three times, and the server does not begin the
    /// RPC if it has not yet. Over shared memory a mark in the slot does the same, and a running
    /// handler may [ask](crate::Reply::is_cancelled) for it. The RPC's slots become free when its
    /// answer arrives.
    pub fn cancel(&mut self, ticket: Ticket) -> bool {
        self.link.cancel(ticket)
    }

    /// Sends `request` and waits for its reply, which is borrowed until the next call. A NACK is
    /// retried as configured.
    ///
    /// # Errors
    ///
    /// [`CallError`]: [`CallError::TimedOut`] comes after
    /// [`call_timeout`](ClientConfig::call_timeout), whatever the server does;
    /// [`CallError::Outstanding`] if submitted RPCs are outstanding, whose answers would be lost.
    pub fn call(&mut self, request: &[u8]) -> Result<&[u8], CallError> {
        self.call_with(request, Options::default())
    }

    /// As [`call`](Self::call), with options for this RPC alone.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub fn call_with(&mut self, request: &[u8], options: Options) -> Result<&[u8], CallError> {
        let outstanding = self.outstanding();
        if outstanding > 0 {
            return Err(CallError::Outstanding { rpcs: outstanding });
        }
        self.link.call(request, options)
    }

    /// Replaces the keys of a `udp://` client that was connected with keys: the client sends under
    /// the first, and accepts answers under any. Without keys, and for any other client, nothing
    /// changes.
    pub fn set_keys(&mut self, keys: &Keys) {
        self.link.set_keys(keys);
    }

    /// Binds to this run of the server: once another run answers, every RPC ends as if it were
    /// gone.
    #[doc(hidden)]
    pub fn bind_to_server(&mut self) {
        self.link.bind_to_server();
    }

    #[doc(hidden)]
    pub fn waits_for(&self, options: &Options) -> Option<Span> {
        self.link.waits_for(options)
    }

    /// Has `greeting` ask the server, or each of several whenever it is connected. Returns whether
    /// it accepted one.
    #[doc(hidden)]
    pub fn greet(&mut self, greeting: Arc<Greeting>) -> bool {
        self.link.greet(greeting)
    }

    /// RPCs submitted and not ended.
    #[must_use]
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.link.outstanding()
    }

    /// The server's counters, over shared memory.
    #[must_use]
    pub fn status(&self) -> Option<&StatusReader> {
        self.link.status()
    }

    /// The server's SLO; zero while it has not answered, and where it does not bound its queue.
    #[must_use]
    pub fn slo(&self) -> Span {
        self.link.slo()
    }

    /// The longest request that the server takes and this client has room for, in bytes.
    #[must_use]
    pub fn rpc_bytes_max(&self) -> u32 {
        self.link.rpc_bytes_max()
    }

    /// The longest reply that the server announces, in bytes; `None` if it announces none or has
    /// not answered yet.
    ///
    /// A client with less room cannot connect ([`ConnectError::ReplyRoom`]), so that the server
    /// executes no RPC whose reply would not fit.
    #[must_use]
    pub fn reply_bytes_max(&self) -> Option<u32> {
        self.link.server_reply_bytes_max()
    }

    /// Bytes of the ring that this client shares with the server; over UDP, of the client's
    /// buffers.
    #[must_use]
    pub fn ring_bytes(&self) -> usize {
        self.link.buffer_bytes()
    }
}

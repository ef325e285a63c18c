//! Stations 1 and 11, at the client: an RPC is numbered, cut into slots, sent; its reply or NACK is
//! matched and handed over.

mod error;
mod call;
mod ticket;
mod ring;
mod retained;
mod one_sided;
mod shm;
mod udp;
mod connection;
mod balanced;
mod link;
mod tasks;
mod observer;

pub use error::{CallError, ConnectError, Executed, Hint, SubmitError};
pub use observer::Observer;
pub use tasks::{AsyncClient, Call};
pub use ticket::{Completion, Ticket};

#[cfg(doc)]
use crate::config::client::Wait;
use crate::config::client::{ClientConfig, Options};
use crate::config::key::Keys;
use crate::endpoint::IntoEndpoints;
use crate::net::Environment;
use crate::status::StatusReader;
pub use balanced::{AskOne, Greeting};
use connection::{Connection, Rest};
use link::Link;
use nebula_nic::{RegionId, Span};
use nebula_sys::sync::AtomicU64;
use one_sided::Wanted;
pub use shm::Glance;
use std::net::SocketAddr;
use udp::UdpClient;

/// A connection to a server, or one to each of several that have the same service.
///
/// One thread uses a client at a time; a process may have many clients. [`submit`](Self::submit)
/// never waits: it fails with [`SubmitError::Full`] while as many RPCs are outstanding as the
/// client has room for.
///
/// Over shared memory the client owns a ring of slots. Over UDP each RPC is sent again until it is
/// answered, and is executed at most once. An RPC submitted while others are outstanding is sent by
/// the next [`poll`](Self::poll) or [`flush`](Self::flush), several in a datagram. Over UDP, call
/// `poll` while RPCs are outstanding: it also sends lost ones again.
///
/// # Several servers
///
/// An RPC goes to one of them, by [`balance`](ClientConfig::balance), and never to one that is left
/// alone for a while because an RPC was lost there. What a server refuses goes to another one, at
/// most once to each, but under [`Balance::KeyHash`](crate::Balance::KeyHash); then
/// [`retry`](ClientConfig::retry) decides. An RPC of which nobody knows whether it was executed
/// goes nowhere else, unless it is [idempotent](Options::idempotent): at most once holds over all
/// servers. Connections that were lost are made again, while the client is used, by a thread. A
/// copy of each request is kept until its end, and a reply is copied once more.
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

impl Client {
    /// Connects to the server at `endpoint`, or to several:
    /// `"udp://10.0.0.1:7400,udp://10.0.0.2:7400"`. See [`Endpoints`](crate::Endpoints).
    ///
    /// # Errors
    ///
    /// [`ConnectError`], which says in one line why: no server, another version, another user, no
    /// key, no memory, no room for replies. Of several servers one has to be there; the others are
    /// tried again later.
    pub fn connect(endpoint: impl IntoEndpoints) -> Result<Self, ConnectError> {
        Self::connect_with(endpoint, ClientConfig::default())
    }

    /// As [`connect`](Self::connect), with the caller's configuration.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub fn connect_with(endpoint: impl IntoEndpoints, config: ClientConfig) -> Result<Self, ConnectError> {
        Ok(Self { link: Link::connect(endpoint.into_endpoints()?, &config, Rest::Polls)? })
    }

    /// A client of the server at `server` over a network of the caller's. It returns before the
    /// server has answered: [`poll`](Self::poll) completes the handshake, and RPCs submitted before
    /// then wait.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Open`], and [`ConnectError::Requester`] for an impossible configuration.
    pub fn connect_over(
        server: SocketAddr,
        environment: Environment,
        config: ClientConfig,
    ) -> Result<Self, ConnectError> {
        let link = Link::Udp(Box::new(UdpClient::connect_over(server, environment, &config)?));
        Ok(Self { link: if config.one_sided { link.with_operations(&config)? } else { link } })
    }

    /// As [`connect_over`](Self::connect_over), of several servers.
    ///
    /// # Errors
    ///
    /// As there, and [`ConnectError::TooManyServers`].
    pub fn connect_all_over(
        servers: Vec<(SocketAddr, Environment)>,
        config: ClientConfig,
    ) -> Result<Self, ConnectError> {
        Ok(Self { link: Link::over(servers, &config)?.0 })
    }

    /// Sends `request` and returns at once; the answer comes from [`poll`](Self::poll) under the
    /// ticket.
    ///
    /// # Errors
    ///
    /// [`SubmitError`]: there is no room (take answers with [`poll`](Self::poll) first), the
    /// request is too large, the server is gone.
    ///
    /// # Cost
    ///
    /// Over shared memory one copy of the request into the ring: no allocation, no lock, no system
    /// call, and no clock read unless a deadline or a back-off is configured. Over UDP one copy to
    /// keep and one into a datagram; system calls only when no other RPC is outstanding, and for
    /// every 64 requests.
    #[inline]
    pub fn submit(&mut self, request: &[u8]) -> Result<Ticket, SubmitError> {
        self.submit_keyed(request, 0)
    }

    /// As [`submit`](Self::submit), with the hash of the key that the request is about, for the
    /// policy `key-hash`.
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit).
    #[inline]
    pub fn submit_keyed(&mut self, request: &[u8], key_hash: u32) -> Result<Ticket, SubmitError> {
        self.link.submit_keyed(request, key_hash)
    }

    /// Sends `request` with `tail` behind it if both go straight into a ring, where there is room.
    #[inline(always)]
    pub(crate) fn submit_and(&mut self, request: &[u8], tail: [u8; 4], key_hash: u32) -> Option<Ticket> {
        match &mut self.link {
            Link::Shm(shm) => shm.submit_and(request, tail, key_hash),
            Link::Udp(_) | Link::Balanced(_) | Link::OneSided(_) => None,
        }
    }

    /// Has `put` write a request into the ring, if it goes straight into one, where there is room;
    /// `put` returns its length in bytes.
    #[inline(always)]
    pub(crate) fn submit_whole(
        &mut self,
        key_hash: u32,
        put: impl FnOnce(&[AtomicU64]) -> Option<usize>,
    ) -> Option<Ticket> {
        match &mut self.link {
            Link::Shm(shm) => shm.submit_put(key_hash, put),
            Link::Udp(_) | Link::Balanced(_) | Link::OneSided(_) => None,
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

    /// The papers' name for [`submit`](Self::submit) (NEBULA §IV-B): sends a request, and says
    /// whether it was accepted for sending.
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit).
    #[inline]
    pub fn rpc_send(&mut self, request: &[u8]) -> Result<Ticket, SubmitError> {
        self.submit(request)
    }

    /// Reads `bytes` bytes of the server's `region`, from `at` on, without any of its workers: the
    /// engine reads them, or this thread does, where the region may be mapped. They come from
    /// [`poll`](Self::poll) under the ticket. At most 64 MiB.
    ///
    /// Each aligned word of 8 bytes is read at once; several may be of before and after what others
    /// write meanwhile. For an object in one piece, see [`read_whole`](Self::read_whole). What the
    /// server refuses ends with [`CallError::Refused`].
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit), and [`SubmitError::NotOneSided`] without
    /// [`ClientConfig::one_sided`].
    ///
    /// # Cost
    ///
    /// A copy where the region is mapped. Else an operation of the engine's for every 64 bytes.
    /// Over UDP a lone operation goes out at once; behind others that went out together it waits
    /// for the next [`poll`](Self::poll), [`flush`](Self::flush) or [`wait`](Self::wait), or for 31
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
    /// its bytes are those of one version. The completion has the version in its first 8 bytes,
    /// little-endian, and the object behind it.
    ///
    /// An object that is being written at each of many looks ends with
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

    /// Writes `bytes` into the server's `region`, from `at` on, as [`read`](Self::read) reads. Over
    /// UDP each block is written at most once.
    ///
    /// Each whole aligned word is written at once. Bytes beside those that are written stay as they
    /// are.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn write(&mut self, region: RegionId, at: u64, bytes: &[u8]) -> Result<Ticket, SubmitError> {
        self.operate(region, Wanted::Write { at }, bytes)
    }

    /// Replaces the word at `at`, a multiple of 8, by `desired` if it is `expected`, at once. The
    /// completion has the 8 bytes that were there, little-endian. Over UDP it is done at most once.
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

    /// Waits for a one-sided operation, the only one outstanding, and returns what its completion
    /// would have.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call), and [`CallError::Refused`].
    pub fn finish(&mut self, ticket: Ticket) -> Result<&[u8], CallError> {
        let operations = self.link.operations().ok_or(CallError::NotSent(SubmitError::NotOneSided))?;
        operations.finish(ticket)
    }

    /// The next RPC or one-sided operation that has ended, if there is one. The reply is borrowed
    /// until the next call.
    ///
    /// Never waits. When the server is gone, every outstanding RPC ends with
    /// [`CallError::ServerGone`]. Over shared memory the client notices this after some dozen calls
    /// without an answer that span at least 50 µs; over UDP when a new server answers at the
    /// address, or when the last retransmission has failed.
    ///
    /// # Cost
    ///
    /// Over shared memory one read of the oldest outstanding slot, and now and then of another; the
    /// reply is copied out once. Over UDP one look into a queue; when it is empty, waiting requests
    /// are sent and arrived datagrams are received.
    #[inline]
    pub fn poll(&mut self) -> Option<Completion<'_>> {
        self.link.poll()
    }

    /// Calls `visit` with every RPC and one-sided operation that has ended. Returns how many.
    ///
    /// Never waits. For a caller that rests between its looks: [`poll`](Self::poll) finds answers
    /// that come out of order only after many looks.
    ///
    /// # Cost
    ///
    /// Over shared memory one read of a slot of each outstanding RPC, which costs the server a line
    /// transfer where it is not answered; over UDP as `poll`.
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

    /// The first half of [`poll`](Self::poll): a reply that has come over a ring. The second is
    /// [`poll_otherwise`](Self::poll_otherwise).
    #[inline(always)]
    pub(crate) fn glance(&mut self) -> Glance {
        self.link.glance()
    }

    /// The reply of `bytes` bytes that [`glance`](Self::glance) has found.
    #[inline(always)]
    pub(crate) fn taken(&self, bytes: u32) -> &[u8] {
        self.link.taken(bytes)
    }

    /// The second half of [`poll`](Self::poll), where the first asks for it.
    pub(crate) fn poll_otherwise(&mut self) -> Option<Completion<'_>> {
        self.link.poll_otherwise()
    }

    /// Over UDP: sends requests that wait to share a datagram with later ones. Over shared memory
    /// it does nothing.
    #[inline]
    pub fn flush(&mut self) {
        self.link.flush();
    }

    /// Over UDP: sleeps until a datagram may have arrived, a retransmission is due, or `timeout` is
    /// over. Over shared memory it only yields the core for a moment.
    pub fn wait(&mut self, timeout: impl Into<Span>) {
        self.link.wait(timeout.into())
    }

    /// Ends an RPC whose answer is not needed any more with [`CallError::Cancelled`]. Returns
    /// `false` when it has ended already.
    ///
    /// Over UDP the server is told, up to three times while it has not answered the RPC, and does
    /// not begin it if it has not yet. Over shared memory it is told in the slot: it does not begin
    /// an RPC that no core was given, and a handler that runs may
    /// [ask](crate::Reply::is_cancelled). The RPC's slots are free when its answer arrives.
    pub fn cancel(&mut self, ticket: Ticket) -> bool {
        self.link.cancel(ticket)
    }

    /// Sends `request` and waits for its reply, which is borrowed until the next call. A NACK is
    /// retried as configured.
    ///
    /// # Errors
    ///
    /// [`CallError`]: a NACK is [`CallError::Nack`] with its reason; [`CallError::TimedOut`] comes
    /// after [`call_timeout`](ClientConfig::call_timeout), whatever the server does;
    /// [`CallError::Outstanding`] when submitted RPCs are outstanding, whose answers would be lost.
    ///
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

    /// Replaces the keys of a `udp://` client that was connected with keys: the first is spoken
    /// with from here on, and answers under any of them are taken. Without any key, and for any
    /// other client, nothing changes.
    pub fn set_keys(&mut self, keys: &Keys) {
        self.link.set_keys(keys);
    }

    /// Speaks with this run of the server alone: once another one answers at its address, every RPC
    /// ends as one whose server is gone.
    pub(crate) fn bind_to_server(&mut self) {
        self.link.bind_to_server();
    }

    /// As [`Link::waits_for`].
    pub(crate) fn waits_for(&self, options: &Options) -> Option<Span> {
        self.link.waits_for(options)
    }

    /// Has `greeting` ask the server, or each of several whenever a connection to it is made;
    /// whether it was content.
    pub(crate) fn greet(&mut self, greeting: std::sync::Arc<Greeting>) -> bool {
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

    /// The server's SLO; zero while it has not answered.
    #[must_use]
    pub fn slo(&self) -> Span {
        self.link.slo()
    }

    /// The longest request that the server takes and this client has room for, in bytes.
    #[must_use]
    pub fn rpc_bytes_max(&self) -> u32 {
        self.link.rpc_bytes_max()
    }

    /// The longest reply that the server says it sends, in bytes; `None` when it does not say, or
    /// has not answered yet.
    ///
    /// A client with less room than that is refused as it connects ([`ConnectError::ReplyRoom`]),
    /// so that no RPC is executed whose reply would not fit.
    #[must_use]
    pub fn reply_bytes_max(&self) -> Option<u32> {
        self.link.reply_bytes_max()
    }

    /// Size of the ring that this client shares with the server, in bytes. Over UDP the size of the
    /// client's buffers.
    #[must_use]
    pub fn ring_bytes(&self) -> usize {
        self.link.ring_bytes()
    }
}

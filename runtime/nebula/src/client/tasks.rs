//! A client that many tasks use at once.
//!
//! ```text
//!   task ── poll ─▶ submit ─▶ looks for some µs ─▶ sleeps ◀─────────── wakes ─┐
//!                               │  takes all answers that it finds            │
//!                               ▼                                             │
//!                             calls, by ticket ◀── takes all answers ── driver, one a process
//!                                                                             ▲
//!                            server ── wakes a client that sleeps: socket ────┘
//! ```
//!
//! There is no task and no thread of the library's that a call goes through: a call submits in the
//! task that awaits it, and takes its answer there if that comes soon. The driver's thread looks
//! after those that sleep.

mod call;
mod calls;
mod driver;
mod shared;
#[cfg(feature = "tower")]
mod tower;

pub use call::Call;

use crate::client::connection::Connection;
use crate::client::error::ConnectError;
use crate::client::link::Link;
use crate::config::client::{ClientConfig, Options};
use crate::config::key::Keys;
use crate::endpoint::IntoEndpoints;
use crate::net::Environment;
use crate::status::{Status, StatusReader};
use nebula_nic::Span;
use shared::{Shared, WhenFull};
use std::net::SocketAddr;
use std::sync::Arc;

/// How long a call polls before it sleeps: about what waking up takes.
const POLL_FOR: Span = Span::from_us(20);

/// A connection to a server, or to several, for many tasks.
///
/// It is cheap to clone, and its clones share the connection. Any executor will do, and none is
/// needed by the library: a call is a [`Future`] that uses nothing but its task's
/// [`Waker`](std::task::Waker).
///
/// A call polls for its answer for 20 µs, or [what is set](Self::poll_for), and lets other tasks
/// run in between. Then its task sleeps: a server over shared memory is told to wake this process
/// with its next answer, and over UDP the kernel does that. One thread for all such clients of a
/// process waits for that. Clients without calls cost no time at all.
///
/// As many calls are outstanding as the client has [room](ClientConfig::slots) for. Further ones
/// wait for room, in their order, unless they are to be [refused](Self::refuse_when_full). With the
/// feature `tower` a client is a `tower_service::Service`, and `tower`'s layers apply. No call
/// takes longer than [`call_timeout`](ClientConfig::call_timeout).
///
/// # Examples
///
/// ```
/// use nebula::{AsyncClient, Reply, Server};
///
/// # fn block_on<F: Future>(future: F) -> F::Output {
/// #     let mut future = std::pin::pin!(future);
/// #     let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
/// #     loop {
/// #         if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut cx) {
/// #             return output;
/// #         }
/// #     }
/// # }
/// let name = format!("shm://doc-async-{}", std::process::id());
/// let server = Server::bind(&name).serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
/// let client = AsyncClient::connect(&name)?;
/// // With any executor:
/// let reply = block_on(async { client.call(b"hello").await })?;
/// assert_eq!(reply, b"hello");
/// # server.stop();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct AsyncClient {
    shared: Arc<Shared>,
    full: WhenFull,
    /// In ticks.
    poll_for: u64,
}

impl AsyncClient {
    /// Connects to the server at `endpoint`. This blocks the thread until the server has answered.
    ///
    /// # Errors
    ///
    /// As [`Client::connect`](crate::Client::connect).
    pub fn connect(endpoint: impl IntoEndpoints) -> Result<Self, ConnectError> {
        Self::connect_with(endpoint, ClientConfig::default())
    }

    /// As [`connect`](Self::connect), with the caller's configuration. [`wait`](ClientConfig::wait)
    /// means nothing here.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    #[expect(clippy::needless_pass_by_value, reason = "as `Client::connect_with`")]
    pub fn connect_with(endpoint: impl IntoEndpoints, config: ClientConfig) -> Result<Self, ConnectError> {
        let shared = Shared::connect(endpoint.into_endpoints()?, &config)?;
        let poll_for = shared.ticks_of(POLL_FOR);
        Ok(Self { shared, full: WhenFull::Wait, poll_for })
    }

    /// A client of several servers over networks of the caller's, in the order of their numbers. It
    /// returns before they have answered.
    ///
    /// Its clock is the first one's, and no thread looks after its tasks: the caller does, by
    /// [`attend`](Self::attend).
    ///
    /// # Errors
    ///
    /// As [`Client::connect_all_over`](crate::Client::connect_all_over).
    #[expect(clippy::needless_pass_by_value, reason = "as `Client::connect_all_over`")]
    pub fn connect_all_over(
        servers: Vec<(SocketAddr, Environment)>,
        config: ClientConfig,
    ) -> Result<Self, ConnectError> {
        let shared = Shared::over(servers, &config)?;
        let poll_for = shared.ticks_of(POLL_FOR);
        Ok(Self { shared, full: WhenFull::Wait, poll_for })
    }

    /// Does for the tasks that sleep what is to be done now: takes what has come, sends what is
    /// due, wakes those that can go on. Returns how long until it is to be called again although
    /// nothing has come; `None` for not at all.
    ///
    /// A thread of the library's does that for every client but those [over networks of the
    /// caller's](Self::connect_all_over), where it is to be called also when something has come,
    /// and after calls were polled.
    pub fn attend(&self) -> Option<Span> {
        self.shared.attend_in()
    }

    /// Sets how long a call of this handle, and of its clones, polls before its task sleeps; 20 µs
    /// unless set. Zero is the cheapest where answers take longer than that; [`Span::MAX`] never
    /// sleeps.
    #[must_use]
    pub fn poll_for(mut self, span: impl Into<Span>) -> Self {
        self.poll_for = self.shared.ticks_of(span.into());
        self
    }

    /// Calls of this handle, and of its clones, end with
    /// [`SubmitError::Full`](crate::SubmitError::Full) where there is no room, instead of waiting.
    #[must_use]
    pub fn refuse_when_full(mut self) -> Self {
        self.full = WhenFull::Refuse;
        self
    }

    /// Sends `request`; the future's output is the reply, or [`CallError`](crate::CallError). A
    /// NACK is retried as configured.
    ///
    /// The request may be borrowed or owned: what owns it is needed where the future has to be
    /// `'static`.
    ///
    /// # Cost
    ///
    /// A lock twice, held for as long as a copy of the request, or of the replies that have come.
    /// One allocation for the reply, none with [`Call::into_buffer`]. Over shared memory no system
    /// call unless the task sleeps.
    pub fn call<R: AsRef<[u8]> + Unpin>(&self, request: R) -> Call<R> {
        self.call_with(request, Options::default())
    }

    /// As [`call`](Self::call), with the hash of the key that the request is about, for the policy
    /// `key-hash`.
    pub fn call_keyed<R: AsRef<[u8]> + Unpin>(&self, request: R, key_hash: u32) -> Call<R> {
        self.call_with(request, Options::default().key_hash(key_hash))
    }

    /// As [`call`](Self::call), with options for this RPC alone.
    pub fn call_with<R: AsRef<[u8]> + Unpin>(&self, request: R, options: Options) -> Call<R> {
        Call::new(self.shared.clone(), request, options, self.full, self.poll_for)
    }

    /// Replaces the keys, as [`Client::set_keys`](crate::Client::set_keys) does.
    pub fn set_keys(&self, keys: &Keys) {
        self.shared.with(|state| state.set_keys(keys));
    }

    /// Speaks with this run of the server alone: once another one answers at its address, every RPC
    /// ends as one whose server is gone.
    pub(crate) fn bind_to_server(&self) {
        self.shared.with(|state| state.bind_to_server());
    }

    /// Has `greeting` ask the server, or each of several whenever a connection to it is made;
    /// whether it was content. This blocks the thread.
    pub(crate) fn greet(&self, greeting: Arc<super::balanced::Greeting>) -> bool {
        self.shared.with(|state| state.greet(greeting))
    }

    /// How long an RPC with these options is waited for, where the server is to be told in the
    /// request.
    pub(crate) fn waits_for(&self, options: &Options) -> Option<Span> {
        self.shared.with(|state| state.link().waits_for(options))
    }

    /// Whether it was configured with a deadline of each RPC.
    pub(crate) fn is_timed(&self) -> bool {
        self.shared.with(|state| state.link().deadline()) != Span::MAX
    }

    /// Whether it was connected to more than one.
    pub(crate) fn has_several_servers(&self) -> bool {
        self.shared.with(|state| matches!(state.link(), Link::Balanced(_)))
    }

    /// The server's counters, over shared memory.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        self.shared.with(|state| state.link().status().map(StatusReader::read))
    }

    /// RPCs sent and not ended.
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        self.shared.with(|state| u32::try_from(state.calls.outstanding()).unwrap_or(u32::MAX))
    }

    /// The server's SLO.
    #[must_use]
    pub fn slo(&self) -> Span {
        self.shared.with(|state| state.link().slo())
    }

    /// The longest request that the server takes and this client has room for, in bytes.
    #[must_use]
    pub fn rpc_bytes_max(&self) -> u32 {
        self.shared.with(|state| state.link().rpc_bytes_max())
    }

    /// The longest reply that the server says it sends, in bytes; `None` when it does not say.
    #[must_use]
    pub fn reply_bytes_max(&self) -> Option<u32> {
        self.shared.with(|state| state.link().reply_bytes_max())
    }
}

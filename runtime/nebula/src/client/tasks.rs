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
//! No library task or thread is on the path of a call: it submits in the task that awaits it, and
//! takes its answer there if that comes soon. The driver's thread serves the calls that sleep.

mod by_ticket;
mod call;
mod calls;
mod connecting;
mod driver;
mod shared;
#[cfg(feature = "tower")]
mod tower;

pub use call::Call;
pub use connecting::Connecting;

use crate::client::error::ConnectError;
use crate::config::client::{ClientConfig, Options};
use crate::config::key::Keys;
use crate::endpoint::IntoEndpoints;
use crate::net::Environment;
use crate::status::{Status, StatusReader};
use nebula_nic::Span;
use shared::{Shared, WhenFull};
use std::net::SocketAddr;
use std::sync::Arc;

/// How long a call polls before it sleeps: about the cost of a wake-up.
const POLL_FOR: Span = Span::from_us(20);

/// A connection to a server, or to several, for many tasks.
///
/// Cloning is cheap, and clones share the connection. Any executor works: a call is a [`Future`]
/// that uses nothing but its task's [`Waker`](std::task::Waker).
///
/// A call polls for its answer for 20 µs, or [as set](Self::poll_for), and lets other tasks run in
/// between. Then its task sleeps until the server (over shared memory) or the kernel (over UDP)
/// wakes this process. One thread of the process waits for all its clients. Clients without calls
/// cost no time.
///
/// The client has [room](ClientConfig::slots) for a number of outstanding calls. Further ones wait
/// for room in order, unless they are [refused](Self::refuse_when_full). No call takes longer than
/// [`call_timeout`](ClientConfig::call_timeout). With the feature `tower` a client is a
/// `tower_service::Service`.
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
/// // With any executor:
/// let reply = block_on(async {
///     let client = AsyncClient::connect(&name).await?;
///     Ok::<_, Box<dyn std::error::Error>>(client.call(b"hello").await?)
/// })?;
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
    /// Connects to the server at `endpoint`: await it, or [`wait`](Connecting::wait) for it.
    ///
    /// # Errors
    ///
    /// As [`Client::connect`](crate::Client::connect).
    pub fn connect(endpoint: impl IntoEndpoints) -> Connecting<Self, ConnectError> {
        Self::connect_with(endpoint, ClientConfig::default())
    }

    /// As [`connect`](Self::connect), with your configuration; [`wait`](ClientConfig::wait) has no
    /// effect.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub fn connect_with(endpoint: impl IntoEndpoints, config: ClientConfig) -> Connecting<Self, ConnectError> {
        let endpoints = endpoint.into_endpoints();
        Connecting::new(move || {
            let shared = Shared::connect(endpoints?, &config)?;
            let poll_for = shared.ticks_of(POLL_FOR);
            Ok(Self { shared, full: WhenFull::Wait, poll_for })
        })
    }

    /// Connects to several servers over networks of the caller's, in the order of their numbers.
    /// Returns before they have answered.
    ///
    /// Its clock is the first network's. No thread serves its tasks: the caller does, with
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

    /// Takes answers, sends what is due and wakes the sleeping tasks that can continue. Returns how
    /// long until the next call is needed even if nothing arrives; `None` for never.
    ///
    /// Only a client [over networks of the caller's](Self::connect_all_over) needs this; call it
    /// also after arrivals and after polling calls. A thread of the library does it for others.
    pub fn attend(&self) -> Option<Span> {
        self.shared.attend_in()
    }

    /// Sets how long a call of this handle and its clones polls before its task sleeps; 20 µs by
    /// default. Zero is the cheapest if answers take longer; [`Span::MAX`] never sleeps.
    #[must_use]
    pub fn poll_for(mut self, span: impl Into<Span>) -> Self {
        self.poll_for = self.shared.ticks_of(span.into());
        self
    }

    /// Calls of this handle and its clones that find no room end with
    /// [`SubmitError::Full`](crate::SubmitError::Full) instead of waiting.
    #[must_use]
    pub fn refuse_when_full(mut self) -> Self {
        self.full = WhenFull::Refuse;
        self
    }

    /// Sends `request`; the future's output is the reply, or [`CallError`](crate::CallError). A
    /// NACK is retried as configured.
    ///
    /// The request may be borrowed; own it where the future has to be `'static`.
    ///
    /// # Cost
    ///
    /// Two locks, each held for a copy of the request or of the replies that have come. One
    /// allocation for the reply, none with [`Call::into_buffer`]. Over shared memory no system call
    /// unless the task sleeps.
    pub fn call<R: AsRef<[u8]> + Unpin>(&self, request: R) -> Call<R> {
        self.call_with(request, Options::default())
    }

    /// As [`call`](Self::call), with the hash of the request's key for the policy `key-hash`.
    pub fn call_keyed<R: AsRef<[u8]> + Unpin>(&self, request: R, key_hash: u32) -> Call<R> {
        self.call_with(request, Options::default().key_hash(key_hash))
    }

    /// As [`call`](Self::call), with options for this RPC alone.
    pub fn call_with<R: AsRef<[u8]> + Unpin>(&self, request: R, options: Options) -> Call<R> {
        Call::new(self.shared.clone(), request, options, self.full, self.poll_for)
    }

    /// Replaces the keys, as [`Client::set_keys`](crate::Client::set_keys) does.
    pub fn set_keys(&self, keys: &Keys) {
        self.shared.with(|state| state.link.set_keys(keys));
    }

    #[doc(hidden)]
    pub fn bind_to_server(&self) {
        self.shared.with(|state| state.link.bind_to_server());
    }

    #[doc(hidden)]
    pub fn greet(&self, greeting: Arc<super::connection::Greeting>) -> bool {
        self.shared.with(|state| state.link.greet(greeting))
    }

    /// The time limit that the request must carry to the server.
    #[doc(hidden)]
    pub fn waits_for(&self, options: &Options) -> Option<Span> {
        self.shared.with(|state| state.link.waits_for(options))
    }

    #[doc(hidden)]
    pub fn is_timed(&self) -> bool {
        self.shared.with(|state| state.link.deadline()) != Span::MAX
    }

    #[doc(hidden)]
    pub fn has_several_servers(&self) -> bool {
        self.shared.with(|state| state.link.has_several_servers())
    }

    /// The server's counters, over shared memory.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        self.shared.with(|state| state.link.status().map(StatusReader::read))
    }

    /// RPCs sent and not ended.
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        self.shared.with(|state| u32::try_from(state.calls.outstanding()).unwrap_or(u32::MAX))
    }

    /// The server's SLO.
    #[must_use]
    pub fn slo(&self) -> Span {
        self.shared.with(|state| state.link.slo())
    }

    /// The longest request that the server takes and this client has room for, in bytes.
    #[must_use]
    pub fn rpc_bytes_max(&self) -> u32 {
        self.shared.with(|state| state.link.rpc_bytes_max())
    }

    /// The longest reply that the server announces, in bytes; `None` if it announces none.
    #[must_use]
    pub fn reply_bytes_max(&self) -> Option<u32> {
        self.shared.with(|state| state.link.server_reply_bytes_max())
    }
}

//! The client's end for many tasks: calls are futures.

use super::channel::{put_together, read_reply, ticks_after};
use super::describe;
use super::error::{CallError, ConnectError};
use super::message::{Encoding, Message};
use super::method::{Extension, MethodId};
use super::service::ServiceInfo;
use super::status;
use super::trace::TraceContext;
use nebula::IntoEndpoints;
use nebula::{AsyncClient, Connecting};
use nebula::{ClientConfig, Options};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

/// A connection to a server of typed services for many tasks, which generated clients use. Its
/// clones share the connection.
#[derive(Clone, Debug)]
pub struct AsyncChannel {
    client: AsyncClient,
    trace: Option<TraceContext>,
    /// Whether every call has a deadline. If not, the shared client need not be asked for one.
    is_timed: bool,
}

impl From<AsyncClient> for AsyncChannel {
    /// Binds the connection to one run, as [`Channel`](super::Channel::connect_with) does.
    fn from(client: AsyncClient) -> Self {
        client.bind_to_server();
        let is_timed = client.is_timed();
        Self { client, trace: None, is_timed }
    }
}

impl AsyncChannel {
    /// Connects to the server at `endpoint`, and makes a client of the connection, as
    /// [`check`](Self::check) does. Await it, or [`wait`](Connecting::wait) for it.
    pub fn connect_with<C: 'static>(
        endpoint: impl IntoEndpoints,
        config: ClientConfig,
        over: fn(Self) -> Result<C, ConnectError>,
    ) -> Connecting<C, ConnectError> {
        let endpoints = endpoint.into_endpoints().map_err(nebula::ConnectError::from);
        Connecting::new(move || over(AsyncClient::connect_with(endpoints?, config).wait()?.into()))
    }

    /// The connection, for RPCs without types.
    #[must_use]
    pub const fn client(&self) -> &AsyncClient {
        &self.client
    }

    /// Sends `trace` with every request of this clone.
    #[must_use]
    pub const fn with_trace(mut self, trace: Option<TraceContext>) -> Self {
        self.trace = trace;
        self
    }

    /// As [`Channel::check`](super::Channel::check). This blocks the thread for a round trip.
    pub fn check(&self, service: &ServiceInfo) -> Result<(), ConnectError> {
        if !self.client.has_several_servers() {
            return describe::check(service, |request| Ok(block_on(self.client.call(request))?));
        }
        let (greeting, misfit) = describe::greeting(service);
        if self.client.greet(greeting) {
            return Ok(());
        }
        Err(describe::misfit(service, &misfit, self.client.outstanding()))
    }

    /// Sends `request` to the method `id`, and waits for the reply. As with [`AsyncClient::call`],
    /// the future may be dropped at any time.
    ///
    /// # Cost
    ///
    /// Two allocations: the request's bytes, which wait with the future, and the reply's.
    pub async fn call<Q: Message, P: Message>(&self, id: MethodId, request: &Q) -> Result<P, CallError> {
        self.call_with(id, request, Options::default()).await
    }

    /// As [`call`](Self::call), with options for this RPC; the key's hash is the request's.
    pub async fn call_with<Q: Message, P: Message>(
        &self,
        id: MethodId,
        request: &Q,
        options: Options,
    ) -> Result<P, CallError> {
        let options = options.key_hash(request.key_hash());
        let frame = Q::As::write(request, |body| self.frame(id, body, &[], &options));
        read_reply(&self.client.call_with(frame, options).await?)
    }

    fn frame(&self, id: MethodId, body: &[u8], cursor: &[u8], options: &Options) -> Vec<u8> {
        let mut frame = Vec::new();
        let is_timed = self.is_timed || options.deadline.is_some();
        let until_ticks = is_timed.then(|| self.client.waits_for(options)).flatten().map(ticks_after);
        put_together(&mut frame, body, id, &Extension { trace: self.trace.as_ref(), cursor, until_ticks });
        frame
    }

    pub(super) async fn call_window(
        &self,
        id: MethodId,
        body: &[u8],
        cursor: &[u8],
        key_hash: u32,
    ) -> Result<Vec<u8>, CallError> {
        let options = Options::default().key_hash(key_hash);
        let mut reply = self.client.call_with(self.frame(id, body, cursor, &options), options).await?;
        let Some(window) = status::open_message(&reply).map(<[u8]>::len) else {
            return Err(CallError::of_reply(&reply));
        };
        reply.truncate(window);
        Ok(reply)
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

//! A client as a service of `tower`, for its layers: limits, time-outs, retries, load shedding.

use super::{AsyncClient, Call};
use crate::client::error::CallError;
use std::task::{Context, Poll};
use tower_service::Service;

/// Requests and responses are bytes.
///
/// The client is ready while there is room for another RPC, but reserves none: if another handle
/// takes it first, the call waits for room.
///
/// # Examples
///
/// ```
/// use nebula::{AsyncClient, Reply, Server};
/// use std::time::Duration;
/// use tower::{Service, ServiceBuilder, ServiceExt};
///
/// let name = format!("shm://doc-tower-{}", std::process::id());
/// let server = Server::bind(&name).serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
/// let executor = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
/// let client = executor.block_on(AsyncClient::connect(&name))?;
/// let mut limited = ServiceBuilder::new().concurrency_limit(8).timeout(Duration::from_secs(1)).service(client);
/// let reply = executor.block_on(async { limited.ready().await?.call(b"hello".to_vec()).await })?;
/// assert_eq!(reply, b"hello");
/// # server.stop();
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
impl Service<Vec<u8>> for AsyncClient {
    type Response = Vec<u8>;
    type Error = CallError;
    type Future = Call<Vec<u8>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        let is_ready = self.shared.with(|state| state.is_ready(cx.waker()));
        if is_ready { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    fn call(&mut self, request: Vec<u8>) -> Call<Vec<u8>> {
        AsyncClient::call(self, request)
    }
}

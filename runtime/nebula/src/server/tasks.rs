//! Handlers that are futures: each request's runs as a task of the user's executor.

use super::{RunningServer, Server};
use crate::config::error::ServeError;
use crate::rpc::reply::Reply;
use tokio::runtime::Handle;

impl Server {
    /// Serves with a handler that returns a future, which runs as a task of the `tokio` runtime
    /// that this is called in; its output is the reply. Needs the feature `tokio`.
    ///
    /// The worker begins the future and goes on to the next request, so that RPCs wait at the same
    /// time. Unless [`later_max`](crate::ServerConfig::later_max) is set, a worker has as many RPCs
    /// under way as its policy allows: 62 under `jbsq:2`. Further ones wait, or are refused.
    /// A future that panics, and one that the runtime drops, end their RPC with
    /// [`Fault::Unanswered`](crate::Fault::Unanswered).
    ///
    /// A handler that mostly answers without waiting is faster as a [`Service`](crate::Service),
    /// which takes its [reply](Reply::later) along where it has to wait. It can also refuse.
    ///
    /// # Errors
    ///
    /// As [`serve`](Self::serve); [`ServeError::NoExecutor`] outside a `tokio` runtime.
    ///
    /// # Cost
    ///
    /// Per RPC: a copy of the request, a task, and waking up a thread of the runtime if it sleeps.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula::{AsyncClient, Server};
    /// use std::time::Duration;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let executor = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    /// # executor.block_on(async {
    /// let name = format!("shm://doc-serve-async-{}", std::process::id());
    /// let server = Server::bind(&name).slo(Duration::from_secs(1));
    /// let server = server.serve_async(|request: Vec<u8>| async move {
    ///     tokio::time::sleep(Duration::from_millis(1)).await;
    ///     request
    /// })?;
    /// assert_eq!(AsyncClient::connect(&name).await?.call(b"hello").await?, b"hello");
    /// # server.stop();
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    pub fn serve_async<H, F, R>(mut self, handler: H) -> Result<RunningServer, ServeError>
    where
        H: Fn(Vec<u8>) -> F + Send + Sync + 'static,
        F: Future<Output = R> + Send + 'static,
        R: AsRef<[u8]>,
    {
        let tasks = Handle::try_current().map_err(|_| ServeError::NoExecutor)?;
        self.config.later_max = Some(self.config.later_max.unwrap_or(self.config.laters_possible()));
        self.serve(move |request: &[u8], reply: &mut Reply<'_>| {
            // Under a policy without later replies the server has not started.
            if let Ok(later) = reply.later() {
                let answer = handler(request.to_vec());
                tasks.spawn(async move { later.answer(answer.await.as_ref()) });
            }
        })
    }
}

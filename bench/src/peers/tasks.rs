//! Calls of an asynchronous client: each is a task of the measuring thread.

use crate::Failure;
use crate::child::Server;
use crate::measure::Pipe;
use crate::ways::PAYLOAD_BYTES;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

pub(super) fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// `call` begins one and returns the length of its echo.
pub(super) struct Tasks<F> {
    calls: JoinSet<Result<usize, String>>,
    call: F,
    runtime: Runtime,
    _server: Server,
}

impl<F, C> Tasks<F>
where
    F: FnMut() -> C,
    C: Future<Output = Result<usize, String>> + Send + 'static,
{
    /// `connect` runs on the runtime.
    pub(super) fn start<T>(
        server: Server,
        connect: impl Future<Output = Result<T, Failure>>,
        call: impl FnOnce(T) -> F,
    ) -> Result<Self, Failure> {
        let runtime = runtime()?;
        let connected = runtime.block_on(connect)?;
        Ok(Self { calls: JoinSet::new(), call: call(connected), runtime, _server: server })
    }
}

impl<F, C> Pipe for Tasks<F>
where
    F: FnMut() -> C,
    C: Future<Output = Result<usize, String>> + Send + 'static,
{
    fn send(&mut self, _: u64) -> bool {
        self.calls.spawn_on((self.call)(), self.runtime.handle());
        true
    }

    /// Waits for one reply, and collects others that have arrived.
    fn take(&mut self) -> u64 {
        let mut over = self.runtime.block_on(self.calls.join_next());
        let mut taken = 0;
        while let Some(call) = over {
            assert_eq!(call.expect("no panic in a call"), Ok(PAYLOAD_BYTES), "the echo failed");
            taken += 1;
            over = self.calls.try_join_next();
        }
        taken
    }
}

//! A connection that is being made while its task sleeps.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

type Make<T, E> = Box<dyn FnOnce() -> Result<T, E> + Send>;

/// A client that connects: await it, or [wait](Self::wait) for it where there is no executor.
///
/// Awaited, it connects on a new thread, so that it blocks none of the executor's. If dropped then,
/// it disconnects once it has connected.
#[must_use = "nothing is connected before it is awaited"]
pub struct Connecting<T, E>(Arc<Mutex<Made<T, E>>>);

struct Made<T, E> {
    /// Until a thread takes it.
    make: Option<Make<T, E>>,
    result: Option<std::thread::Result<Result<T, E>>>,
    waker: Option<Waker>,
}

impl<T, E> Connecting<T, E> {
    #[doc(hidden)]
    pub fn new(make: impl FnOnce() -> Result<T, E> + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Made { make: Some(Box::new(make)), result: None, waker: None })))
    }

    /// Blocks this thread until the server has answered.
    ///
    /// # Errors
    ///
    /// As the method that returned this.
    ///
    /// # Panics
    ///
    /// If it has been polled.
    pub fn wait(self) -> Result<T, E> {
        let make = locked(&self.0).make.take();
        make.expect("a client that was polled while it connects has to be awaited")()
    }
}

impl<T: Send + 'static, E: Send + 'static> Future for Connecting<T, E> {
    type Output = Result<T, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut made = locked(&self.0);
        if let Some(result) = made.result.take() {
            return Poll::Ready(result.unwrap_or_else(|panic| resume_unwind(panic)));
        }
        made.waker = Some(cx.waker().clone());
        let is_first = made.make.is_some();
        drop(made);
        if is_first {
            let made = self.0.clone();
            let thread = std::thread::Builder::new().name("nebula-connect".to_owned());
            // Without a thread this one connects.
            if thread.spawn(move || connect(&made)).is_err() {
                connect(&self.0);
            }
        }
        Poll::Pending
    }
}

/// Connects in this thread, and wakes the task.
fn connect<T, E>(made: &Mutex<Made<T, E>>) {
    let Some(make) = locked(made).make.take() else { return };
    let result = catch_unwind(AssertUnwindSafe(make));
    let mut made = locked(made);
    made.result = Some(result);
    let waker = made.waker.take();
    drop(made);
    waker.into_iter().for_each(Waker::wake);
}

fn locked<T, E>(made: &Mutex<Made<T, E>>) -> MutexGuard<'_, Made<T, E>> {
    made.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T, E> fmt::Debug for Connecting<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connecting").finish_non_exhaustive()
    }
}

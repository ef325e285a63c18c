//! How a tier's handlers work: waiting, and calling others, where the RPC arrives or elsewhere.

use crate::peer::Trouble;
use crate::tier::Threads;
use nebula_typed::{Message, Slot, Status};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::Handle;

/// What the handlers of a tier have in common.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) threads: Threads,
    /// What a handler waits for beside other tiers.
    pub(crate) wait: Duration,
    pub(crate) tasks: Handle,
}

impl Work {
    /// Waits as long as what is behind the tier takes.
    pub(crate) fn wait(&self) {
        if !self.wait.is_zero() {
            std::thread::sleep(self.wait);
        }
    }

    /// Gives the reply when `calls` of other tiers have ended: in a task, or here, where all others
    /// wait too.
    pub(crate) fn answer<P: Message + Send + 'static>(
        &self,
        reply: Slot<P>,
        calls: impl Future<Output = Result<P, Trouble>> + Send + 'static,
    ) -> Result<(), Status> {
        if self.threads == Threads::Dispatch {
            return match self.tasks.block_on(calls) {
                Ok(message) => reply.write(&message),
                Err(Trouble::Refused) => reply.refuse(),
                Err(Trouble::Other(status)) => Err(status),
            };
        }
        let later = reply.later()?;
        self.tasks.spawn(async move {
            match calls.await {
                Ok(message) => later.write(&message),
                Err(Trouble::Refused) => later.refuse(),
                Err(Trouble::Other(status)) => later.fail(&status),
            }
        });
        Ok(())
    }
}

/// Waits for three calls, or for the first that fails: the others are dropped then.
pub(crate) async fn all_of<A, B, C, E>(
    a: impl Future<Output = Result<A, E>>,
    b: impl Future<Output = Result<B, E>>,
    c: impl Future<Output = Result<C, E>>,
) -> Result<(A, B, C), E> {
    let (mut a, mut b, mut c) = (pin!(a), pin!(b), pin!(c));
    let (mut one, mut two, mut three) = (None, None, None);
    poll_fn(|context| {
        macro_rules! look {
            ($kept:ident, $future:ident) => {
                if $kept.is_none()
                    && let Poll::Ready(result) = $future.as_mut().poll(context)
                {
                    match result {
                        Ok(value) => $kept = Some(value),
                        Err(error) => return Poll::Ready(Err(error)),
                    }
                }
            };
        }
        look!(one, a);
        look!(two, b);
        look!(three, c);
        match (one.take(), two.take(), three.take()) {
            (Some(a), Some(b), Some(c)) => Poll::Ready(Ok((a, b, c))),
            kept => {
                (one, two, three) = kept;
                Poll::Pending
            }
        }
    })
    .await
}

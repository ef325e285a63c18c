//! One call, as the future that its task awaits.

use super::calls::CallId;
use super::shared::{LOOKS, Shared, State, Submitted, WhenFull};
use crate::client::error::CallError;
use crate::config::client::Options;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A call of an [`AsyncClient`](crate::AsyncClient): the reply, or why there is none.
///
/// Its first poll sends the request. It then polls for its answer for some time, letting other
/// tasks run in between, and sleeps.
///
/// # Cancellation
///
/// It may be dropped at any time. An RPC that has not been sent is not executed then. One that has
/// been sent is [cancelled](crate::Client::cancel): the server does not begin it if it has not yet,
/// and its slots become free when it is answered. No answer goes to another call, and the next call
/// that waits for room gets it.
#[derive(Debug)]
#[must_use = "nothing is sent before it is awaited"]
pub struct Call<R> {
    client: Arc<Shared>,
    request: R,
    options: Options,
    full: WhenFull,
    /// In ticks.
    poll_for: u64,
    progress: Progress,
    reply: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum Progress {
    Fresh,
    Queued(CallId),
    /// And since when it is polled without an end, in ticks.
    Sent(CallId, Option<u64>),
    Over,
}

impl<R> Call<R> {
    pub(super) fn new(client: Arc<Shared>, request: R, options: Options, full: WhenFull, poll_for: u64) -> Self {
        Self { client, request, options, full, poll_for, progress: Progress::Fresh, reply: Vec::new() }
    }

    /// Has the reply written into `buffer`, which comes back as the reply. A caller that passes the
    /// last reply allocates nothing.
    pub fn into_buffer(mut self, buffer: Vec<u8>) -> Self {
        self.reply = buffer;
        self
    }
}

impl<R: AsRef<[u8]> + Unpin> Future for Call<R> {
    type Output = Result<Vec<u8>, CallError>;

    /// # Panics
    ///
    /// When it is polled after it has ended.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { client, request, options, full, poll_for, progress, reply } = self.get_mut();
        let request = request.as_ref();
        let step = client.with(|state| {
            let mut step = match *progress {
                Progress::Fresh => send(state, None, request, *options, *full, reply, progress),
                Progress::Queued(call) => match state.calls.take_ended(call, reply) {
                    Some(result) => Step::Over(result),
                    None => send(state, Some(call), request, *options, *full, reply, progress),
                },
                Progress::Sent(call, ref mut since) => wait(state, call, since, *poll_for, reply),
                Progress::Over => panic!("the call has ended: it cannot be polled again"),
            };
            if let Step::Sleep(call) = step {
                state.sleep(call, cx.waker());
                // It may have been answered meanwhile.
                if let Some(result) = state.calls.take_ended(call, reply) {
                    step = Step::Over(result);
                }
            }
            step
        });
        match step {
            Step::Over(result) => {
                *progress = Progress::Over;
                Poll::Ready(result.map(|()| std::mem::take(reply)))
            }
            Step::Yield => {
                Waker::wake_by_ref(cx.waker());
                Poll::Pending
            }
            Step::Sleep(_) => Poll::Pending,
        }
    }
}

enum Step {
    Over(Result<(), CallError>),
    Yield,
    Sleep(CallId),
}

fn send(
    state: &mut State,
    call: Option<CallId>,
    request: &[u8],
    options: Options,
    full: WhenFull,
    reply: &mut Vec<u8>,
    progress: &mut Progress,
) -> Step {
    match state.submit(call, request, options, full, reply) {
        Submitted::Sent(call) => {
            *progress = Progress::Sent(call, None);
            // With several, other tasks may have something to send with it.
            Step::Yield
        }
        Submitted::Ended(result) => Step::Over(result),
        Submitted::Waits(call) => {
            *progress = Progress::Queued(call);
            Step::Sleep(call)
        }
        Submitted::Refused(error) => Step::Over(Err(error.into())),
    }
}

fn wait(state: &mut State, call: CallId, since: &mut Option<u64>, poll_for: u64, reply: &mut Vec<u8>) -> Step {
    if let Some(over) = look(state, call, reply) {
        return over;
    }
    let now = state.note_wait(call);
    if now.saturating_sub(*since.get_or_insert(now)) < poll_for { Step::Yield } else { Step::Sleep(call) }
}

/// The end of the call, if another call's look has found it or a few more looks do.
#[inline]
fn look(state: &mut State, call: CallId, reply: &mut Vec<u8>) -> Option<Step> {
    // A look takes the answers of all: with many calls, most find theirs here.
    if let Some(result) = state.calls.take_ended(call, reply) {
        return Some(Step::Over(result));
    }
    let looks = if state.calls.outstanding() <= 1 { LOOKS } else { 1 };
    for _ in 0..looks {
        state.look();
        if let Some(result) = state.calls.take_ended(call, reply) {
            return Some(Step::Over(result));
        }
        // Each look costs the server a transfer of the line with the answer.
        std::hint::spin_loop();
    }
    None
}

impl<R> Drop for Call<R> {
    fn drop(&mut self) {
        if let Progress::Queued(call) | Progress::Sent(call, _) = self.progress {
            self.client.with(|state| state.forget(call));
        }
    }
}

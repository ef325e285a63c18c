//! A call: one RPC, submitted and waited for, over any transport.

use super::error::{CallError, SubmitError};
use super::ticket::Ticket;
use crate::config::client::{Options, Wait};
use nebula_nic::{Span, Timestamp};

/// How long a call polls before it sleeps: about the cost of a wake-up.
const SPIN: Span = Span::from_us(20);
/// Polls of a spinning call before it yields between polls.
const SPINS: u32 = 2048;

/// A client that can wait for an RPC.
pub(super) trait Caller {
    type Place;
    type Patience;

    fn patience(&mut self) -> Self::Patience;

    fn submit(&mut self, request: &[u8], options: Options) -> Result<Ticket, SubmitError>;

    fn next_end(&mut self) -> Option<(Ticket, Result<Self::Place, CallError>)>;

    /// Spends some time between two looks; `false` once the call has waited its limit.
    fn pause(&mut self, patience: &mut Self::Patience) -> bool;

    fn not_sent(error: SubmitError) -> CallError {
        error.into()
    }

    /// Gives up the only outstanding RPC: its answer is ignored.
    fn abandon(&mut self, ticket: Ticket);
}

pub(super) fn call<C: Caller>(client: &mut C, request: &[u8], options: Options) -> Result<C::Place, CallError> {
    let mut patience = client.patience();
    let ticket = loop {
        match client.submit(request, options) {
            Err(SubmitError::Full) => {
                // An abandoned call still holds room, or a refusing server needs time.
                let _ = client.next_end();
                if !client.pause(&mut patience) {
                    return Err(CallError::TimedOut);
                }
            }
            submitted => break submitted.map_err(C::not_sent)?,
        }
    };
    loop {
        match client.next_end() {
            Some((ended, result)) if ended == ticket => return result,
            Some(_) => {}
            None if client.pause(&mut patience) => {}
            None => {
                client.abandon(ticket);
                return Err(CallError::TimedOut);
            }
        }
    }
}

/// The wait of a call by a client that reads the clock at each look.
pub(super) struct Patience {
    started: Timestamp,
    spins: u32,
}

impl Patience {
    pub(super) fn new(started: Timestamp) -> Self {
        Self { started, spins: 0 }
    }

    /// As [`Caller::pause`]; `sleep` sleeps for the given time at most.
    #[inline]
    pub(super) fn pause(&mut self, now: Timestamp, (wait, limit): (Wait, Span), sleep: impl FnOnce(Span)) -> bool {
        let waited = now - self.started;
        if waited >= limit {
            return false;
        }
        self.spins = self.spins.saturating_add(1);
        match wait {
            Wait::Block if waited >= SPIN => sleep(limit - waited),
            Wait::Spin if self.spins >= SPINS => std::thread::yield_now(),
            Wait::Block | Wait::Spin => std::hint::spin_loop(),
        }
        true
    }
}

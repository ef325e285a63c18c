//! A call: one RPC, submitted and waited for. The same over both transports.

use super::error::{CallError, SubmitError};
use super::ticket::Ticket;
use crate::config::client::Options;

/// A client that can wait for an RPC.
pub(super) trait Caller {
    /// Where a reply lies.
    type Place;
    /// How long a call has waited.
    type Patience;

    /// That of a call that begins now.
    fn patience(&mut self) -> Self::Patience;

    /// Submits an RPC.
    fn submit(&mut self, request: &[u8], options: Options) -> Result<Ticket, SubmitError>;

    /// The next RPC that has ended.
    fn next_end(&mut self) -> Option<(Ticket, Result<Self::Place, CallError>)>;

    /// Spends some time between two looks; `false` once the call has waited as long as it may.
    fn pause(&mut self, patience: &mut Self::Patience) -> bool;

    /// What a call ends with that could not be submitted.
    fn not_sent(error: SubmitError) -> CallError {
        error.into()
    }

    /// Gives up the only outstanding RPC: its answer, should it still come, is ignored.
    fn abandon(&mut self, ticket: Ticket);
}

/// Submits `request` and waits until it has ended.
pub(super) fn call<C: Caller>(client: &mut C, request: &[u8], options: Options) -> Result<C::Place, CallError> {
    let mut patience = client.patience();
    let ticket = loop {
        match client.submit(request, options) {
            Err(SubmitError::Full) => {
                // What an earlier call gave up still holds room, or a server that refuses has to be
                // given time.
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

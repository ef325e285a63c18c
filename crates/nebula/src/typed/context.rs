//! What a handler may know about its RPC beyond the request.

use super::method::{self, MethodId};
use super::trace::TraceContext;
use crate::rpc::answer::Caller;
use crate::rpc::cancel::Cancel;
use nebula_nic::Span;
use nebula_sys::clock::Clock;
use std::net::SocketAddr;

/// What a handler may know about its RPC beyond the request.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    id: MethodId,
    extension: &'a [u8],
    caller: Option<&'a Caller>,
}

impl<'a> Context<'a> {
    #[inline(always)]
    pub(crate) const fn new(id: MethodId, extension: &'a [u8], caller: Option<&'a Caller>) -> Self {
        Self { id, extension, caller }
    }

    /// The number of the method that was called.
    #[must_use]
    pub const fn method(&self) -> u16 {
        self.id.method()
    }

    /// The client's address, over UDP; `None` over shared memory.
    #[must_use]
    pub fn peer(&self) -> Option<SocketAddr> {
        self.caller?.peer
    }

    /// How long the client still waits, if it has said that: a deadline goes along over UDP. Zero when it does not wait any more. An RPC that is
    /// cancelled, or whose deadline is over, before its handler is called never comes here.
    ///
    /// # Cost
    ///
    /// A look at the clock, where there is a deadline.
    #[must_use]
    pub fn time_left(&self) -> Option<Span> {
        let deadline = self.caller?.deadline?;
        Some(Span::from_ps(deadline.as_ps().saturating_sub(Clock::new().now_ps())))
    }

    /// Whether the client has stopped waiting: it has cancelled the RPC, or its deadline is over. A handler that runs long may ask now and then, and
    /// give up. As [`Reply::is_cancelled`](crate::Reply::is_cancelled).
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        let cancel = self.caller.and_then(|caller| caller.cancel.as_ref());
        cancel.is_some_and(Cancel::is_set) || self.time_left() == Some(Span::ZERO)
    }

    /// Where the window of a stream begins: empty at the stream's beginning.
    pub(crate) fn cursor(&self) -> &'a [u8] {
        method::cursor_in(self.extension)
    }

    /// The trace that the RPC belongs to, if its client said one.
    ///
    /// # Cost
    ///
    /// It is looked for when it is asked for.
    #[must_use]
    pub fn trace(&self) -> Option<TraceContext> {
        method::trace_in(self.extension)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_nic::Timestamp;

    #[test]
    fn a_client_waits_until_its_deadline_and_for_ever_without_one() {
        let now_ps = Clock::new().now_ps();
        let left = |deadline: Option<u64>| {
            let caller = Caller { peer: None, deadline: deadline.map(Timestamp::from_ps), cancel: None };
            let context = Context::new(MethodId::new(1, 1), &[], Some(&caller));
            (context.time_left().is_some(), context.is_cancelled())
        };
        let hour = Span::from_ms(3_600_000).as_ps();
        assert_eq!(left(None), (false, false));
        assert_eq!(left(Some(now_ps + hour)), (true, false));
        assert_eq!(left(Some(now_ps)), (true, true));
        assert!(!Context::new(MethodId::new(1, 1), &[], None).is_cancelled(), "over shared memory");
    }
}

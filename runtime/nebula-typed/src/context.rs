//! The facts about an RPC that a handler may ask for, beyond the request.

use super::method::{self, MethodId};
use super::trace::TraceContext;
use nebula::hooks::Asked;
use nebula::hooks::Caller;
use nebula::hooks::Cancel;
use nebula_nic::{Span, Timestamp};
use nebula_sys::clock::Clock;
use std::net::SocketAddr;

/// The data of an RPC that a handler may use besides the request.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    id: MethodId,
    extension: &'a [u8],
    caller: Option<&'a Caller>,
    /// Over shared memory, where the caller is unknown.
    asked: Option<Asked<'a>>,
}

impl<'a> Context<'a> {
    #[inline(always)]
    pub(crate) const fn new(id: MethodId, extension: &'a [u8], caller: Option<&'a Caller>) -> Self {
        Self { id, extension, caller, asked: None }
    }

    #[inline(always)]
    pub(crate) const fn asked_in(mut self, asked: Option<Asked<'a>>) -> Self {
        self.asked = asked;
        self
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

    /// How long the client still waits, if it has a deadline; zero once that has passed. RPCs that
    /// are cancelled or late before their handler is called never get here.
    ///
    /// # Cost
    ///
    /// A clock read, if there is a deadline.
    #[must_use]
    pub fn time_left(&self) -> Option<Span> {
        Some(Span::from_ps(self.until_ps()?.saturating_sub(Clock::new().now_ps())))
    }

    /// When the client stops waiting, on this process's clock: from the datagram's header, or over
    /// shared memory, where both sides have one clock, from the request.
    fn until_ps(&self) -> Option<u64> {
        let is_local = self.caller.is_none_or(|caller| caller.peer.is_none());
        let told = || method::until_ticks_in(self.extension).map(|ticks| Clock::new().at_ps(ticks));
        let in_header = self.caller.and_then(|caller| caller.deadline);
        in_header.map(Timestamp::as_ps).or_else(|| if is_local { told() } else { None })
    }

    /// Whether the client has stopped waiting: it has cancelled the RPC, or its deadline has
    /// passed. A long handler may check now and then, and give up. As
    /// [`Reply::is_cancelled`](nebula::Reply::is_cancelled).
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        let cancel = self.caller.and_then(|caller| caller.cancel.as_ref());
        let is_taken_back = cancel.is_some_and(Cancel::is_set) || self.asked.is_some_and(Asked::is_cancelled);
        is_taken_back || self.time_left() == Some(Span::ZERO)
    }

    pub(crate) fn cursor(&self) -> &'a [u8] {
        method::cursor_in(self.extension)
    }

    /// The trace of the RPC, if its client sent one.
    ///
    /// # Cost
    ///
    /// Each call searches the extension.
    #[must_use]
    pub fn trace(&self) -> Option<TraceContext> {
        method::trace_in(self.extension)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_deadline_in_the_request_is_believed_where_the_clock_is_one() {
        let clock = Clock::new();
        let left = |ticks: u64, peer: Option<SocketAddr>| {
            let (mut frame, until_ticks) = (Vec::new(), Some(ticks));
            method::end(&mut frame, MethodId::new(1, 1), &method::Extension { until_ticks, ..Default::default() });
            let opened = method::open(&frame).unwrap();
            let caller = Caller { peer, ..Caller::default() };
            let of = |caller| Context::new(opened.id, opened.extension, caller).time_left();
            (of(Some(&caller)), of(None))
        };
        let hour = Span::from_ms(3_600_000);
        let (later, by_ring) = left(clock.ticks() + clock.ticks_of(hour.as_ps()), None);
        assert!(later > Some(hour / 2) && later <= Some(hour) && by_ring.is_some(), "{later:?}");
        assert_eq!(left(clock.ticks(), None).0, Some(Span::ZERO));
        // Also a deadline that had passed before this process began.
        assert_eq!(left(0, None).0, Some(Span::ZERO));
        assert!(left(u64::MAX, None).0 > Some(hour));
        assert_eq!(left(0, Some(([192, 0, 2, 1], 9).into())).0, None, "another machine's clock");
    }
}

//! What a server does with an RPC: the trait that handlers implement.

use crate::engine::egress::Reply;

/// How far ahead of its turn an RPC is when [`Service::prefetch`] is called for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It has just arrived: hint at what its key alone leads to, such as an index bucket.
    Arrived,
    /// The first hints have had time to arrive: follow them one step further, such as from the bucket to the item.
    Next,
}

/// A service: one function from request bytes to reply bytes, called on every worker at once.
///
/// Any `Fn(&[u8], &mut Reply)` is a service. A type implements the trait itself when it also wants to
/// [`prefetch`](Self::prefetch).
///
/// # Examples
///
/// ```
/// use nebula::{Reply, Service};
///
/// fn is_service(_: impl Service) {}
/// is_service(|request: &[u8], reply: &mut Reply| reply.write(request));
/// ```
pub trait Service {
    /// Answers one RPC. `request` lies in the receive buffer, private to this call; it is freed when the call returns.
    ///
    /// A panic is caught: the client gets [`Fault::HandlerPanicked`](crate::Fault::HandlerPanicked), the worker goes on.
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>);

    /// Whether [`prefetch`](Self::prefetch) does anything, so that nobody goes through the arrivals for nothing.
    #[inline(always)]
    fn prefetches(&self) -> bool {
        false
    }

    /// Hints at memory that [`serve`](Self::serve) will touch for this request. Must have no effect but on timing: it may be called
    /// any number of times, or never.
    #[inline(always)]
    fn prefetch(&self, request: &[u8], stage: Stage) {
        let _ = (request, stage);
    }
}

impl<F: Fn(&[u8], &mut Reply<'_>)> Service for F {
    #[inline]
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        self(request, reply);
    }
}

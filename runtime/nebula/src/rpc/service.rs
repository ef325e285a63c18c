//! The trait of handlers.

use super::requests::Requests;
use crate::rpc::description::Description;
use crate::rpc::reply::Reply;

/// How close an RPC is to its execution when [`Service::prefetch`] is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It has just arrived. Prefetch what the request alone determines, such as an index bucket.
    Arrived,
    /// The first prefetches have completed. Follow them one step, such as from bucket to item.
    Next,
}

/// A service: a function from request bytes to reply bytes, which all workers call concurrently.
/// Any `Fn(&[u8], &mut Reply)` is a service. Implement the trait to [`prefetch`](Self::prefetch),
/// or to [describe](Self::describe) more than how RPCs are answered.
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
    /// Answers one RPC. `request` lies in the receive buffer, private to this call, and is freed
    /// when the call returns.
    ///
    /// A panic is caught: the client gets
    /// [`Fault::HandlerPanicked`](crate::Fault::HandlerPanicked), and the worker continues.
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>);

    /// Answers several RPCs in the order of [`Requests::next`]. Override it if they can share work,
    /// such as the lookup of their keys.
    ///
    /// A panic ends the RPC taken last, or the next one if that was answered; the method is then
    /// called again for the rest. RPCs that it does not take are answered with
    /// [`Fault::Unanswered`](crate::Fault::Unanswered).
    ///
    /// Only an inline worker with one queue for all RPCs calls it: over shared memory if it has
    /// several RPCs, over UDP and streams for RPCs that arrive while nothing waits. Otherwise
    /// [`serve`](Self::serve) is called for each RPC, so both must answer alike.
    #[inline(always)]
    fn serve_burst(&self, requests: &mut Requests<'_>) {
        if requests.may_prefetch() {
            return serve_prefetched(self, requests);
        }
        serve_each(self, requests);
    }

    /// Prefetches memory that [`serve`](Self::serve) will read for this request, if the service
    /// [prefetches](Description::prefetches). It may be called any number of times, or never, so it
    /// must affect timing only.
    #[inline(always)]
    fn prefetch(&self, request: &[u8], stage: Stage) {
        let _ = (request, stage);
    }

    /// Returns what the server must know besides: bounds, long RPCs, types. It asks once, at the
    /// start; [`ServerConfig::description`](crate::ServerConfig::description) replaces the answer.
    fn describe(&self) -> Description {
        Description::default()
    }
}

/// Serves one after the other. The loop for a ring is written out so that the handler is inlined:
/// the closure of [`Requests::for_each`], which two loops call, would not be.
#[inline(always)]
fn serve_each<S: Service + ?Sized>(service: &S, requests: &mut Requests<'_>) {
    if !requests.begin_in_ring() {
        return serve_kept(service, requests);
    }
    requests.serve_in_ring(|request, reply| service.serve(request, reply));
}

#[inline(never)]
fn serve_kept<S: Service + ?Sized>(service: &S, requests: &mut Requests<'_>) {
    while let Some((request, reply)) = requests.next() {
        service.serve(request, reply);
    }
}

/// RPCs between [`Stage::Arrived`] and the execution: some more than a core's misses in flight.
const ARRIVED_AHEAD: usize = 16;
/// RPCs between [`Stage::Next`] and the execution.
const NEXT_AHEAD: usize = ARRIVED_AHEAD / 2;

/// Prefetches for later RPCs while it serves earlier ones, so that misses overlap with work. Not
/// inlined: most services never prefetch, and their handler is inlined into [`serve_each`] alone.
#[inline(never)]
fn serve_prefetched<S: Service + ?Sized>(service: &S, requests: &mut Requests<'_>) {
    let rpcs = requests.len();
    for (stage, first) in [(Stage::Arrived, ARRIVED_AHEAD), (Stage::Next, NEXT_AHEAD)] {
        (0..rpcs.min(first)).for_each(|ahead| service.prefetch(requests.peek(ahead), stage));
    }
    while !requests.is_empty() {
        for (stage, ahead) in [(Stage::Arrived, ARRIVED_AHEAD), (Stage::Next, NEXT_AHEAD)] {
            if ahead < requests.len() {
                service.prefetch(requests.peek(ahead), stage);
            }
        }
        let Some((request, reply)) = requests.next() else { return };
        service.serve(request, reply);
    }
}

impl<F: Fn(&[u8], &mut Reply<'_>)> Service for F {
    #[inline(always)]
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        self(request, reply);
    }

    /// Never prefetches.
    #[inline(always)]
    fn serve_burst(&self, requests: &mut Requests<'_>) {
        serve_each(self, requests);
    }
}

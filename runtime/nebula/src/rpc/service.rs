//! The trait of handlers: what a server does with an RPC.

use super::requests::Requests;
use crate::rpc::reply::Reply;
use crate::rpc::store_counters::StoreCounters;
use nebula_nic::schedule::RpcType;

/// How far ahead of its execution an RPC is when [`Service::prefetch`] is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It has just arrived. Prefetch what is known from the request alone, such as an index bucket.
    Arrived,
    /// The first prefetches have completed. Follow them one step further, such as from the bucket
    /// to the item.
    Next,
}

/// A service: a function from request bytes to reply bytes, which all workers call concurrently.
///
/// Any `Fn(&[u8], &mut Reply)` is a service. Implement the trait to [`prefetch`](Self::prefetch) as
/// well.
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

    /// Answers several RPCs, which a worker has at once: each that [`Requests::next`] gives, in
    /// that order. Override it where they can share work, such as the lookup of their keys.
    ///
    /// A panic ends the RPC that was given last, or the next one if that was answered; the method
    /// is called again for those behind it. What is not taken is answered with
    /// [`Fault::Unanswered`](crate::Fault::Unanswered).
    ///
    /// A worker that is the engine too calls it, with one queue for all RPCs: over shared memory
    /// for those that it has several of, over UDP for what comes while nothing waits. Otherwise
    /// [`serve`](Self::serve) is called for each RPC, so both must answer alike.
    #[inline(always)]
    fn serve_burst(&self, requests: &mut Requests<'_>) {
        if self.prefetches() && requests.may_prefetch() {
            return serve_prefetched(self, requests);
        }
        serve_each(self, requests);
    }

    /// Room for its longest reply, in bytes, where that is known: what the server says to clients
    /// unless [`ServerConfig::reply_bytes_max`](crate::ServerConfig::reply_bytes_max) is set.
    fn reply_bytes_max(&self) -> Option<u32> {
        None
    }

    /// RPCs of a worker that may wait for [later](crate::Reply::later) replies at once, where the
    /// service gives any: what a worker may have unless
    /// [`ServerConfig::later_max`](crate::ServerConfig::later_max) is set.
    fn later_max(&self) -> Option<u16> {
        None
    }

    /// Whether any RPC of it is of [`Class::Worker`].
    fn has_long(&self) -> bool {
        false
    }

    /// Where the handler of this request runs. Asked only where some are [long](Self::has_long),
    /// for each RPC, on the thread that it comes to.
    fn class(&self, request: &[u8]) -> Class {
        let _ = request;
        Class::Dispatch
    }

    /// The types of its RPCs, 1 to [`TYPES_MAX`](crate::TYPES_MAX), for the policy `darc`. Type 0
    /// is the common one.
    fn types(&self) -> u8 {
        1
    }

    /// The type of this request, below [`types`](Self::types); any other is taken for the common
    /// one. Asked only under `darc`, once for each RPC before it is dispatched, by the engine: so
    /// it should look at few bytes.
    fn rpc_type(&self, request: &[u8]) -> RpcType {
        let _ = request;
        RpcType(0)
    }

    /// What it counts of what it stores, for the [status page](crate::StatusReader::store): asked
    /// once in a while, by a worker. `None` where it stores nothing.
    fn store(&self) -> Option<StoreCounters> {
        None
    }

    /// The server stops: each worker calls it after its last RPC, before those that wait for
    /// [later](crate::Reply::later) replies end unanswered. A service whose own threads give such
    /// replies can wait for them here.
    fn drain(&self) {}

    /// Whether [`prefetch`](Self::prefetch) does anything. If not, it is never called.
    #[inline(always)]
    fn prefetches(&self) -> bool {
        false
    }

    /// Prefetches memory that [`serve`](Self::serve) will read for this request. It must affect
    /// timing only: it may be called any number of times, or never.
    #[inline(always)]
    fn prefetch(&self, request: &[u8], stage: Stage) {
        let _ = (request, stage);
    }
}

/// Where the handler of an RPC runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Class {
    /// On the worker that the RPC was dispatched to, which serves no other meanwhile: for what
    /// takes less time than handing it on.
    #[default]
    Dispatch,
    /// On a thread of the server's [pool](crate::ServerConfig::pool_threads): for what takes so
    /// long that others must not wait behind it.
    Worker,
}

/// One after the other. The handler is compiled into the loop of those whose replies go into a
/// ring: as a closure that two loops call, as of [`Requests::for_each`], it would be called.
#[inline(always)]
fn serve_each<S: Service + ?Sized>(service: &S, requests: &mut Requests<'_>) {
    if !requests.begin_in_ring() {
        return serve_kept(service, requests);
    }
    while let Some((request, reply)) = requests.next_in_ring() {
        service.serve(request, reply);
        reply.publish_whole();
    }
    requests.end_in_ring();
}

/// Those whose replies are kept.
#[inline(never)]
fn serve_kept<S: Service + ?Sized>(service: &S, requests: &mut Requests<'_>) {
    while let Some((request, reply)) = requests.next() {
        service.serve(request, reply);
    }
}

/// RPCs between [`Stage::Arrived`] and the execution: as many misses as a core has under way at
/// once, and some more.
const ARRIVED_AHEAD: usize = 16;
/// RPCs between [`Stage::Next`] and the execution.
const NEXT_AHEAD: usize = ARRIVED_AHEAD / 2;

/// Prefetches for later RPCs while it serves earlier ones, so that misses overlap with each other
/// and with the work.
#[inline(always)]
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
}

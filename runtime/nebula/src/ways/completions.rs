//! A core's completion queue: the RPCs given to it, in their order, and their payloads.

use crate::rpc::job::{Held, Job};
use crate::rpc::service::{Service, Stage};
use nebula_nic::{CoreId, Dispatch, Frontend, Steer, Steering};
use nebula_sys::prefetch;
use std::collections::VecDeque;

const PAYLOADS: usize = 64;

#[derive(Debug)]
pub(crate) struct Completions {
    /// The core's RPCs, and which of them is next.
    pub(crate) frontend: Frontend,
    /// Payloads of its entries, in order, unless an engine on this thread keeps them.
    payloads: VecDeque<Held>,
    /// The core that the latest RPC was given to: this one, unless it was stolen.
    home: CoreId,
    /// Whether to call the service's prefetch: it has one, and steering is on.
    prefetches: bool,
}

impl Completions {
    pub(crate) fn new(frontend: Frontend) -> Self {
        let home = frontend.core();
        Self { frontend, payloads: VecDeque::with_capacity(PAYLOADS), home, prefetches: false }
    }

    pub(crate) fn set_steering(&mut self, steering: Steering, has_prefetch: bool) {
        self.prefetches = has_prefetch && steering == Steering::On;
        self.frontend.set_steering(steering);
    }

    #[inline(always)]
    pub(crate) fn prefetches(&self) -> bool {
        self.prefetches
    }

    #[inline(always)]
    pub(crate) fn home(&self) -> CoreId {
        self.home
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, job: Job) {
        self.frontend.handle_dispatch(job.dispatch);
        self.payloads.push_back(job.held);
    }

    /// Adds an RPC that the core has fetched. Its payload could not be prefetched: the core's next
    /// RPC is decided only when it comes for one.
    #[inline(always)]
    pub(crate) fn push_fetched(&mut self, Job { dispatch, held }: Job) {
        self.home = dispatch.core;
        if self.frontend.handle_dispatch(dispatch) == Steer::Now {
            prefetch::read_bytes(held.lease.payload(dispatch.arrival.bytes as usize));
        }
        self.payloads.push_back(held);
    }

    #[inline(always)]
    pub(crate) fn push_kept(&mut self, dispatch: Dispatch) {
        self.frontend.handle_dispatch(dispatch);
    }

    #[inline(always)]
    pub(crate) fn pop_payload(&mut self) -> Option<Held> {
        self.payloads.pop_front()
    }

    /// Prefetches the payload of the next RPC, if that is known and not done yet (NEBULA §V-B).
    #[inline(always)]
    pub(crate) fn steer_next(&mut self, service: &dyn Service) {
        let (Some(next), Some(held)) = (self.frontend.steer_next(), self.payloads.front_mut()) else { return };
        if held.is_steered {
            return;
        }
        held.is_steered = true;
        let payload = held.lease.payload(next.bytes as usize);
        prefetch::read_bytes(payload);
        if self.prefetches {
            service.prefetch(payload, Stage::Arrived);
        }
    }
}

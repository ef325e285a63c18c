//! Chooses the next RPC to dispatch, and its core.

use crate::load::Load;
use crate::system::System;
use nebula_nic::schedule::{Darc, DarcConfig, RpcType, Selection, TypedQueues};
use nebula_nic::{CentralDispatch, CoreId, CoreSet, Jbsq, Span, Timestamp};
use nebula_workload::TypeId;

/// Decides by state machines of `nebula-nic`, which it informs of the outcome.
pub(in crate::world) trait Chooser {
    /// The core that gets an RPC, and the type whose head it is.
    fn choose(&mut self, now: Timestamp, queues: &TypedQueues<u32>) -> Option<(CoreId, RpcType)>;

    /// The type whose head is next when no core has credit.
    fn choose_type(&self, now: Timestamp, queues: &TypedQueues<u32>) -> Option<RpcType>;

    fn handle_dispatched(&mut self, core: CoreId);

    fn handle_freed(&mut self, core: CoreId);

    fn handle_begun(&mut self, _kind: RpcType, _queued: Span) {}

    fn handle_done(&mut self, _kind: RpcType, _service: Span) {}
}

/// The least loaded core gets the head of the queue, or the one that is latest for its SLO.
pub(in crate::world) struct LeastLoaded {
    credit: Jbsq,
    selection: Selection,
}

impl LeastLoaded {
    pub(in crate::world) fn new(system: &System, load: &Load) -> Self {
        let selection = system.preemption.slo_services.map_or(Selection::Fifo, |services| {
            let types = (0..=u8::MAX).map_while(|kind| load.service.of_type(TypeId(kind)));
            Selection::WaitOverSlo(types.map(|service| slo(service.mean_ps(), services)).collect())
        });
        Self { credit: Jbsq::new(system.workers(), system.preemption.depth), selection }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and both factors are positive")]
fn slo(mean_ps: f64, services: u32) -> Span {
    Span::from_ps((mean_ps * f64::from(services)) as u64)
}

impl Chooser for LeastLoaded {
    #[inline]
    fn choose(&mut self, now: Timestamp, queues: &TypedQueues<u32>) -> Option<(CoreId, RpcType)> {
        if queues.waiting() == 0 {
            return None;
        }
        Some((self.credit.pick()?, self.choose_type(now, queues)?))
    }

    #[inline]
    fn choose_type(&self, now: Timestamp, queues: &TypedQueues<u32>) -> Option<RpcType> {
        queues.select(&self.selection, now)
    }

    #[inline]
    fn handle_dispatched(&mut self, core: CoreId) {
        self.credit.handle_dispatched(core);
    }

    #[inline]
    fn handle_freed(&mut self, core: CoreId) {
        self.credit.handle_freed(core);
    }
}

/// DARC: cores are reserved for types.
pub(in crate::world) struct Reserved {
    darc: Darc,
    idle: CoreSet,
}

/// RPCs until DARC has a plan and its first queues are empty; 0 with nothing to plan.
pub(in crate::world) fn first_plan(load: &Load) -> u64 {
    let window = u64::from(DarcConfig::new(1, 1).window);
    if load.service.types().len() > 1 { window + window / 5 } else { 0 }
}

impl Reserved {
    /// Panics if the load has more types than DARC knows, which `Terms` refuses.
    pub(in crate::world) fn new(system: &System, load: &Load) -> Self {
        let types = u8::try_from(load.service.types().len()).expect("types have been counted");
        let cores = system.workers();
        Self { darc: Darc::new(DarcConfig::new(types, cores)), idle: CoreSet::full(cores) }
    }
}

impl Chooser for Reserved {
    #[inline]
    fn choose(&mut self, _: Timestamp, queues: &TypedQueues<u32>) -> Option<(CoreId, RpcType)> {
        self.darc.choose(&self.idle, queues)
    }

    fn choose_type(&self, _: Timestamp, queues: &TypedQueues<u32>) -> Option<RpcType> {
        queues.oldest_of(queues.types())
    }

    #[inline]
    fn handle_dispatched(&mut self, core: CoreId) {
        self.idle.remove(core);
    }

    #[inline]
    fn handle_freed(&mut self, core: CoreId) {
        self.idle.insert(core);
    }

    #[inline]
    fn handle_begun(&mut self, kind: RpcType, queued: Span) {
        self.darc.handle_begun(kind, queued);
    }

    #[inline]
    fn handle_done(&mut self, kind: RpcType, service: Span) {
        self.darc.handle_done(kind, service);
    }
}

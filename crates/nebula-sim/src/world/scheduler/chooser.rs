//! Which of the waiting RPCs is given out next, and to which core.

use crate::load::Load;
use crate::system::System;
use nebula_nic::schedule::{Darc, DarcConfig, RpcType, Selection, TypedQueues};
use nebula_nic::{CentralDispatch, CoreId, CoreSet, Jbsq, Span, Timestamp};
use nebula_workload::TypeId;

/// Decides, with machines of `nebula-nic`, and is told what comes of it.
pub(in crate::world) trait Chooser {
    /// The core that is given an RPC, and the type whose head it is.
    fn choose(&mut self, now: Timestamp, queues: &TypedQueues<u32>) -> Option<(CoreId, RpcType)>;

    /// The type whose head is next, where no core has credit.
    fn choose_type(&self, now: Timestamp, queues: &TypedQueues<u32>) -> Option<RpcType>;

    /// `core` has been given an RPC.
    fn handle_dispatched(&mut self, core: CoreId);

    /// `core` has one RPC less.
    fn handle_freed(&mut self, core: CoreId);

    /// An RPC has been begun for the first time, after it waited so long.
    fn handle_begun(&mut self, _kind: RpcType, _queued: Span) {}

    /// An RPC has ended after so much service.
    fn handle_done(&mut self, _kind: RpcType, _service: Span) {}
}

/// The core with the fewest RPCs takes the head of one queue, or of that which has waited longest for its SLO.
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

/// Cores are kept for types.
pub(in crate::world) struct Reserved {
    darc: Darc,
    idle: CoreSet,
}

/// RPCs until DARC has its first plan and the queues from before it are gone: they are no part of what is measured. None where there is
/// nothing to plan.
pub(in crate::world) fn first_plan(load: &Load) -> u64 {
    let window = u64::from(DarcConfig::new(1, 1).window);
    if load.service.types().len() > 1 { window + window / 5 } else { 0 }
}

impl Reserved {
    /// # Panics
    ///
    /// If the load has more types than can be told apart, which [`Terms`](super::terms::Terms) refuses.
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

//! One server: its NIC's back end, a front end per core, and its RPCs.

use crate::error::SimError;
use crate::system::speeds::Speeds;
use crate::tally::overheads::Overheads;
use crate::world::servers::InFlight;
use nebula_nic::{Backend, BackendConfig, CentralDispatch, CoreId, Frontend, RpcKey, SlotRange, Steering, Timestamp};

#[derive(Clone, Copy, Debug, Default)]
pub(in crate::world) struct Serving {
    pub(in crate::world) rpc: RpcKey,
    pub(in crate::world) slots: SlotRange,
    pub(in crate::world) queued_ps: u64,
    /// Core time since then, without the service.
    pub(in crate::world) overheads: Overheads,
}

pub(in crate::world) struct Core {
    pub(in crate::world) frontend: Frontend,
    pub(in crate::world) serving: Serving,
}

impl Core {
    pub(in crate::world) fn new(id: u16, bound: u32) -> Self {
        let mut frontend = Frontend::new(CoreId(id), bound);
        // Steering has no effect without a simulated memory.
        frontend.set_steering(Steering::Off);
        Self { frontend, serving: Serving::default() }
    }
}

pub(in crate::world) struct CentralServer<D: CentralDispatch> {
    pub(in crate::world) backend: Backend<D>,
    pub(in crate::world) cores: Box<[Core]>,
    pub(super) in_flight: Box<[InFlight]>,
    pub(super) lock_free: Timestamp,
    pub(in crate::world) dispatcher_free: Timestamp,
}

impl<D: CentralDispatch> CentralServer<D> {
    pub(super) fn try_new(config: BackendConfig, dispatch: D) -> Result<Self, SimError> {
        let bound = dispatch.bound();
        let backend = Backend::try_with(config, dispatch)?;
        let in_flight = vec![InFlight::default(); config.slots as usize].into();
        Ok(Self {
            backend,
            cores: (0..config.cores).map(|id| Core::new(id, bound)).collect(),
            in_flight,
            lock_free: Timestamp::ZERO,
            dispatcher_free: Timestamp::ZERO,
        })
    }

    /// Sets the RPC's service time to this core's.
    #[cold]
    pub(super) fn take_at_speed(&mut self, speeds: &Speeds, core: usize, slots: SlotRange) {
        let service_ps = &mut self.in_flight[slots.start.0 as usize].service_ps;
        *service_ps = speeds.time_ps(core, *service_ps);
    }

    #[inline]
    pub(super) fn in_flight(&self, slots: SlotRange) -> &InFlight {
        &self.in_flight[slots.start.0 as usize]
    }
}

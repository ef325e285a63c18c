//! One server: its NIC's back end, a front end for each core, and what it holds for the RPCs within.

use crate::error::SimError;
use crate::tally::Overheads;
use crate::world::servers::InFlight;
use nebula_nic::{Backend, BackendConfig, CentralDispatch, CoreId, Frontend, RpcKey, SlotRange, Steering, Timestamp};

/// What a core serves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Serving {
    pub(super) rpc: RpcKey,
    pub(super) slots: SlotRange,
    /// How long it waited, from its arrival until the core began it.
    pub(super) queued_ps: u64,
    /// From there on, beside the service.
    pub(super) overheads: Overheads,
}

pub(super) struct Core {
    pub(super) frontend: Frontend,
    pub(super) serving: Serving,
}

pub(super) struct Server<D: CentralDispatch> {
    pub(super) backend: Backend<D>,
    pub(super) cores: Box<[Core]>,
    /// What is known of each RPC, in the place of its first slot.
    pub(super) in_flight: Box<[InFlight]>,
    /// When the lock of the software queue is free again.
    pub(super) lock_free: Timestamp,
    /// When the dispatcher is free again.
    pub(super) dispatcher_free: Timestamp,
}

impl<D: CentralDispatch> Server<D> {
    pub(super) fn try_new(config: BackendConfig, dispatch: D) -> Result<Self, SimError> {
        let bound = dispatch.bound();
        let backend = Backend::try_with(config, dispatch)?;
        let core = |id| {
            let mut frontend = Frontend::new(CoreId(id), bound);
            // Which payload is fetched ahead of its use makes no difference where memory is not simulated.
            frontend.set_steering(Steering::Off);
            Core { frontend, serving: Serving::default() }
        };
        let in_flight = vec![InFlight::default(); config.slots as usize].into();
        Ok(Self {
            backend,
            cores: (0..config.cores).map(core).collect(),
            in_flight,
            lock_free: Timestamp::ZERO,
            dispatcher_free: Timestamp::ZERO,
        })
    }

    #[inline]
    pub(super) fn in_flight(&self, slots: SlotRange) -> &InFlight {
        &self.in_flight[slots.start.0 as usize]
    }
}

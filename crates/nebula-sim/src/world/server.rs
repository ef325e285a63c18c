//! One server: its NIC's back end, a front end for each core, and what it holds for the RPCs within.

use crate::error::SimError;
use nebula_nic::{Arrival, Backend, BackendConfig, CentralDispatch, CoreId, Frontend, Timestamp};

/// An RPC within a server, in the place of its first slot.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InFlight {
    /// Counted over all RPCs of the run, from 0.
    pub(super) number: u64,
    /// How long it will keep its core.
    pub(super) service_ps: u64,
    /// When its client meant to send it.
    pub(super) sent: Timestamp,
}

/// What a core does.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Serving {
    pub(super) arrival: Arrival,
    pub(super) began: Timestamp,
    /// From `began` on, before the service.
    pub(super) lock_ps: u64,
}

pub(super) struct Server {
    pub(super) backend: Backend,
    pub(super) cores: Box<[Core]>,
    pub(super) in_flight: Box<[InFlight]>,
    /// When the lock of the software queue is free again.
    pub(super) lock_free: Timestamp,
}

pub(super) struct Core {
    pub(super) frontend: Frontend,
    pub(super) serving: Serving,
}

impl Server {
    pub(super) fn try_new(config: BackendConfig) -> Result<Self, SimError> {
        let backend = Backend::try_new(config)?;
        let bound = config.policy.dispatcher(config.cores, 0).bound();
        let core = |id| Core { frontend: Frontend::new(CoreId(id), bound), serving: Serving::default() };
        let in_flight = vec![InFlight::default(); config.slots as usize].into();
        Ok(Self { backend, cores: (0..config.cores).map(core).collect(), in_flight, lock_free: Timestamp::ZERO })
    }
}

//! The state of one core.

use nebula_nic::{Arrival, CentralDispatch, CoreId, Frontend, Policy};

pub(crate) struct Core {
    pub(crate) frontend: Frontend,
    pub(crate) stage: Stage,
    pub(crate) serving: Arrival,
}

/// The action that the core ends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Idle,
    /// Waiting for the index, and computing.
    Computing,
    /// Waiting for the write of the result.
    Returning,
}

impl Core {
    pub(crate) fn all(cores: u16, policy: Policy) -> Box<[Self]> {
        let bound = policy.dispatcher(1, 0).bound();
        (0..cores).map(|core| Self::new(Frontend::new(CoreId(core), bound))).collect()
    }

    pub(crate) fn new(frontend: Frontend) -> Self {
        Self { frontend, stage: Stage::Idle, serving: Arrival::default() }
    }
}

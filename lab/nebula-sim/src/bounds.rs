//! The bounds of what can be simulated.

/// Most RPCs that all clients of a closed loop have outstanding.
pub(crate) const OUTSTANDING_MAX: u32 = nebula_requester::OUTSTANDING_MAX;

/// Most clients of a closed loop.
pub const CLIENTS_MAX: u32 = 1 << 20;

/// Most flows or keys of a load, whose shares are all computed before a run.
pub const POPULATION_MAX: u32 = 10_000_000;

/// Most cores of one run.
pub const CORES_TOTAL_MAX: u32 = 1 << 16;

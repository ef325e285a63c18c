//! What the memory model can be asked for in vain.

use nebula_nic::{ConfigError, Policy};
use nebula_workload::WorkloadError;

/// Why a simulation has no result. Each message is one line and says what to change.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// No channels or banks, or more than a run can hold.
    #[error(
        "{channels} channels of {banks} banks cannot be simulated: give 1 to {BANKS_MAX} of each",
        BANKS_MAX = super::model::BANKS_MAX
    )]
    Banks {
        /// Channels asked for.
        channels: u32,
        /// Banks of each.
        banks: u32,
    },
    /// A bank that takes no time, or ages.
    #[error("an access of {got_ns} ns is not possible: give 1 to 1000000 ns for row hits and row misses")]
    Access {
        /// Time asked for.
        got_ns: u64,
    },
    /// More hits than accesses.
    #[error("row hits of {numerator} in {denominator} are not possible: give a share of 0 to 1")]
    RowHits {
        /// Hits asked for.
        numerator: u32,
        /// Of so many.
        denominator: u32,
    },
    /// An RPC without a block, or too long.
    #[error("an RPC of {got} bytes cannot be simulated: give 1 to {}", super::model::RPC_BYTES_MAX)]
    RpcBytes {
        /// Bytes asked for.
        got: u32,
    },
    /// No time left to compute.
    #[error(
        "a service time of {service_ns} ns is not possible: give more than {waiting_ns} ns, which go to memory, up to 1 s"
    )]
    Service {
        /// Service time asked for.
        service_ns: u64,
        /// What of it is assumed to be waiting for memory.
        waiting_ns: u64,
    },
    /// Accesses that are too far apart.
    #[error("accesses {got_ns} ns apart cannot be simulated: give at most 1000000 ns")]
    StreamGap {
        /// Time asked for.
        got_ns: u64,
    },
    /// A probability that is none.
    #[error("an LLC hit probability of {got} is not possible: give 0 to 1")]
    LlcHit {
        /// Probability asked for.
        got: f64,
    },
    /// A load that is no share of the cores' capacity, or too far beyond it.
    #[error(
        "a load of {got} is not possible: give a share of the cores' capacity, more than 0 and at most {}",
        super::model::LOAD_MAX
    )]
    Load {
        /// Load asked for.
        got: f64,
    },
    /// Nothing to measure.
    #[error("{got} RPCs cannot be measured: give at least {RPCS_MIN}", RPCS_MIN = super::machine::RPCS_MIN)]
    Rpcs {
        /// RPCs asked for.
        got: u64,
    },
    /// The backlog outgrew what a run can hold.
    #[error(
        "more than {rpcs} RPCs waited: the load is more than {policy} can carry here; lower it, or measure fewer RPCs"
    )]
    Outgrown {
        /// RPCs that were waiting.
        rpcs: u32,
        /// The policy.
        policy: Policy,
    },
    /// Simulated time came to its end.
    #[error(
        "the run would last longer than {hours} simulated hours, which is as far as its clock goes: measure fewer RPCs"
    )]
    Endless {
        /// Length of the clock.
        hours: u64,
    },
    /// The NIC cannot be built so.
    #[error(transparent)]
    Nic(#[from] ConfigError),
    /// The arrivals cannot be had so.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
}

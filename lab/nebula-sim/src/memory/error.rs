//! Errors of the memory model.

use nebula_nic::{ConfigError, Policy};
use nebula_workload::WorkloadError;

/// Why a simulation has no result. Each message is one line and says what to change.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// There are no channels or banks, or too many.
    #[error(
        "{channels} channels of {banks} banks cannot be simulated: give 1 to {BANKS_MAX} of each",
        BANKS_MAX = super::bounds::BANKS_MAX
    )]
    Banks {
        /// Requested channels.
        channels: u32,
        /// Banks of each channel.
        banks: u32,
    },
    /// The time of an access is outside its range.
    #[error("an access of {got_ns} ns is not possible: give 1 to 1000000 ns for row hits and row misses")]
    Access {
        /// Requested time.
        got_ns: u64,
    },
    /// There are more row hits than accesses.
    #[error("row hits of {numerator} in {denominator} are not possible: give a share of 0 to 1")]
    RowHits {
        /// Requested hits.
        numerator: u32,
        /// Accesses.
        denominator: u32,
    },
    /// The RPC is empty or too long.
    #[error("an RPC of {got} bytes cannot be simulated: give 1 to {}", super::bounds::RPC_BYTES_MAX)]
    RpcBytes {
        /// Requested bytes.
        got: u32,
    },
    /// The service time leaves no time to compute.
    #[error(
        "a service time of {service_ns} ns is not possible: give more than {waiting_ns} ns, which go to memory, up to 1 s"
    )]
    Service {
        /// Requested service time.
        service_ns: u64,
        /// The part of it that is assumed to be waiting for memory.
        waiting_ns: u64,
    },
    /// The accesses of a copy are too far apart.
    #[error("accesses {got_ns} ns apart cannot be simulated: give at most 1000000 ns")]
    StreamGap {
        /// Requested time.
        got_ns: u64,
    },
    /// The probability is not in 0 to 1.
    #[error("an LLC hit probability of {got} is not possible: give 0 to 1")]
    LlcHit {
        /// Requested probability.
        got: f64,
    },
    /// The load is not a possible share of the cores' capacity.
    #[error(
        "a load of {got} is not possible: give a share of the cores' capacity, more than 0 and at most {}",
        super::bounds::LOAD_MAX
    )]
    Load {
        /// Requested load.
        got: f64,
    },
    /// There are too few RPCs to measure.
    #[error("{got} RPCs cannot be measured: give at least {RPCS_MIN}", RPCS_MIN = super::bounds::RPCS_MIN)]
    Rpcs {
        /// Requested RPCs.
        got: u64,
    },
    /// The backlog grew beyond what a run can hold.
    #[error(
        "more than {rpcs} RPCs waited: the load is more than {policy} can sustain here; lower it, or measure fewer RPCs"
    )]
    Outgrown {
        /// Waiting RPCs.
        rpcs: u32,
        /// The policy.
        policy: Policy,
    },
    /// The run does not fit the range of simulated time.
    #[error("the run would last longer than {hours} simulated hours, the range of its clock: measure fewer RPCs")]
    Endless {
        /// Range of the clock.
        hours: u64,
    },
    /// The NIC cannot be built with these settings.
    #[error(transparent)]
    Nic(#[from] ConfigError),
    /// The arrival process cannot be built with these settings.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
}

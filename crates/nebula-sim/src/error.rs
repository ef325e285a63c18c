//! What a simulation can be asked for in vain.

use nebula_nic::schedule::{ManagerConfigError, ThresholdsError};
use nebula_nic::{ConfigError, GroupConfigError, Policy, RequesterConfigError};
use nebula_workload::WorkloadError;

/// Why there is no result. Each is one line that says what would be right.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// A TOML file that is no system, or lacks something.
    #[error("this is not a system: {reason}")]
    Toml {
        /// Line and reason.
        reason: String,
    },
    /// A load that is no share of the cores' capacity.
    #[error(
        "a load of {got} is not possible: give the share of the cores' capacity that is offered, more than 0 and at most {LOAD_MAX}"
    )]
    Load {
        /// Load asked for.
        got: f64,
    },
    /// Without a bound the queue grows without end.
    #[error("a load of {got} with an unbounded queue has no steady state: give a load less than 1, or a --queue-bound")]
    Unstable {
        /// Load asked for.
        got: f64,
    },
    /// The queue outgrew what a run can hold.
    #[error(
        "the queue grew past {rpcs} RPCs: the load is more than {policy} with these costs can carry; lower it, or give a --queue-bound"
    )]
    Outgrown {
        /// RPCs that were waiting.
        rpcs: u32,
        /// The policy.
        policy: String,
    },
    /// No servers, or too many cores.
    #[error(
        "{servers} servers of {cores} cores cannot be simulated: give at least 1 server and at most {} cores in all",
        crate::system::CORES_TOTAL_MAX
    )]
    Servers {
        /// Servers asked for.
        servers: u16,
        /// Cores of each.
        cores: u16,
    },
    /// Nobody is left to serve.
    #[error("{dedicated} of {cores} cores only schedule, which leaves none to serve: give more cores")]
    NoWorkers {
        /// Cores asked for.
        cores: u16,
        /// Those that only schedule.
        dedicated: u16,
    },
    /// Cores that cannot be parted evenly.
    #[error("{cores} cores are not servers of {each} cores each: give a multiple of {each}")]
    Parts {
        /// Cores asked for.
        cores: u16,
        /// Cores of each server.
        each: u16,
    },
    /// A lock where there is none.
    #[error("a lock hand-off costs nothing under {policy}: it belongs to the policies mcs-lock and work-stealing")]
    LockWithout {
        /// Policy asked for.
        policy: Policy,
    },
    /// A cost of something that the policy has not.
    #[error("{policy} has no {cost}: leave its cost out, or give another policy")]
    CostWithout {
        /// What costs.
        cost: &'static str,
        /// Policy asked for.
        policy: Policy,
    },
    /// A way to take RPCs from cores that does not hold together.
    #[error("preemption: {reason}")]
    Preemption {
        /// What is wrong, and what would be right.
        reason: &'static str,
    },
    /// More types than queues.
    #[error("{types} types of RPCs cannot be told apart: give 1 to {}", nebula_nic::schedule::TYPES_MAX)]
    Types {
        /// Types of the mix.
        types: usize,
    },
    /// A router that gives nothing, or has too many servers.
    #[error(
        "a router with a bound of {bound} before {servers} servers is not possible: give a bound from 1 to {}, and at most {} servers",
        nebula_nic::JBSQ_BOUND_MAX,
        nebula_nic::CORES_MAX
    )]
    Router {
        /// RPCs at a server at most.
        bound: u16,
        /// Servers behind it.
        servers: u16,
    },
    /// A batch of none, or of more than a queue holds.
    #[error("a batch of {max} RPCs is not possible: give 1 to {}", nebula_nic::STEALABLE_BOUND)]
    Batch {
        /// RPCs asked for.
        max: u16,
    },
    /// More groups than cores to serve in them.
    #[error("{groups} groups of {workers} workers in all cannot be simulated: give each group one at least")]
    Groups {
        /// Groups asked for.
        groups: u16,
        /// Cores that serve.
        workers: u16,
    },
    /// Messages that managers would wait for too long.
    #[error(
        "messages of {message_ns} ns between managers are too slow for a period of {period_ns} ns: give at most 1024 periods"
    )]
    SlowMessages {
        /// From one manager to another.
        message_ns: f64,
        /// From one decision to the next.
        period_ns: f64,
    },
    /// A service that takes no time, or longer than a run can last.
    #[error("a mean service time of {mean_ns} ns cannot be simulated: give 1 ns to 1 s")]
    Service {
        /// Mean of the distribution.
        mean_ns: f64,
    },
    /// Nothing to measure.
    #[error("{got} RPCs cannot be measured: give 1000 to 1e12 a replication")]
    Rpcs {
        /// RPCs asked for.
        got: u64,
    },
    /// No interval without replications.
    #[error("{got} replications give no interval: give 2 to 10000")]
    Replications {
        /// Replications asked for.
        got: u32,
    },
    /// No clients, or too many.
    #[error("{got} clients cannot be simulated: give 1 to {}", crate::load::CLIENTS_MAX)]
    Clients {
        /// Clients asked for.
        got: u32,
    },
    /// Simulated time came to its end.
    #[error(
        "the run would last longer than {seconds} simulated seconds, which is as far as its clock goes: measure fewer RPCs or shorter ones"
    )]
    Endless {
        /// Length of the clock.
        seconds: u64,
    },
    /// Threads that the system does not give.
    #[error("cannot start threads: {reason}")]
    Threads {
        /// The system's reason.
        reason: String,
    },
    /// A precision that no run reaches.
    #[error("a precision of {got} is not possible: give a share such as 1% or 0.005")]
    Precision {
        /// Precision asked for.
        got: f64,
    },
    /// An SLO that the service alone misses, or none.
    #[error("an SLO of {slo_ns} ns cannot be searched for: at the lowest load the p99 is {p99_ns} ns already")]
    Slo {
        /// SLO asked for.
        slo_ns: f64,
        /// The p99 that was found.
        p99_ns: f64,
    },
    /// A slowdown that the lowest load has already.
    #[error(
        "a slowdown of {times} cannot be searched for: at the lowest load the p99.9 is more already, or the service times are no mix"
    )]
    Slowdown {
        /// Slowdown asked for.
        times: f64,
    },
    /// The NIC cannot be built so.
    #[error(transparent)]
    Nic(#[from] ConfigError),
    /// A group cannot be built so.
    #[error(transparent)]
    Group(#[from] GroupConfigError),
    /// A table of thresholds that does not ship.
    #[error("there are no thresholds {name:?}: there are {}", crate::altocumulus::ThresholdTable::names().collect::<Vec<_>>().join(", "))]
    NoThresholds {
        /// What was asked for.
        name: String,
    },
    /// Rows that make no table of thresholds.
    #[error(transparent)]
    Thresholds(#[from] ThresholdsError),
    /// A manager cannot be built so.
    #[error(transparent)]
    Manager(#[from] ManagerConfigError),
    /// The clients cannot be built so.
    #[error(transparent)]
    Requester(#[from] RequesterConfigError),
    /// The workload is none.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
}

/// The highest load that may be offered, in capacities of the cores.
pub const LOAD_MAX: f64 = 100.0;

impl SimError {
    /// A file that cannot be read, on one line.
    pub(crate) fn toml(text: &str, error: &toml::de::Error) -> Self {
        Self::Toml { reason: toml_reason(text, error) }
    }
}

/// What is wrong with a TOML file, and in which line.
pub(crate) fn toml_reason(text: &str, error: &toml::de::Error) -> String {
    let words = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
    let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    line.map_or(words.clone(), |line| format!("line {line}: {words}"))
}

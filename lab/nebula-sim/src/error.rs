//! Errors of a simulation.

use nebula_nic::schedule::{ManagerConfigError, ThresholdsError};
use nebula_nic::{ConfigError, GroupConfigError, HostWatchConfigError, Policy};
use nebula_requester::RequesterConfigError;
use nebula_workload::WorkloadError;
use nebula_workload::from_toml::toml_reason;

/// Why a simulation has no result. Each message is one line and says what to change.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// Fair shares have no effect without a bound on the queue.
    #[error("fair shares need a bound on the queue of 1 or more: without one nothing is refused")]
    SharesWithoutBound,
    /// The TOML file is not a valid system.
    #[error("this is not a system: {reason}")]
    Toml {
        /// The line and the reason.
        reason: String,
    },
    /// The TOML file does not describe tiers.
    #[error("these are no tiers: {reason}")]
    Tiers {
        /// The line and the reason.
        reason: String,
    },
    /// These senders, their messages or their network cannot be simulated.
    #[error("no such incast can be simulated: {reason}")]
    Incast {
        /// The reason, and what to change.
        reason: String,
    },
    /// The TOML file does not describe tenants.
    #[error("these are no tenants: {reason}")]
    Tenants {
        /// The line and the reason.
        reason: String,
    },
    /// The load is not a possible share of the cores' capacity.
    #[error(
        "a load of {got} is not possible: give the share of the cores' capacity that is offered, more than 0 and at most {LOAD_MAX}"
    )]
    Load {
        /// Requested load.
        got: f64,
    },
    /// The load is at or above capacity and the queue is unbounded.
    #[error("a load of {got} with an unbounded queue has no steady state: give a load less than 1, or a --queue-bound")]
    Unstable {
        /// Requested load.
        got: f64,
    },
    /// The queue grew beyond what a run can hold.
    #[error(
        "the queue grew past {rpcs} RPCs: the load is more than {policy} can sustain with these costs; lower it, or give a --queue-bound"
    )]
    Outgrown {
        /// Waiting RPCs.
        rpcs: u32,
        /// The policy.
        policy: String,
    },
    /// There are no servers, or too many cores.
    #[error(
        "{servers} servers of {cores} cores cannot be simulated: give at least 1 server and at most {} cores in all",
        crate::bounds::CORES_TOTAL_MAX
    )]
    Servers {
        /// Requested servers.
        servers: u16,
        /// Cores of each server.
        cores: u16,
    },
    /// No core is left to serve RPCs.
    #[error("{dedicated} of {cores} cores only schedule, which leaves none to serve: give more cores")]
    NoWorkers {
        /// Requested cores.
        cores: u16,
        /// Cores that only schedule.
        dedicated: u16,
    },
    /// The cores cannot be divided evenly among the servers.
    #[error("{cores} cores cannot be divided into servers of {each} cores each: give a multiple of {each}")]
    Parts {
        /// Requested cores.
        cores: u16,
        /// Cores of each server.
        each: u16,
    },
    /// The policy has no lock, so a lock hand-off cannot have a cost.
    #[error("a lock hand-off costs nothing under {policy}: it belongs to the policies mcs-lock and work-stealing")]
    LockWithout {
        /// Requested policy.
        policy: Policy,
    },
    /// The policy queues every RPC, and the bound on its queue is 0.
    #[error("{policy} queues every RPC before a core takes it: give a queue bound of 1 or more")]
    NoQueue {
        /// Requested policy.
        policy: Policy,
    },
    /// The policy does not have the mechanism that the cost is for.
    #[error("{policy} has no {cost}: leave its cost out, or give another policy")]
    CostWithout {
        /// The mechanism.
        cost: &'static str,
        /// Requested policy.
        policy: Policy,
    },
    /// There is no scheduler in software that would look at each core.
    #[error(
        "under {policy} nothing looks at each core for every RPC: give a --decision-time as well, or the policy work-stealing"
    )]
    PerCoreWithout {
        /// Requested policy.
        policy: Policy,
    },
    /// The settings of preemption contradict each other.
    #[error("preemption: {reason}")]
    Preemption {
        /// The reason, and what to change.
        reason: &'static str,
    },
    /// The settings of a host interface contradict each other or the system.
    #[error("the host interface: {reason}")]
    Host {
        /// The reason, and what to change.
        reason: &'static str,
    },
    /// The switch between invalidations and polling cannot be built with these settings.
    #[error("the host interface: {0}")]
    HostWatch(#[from] HostWatchConfigError),
    /// There are more types of RPCs than queues.
    #[error("{types} types of RPCs cannot be told apart: give 1 to {}", nebula_nic::schedule::TYPES_MAX)]
    Types {
        /// Types in the mix.
        types: usize,
    },
    /// The router's bound is not possible, or it has too many servers.
    #[error(
        "a router with a bound of {bound} before {servers} servers is not possible: give a bound from 1 to {}, and at most {} servers",
        nebula_nic::JBSQ_BOUND_MAX,
        nebula_nic::CORES_MAX
    )]
    Router {
        /// Most RPCs at a server.
        bound: u16,
        /// Servers behind the router.
        servers: u16,
    },
    /// A router that does not hold RPCs back keeps too few at a server for its cores.
    #[error(
        "a router that chooses at arrival keeps {} RPCs at a server, few for {workers} cores: give a server at most {} cores, and leave the bound at {}",
        nebula_nic::STEALABLE_BOUND,
        nebula_nic::STEALABLE_BOUND / 2,
        nebula_nic::STEALABLE_BOUND
    )]
    RouterOfLarge {
        /// Cores of a server that serve.
        workers: u16,
    },
    /// Clients cannot choose a server where a router does.
    #[error("behind a balancer clients cannot choose another server: let them drop or retry")]
    AnotherBehindRouter,
    /// Calls with parts, copies, deadlines or tiers are not possible this way.
    #[error("calls: {reason}")]
    Calls {
        /// The reason, and what to change.
        reason: &'static str,
    },
    /// The text does not say when a second copy is sent.
    #[error(
        "expected p50 to p99.9, such as p95 or p95/3% for at most 3 % of the calls, a time such as 20us, or tied: before it, not {text:?}"
    )]
    HedgeText {
        /// The text.
        text: String,
    },
    /// The batch is empty, or larger than a queue.
    #[error("a batch of {max} RPCs is not possible: give 1 to {}", nebula_nic::STEALABLE_BOUND)]
    Batch {
        /// Requested RPCs.
        max: u16,
    },
    /// There are more groups than workers.
    #[error("{groups} groups with {workers} workers in total cannot be simulated: give each group at least one worker")]
    Groups {
        /// Requested groups.
        groups: u16,
        /// Cores that serve RPCs.
        workers: u16,
    },
    /// Messages between managers take too many periods.
    #[error(
        "messages of {message_ns} ns between managers are too slow for a period of {period_ns} ns: give at most 1024 periods"
    )]
    SlowMessages {
        /// Latency from one manager to another.
        message_ns: f64,
        /// Time from one decision to the next.
        period_ns: f64,
    },
    /// The mean service time is zero, or too long for a run.
    #[error("a mean service time of {mean_ns} ns cannot be simulated: give 1 ns to 1 s")]
    Service {
        /// Mean of the distribution.
        mean_ns: f64,
    },
    /// There are too few RPCs to measure, or too many.
    #[error("{got} RPCs cannot be measured: give 1000 to 1e12 per replication")]
    Rpcs {
        /// Requested RPCs.
        got: u64,
    },
    /// The number of replications gives no interval.
    #[error("{got} replications give no interval: give 2 to 10000")]
    Replications {
        /// Requested replications.
        got: u32,
    },
    /// There are no clients, or too many.
    #[error("{got} clients cannot be simulated: give 1 to {}", crate::bounds::CLIENTS_MAX)]
    Clients {
        /// Requested clients.
        got: u32,
    },
    /// There are no flows or keys, or too many.
    #[error("{got} flows or keys cannot be simulated: give 1 to {}", crate::bounds::POPULATION_MAX)]
    Population {
        /// Requested number.
        got: u32,
    },
    /// The text does not say how RPCs are spread over flows or keys.
    #[error("expected a number such as 64, or zipf:0.99, or zipf:0.99,10000 for that many, not {text:?}")]
    PopulationText {
        /// The text.
        text: String,
    },
    /// The flows are the clients, which an open loop does not have.
    #[error("an open loop has no clients that could be flows: give a number of flows, or a closed loop (--clients)")]
    FlowsOfNoClients,
    /// One core is given more than it can serve, and the queue is unbounded.
    #[error(
        "under {policy} the hottest core is given {times:.2} times its share of the RPCs: a load of {load} with an unbounded queue has no steady state; lower it below {most:.4}, or give a --queue-bound"
    )]
    HotCore {
        /// The policy.
        policy: Policy,
        /// The core's share of the RPCs, times the number of cores.
        times: f64,
        /// Requested load.
        load: f64,
        /// The load at which the core saturates.
        most: f64,
    },
    /// The clients of a closed loop have no RPC outstanding, or too many.
    #[error(
        "{clients} clients cannot have {got} RPCs outstanding each: give 1 or more, and at most {} in all",
        crate::bounds::OUTSTANDING_MAX
    )]
    Outstanding {
        /// Requested RPCs of each client.
        got: u32,
        /// Clients.
        clients: u32,
    },
    /// The text does not give speeds of cores.
    #[error("expected speeds such as 1,1,0.5 or 4x1,12x0.5, each from 0.001 to 1000, not {text:?}")]
    SpeedsText {
        /// The text.
        text: String,
    },
    /// There are more weights or zones than servers that callers choose from.
    #[error("weights or zones of {given} servers, and there are {servers} that callers choose from")]
    Standings {
        /// Given weights or zones.
        given: usize,
        /// Servers that callers choose from.
        servers: u16,
    },
    /// There are speeds for another number of cores.
    #[error("{speeds} speeds for {workers} cores: give a speed for each core that serves, such as {workers}x1")]
    Speeds {
        /// Given speeds.
        speeds: usize,
        /// Cores that serve.
        workers: u16,
    },
    /// The text does not say how a load changes.
    #[error(
        "expected steps such as 0.5/2ms,1.5/100us, or a wave such as wave:0.2..0.9/10ms, with loads from 0 to {LOAD_MAX}, not {text:?}"
    )]
    ProfileText {
        /// The text.
        text: String,
    },
    /// A closed loop has no load that could change.
    #[error("the load of a closed loop follows from its clients: give an open loop, or leave out the change over time")]
    ClosedOverTime,
    /// The run does not fit the range of simulated time.
    #[error(
        "the run would last longer than {seconds} simulated seconds, the range of its clock: measure fewer or shorter RPCs"
    )]
    Endless {
        /// Range of the clock.
        seconds: u64,
    },
    /// The operating system refused to start threads.
    #[error("cannot start threads: {reason}")]
    Threads {
        /// The operating system's reason.
        reason: String,
    },
    /// The precision is not a possible share.
    #[error("a precision of {got} is not possible: give a share such as 1% or 0.005")]
    Precision {
        /// Requested precision.
        got: f64,
    },
    /// The lowest load misses the SLO.
    #[error("an SLO of {slo_ns} ns cannot be met: at the lowest load the p99 is already {p99_ns} ns")]
    Slo {
        /// Requested SLO.
        slo_ns: f64,
        /// The p99 at the lowest load.
        p99_ns: f64,
    },
    /// The RPCs are too few to judge even the lowest load of a search.
    #[error(
        "even a load of {load} does not settle in so few RPCs, so that no load can be said to meet the SLO: give more RPCs or replications"
    )]
    Unsettled {
        /// The lowest load.
        load: f64,
    },
    /// The policy decides more than once for an RPC, or there is a router, host interface or tier.
    #[error(
        "a trace is of policies that decide once, without router, host interface or tiers: not of {policy} as it is set up"
    )]
    Trace {
        /// The policy.
        policy: String,
    },
    /// The lowest load exceeds the slowdown.
    #[error(
        "a slowdown of {times} cannot be met: the p99.9 exceeds it at the lowest load, or the service times are not a mix"
    )]
    Slowdown {
        /// Requested slowdown.
        times: f64,
    },
    /// The groups of flows do not fit the number of flows, or of groups.
    #[error(
        "{placed} flows with groups of {groups} do not fit {}: give each flow of `flows` a group below the number of groups",
        flows.map_or("RPCs that are each a flow".to_owned(), |flows| format!("{flows} flows"))
    )]
    GroupsOfFlows {
        /// Flows that have a group.
        placed: usize,
        /// All flows, if their number is limited.
        flows: Option<u16>,
        /// All groups.
        groups: u16,
    },
    /// The NIC cannot be built with these settings.
    #[error(transparent)]
    Nic(#[from] ConfigError),
    /// A group cannot be built with these settings.
    #[error(transparent)]
    Group(#[from] GroupConfigError),
    /// There is no shipped table of thresholds of this name.
    #[error("unknown thresholds {name:?}: give one of {}", nebula_workload::thresholds::ThresholdFile::names().collect::<Vec<_>>().join(", "))]
    NoThresholds {
        /// Requested name.
        name: String,
    },
    /// The rows are not a valid table of thresholds.
    #[error(transparent)]
    Thresholds(#[from] ThresholdsError),
    /// A manager cannot be built with these settings.
    #[error(transparent)]
    Manager(#[from] ManagerConfigError),
    /// The clients cannot be built with these settings.
    #[error(transparent)]
    Requester(#[from] RequesterConfigError),
    /// The workload is invalid.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
}

/// The highest load that may be offered, as a multiple of the cores' capacity.
pub const LOAD_MAX: f64 = 100.0;

impl From<SimError> for nebula_ui::Failure {
    fn from(error: SimError) -> Self {
        use SimError as E;
        match error {
            E::Outgrown { .. } | E::HotCore { .. } | E::Endless { .. } | E::Threads { .. } => Self::fault(error),
            _ => Self::bad_input(error),
        }
    }
}

impl SimError {
    pub(crate) fn toml(text: &str, error: &toml::de::Error) -> Self {
        Self::Toml { reason: toml_reason(text, error) }
    }
}

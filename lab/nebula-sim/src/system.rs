//! The system at the queueing level: servers, policy, costs of mechanisms, clients' reactions.

pub(crate) mod options;
pub(crate) mod altocumulus;
pub(crate) mod calls;
pub(crate) mod growth;
pub(crate) mod host;
pub(crate) mod preemption;
pub(crate) mod router;
pub(crate) mod speeds;

pub use crate::bounds::CORES_TOTAL_MAX;
pub use altocumulus::Altocumulus;
pub use calls::{Calls, Hedge, HedgeAfter, Tier};
pub use host::{Host, Interface, Watch};
pub use preemption::Preemption;
pub use router::{Balance, Router};
pub use speeds::Speeds;

use crate::error::SimError;
use derive_setters::Setters;
use nebula_nic::schedule::{ManagerConfig, Thresholds};
use nebula_nic::{
    BackendConfig, CentralDispatch, CustomPolicy, Dispatcher, GroupId, Policy, SOURCE_BITS_MAX, Sources, Span,
};
use nebula_requester::{RetryPolicy, Standing};
use nebula_workload::from_toml::span;
use serde::Deserialize;

/// Servers that share one load, and how they give RPCs to cores.
///
/// Most fields have a setter of the same name, which takes the value of an optional field.
///
/// # Examples
///
/// ```
/// use nebula_nic::Policy;
/// use nebula_sim::System;
///
/// let system = System::new(Policy::Jbsq(2), 64).queue_bound(540);
/// assert_eq!(system.cores_total(), 64);
/// ```
#[derive(Clone, Debug, PartialEq, Setters)]
#[setters(strip_option)]
pub struct System {
    /// The dispatch policy: which core serves which RPC.
    pub policy: Policy,
    /// A custom policy of the caller; if set, `policy` is the default one and is not used.
    #[setters(skip)]
    pub custom: Option<CustomPolicy>,
    /// Cores of one server, including those that only schedule.
    pub cores: u16,
    /// Cores of one server that only schedule: dispatchers, managers.
    pub dedicated: u16,
    /// Servers; each RPC goes to a random one.
    pub servers: u16,
    /// An RPC that finds this many RPCs waiting at its server is NACKed; unbounded if not set. With
    /// 0 nothing waits at the NIC: an RPC is NACKed unless a core has credit for it. Policies with
    /// a queue per core divide the bound among the cores, as the runtime's admission control does.
    pub queue_bound: Option<u32>,
    /// Whether the flows with most of the room are NACKed first when it is short, as in the
    /// runtime. Needs a bound on the queue and a NIC that gives RPCs to cores.
    pub fair_shares: bool,
    /// The client's reaction to a NACK.
    pub reaction: RetryPolicy,
    /// The costs of the mechanisms.
    pub costs: Costs,
    /// A router that chooses the servers, instead of a random choice; under central policies.
    pub router: Option<Router>,
    /// Batching: a core takes several RPCs at once, under `rss` and `random`.
    pub batch: Option<Batch>,
    /// Settings of `altocumulus:G`; by default [`Altocumulus::naive`] with an SLO of 10 services.
    pub altocumulus: Option<Altocumulus>,
    /// How RPCs are preempted, under `preemptive:Q`.
    pub preemption: Preemption,
    /// The interface between cores and NIC, under policies that choose a core at arrival.
    #[setters(skip)]
    pub host: Option<Host>,
    /// The speeds of the cores of each server that serve RPCs; all 1 if not set.
    pub speeds: Option<Speeds>,
    /// How callers call the servers; if not set, one call has one copy and no deadline.
    pub calls: Option<Calls>,
    /// The weight and zone of each server, if there are [`calls`](Self::calls); all alike if empty.
    pub standings: Vec<Standing>,
    /// The tiers behind these servers, in order.
    #[setters(skip)]
    pub behind: Vec<Tier>,
}

/// Batching: a core takes the RPCs that wait in its queue, serves them all, and then sends their
/// replies together. It never waits for a batch to fill, as in IX's adaptive batching.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// Most RPCs in a batch, up to [`STEALABLE_BOUND`](nebula_nic::STEALABLE_BOUND).
    pub max: u16,
    /// Core time per batch, independent of its size.
    #[serde(deserialize_with = "span")]
    pub cost: Span,
}

/// The costs of the mechanisms between NIC and core, in addition to the service time. All are zero
/// by default: the ideal system of queueing theory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Costs {
    /// Latency from the dispatch of an RPC until its core can begin it. With credit for more than
    /// one RPC a core hides it.
    #[serde(deserialize_with = "span")]
    pub dispatch: Span,
    /// Latency from the end of an RPC until the NIC knows it.
    #[serde(deserialize_with = "span")]
    pub notify: Span,
    /// Core time per RPC in addition to its service: polling, protocol, and fetching what the
    /// dispatcher has written.
    #[serde(deserialize_with = "span")]
    pub receive: Span,
    /// How long the one dispatcher of a server is busy with each RPC; zero for a NIC, more for
    /// software.
    #[serde(deserialize_with = "span")]
    pub decision: Span,
    /// How long one core holds the lock of `mcs-lock`, or that of a queue of `work-stealing`,
    /// including the hand-off. Each RPC needs the lock once, and only one core holds it at a time.
    #[serde(deserialize_with = "span")]
    pub lock_handoff: Span,
    /// Core time that a thief spends on a steal under `work-stealing`: finding the queue, and
    /// fetching the RPC from its home core's cache.
    #[serde(deserialize_with = "span")]
    pub steal: Span,
    /// Core time that a steal costs the core it steals from, if that core is serving.
    #[serde(deserialize_with = "span")]
    pub interrupt: Span,
    /// Latency from the arrival of an RPC at a busy core's queue until an idle core notices it.
    #[serde(deserialize_with = "span")]
    pub discover: Span,
    /// Latency of one hop of the mesh between cores: [`at_size`](System::at_size) says what takes
    /// how many.
    #[serde(deserialize_with = "span")]
    pub hop: Span,
    /// Time that a dispatcher in software (`decision`), or a thief, spends on the cache line of
    /// each core for every RPC.
    #[serde(deserialize_with = "span")]
    pub per_core: Span,
}

impl Costs {
    /// Every cost is zero.
    pub const ZERO: Self = Self {
        dispatch: Span::ZERO,
        notify: Span::ZERO,
        receive: Span::ZERO,
        decision: Span::ZERO,
        lock_handoff: Span::ZERO,
        steal: Span::ZERO,
        interrupt: Span::ZERO,
        discover: Span::ZERO,
        hop: Span::ZERO,
        per_core: Span::ZERO,
    };

    /// Whether an RPC occupies its core for longer than its service.
    #[inline]
    pub(crate) fn is_at_core(&self) -> bool {
        self.receive != Span::ZERO || self.lock_handoff != Span::ZERO
    }
}

impl System {
    /// One server of `cores` cores with an unbounded queue and mechanisms without cost.
    #[must_use]
    pub const fn new(policy: Policy, cores: u16) -> Self {
        Self {
            policy,
            custom: None,
            cores,
            dedicated: 0,
            servers: 1,
            queue_bound: None,
            fair_shares: false,
            reaction: RetryPolicy::GiveUp,
            costs: Costs::ZERO,
            router: None,
            batch: None,
            altocumulus: None,
            preemption: Preemption::IDEAL,
            host: None,
            speeds: None,
            calls: None,
            standings: Vec::new(),
            behind: Vec::new(),
        }
    }

    /// Sets a custom dispatch policy. Everything that runs a system accepts it like a built-in
    /// policy, but without mechanisms of particular built-in ones: batches, managers, preemption, a
    /// lock.
    #[must_use]
    pub fn policy_with(mut self, policy: CustomPolicy) -> Self {
        (self.policy, self.custom) = (Policy::default(), Some(policy));
        self
    }

    /// Cores of all servers together.
    #[must_use]
    pub fn cores_total(&self) -> u32 {
        u32::from(self.cores) * u32::from(self.servers)
    }

    /// The speed of all cores together, of which a load is a share: their number if all are equal.
    #[must_use]
    pub fn capacity(&self) -> f64 {
        let of_server = |speeds: &Speeds| speeds.sum() + f64::from(self.dedicated);
        self.speeds.as_ref().map_or(self.cores_total().into(), |speeds| of_server(speeds) * f64::from(self.servers))
    }

    pub(crate) fn workers_total(&self) -> usize {
        usize::from(self.workers()) * usize::from(self.servers)
    }

    /// Cores of one server that serve RPCs.
    #[must_use]
    pub const fn workers(&self) -> u16 {
        self.cores.saturating_sub(self.dedicated)
    }

    /// Checks that it can be simulated.
    ///
    /// # Errors
    ///
    /// [`SimError`] that says what is wrong.
    pub fn validate(&self) -> Result<(), SimError> {
        if self.servers == 0 || self.cores_total() > CORES_TOTAL_MAX {
            return Err(SimError::Servers { servers: self.servers, cores: self.cores });
        }
        if self.dedicated > 0 && self.workers() == 0 {
            return Err(SimError::NoWorkers { cores: self.cores, dedicated: self.dedicated });
        }
        self.validate_host()?;
        self.validate_costs()?;
        self.validate_groups()?;
        self.validate_speeds()?;
        self.validate_calls()?;
        if self.queue_bound == Some(0) && self.always_queues() {
            return Err(SimError::NoQueue { policy: self.policy });
        }
        self.validate_shares()?;
        self.backend(SLOTS_FIRST, 0).map(|_| ())
    }

    /// Other systems do not look at the flow when they refuse an RPC.
    fn validate_shares(&self) -> Result<(), SimError> {
        let policy = self.policy;
        match self.queue_bound {
            _ if !self.fair_shares => Ok(()),
            None | Some(0) => Err(SimError::SharesWithoutBound),
            Some(_) if self.always_queues() || self.host.is_some() || self.router.is_some() => {
                Err(SimError::CostWithout { cost: "fair shares of flows", policy })
            }
            Some(_) => Ok(()),
        }
    }

    /// A cost of a batch, or of a mechanism that the policy lacks, would be ignored silently.
    fn validate_costs(&self) -> Result<(), SimError> {
        let Costs { dispatch, notify, decision, lock_handoff, steal, interrupt, discover, .. } = self.costs;
        let policy = self.policy;
        let is_stealing = policy == Policy::WorkStealing;
        if lock_handoff != Span::ZERO && policy != Policy::McsLock && !is_stealing {
            return Err(SimError::LockWithout { policy });
        }
        if steal + interrupt + discover != Span::ZERO && !is_stealing {
            return Err(SimError::CostWithout { cost: "stealing", policy });
        }
        if self.has_queues() && dispatch + notify + decision != Span::ZERO {
            return Err(SimError::CostWithout { cost: "dispatch by the NIC", policy });
        }
        self.validate_growth()?;
        self.preemption.validate()?;
        if self.preemption != Preemption::IDEAL && !matches!(policy, Policy::Preemptive(_)) {
            return Err(SimError::CostWithout { cost: "preemption", policy });
        }
        self.validate_router()?;
        match self.batch {
            Some(Batch { max, .. }) if !(1..=nebula_nic::STEALABLE_BOUND).contains(&max.into()) => {
                Err(SimError::Batch { max })
            }
            Some(_) if !matches!(policy, Policy::Rss | Policy::Random) => {
                Err(SimError::CostWithout { cost: "batching", policy })
            }
            _ => Ok(()),
        }
    }

    fn validate_speeds(&self) -> Result<(), SimError> {
        let policy = self.policy;
        match &self.speeds {
            Some(_) if matches!(policy, Policy::Preemptive(_) | Policy::Darc) => {
                Err(SimError::CostWithout { cost: "cores of different speeds", policy })
            }
            Some(speeds) if speeds.cores() != usize::from(self.workers()) => {
                Err(SimError::Speeds { speeds: speeds.cores(), workers: self.workers() })
            }
            _ => Ok(()),
        }
    }

    fn validate_groups(&self) -> Result<(), SimError> {
        let Policy::Altocumulus(groups) = self.policy else {
            let policy = self.policy;
            return self
                .altocumulus
                .as_ref()
                .map_or(Ok(()), |_| Err(SimError::CostWithout { cost: "managers", policy }));
        };
        if groups.get() > self.workers() {
            return Err(SimError::Groups { groups: groups.get(), workers: self.workers() });
        }
        let options = self.managers();
        if options.message.as_ps() / PERIODS_UNDER_WAY_MAX > options.period.as_ps() {
            let (message_ns, period_ns) = (options.message.as_ns_f64(), options.period.as_ns_f64());
            return Err(SimError::SlowMessages { message_ns, period_ns });
        }
        if !(1..=nebula_nic::JBSQ_BOUND_MAX).contains(&options.bound) {
            return Err(nebula_nic::ConfigError::JbsqBound { got: options.bound }.into());
        }
        if let Some(placed) = &options.groups_of_flows
            && (options.flows.is_none_or(|flows| usize::from(flows) != placed.len())
                || placed.iter().any(|&group| group >= groups.get()))
        {
            return Err(SimError::GroupsOfFlows { placed: placed.len(), flows: options.flows, groups: groups.get() });
        }
        let manager = ManagerConfig::new(GroupId(0), groups.get(), 1, Span::from_us(1), Thresholds::fixed(0));
        Ok(manager.period(options.period).bulk(options.bulk, options.concurrency).validate()?)
    }

    pub(crate) fn managers(&self) -> Altocumulus {
        let workers = self.workers().div_ceil(self.groups());
        self.altocumulus.clone().unwrap_or_else(|| Altocumulus::naive(workers, 10))
    }

    pub(crate) fn groups(&self) -> u16 {
        if let Policy::Altocumulus(groups) = self.policy { groups.get() } else { 1 }
    }

    /// Workers of one group; groups differ by at most one worker.
    pub(crate) fn workers_of_group(&self, group: u16) -> u16 {
        self.workers() / self.groups() + u16::from(group < self.workers() % self.groups())
    }

    /// Slots of one group of a server that has room for this many RPCs.
    pub(crate) fn slots_of_group(&self, slots: u32) -> u32 {
        (slots / u32::from(self.groups())).max(SLOTS_FIRST / 8)
    }

    pub(crate) fn dispatcher(&self, cores: u16, seed: u64) -> Dispatcher {
        match &self.custom {
            Some(custom) => custom.dispatcher(cores, seed),
            None => self.policy.dispatcher(cores, seed),
        }
    }

    pub(crate) fn policy_name(&self) -> String {
        self.custom.as_ref().map_or_else(|| self.policy.to_string(), ToString::to_string)
    }

    /// Whether each core has a queue in software.
    pub(crate) fn has_queues(&self) -> bool {
        self.policy == Policy::WorkStealing || self.batch.is_some()
    }

    /// Whether RPCs queue by type or group before a core is chosen: a bound of 0 refuses all.
    fn always_queues(&self) -> bool {
        self.has_queues() || matches!(self.policy, Policy::Preemptive(_) | Policy::Darc | Policy::Altocumulus(_))
    }

    /// The NIC of one server with room for at least `slots` RPCs, waiting or being served.
    pub(crate) fn backend(&self, slots: u32, seed: u64) -> Result<BackendConfig, SimError> {
        // An RPC is one packet in one slot here: only the number of RPCs matters at this level.
        let config = BackendConfig::new(self.workers(), self.policy)
            .slots(slots)
            .rpc_bytes_max(64)
            .reassembler_entries(1)
            .queue_bound(self.queue_bound.filter(|&bound| bound > 0).unwrap_or(u32::MAX))
            .sources(if self.fair_shares { Sources { shift: 0, bits: SOURCE_BITS_MAX } } else { Sources::ONE })
            .seed(seed);
        config.validate()?;
        Ok(config)
    }

    /// Most RPCs that the cores of one server hold: dispatched, so no longer waiting at the NIC.
    #[must_use]
    pub fn held_at_cores(&self) -> u32 {
        u32::from(self.workers()) * self.per_core()
    }

    /// Most RPCs dispatched to one core.
    pub(crate) fn per_core(&self) -> u32 {
        if self.has_queues() {
            return nebula_nic::STEALABLE_BOUND;
        }
        if let Some(host) = &self.host {
            return host.ring.into();
        }
        if let Some(options) = &self.altocumulus {
            return options.bound;
        }
        if let Policy::Preemptive(_) = self.policy {
            return self.preemption.depth;
        }
        self.dispatcher(1, 0).bound()
    }

    /// Initial slots: what the bound admits, plus what the cores hold, plus holes behind slow RPCs.
    pub(crate) fn slots_first(&self) -> u32 {
        let waiting = self.queue_bound.unwrap_or(0).min(SLOTS_LAST / 4);
        (2 * (self.held_at_cores() + waiting)).next_power_of_two().clamp(SLOTS_FIRST, SLOTS_LAST)
    }
}

/// Most periods that a message between managers may take.
const PERIODS_UNDER_WAY_MAX: u64 = 1024;

/// Initial slots if the queue is unbounded: they fit a core's cache. A run may restart with more.
const SLOTS_FIRST: u32 = 1 << 11;
/// Slots above which a queue is considered to grow without limit.
pub(crate) const SLOTS_LAST: u32 = 1 << 22;

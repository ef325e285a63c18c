//! What is simulated at the queueing level: servers, their policy, what each mechanism costs, and the clients' reactions.

mod altocumulus;
mod preemption;

pub use altocumulus::Altocumulus;
pub use preemption::Preemption;

use crate::error::SimError;
use crate::model::span;
use nebula_nic::schedule::{ManagerConfig, Thresholds};
use nebula_nic::{BackendConfig, CentralDispatch, CustomPolicy, Dispatcher, GroupId, Policy, RetryPolicy, Span};
use serde::Deserialize;

/// Servers that share one load, and how their RPCs meet their cores.
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
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    /// Which core serves which RPC.
    pub policy: Policy,
    /// A policy of the caller's own; while there is one, `policy` is the default one and decides nothing.
    pub custom: Option<CustomPolicy>,
    /// Cores of one server, those that only schedule included.
    pub cores: u16,
    /// Of them, cores that only schedule: dispatchers, managers.
    pub dedicated: u16,
    /// Servers; a client's RPC goes to one of them by chance.
    pub servers: u16,
    /// An RPC that finds so many waiting at its server is NACKed; without a bound every RPC is let in.
    ///
    /// Under a policy with a queue a core the bound is shared out over the cores, as admission does in the runtime.
    pub queue_bound: Option<u32>,
    /// What a client does after a NACK.
    pub reaction: RetryPolicy,
    /// What each mechanism costs.
    pub costs: Costs,
    /// Whether a router holds the queue of all servers, in place of clients that choose one by chance; under central policies.
    pub router: Option<Router>,
    /// Whether a core takes several RPCs at once, under `rss` and `random`.
    pub batch: Option<Batch>,
    /// What managers are set to under `altocumulus:G`; by default the published parameters and the naive threshold for ten service times.
    pub altocumulus: Option<Altocumulus>,
    /// How RPCs are taken from cores, under `preemptive:Q`.
    pub preemption: Preemption,
}

/// A switch between clients and servers with one queue: it gives the head to the least loaded server that has fewer than a bound.
///
/// # Source
///
/// R2P2: JBSQ(n) in a programmable switch; servers send feedback when they are done with an RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Router {
    /// RPCs at a server at most, 1 to [`JBSQ_BOUND_MAX`](nebula_nic::JBSQ_BOUND_MAX).
    pub bound: u16,
    /// From the router to a server.
    #[serde(deserialize_with = "span")]
    pub dispatch: Span,
    /// From a server's end of an RPC until the router knows.
    #[serde(deserialize_with = "span")]
    pub feedback: Span,
}

/// A core takes what waits in its queue, serves all of it, and lets no reply leave before the last is served.
///
/// # Source
///
/// IX's adaptive batching: never waits for a batch to fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// RPCs taken at once at most, up to [`STEALABLE_BOUND`](nebula_nic::STEALABLE_BOUND).
    pub max: u16,
    /// What each batch takes its core, whatever its size.
    #[serde(deserialize_with = "span")]
    pub cost: Span,
}

/// What the mechanisms between NIC and core cost, over and above the service time.
///
/// All are zero by default: the theory's ideal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Costs {
    /// From the dispatch of an RPC until its core can begin it. With credit for more than one RPC a core hides it.
    #[serde(deserialize_with = "span")]
    pub dispatch: Span,
    /// From the end of an RPC until the NIC knows of it.
    #[serde(deserialize_with = "span")]
    pub notify: Span,
    /// What a core spends on each RPC beside its service: polling, protocol, the fetch of what the dispatcher has written.
    #[serde(deserialize_with = "span")]
    pub receive: Span,
    /// How long the one dispatcher of a server is busy with each RPC: the NIC decides in no time, software does not.
    #[serde(deserialize_with = "span")]
    pub decision: Span,
    /// How long one core holds the lock of `mcs-lock`, or that of a queue of `work-stealing`, the hand-off included: a core spends it on
    /// each RPC, and one core after the other.
    #[serde(deserialize_with = "span")]
    pub lock_handoff: Span,
    /// What a thief spends on a steal under `work-stealing`: finding the queue, and the RPC's way from its home core's cache.
    #[serde(deserialize_with = "span")]
    pub steal: Span,
    /// What a steal from a core that is serving costs that core.
    #[serde(deserialize_with = "span")]
    pub interrupt: Span,
    /// From the arrival of an RPC at a busy core's queue until an idle core notices.
    #[serde(deserialize_with = "span")]
    pub discover: Span,
}

impl Costs {
    /// Mechanisms that cost nothing.
    pub const ZERO: Self = Self {
        dispatch: Span::ZERO,
        notify: Span::ZERO,
        receive: Span::ZERO,
        decision: Span::ZERO,
        lock_handoff: Span::ZERO,
        steal: Span::ZERO,
        interrupt: Span::ZERO,
        discover: Span::ZERO,
    };

    /// Whether an RPC takes its core for more than its service.
    #[inline]
    pub(crate) fn is_at_core(&self) -> bool {
        self.receive != Span::ZERO || self.lock_handoff != Span::ZERO
    }
}

impl System {
    /// One server of `cores` cores without a bound on its queue, whose mechanisms cost nothing.
    #[must_use]
    pub const fn new(policy: Policy, cores: u16) -> Self {
        Self {
            policy,
            custom: None,
            cores,
            dedicated: 0,
            servers: 1,
            queue_bound: None,
            reaction: RetryPolicy::GiveUp,
            costs: Costs::ZERO,
            router: None,
            batch: None,
            altocumulus: None,
            preemption: Preemption::IDEAL,
        }
    }

    /// Dispatches by a policy of the caller's own: whatever runs a system takes it as a built-in one.
    ///
    /// What belongs to one of the built-in policies (batches, managers, preemption, a lock) it cannot have.
    #[must_use]
    pub fn policy_with(mut self, policy: CustomPolicy) -> Self {
        (self.policy, self.custom) = (Policy::default(), Some(policy));
        self
    }

    /// Sets how many of the cores only schedule.
    #[must_use]
    pub const fn dedicated(mut self, cores: u16) -> Self {
        self.dedicated = cores;
        self
    }

    /// Sets the bound on the queue of each server.
    #[must_use]
    pub const fn queue_bound(mut self, waiting: u32) -> Self {
        self.queue_bound = Some(waiting);
        self
    }

    /// Sets the number of servers.
    #[must_use]
    pub const fn servers(mut self, servers: u16) -> Self {
        self.servers = servers;
        self
    }

    /// Sets what a client does after a NACK.
    #[must_use]
    pub const fn reaction(mut self, reaction: RetryPolicy) -> Self {
        self.reaction = reaction;
        self
    }

    /// Puts a router before the servers.
    #[must_use]
    pub const fn router(mut self, router: Router) -> Self {
        self.router = Some(router);
        self
    }

    /// Lets cores take batches.
    #[must_use]
    pub const fn batch(mut self, batch: Batch) -> Self {
        self.batch = Some(batch);
        self
    }

    /// Sets what managers are set to.
    #[must_use]
    pub fn altocumulus(mut self, options: Altocumulus) -> Self {
        self.altocumulus = Some(options);
        self
    }

    /// Sets how RPCs are taken from cores.
    #[must_use]
    pub const fn preemption(mut self, preemption: Preemption) -> Self {
        self.preemption = preemption;
        self
    }

    /// Sets what the mechanisms cost.
    #[must_use]
    pub const fn costs(mut self, costs: Costs) -> Self {
        self.costs = costs;
        self
    }

    /// Cores of all servers together.
    #[must_use]
    pub fn cores_total(&self) -> u32 {
        u32::from(self.cores) * u32::from(self.servers)
    }

    /// Cores of one server that serve RPCs.
    #[must_use]
    pub const fn workers(&self) -> u16 {
        self.cores.saturating_sub(self.dedicated)
    }

    /// Whether it can be simulated.
    ///
    /// # Errors
    ///
    /// [`SimError`] with what is wrong with it.
    pub fn validate(&self) -> Result<(), SimError> {
        if self.servers == 0 || self.cores_total() > CORES_TOTAL_MAX {
            return Err(SimError::Servers { servers: self.servers, cores: self.cores });
        }
        if self.dedicated > 0 && self.workers() == 0 {
            return Err(SimError::NoWorkers { cores: self.cores, dedicated: self.dedicated });
        }
        self.validate_costs()?;
        self.validate_groups()?;
        self.backend(SLOTS_FIRST, 0).map(|_| ())
    }

    /// A cost that nothing has, or a batch, would be left out without a word.
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
        self.preemption.validate()?;
        if self.preemption != Preemption::IDEAL && !matches!(policy, Policy::Preemptive(_)) {
            return Err(SimError::CostWithout { cost: "preemption", policy });
        }
        if let Some(Router { bound, .. }) = self.router {
            if !(1..=nebula_nic::JBSQ_BOUND_MAX).contains(&bound.into()) || self.servers > nebula_nic::CORES_MAX {
                return Err(SimError::Router { bound, servers: self.servers });
            }
            if self.has_queues() || matches!(policy, Policy::Preemptive(_) | Policy::Darc | Policy::Altocumulus(_)) {
                return Err(SimError::CostWithout { cost: "router before its servers", policy });
            }
        }
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
        let manager = ManagerConfig::new(GroupId(0), groups.get(), 1, Span::from_us(1), Thresholds::fixed(0));
        Ok(manager.period(options.period).bulk(options.bulk, options.concurrency).validate()?)
    }

    /// What managers are set to, asked for or by default.
    pub(crate) fn managers(&self) -> Altocumulus {
        let workers = self.workers().div_ceil(self.groups());
        self.altocumulus.clone().unwrap_or_else(|| Altocumulus::naive(workers, 10))
    }

    /// Groups of one server.
    pub(crate) fn groups(&self) -> u16 {
        if let Policy::Altocumulus(groups) = self.policy { groups.get() } else { 1 }
    }

    /// Workers of one group: as many as of every other, or one more.
    pub(crate) fn workers_of_group(&self, group: u16) -> u16 {
        self.workers() / self.groups() + u16::from(group < self.workers() % self.groups())
    }

    /// Slots of one group of a server that has room for so many RPCs.
    pub(crate) fn slots_of_group(&self, slots: u32) -> u32 {
        (slots / u32::from(self.groups())).max(SLOTS_FIRST / 8)
    }

    /// What decides which core of one server serves which RPC.
    pub(crate) fn dispatcher(&self, cores: u16, seed: u64) -> Dispatcher {
        match &self.custom {
            Some(custom) => custom.dispatcher(cores, seed),
            None => self.policy.dispatcher(cores, seed),
        }
    }

    /// What its policy is called.
    pub(crate) fn policy_name(&self) -> String {
        self.custom.as_ref().map_or_else(|| self.policy.to_string(), ToString::to_string)
    }

    /// Whether each core has a queue in software.
    pub(crate) fn has_queues(&self) -> bool {
        self.policy == Policy::WorkStealing || self.batch.is_some()
    }

    /// The NIC of one server with room for at least `slots` RPCs, waiting or being served.
    pub(crate) fn backend(&self, slots: u32, seed: u64) -> Result<BackendConfig, SimError> {
        // An RPC is one packet of one slot here: only how many there are matters at this level.
        let config = BackendConfig::new(self.workers(), self.policy)
            .slots(slots)
            .rpc_bytes_max(64)
            .reassembler_entries(1)
            .queue_bound(self.queue_bound.unwrap_or(u32::MAX))
            .seed(seed);
        config.validate()?;
        Ok(config)
    }

    /// RPCs that the cores of one server hold at most: those that are given to a core and do not wait at the NIC.
    #[must_use]
    pub fn held_at_cores(&self) -> u32 {
        u32::from(self.workers()) * self.per_core()
    }

    /// RPCs that one core is given at most.
    pub(crate) fn per_core(&self) -> u32 {
        if self.has_queues() {
            return nebula_nic::STEALABLE_BOUND;
        }
        if let Some(options) = &self.altocumulus {
            return options.bound;
        }
        if let Policy::Preemptive(_) = self.policy {
            return self.preemption.depth;
        }
        self.dispatcher(1, 0).bound()
    }

    /// Slots to begin with: what the bound lets in, with room for what its cores hold and for holes behind slow RPCs.
    pub(crate) fn slots_first(&self) -> u32 {
        let waiting = self.queue_bound.unwrap_or(0).min(SLOTS_LAST / 4);
        (2 * (self.held_at_cores() + waiting)).next_power_of_two().clamp(SLOTS_FIRST, SLOTS_LAST)
    }
}

/// Periods that a message between managers may take.
const PERIODS_UNDER_WAY_MAX: u64 = 1024;

/// Cores that one run can have in all.
pub const CORES_TOTAL_MAX: u32 = 1 << 16;

/// Slots of a server whose queue has no bound, at first: they stay in a core's cache. A run that needs more begins again with more.
const SLOTS_FIRST: u32 = 1 << 11;
/// Slots beyond which a queue is said to grow without end.
pub(crate) const SLOTS_LAST: u32 = 1 << 22;

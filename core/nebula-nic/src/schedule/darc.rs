//! `darc`: *which cores are reserved for short RPCs?*
//!
//! A core that serves a long RPC is unavailable to short ones for that time. So some cores are
//! reserved for the short types and may be idle while long RPCs wait. [`Darc`] learns the service
//! time and frequency of each type, divides the cores in proportion, and decides which idle core
//! runs an RPC that has arrived, and which type a free core takes next.
//!
//! ```text
//!   types by mean service     a b | c   | d e          types within δ of the shortest of a group share its cores
//!   cores by group            0 1 | 2 3 | 4 5 6        in proportion to the group's demand, one at least
//!   a b may use               0 ────────────▶ 6        its own first, then those of longer groups (cycle stealing)
//!   c   may use                     2 ──────▶ 6        never those of shorter ones
//! ```
//!
//! Until a window of samples is full, all types are in one group: c-FCFS.

mod plan;
mod profile;

use super::typed_queues::{RpcType, TYPES_MAX, TypedQueues};
use crate::core_set::CoreSet;
use crate::id::CoreId;
use crate::time::Span;
use core::ops::Range;
use plan::Plan;
use profile::Profile;

/// The configuration of `darc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DarcConfig {
    /// Types, 1 to [`TYPES_MAX`].
    pub types: u8,
    /// Cores to divide, at least 1.
    pub cores: u16,
    /// RPCs that make one sample of the load.
    pub window: u32,
    /// The weight of the newest window against all earlier ones, in percent.
    pub weight_percent: u8,
    /// Types are in one group if their mean exceeds the shortest by at most this many percent.
    pub group_percent: u8,
    /// Mean service times of its type after which a waiting RPC requests a new plan.
    pub delay_services: u32,
    /// A new plan is made if the demand of a type has changed by more than this many percent.
    pub moved_percent: u8,
}

impl DarcConfig {
    /// Perséphone's parameters.
    ///
    /// Source: window 50,000, δ 20 %, change by 10 %, delay bound of ten services: the SLO of its
    /// evaluation. The weight of a window is not published; one half is assumed.
    #[must_use]
    pub const fn new(types: u8, cores: u16) -> Self {
        Self {
            types,
            cores,
            window: 50_000,
            weight_percent: 50,
            group_percent: 20,
            delay_services: 10,
            moved_percent: 10,
        }
    }

    /// Sets the RPCs of a window.
    #[must_use]
    pub const fn window(mut self, rpcs: u32) -> Self {
        self.window = rpcs;
        self
    }
}

/// Reserves cores for types of RPCs according to their load. Cost: choosing a core O(1), a type
/// O(groups + types of the group); a new plan O(types²), at most once per window. No allocation
/// after construction.
///
/// Source: Perséphone, SOSP 2021: DARC, as in its public dispatcher. Whether demand has changed is
/// decided per type, relative to the plan.
///
/// # Invariants
///
/// Every type can use some core, and the longest group's cores are open to all types. So an RPC
/// waits while a core is idle only if that core is reserved for a shorter type.
///
/// # Examples
///
/// ```
/// use nebula_nic::schedule::{Darc, DarcConfig, RpcType};
/// use nebula_nic::{CoreSet, CoreId, Span};
///
/// let (short, long) = (RpcType(0), RpcType(1));
/// let mut darc = Darc::new(DarcConfig::new(2, 14).window(100));
/// for _ in 0..50 {
///     darc.handle_done(short, Span::from_us(1));
///     darc.handle_done(long, Span::from_us(100));
/// }
/// assert_eq!((darc.reserved(short), darc.reserved(long)), (0..1, 1..14));
/// let idle = CoreSet::full(1);
/// assert_eq!((darc.choose_core(short, &idle), darc.choose_core(long, &idle)), (Some(CoreId(0)), None));
/// ```
#[derive(Clone, Debug)]
pub struct Darc {
    config: DarcConfig,
    profile: Profile,
    plan: Plan,
    is_late: bool,
    plans: u32,
}

impl Darc {
    /// All cores for all types.
    ///
    /// # Panics
    ///
    /// If there are no types or more than [`TYPES_MAX`], no cores, or a window of no RPCs.
    #[must_use]
    pub fn new(config: DarcConfig) -> Self {
        assert!((1..=TYPES_MAX).contains(&config.types), "use 1 to 64 types");
        assert!(config.cores > 0 && config.window > 0, "use at least one core and one RPC per window");
        let (profile, plan) = (Profile::new(config.types), Plan::all_for_all(config.types, config.cores));
        Self { config, profile, plan, is_late: false, plans: 0 }
    }

    /// The idle core on which an RPC of this type begins: its own group's, else a longer group's.
    ///
    /// # Panics
    ///
    /// If the type does not exist.
    #[must_use]
    #[inline]
    pub fn choose_core(&self, kind: RpcType, idle: &CoreSet) -> Option<CoreId> {
        let first = self.plan.first_core(kind);
        idle.first_from(first).filter(|&core| core >= first)
    }

    /// The type that a free core takes, among those that wait: the shortest that may use it.
    #[must_use]
    #[inline]
    pub fn choose_type<T: Copy>(&self, core: CoreId, queues: &TypedQueues<T>) -> Option<RpcType> {
        let types = self.plan.shortest_that_waits(core, queues.types())?;
        queues.oldest_of(types)
    }

    /// Which waiting RPC is dispatched next, and to which idle core.
    #[must_use]
    #[inline]
    pub fn choose<T: Copy>(&self, idle: &CoreSet, queues: &TypedQueues<T>) -> Option<(CoreId, RpcType)> {
        // The last core may take every type, so it yields the shortest one that has an idle core.
        let kind = self.choose_type(idle.last()?, queues)?;
        self.choose_core(kind, idle).map(|core| (core, kind))
    }

    /// Records how long an RPC has waited for its core.
    #[inline]
    pub fn handle_begun(&mut self, kind: RpcType, queued: Span) {
        self.is_late |= self.profile.mean(kind).is_some_and(|mean| queued > mean * self.config.delay_services.into());
    }

    /// Records how long an RPC has kept its core; returns whether that led to a new plan.
    ///
    /// # Panics
    ///
    /// If the type does not exist.
    #[inline]
    pub fn handle_done(&mut self, kind: RpcType, service: Span) -> bool {
        self.profile.note(kind, service);
        self.profile.samples() >= self.config.window && self.end_window()
    }

    #[cold]
    fn end_window(&mut self) -> bool {
        self.profile.end_window(self.config.weight_percent);
        let is_asked_for = core::mem::take(&mut self.is_late) && self.profile.has_moved(self.config.moved_percent);
        if self.plans > 0 && !is_asked_for {
            return false;
        }
        self.profile.note_planned();
        self.plan.part(&self.profile, &self.config);
        self.plans += 1;
        true
    }

    /// The cores reserved for the type's group; empty if it has only the shared last core.
    ///
    /// # Panics
    ///
    /// If the type does not exist.
    #[must_use]
    pub fn reserved(&self, kind: RpcType) -> Range<u16> {
        self.plan.reserved(kind)
    }

    /// The number of plans made.
    #[must_use]
    pub const fn plans(&self) -> u32 {
        self.plans
    }

    /// The number of groups in the plan.
    #[must_use]
    pub const fn groups(&self) -> usize {
        self.plan.groups()
    }
}

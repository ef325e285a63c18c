//! Station 7: *which core serves this RPC?*
//!
//! A *central* policy decides in one place, with all of its state available. It says where an RPC
//! queues when its first packet arrives ([`place`](CentralDispatch::place)) and, for the queue that
//! all cores share, which core takes the head ([`pick`](CentralDispatch::pick)). A core's
//! *outstanding* RPCs are those given to it and not freed, including the one in service; a core
//! with fewer than the bound has credit.
//!
//! [`Policy`] lists the policies. Of those that are *distributed*, or decide again after the
//! dispatch (`work-stealing`, `preemptive:Q`, `darc`, `altocumulus:G`), only the NIC's part is
//! here; the rest is in [`schedule`](crate::schedule). A policy of another crate is a
//! [`CustomPolicy`].
//!
//! With a queue per core, a core is given at most [`PER_CORE_BOUND`] RPCs and the others wait at
//! the NIC, in their core's queue. So the next RPC's payload is steered alike under every policy
//! except `single-queue`.
//!
//! **To add a policy**: one file in `dispatch/` with the trait (or with [`Choose`], if it gives
//! each core a queue), its `mod` line, and its line in the table at `policies!` below. Simulator,
//! runtime, program, help, errors and tests follow from the table. `docs/EXTENDING.md` has the
//! recipe, which a test applies verbatim.
//!
//! Next: station 8, [`steering`](crate::steering).

mod central;
mod custom;
mod jbsq;
mod key_hash;
mod per_core;
pub(crate) mod placement;
mod policy;
mod random;
mod round_robin;
mod rss;
mod single_queue;
mod static_flow;
mod two_choices;

pub use central::CentralDispatch;
pub use custom::{CustomPolicy, CustomState, PolicyName, PolicyNameError};
pub use jbsq::{JBSQ_BOUND_MAX, Jbsq};
pub use key_hash::KeyHash;
pub use per_core::{Choose, PER_CORE_BOUND, PerCore, STEALABLE_BOUND};
pub use placement::{Placement, Queues};
pub use policy::{Groups, ParsePolicyError, Quantum};
pub use random::Random;
pub use round_robin::RoundRobin;
pub use rss::Rss;
pub use single_queue::SingleQueue;
pub use static_flow::StaticFlow;
pub use two_choices::TwoChoices;

use crate::arrival_queue::ArrivalQueue;
use crate::id::CoreId;
use crate::wire::Header;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

/// Where a policy is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// By the runtime and by the simulator.
    Served,
    /// By the simulator only.
    Simulated,
}

/// Uses the state of a policy as a concrete type: see [`Policy::with_state`].
pub trait WithState {
    /// The result.
    type Output;

    /// Is called with the state.
    fn call<D: CentralDispatch>(self, state: D) -> Self::Output;
}

/// The table of policies: enum [`Policy`], its properties, and enum [`Dispatcher`] with the state.
macro_rules! policies {
    ($($(#[$doc:meta])* $variant:ident $(($argument:ident))? = $text:literal, $spelling:literal, $availability:ident,
        |$bound_of:pat_param| $bound:expr, [$($sample:literal),+], $state:ty, |$shape:pat_param| $new:expr;)+) => {
        /// A central dispatch policy, by name.
        ///
        /// # Examples
        ///
        /// ```
        /// use nebula_nic::Policy;
        ///
        /// assert_eq!("jbsq:2".parse(), Ok(Policy::Jbsq(2)));
        /// assert_eq!(Policy::default().to_string(), "jbsq:2");
        /// let error = "fifo".parse::<Policy>().unwrap_err().to_string();
        /// assert!(error.contains("single-queue"), "the error lists the policies: {error}");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Policy { $($(#[$doc])* $variant $(($argument))?,)+ }

        impl Policy {
            /// The spellings of the policies.
            pub const SPELLINGS: &[&str] = &[$($spelling),+];

            /// At least one spelling of each policy, with any argument: tests go through them.
            pub const SAMPLES: &[&str] = &[$($($sample),+),+];

            /// The spellings of the policies that the runtime serves.
            #[must_use]
            pub fn served() -> Vec<&'static str> {
                let all = [$(($spelling, Availability::$availability)),+];
                all.into_iter().filter(|(_, availability)| *availability == Availability::Served).map(|(spelling, _)| spelling).collect()
            }

            /// Where it is carried out.
            #[must_use]
            pub const fn availability(self) -> Availability {
                match self { $(Self::$variant { .. } => Availability::$availability,)+ }
            }

            /// The most RPCs that the NIC gives a core under it.
            #[must_use]
            pub fn bound(self) -> u32 {
                match self {
                    $(policies!(@pattern $variant $(($argument))? argument) => {
                        let $bound_of = policies!(@argument $(argument as $argument)?);
                        $bound
                    })+
                }
            }

            /// Calls `with` with the policy's state for the cores below `cores`, as its concrete
            /// type and not as a [`Dispatcher`].
            pub fn with_state<W: WithState>(self, cores: u16, seed: u64, with: W) -> W::Output {
                match self {
                    $(policies!(@pattern $variant $(($argument))? argument) => {
                        let $shape = (cores, seed, policies!(@argument $(argument as $argument)?));
                        with.call($new)
                    })+
                }
            }

            /// The policy's state for the cores below `cores`.
            #[must_use]
            pub fn dispatcher(self, cores: u16, seed: u64) -> Dispatcher {
                policies!(@build self, cores, seed; $($variant $(($argument))? |$shape| $new;)+)
            }
        }

        impl fmt::Display for Policy {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match *self {
                    $(policies!(@pattern $variant $(($argument))? argument) =>
                        policies!(@display f, $text $(, argument as $argument)?),)+
                }
            }
        }

        impl FromStr for Policy {
            type Err = ParsePolicyError;
            fn from_str(text: &str) -> Result<Self, ParsePolicyError> {
                let (name, argument) = policy::split(text);
                match name {
                    $($text => policies!(@parse text, argument, $variant $(($argument))?),)+
                    _ => Err(ParsePolicyError::unknown(text)),
                }
            }
        }

        /// The state of any policy, built-in or [`CustomPolicy`].
        #[derive(Clone, Debug)]
        pub enum Dispatcher {
            $(#[doc = concat!("`", $spelling, "`")] $variant($state),)+
            /// `custom:NAME`
            Custom(CustomState),
        }

        // The default policy's few instructions are inlined; the others are behind one call.
        impl CentralDispatch for Dispatcher {
            fn queues(&self) -> Queues {
                match self { $(Self::$variant(state) => state.queues(),)+ Self::Custom(state) => state.queues() }
            }
            #[inline]
            fn place(&mut self, header: &Header, waiting: &ArrivalQueue) -> Placement {
                if let Self::Jbsq(state) = self { state.place(header, waiting) } else { self.place_by_another(header, waiting) }
            }
            #[inline]
            fn pick(&mut self) -> Option<CoreId> {
                if let Self::Jbsq(state) = self { state.pick() } else { self.pick_by_another() }
            }
            #[inline]
            fn handle_dispatched(&mut self, core: CoreId) {
                if let Self::Jbsq(state) = self { state.handle_dispatched(core) } else { self.handle_dispatched_by_another(core) }
            }
            #[inline]
            fn handle_freed(&mut self, core: CoreId) {
                if let Self::Jbsq(state) = self { state.handle_freed(core) } else { self.handle_freed_by_another(core) }
            }
            #[inline]
            fn handle_served(&mut self, core: CoreId) {
                if let Self::Jbsq(state) = self { state.handle_served(core) } else { self.handle_served_by_another(core) }
            }
            #[inline]
            fn outstanding(&self, core: CoreId) -> u32 {
                if let Self::Jbsq(state) = self { state.outstanding(core) } else { self.outstanding_by_another(core) }
            }
            #[inline]
            fn bound(&self) -> u32 {
                match self { $(Self::$variant(state) => state.bound(),)+ Self::Custom(state) => state.bound() }
            }
        }

        impl Dispatcher {
            #[inline(never)]
            fn place_by_another(&mut self, header: &Header, waiting: &ArrivalQueue) -> Placement {
                match self { $(Self::$variant(state) => state.place(header, waiting),)+ Self::Custom(state) => state.place(header, waiting) }
            }
            #[inline(never)]
            fn pick_by_another(&mut self) -> Option<CoreId> {
                match self { $(Self::$variant(state) => state.pick(),)+ Self::Custom(state) => state.pick() }
            }
            #[inline(never)]
            fn handle_dispatched_by_another(&mut self, core: CoreId) {
                match self { $(Self::$variant(state) => state.handle_dispatched(core),)+ Self::Custom(state) => state.handle_dispatched(core) }
            }
            #[inline(never)]
            fn handle_freed_by_another(&mut self, core: CoreId) {
                match self { $(Self::$variant(state) => state.handle_freed(core),)+ Self::Custom(state) => state.handle_freed(core) }
            }
            #[inline(never)]
            fn handle_served_by_another(&mut self, core: CoreId) {
                match self { $(Self::$variant(state) => state.handle_served(core),)+ Self::Custom(state) => state.handle_served(core) }
            }
            #[inline(never)]
            fn outstanding_by_another(&self, core: CoreId) -> u32 {
                match self { $(Self::$variant(state) => state.outstanding(core),)+ Self::Custom(state) => state.outstanding(core) }
            }
        }
    };
    (@build $policy:ident, $cores:ident, $seed:ident; $($variant:ident $(($argument:ident))? |$shape:pat_param| $new:expr;)+) => {
        match $policy {
            $(policies!(@pattern $variant $(($argument))? argument) => {
                let $shape = ($cores, $seed, policies!(@argument $(argument as $argument)?));
                Dispatcher::$variant($new)
            })+
        }
    };
    (@pattern $variant:ident $name:ident) => { Policy::$variant };
    (@pattern $variant:ident ($argument:ident) $name:ident) => { Policy::$variant($name) };
    (@argument) => { () };
    (@argument $name:ident as $argument:ident) => { $name };
    (@display $f:ident, $text:literal) => { $f.pad($text) };
    (@display $f:ident, $text:literal, $name:ident as $argument:ident) => { $f.pad(&alloc::format!("{}:{}", $text, $name)) };
    (@parse $text:ident, $found:ident, $variant:ident) => {
        if $found.is_none() { Ok(Self::$variant) } else { Err(ParsePolicyError::unknown($text)) }
    };
    (@parse $text:ident, $found:ident, $variant:ident ($argument:ident)) => {
        policy::argument::<$argument>($text, $found).map(Self::$variant)
    };
}

policies! {
    /// By hash of the sender, at arrival; one queue a core.
    Rss = "rss", "rss", Served, |()| PER_CORE_BOUND, ["rss"], PerCore<Rss>, |(cores, seed, ())| PerCore::new(cores, Rss::new(cores, seed));
    /// By the sender, each new one the next core in turn, at arrival; one queue a core.
    Static = "static", "static", Served, |()| PER_CORE_BOUND, ["static"], PerCore<StaticFlow>, |(cores, _, ())| PerCore::new(cores, StaticFlow::new(cores));
    /// In turn, at arrival; one queue a core.
    RoundRobin = "round-robin", "round-robin", Served, |()| PER_CORE_BOUND, ["round-robin"], PerCore<RoundRobin>, |(cores, _, ())| PerCore::new(cores, RoundRobin::new(cores));
    /// By chance, at arrival; one queue a core.
    Random = "random", "random", Served, |()| PER_CORE_BOUND, ["random"], PerCore<Random>, |(cores, seed, ())| PerCore::new(cores, Random::new(cores, seed));
    /// By hash of the key, at arrival; one queue a core.
    KeyHash = "key-hash", "key-hash", Served, |()| PER_CORE_BOUND, ["key-hash"], PerCore<KeyHash>, |(cores, _, ())| PerCore::new(cores, KeyHash::new(cores));
    /// The less loaded of two cores drawn by chance, at arrival; one queue a core.
    TwoChoices = "two-choices", "two-choices", Served, |()| PER_CORE_BOUND, ["two-choices"], PerCore<TwoChoices>, |(cores, seed, ())| PerCore::new(cores, TwoChoices::new(cores, seed));
    /// One queue; an idle core takes the head.
    SingleQueue = "single-queue", "single-queue", Served, |()| 1, ["single-queue"], SingleQueue, |(cores, _, ())| SingleQueue::new(cores);
    /// One queue in shared memory behind an MCS lock: decides as `single-queue`, and each dispatch
    /// waits for the lock.
    McsLock = "mcs-lock", "mcs-lock", Served, |()| 1, ["mcs-lock"], SingleQueue, |(cores, _, ())| SingleQueue::new(cores);
    /// One queue; the head goes to the least loaded core of those with fewer than so many RPCs, the
    /// one in service included.
    Jbsq(u32) = "jbsq", "jbsq:N", Served, |bound| bound, ["jbsq:1", "jbsq:2", "jbsq:3", "jbsq:64"], Jbsq, |(cores, _, bound)| Jbsq::new(cores, bound);
    /// By hash of the sender, at arrival; a queue a core in software, from which idle cores steal.
    WorkStealing = "work-stealing", "work-stealing", Served, |()| STEALABLE_BOUND, ["work-stealing"], PerCore<Rss>, |(cores, seed, ())| PerCore::stealable(cores, Rss::new(cores, seed));
    /// One queue; an idle core takes the head and, while others wait, gives it back to the tail
    /// after a quantum.
    Preemptive(Quantum) = "preemptive", "preemptive:Q", Served, |_| 1, ["preemptive:2us"], SingleQueue, |(cores, _, _)| SingleQueue::new(cores);
    /// A queue for each type of RPC, and cores reserved for the short ones. Here: the cores; types
    /// are told apart by [`ByType`](crate::schedule::ByType).
    Darc = "darc", "darc", Served, |()| 1, ["darc"], SingleQueue, |(cores, _, ())| SingleQueue::new(cores);
    /// Groups of cores with one queue each, by hash of the sender, within a group as `jbsq:2`;
    /// groups hand RPCs to one another. Here: one group.
    Altocumulus(Groups) = "altocumulus", "altocumulus:G", Served, |_| 2, ["altocumulus:4"], Jbsq, |(cores, _, _)| Jbsq::new(cores, 2);
}

impl Default for Policy {
    /// `jbsq:2`: one RPC in service and one queued at the core, whose payload is being fetched.
    fn default() -> Self {
        Self::Jbsq(2)
    }
}

impl CustomPolicy {
    /// Its state for the cores below `cores`.
    #[must_use]
    pub fn dispatcher(&self, cores: u16, seed: u64) -> Dispatcher {
        Dispatcher::Custom(self.state(cores, seed))
    }
}

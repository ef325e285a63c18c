//! Station 7: *which core serves this RPC?*
//!
//! A *central* policy is one place that decides with all of its state at hand. It says where an RPC queues when its first
//! packet comes ([`place`](CentralDispatch::place)) and, for the queue that all cores share, which core takes
//! the head ([`pick`](CentralDispatch::pick)). A core's *outstanding* RPCs are those given to it and not freed, the one in
//! service included; a core with fewer than the bound has credit.
//!
//! | spelling | queues | core |
//! |---|---|---|
//! | `rss` | one a core | by hash of the sender |
//! | `round-robin` | one a core | the next in turn |
//! | `random` | one a core | by chance |
//! | `key-hash` | one a core | by hash of the RPC's key |
//! | `two-choices` | one a core | the less loaded one of two drawn by chance |
//! | `single-queue` | one | an idle one |
//! | `mcs-lock` | one | an idle one, once it has the lock: a software queue, in the simulator only |
//! | `jbsq:N` | one | the least loaded one of those with fewer than N outstanding |
//! | `work-stealing` | one a core, in software | by hash of the sender; an idle core takes from another's queue |
//! | `preemptive:Q` | one | an idle one, for Q at a time while others wait |
//! | `darc` | one an RPC type | one that is reserved for the type or for longer ones: in the simulator only |
//! | `altocumulus:G` | one for each of G groups of cores | by hash of the sender a group, within it as `jbsq:2`; groups hand each other RPCs |
//!
//! The last four are *distributed*, or decide again after the dispatch: what stands here is what the NIC does of them, the rest is
//! [`schedule`](crate::schedule)'s.
//!
//! With a queue a core, a core is given [`PER_CORE_BOUND`] RPCs at most and the others wait at the NIC, in their core's
//! queue: so the payload of the next is steered alike under every policy but `single-queue`.
//!
//! **To add a policy**: one file in `dispatch/` with the trait (or with [`Choose`], if it gives each core a queue), its `mod` line, one
//! line in the table at `policies!` below, one line in `tests/dispatch_conformance.rs`. Everything else knows it then: the simulator,
//! the runtime, the program with its tables and pages. `dispatch/two_choices.rs` is written to be read as the example.
//!
//! Next: station 8, [`steering`](crate::steering).

mod jbsq;
mod key_hash;
mod per_core;
mod policy;
mod random;
mod round_robin;
mod rss;
mod single_queue;
mod two_choices;

pub use jbsq::{JBSQ_BOUND_MAX, Jbsq};
pub use key_hash::KeyHash;
pub use per_core::{Choose, PER_CORE_BOUND, PerCore, STEALABLE_BOUND};
pub use policy::{Groups, ParsePolicyError, Quantum};
pub use random::Random;
pub use round_robin::RoundRobin;
pub use rss::Rss;
pub use single_queue::SingleQueue;
pub use two_choices::TwoChoices;

use crate::arrival_queue::ArrivalQueue;
use crate::id::CoreId;
use crate::wire::Header;
use core::fmt;
use core::str::FromStr;

/// Where an RPC waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// In the queue that all cores share.
    #[default]
    Shared,
    /// In the queue of this core.
    Core(CoreId),
}

/// Which queues a policy uses, and so which storage it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queues {
    /// One for all cores.
    Shared,
    /// One a core.
    PerCore,
    /// Both kinds.
    Both,
}

/// One place that decides which core serves which RPC.
///
/// # Invariants
///
/// A conforming policy never picks a core that has [`bound`](Self::bound) outstanding, picks some core whenever one has
/// fewer, and decides the same for the same calls. `tests/dispatch_conformance.rs` holds every policy to that.
pub trait CentralDispatch {
    /// Which queues [`place`](Self::place) uses; an RPC placed elsewhere is refused.
    fn queues(&self) -> Queues;

    /// Where the RPC that begins with this packet will wait; `waiting` are those that wait already.
    ///
    /// The RPC may yet be refused, so nothing is to be counted here.
    fn place(&mut self, header: &Header, waiting: &ArrivalQueue) -> Placement;

    /// The core that takes the head of the shared queue, if one has credit; [`handle_dispatched`](Self::handle_dispatched)
    /// follows.
    fn pick(&mut self) -> Option<CoreId>;

    /// `core` has been given an RPC.
    fn handle_dispatched(&mut self, core: CoreId);

    /// `core`, which has an RPC outstanding, is done with one.
    fn handle_freed(&mut self, core: CoreId);

    /// RPCs given to `core` and not freed; 0 for a core that does not exist.
    fn outstanding(&self, core: CoreId) -> u32;

    /// The most that a core may have outstanding.
    fn bound(&self) -> u32;
}

/// The table of policies: enum [`Policy`], its spellings, and enum [`Dispatcher`] that does what the policy says.
macro_rules! policies {
    ($($(#[$doc:meta])* $variant:ident $(($argument:ident))? = $text:literal, $spelling:literal, $state:ty, |$shape:pat_param| $new:expr;)+) => {
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
        /// assert!(error.contains("single-queue"), "the error lists what there is: {error}");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Policy { $($(#[$doc])* $variant $(($argument))?,)+ }

        impl Policy {
            /// How the policies are spelled.
            pub const SPELLINGS: &[&str] = &[$($spelling),+];

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

        /// The state of any of the built-in policies.
        #[derive(Clone, Debug)]
        pub enum Dispatcher { $(#[doc = concat!("`", $spelling, "`")] $variant($state),)+ }

        // The default policy's few instructions go inline; the others' stay behind one call.
        impl CentralDispatch for Dispatcher {
            fn queues(&self) -> Queues {
                match self { $(Self::$variant(state) => state.queues(),)+ }
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
            fn outstanding(&self, core: CoreId) -> u32 {
                if let Self::Jbsq(state) = self { state.outstanding(core) } else { self.outstanding_by_another(core) }
            }
            #[inline]
            fn bound(&self) -> u32 {
                match self { $(Self::$variant(state) => state.bound(),)+ }
            }
        }

        impl Dispatcher {
            #[inline(never)]
            fn place_by_another(&mut self, header: &Header, waiting: &ArrivalQueue) -> Placement {
                match self { $(Self::$variant(state) => state.place(header, waiting),)+ }
            }
            #[inline(never)]
            fn pick_by_another(&mut self) -> Option<CoreId> {
                match self { $(Self::$variant(state) => state.pick(),)+ }
            }
            #[inline(never)]
            fn handle_dispatched_by_another(&mut self, core: CoreId) {
                match self { $(Self::$variant(state) => state.handle_dispatched(core),)+ }
            }
            #[inline(never)]
            fn handle_freed_by_another(&mut self, core: CoreId) {
                match self { $(Self::$variant(state) => state.handle_freed(core),)+ }
            }
            #[inline(never)]
            fn outstanding_by_another(&self, core: CoreId) -> u32 {
                match self { $(Self::$variant(state) => state.outstanding(core),)+ }
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
    Rss = "rss", "rss", PerCore<Rss>, |(cores, seed, ())| PerCore::new(cores, Rss::new(cores, seed));
    /// In turn, at arrival; one queue a core.
    RoundRobin = "round-robin", "round-robin", PerCore<RoundRobin>, |(cores, _, ())| PerCore::new(cores, RoundRobin::new(cores));
    /// By chance, at arrival; one queue a core.
    Random = "random", "random", PerCore<Random>, |(cores, seed, ())| PerCore::new(cores, Random::new(cores, seed));
    /// By hash of the key, at arrival; one queue a core.
    KeyHash = "key-hash", "key-hash", PerCore<KeyHash>, |(cores, _, ())| PerCore::new(cores, KeyHash::new(cores));
    /// The less loaded of two cores drawn by chance, at arrival; one queue a core.
    TwoChoices = "two-choices", "two-choices", PerCore<TwoChoices>, |(cores, seed, ())| PerCore::new(cores, TwoChoices::new(cores, seed));
    /// One queue; an idle core takes the head.
    SingleQueue = "single-queue", "single-queue", SingleQueue, |(cores, _, ())| SingleQueue::new(cores);
    /// One queue in shared memory behind an MCS lock: decides as `single-queue`, and each dispatch waits for the lock.
    McsLock = "mcs-lock", "mcs-lock", SingleQueue, |(cores, _, ())| SingleQueue::new(cores);
    /// One queue; at most so many RPCs at a core, the one in service included.
    Jbsq(u32) = "jbsq", "jbsq:N", Jbsq, |(cores, _, bound)| Jbsq::new(cores, bound);
    /// By hash of the sender, at arrival; a queue a core in software, from which idle cores steal.
    WorkStealing = "work-stealing", "work-stealing", PerCore<Rss>, |(cores, seed, ())| PerCore::stealable(cores, Rss::new(cores, seed));
    /// One queue; an idle core takes the head and, while others wait, gives it back to the tail after a quantum.
    Preemptive(Quantum) = "preemptive", "preemptive:Q", SingleQueue, |(cores, _, _)| SingleQueue::new(cores);
    /// A queue for each type of RPC, and cores reserved for the short ones.
    Darc = "darc", "darc", SingleQueue, |(cores, _, ())| SingleQueue::new(cores);
    /// Groups of cores with one queue each, by hash of the sender; groups hand RPCs to one another. Here: one group.
    Altocumulus(Groups) = "altocumulus", "altocumulus:G", Jbsq, |(cores, _, _)| Jbsq::new(cores, 2);
}

impl Default for Policy {
    /// `jbsq:2`: one RPC in service and one behind it, whose payload is on its way to the core.
    fn default() -> Self {
        Self::Jbsq(2)
    }
}

//! The configuration of a back end: every bound is a field.

use crate::core_set::CORES_MAX;
use crate::dispatch::{JBSQ_BOUND_MAX, Policy, PolicyName};
use crate::fair_share::{SOURCE_BITS_MAX, Sources, TENANTS_MAX, Tenants};
use crate::id::DomainId;
use crate::recv_buffer::{SLOTS_MAX, ScrubMode, SlotOrder};
use crate::schedule::darc::DarcConfig;
use crate::schedule::typed_queues::TYPES_MAX;
use crate::time::Span;
use crate::wire::{Mtu, slots_of};

pub(crate) mod text;

pub use text::ParseConfigError;

/// The configuration of a back end, which allocates nothing after construction.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Backend, BackendConfig, Policy};
///
/// let config = BackendConfig::new(16, Policy::Jbsq(2)).slots(1280).rpc_bytes_max(512).queue_bound(160);
/// assert!(Backend::try_new(config).is_ok());
/// let error = Backend::try_new(config.slots(7)).unwrap_err().to_string();
/// assert!(error.contains("at least 8"), "{error}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackendConfig {
    /// The messaging domain it serves.
    pub domain: DomainId,
    /// Slots of the receive buffer; when they are used up, RPCs are NACKed.
    pub slots: u32,
    /// Payload of one packet.
    pub mtu: Mtu,
    /// The longest RPC in bytes; longer ones are NACKed.
    pub rpc_bytes_max: u32,
    /// RPCs of several packets that can be reassembled at once; further ones are NACKed.
    pub reassembler_entries: u32,
    /// RPCs of one peer that can be reassembled at once while more than half of the entries are in
    /// use; further ones are NACKed as if the table were full. `u32::MAX`: no limit. Two peers
    /// whose numbers have the same hash, of 256, share one limit.
    pub incomplete_per_peer: u32,
    /// Cores to serve, at most [`CORES_MAX`].
    pub cores: u16,
    /// Which core serves which RPC.
    pub policy: Policy,
    /// The name of the policy, if it belongs to another crate; then `policy` is ignored.
    pub custom: Option<PolicyName>,
    /// An RPC that finds this many waiting is NACKed.
    pub queue_bound: u32,
    /// The bits of a client's number that identify its source: sources share the queue when room is
    /// short. By default all clients are one source.
    pub sources: Sources,
    /// Tenants share the queue by weight, before the sources of each do. By default there is one.
    pub tenants: Tenants,
    /// Under `darc`: types of RPCs, 1 to [`TYPES_MAX`]. Type 0 is common: all RPCs of no other
    /// type. 1 by default.
    pub types: u8,
    /// Under `darc`: RPCs in one sample of the types' service times. 50,000 by default, as
    /// published.
    pub type_window: u32,
    /// Places in the arrival queue: at least [`rpcs_waiting_max`](Self::rpcs_waiting_max).
    pub queue_capacity: u32,
    /// When to look for free slots beyond a slow RPC.
    pub scrub: ScrubMode,
    /// Which free slots are given out.
    pub slot_order: SlotOrder,
    /// An RPC that is still incomplete after this time is abandoned.
    pub reassembly_timeout: Span,
    /// Seed of every random choice and of the hash of the tables.
    pub seed: u64,
}

impl BackendConfig {
    /// Space for 512 KiB of payload in RPCs of at most 64 KiB, packets of 64 B, no bound on the
    /// queue except space.
    #[must_use]
    pub const fn new(cores: u16, policy: Policy) -> Self {
        Self {
            domain: DomainId(0),
            slots: 8192,
            mtu: Mtu::MIN,
            rpc_bytes_max: 64 * 1024,
            reassembler_entries: 1024,
            incomplete_per_peer: u32::MAX,
            cores,
            policy,
            custom: None,
            queue_bound: 8192,
            sources: Sources::ONE,
            tenants: Tenants::ONE,
            types: 1,
            type_window: 50_000,
            queue_capacity: 8192,
            scrub: ScrubMode::OnFull,
            slot_order: SlotOrder::Circular,
            reassembly_timeout: Span::from_ms(10),
            seed: 0,
        }
    }

    /// Names the policy of another crate, whose state
    /// [`Backend::try_with`](crate::Backend::try_with) gets.
    #[must_use]
    pub const fn custom(mut self, name: PolicyName) -> Self {
        self.custom = Some(name);
        self
    }

    setters! {
        /// Sets the messaging domain.
        domain: DomainId;
        /// Sets the payload of one packet.
        mtu: Mtu;
        /// Sets the length of the longest RPC.
        rpc_bytes_max: u32;
        /// Sets how many RPCs can be reassembled at once.
        reassembler_entries: u32;
        /// Sets how many RPCs of one peer can be reassembled while over half of the entries are in
        /// use.
        incomplete_per_peer: u32;
        /// Sets which free slots are given out.
        slot_order: SlotOrder;
        /// Sets the number of waiting RPCs at which further ones are NACKed.
        queue_bound: u32;
        /// Sets the bits of a client's number that identify its source.
        sources: Sources;
        /// Sets the tenants and their weights.
        tenants: Tenants;
        /// Sets the types of RPCs, under `darc`.
        types: u8;
        /// Sets how many RPCs are in one sample of the types' service times, under `darc`.
        type_window: u32;
        /// Sets the places in the arrival queue.
        queue_capacity: u32;
        /// Sets when to look for free slots beyond a slow RPC.
        scrub: ScrubMode;
        /// Sets how long the reassembly of an RPC may take.
        reassembly_timeout: Span;
        /// Sets the seed.
        seed: u64;
    }

    /// Sets the slots of the receive buffer, and [`queue_capacity`](Self::queue_capacity) to the
    /// same number of RPCs.
    #[must_use]
    pub const fn slots(mut self, slots: u32) -> Self {
        self.slots = slots;
        self.queue_capacity = slots;
        self
    }

    /// Slots of the longest RPC.
    #[must_use]
    pub const fn slots_per_rpc_max(&self) -> u32 {
        slots_of(self.rpc_bytes_max)
    }

    /// The most RPCs that can wait at once: the slots or, if fewer, those that the bound admits
    /// plus those that complete after it was reached.
    #[must_use]
    pub const fn rpcs_waiting_max(&self) -> u32 {
        let bound = self.queue_bound.saturating_add(self.bound_slack());
        if bound < self.slots { bound } else { self.slots }
    }

    #[must_use]
    pub(crate) const fn queue_bound_max(&self) -> u32 {
        if self.queue_capacity >= self.slots {
            u32::MAX
        } else {
            self.queue_capacity.saturating_sub(self.bound_slack())
        }
    }

    /// How far the waiting RPCs can exceed the bound: RPCs admitted earlier, each core's rounding.
    const fn bound_slack(&self) -> u32 {
        self.reassembler_entries.saturating_add(self.cores as u32)
    }

    /// Checks whether a back end can be built.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let needed = self.slots_per_rpc_max();
        if self.cores == 0 || self.cores > CORES_MAX {
            return Err(ConfigError::Cores { got: self.cores });
        }
        if self.slots < needed || self.slots > SLOTS_MAX {
            return Err(ConfigError::Slots { got: self.slots, needed });
        }
        if self.queue_bound == 0 {
            return Err(ConfigError::QueueBound);
        }
        let waiting = self.rpcs_waiting_max();
        if self.queue_capacity < waiting || self.queue_capacity > SLOTS_MAX {
            return Err(ConfigError::QueueCapacity { got: self.queue_capacity, needed: waiting });
        }
        if self.rpc_bytes_max > self.mtu.bytes() && self.reassembler_entries == 0 {
            return Err(ConfigError::ReassemblerEntries { mtu: self.mtu.bytes(), rpc_bytes_max: self.rpc_bytes_max });
        }
        if self.reassembler_entries > SLOTS_MAX {
            return Err(ConfigError::TooManyEntries { got: self.reassembler_entries });
        }
        if !self.sources.is_possible() {
            return Err(ConfigError::Sources { shift: self.sources.shift, bits: self.sources.bits });
        }
        if !self.tenants.are_possible() {
            return Err(ConfigError::Tenants);
        }
        if !(1..=TYPES_MAX).contains(&self.types) {
            return Err(ConfigError::Types { got: self.types });
        }
        if self.type_window == 0 {
            return Err(ConfigError::TypeWindow);
        }
        match self.policy {
            Policy::Jbsq(bound) if !(1..=JBSQ_BOUND_MAX).contains(&bound) => Err(ConfigError::JbsqBound { got: bound }),
            _ => Ok(()),
        }
    }
}

/// Invalid bounds of a back end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// No cores, or too many.
    #[error("a back end cannot serve {got} cores: give 1 to {CORES_MAX}")]
    Cores {
        /// Cores asked for.
        got: u16,
    },
    /// Fewer slots than the longest RPC needs, or more than an index can address.
    #[error(
        "a receive buffer of {got} slots is not possible: give at least {needed}, for the longest RPC, and at most {SLOTS_MAX}"
    )]
    Slots {
        /// Slots asked for.
        got: u32,
        /// Slots of the longest RPC.
        needed: u32,
    },
    /// A bound at which every RPC is refused.
    #[error("a queue bound of 0 refuses every RPC: give at least 1")]
    QueueBound,
    /// Fewer places than RPCs that can wait, or more than an index can address.
    #[error(
        "a queue for {got} RPCs is not possible: give at least {needed}, for those that can wait, and at most {SLOTS_MAX}"
    )]
    QueueCapacity {
        /// Capacity asked for.
        got: u32,
        /// RPCs that can wait.
        needed: u32,
    },
    /// RPCs of several packets but no reassembler entries.
    #[error(
        "RPCs of {rpc_bytes_max} bytes need several packets of {mtu}: give at least 1 reassembler entry, or a larger MTU"
    )]
    ReassemblerEntries {
        /// The MTU in bytes.
        mtu: u32,
        /// The longest RPC in bytes.
        rpc_bytes_max: u32,
    },
    /// More entries than an index can address.
    #[error("{got} reassembler entries are too many: give at most {SLOTS_MAX}")]
    TooManyEntries {
        /// Entries asked for.
        got: u32,
    },
    /// A policy of another crate without a factory for its state.
    #[error(
        "custom:{name} is a policy of another crate: give its factory, as to Backend::try_with or replay_text_with"
    )]
    Custom {
        /// Its name.
        name: PolicyName,
    },
    /// A policy that gives a core more RPCs than it has places for, or none.
    #[error("a policy with a bound of {got} RPCs a core is not possible: give a bound from 1 to {JBSQ_BOUND_MAX}")]
    DispatchBound {
        /// The bound of the policy.
        got: u32,
    },
    /// Bits that a client's number does not have, or too many of them.
    #[error("{bits} bits of a source above bit {shift} are not possible: give at most {SOURCE_BITS_MAX}, of 32")]
    Sources {
        /// The first bit asked for.
        shift: u8,
        /// Bits asked for.
        bits: u8,
    },
    /// Tenants without a number or a weight.
    #[error(
        "such tenants are not possible: give 2 to {TENANTS_MAX}, each a weight from 1 to 255, numbered in bits of a client's number"
    )]
    Tenants,
    /// No types, or too many.
    #[error("{got} types of RPCs are not possible: give 1 to {TYPES_MAX}")]
    Types {
        /// Types asked for.
        got: u8,
    },
    /// A sample of no RPCs.
    #[error("a window of 0 RPCs says nothing about types: give at least 1")]
    TypeWindow,
    /// A JBSQ bound out of range.
    #[error("jbsq:{got} is not possible: give a bound from 1 to {JBSQ_BOUND_MAX}")]
    JbsqBound {
        /// Bound asked for.
        got: u32,
    },
}

/// RPCs served first may take a quarter of the queue's places, as of the RPCs.
const FIRST_PLACES_SHIFT: u32 = 2;

impl BackendConfig {
    /// The configuration of the types, if the policy distinguishes them.
    pub(crate) fn darc(&self) -> Option<DarcConfig> {
        let is_typed = self.policy == Policy::Darc && self.custom.is_none();
        is_typed.then(|| DarcConfig::new(self.types, self.cores).window(self.type_window))
    }

    /// RPCs that may be served before the others of the shared queue; none with a single source.
    pub(crate) const fn first_places(&self) -> u32 {
        if self.sources.bits == 0 { 0 } else { self.queue_capacity >> FIRST_PLACES_SHIFT }
    }
}

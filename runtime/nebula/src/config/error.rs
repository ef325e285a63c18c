//! Why a server cannot start: its configuration, its endpoint or the machine does not allow it.

use crate::endpoint::{Endpoint, EndpointError};
use nebula_nic::schedule::ManagerConfigError;
use nebula_nic::{ConfigError, GroupConfigError, Policy, RegionError};
use nebula_sys::mem::MemError;
use nebula_sys::shared::SharedError;
use std::path::PathBuf;
use std::sync::Arc;

/// The decision log could not be written to its end: later decisions are missing.
#[derive(Clone, Debug, thiserror::Error)]
#[error("cannot write the decision log {}: {cause}", path.display())]
pub struct LogError {
    /// The file.
    pub path: PathBuf,
    /// The kernel's reason.
    pub cause: Arc<std::io::Error>,
}

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The text is not an endpoint.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// No domain was added.
    #[error("there is no domain to serve: add one with Domains::host")]
    NoDomains,
    /// Another server has the endpoint, and still had it after a tenth of a second.
    #[error("{endpoint} is being served already: stop that server or choose another endpoint")]
    Taken {
        /// The endpoint asked for.
        endpoint: Endpoint,
    },
    /// This machine does not have the address.
    #[error(
        "this machine does not have the address of {endpoint}: give one that it has, or 0.0.0.0 or [::] for all of them"
    )]
    NotHere {
        /// The endpoint asked for.
        endpoint: Endpoint,
    },
    /// Other machines can reach the address and there is no key: every client would be served,
    /// unauthenticated.
    #[error(
        "{endpoint} can be reached from other machines: give a key (ServerConfig::key, --key-file), or accept an open network \
         (ServerConfig::insecure, --insecure)"
    )]
    Insecure {
        /// The endpoint asked for.
        endpoint: Endpoint,
    },
    /// The endpoint is for clients.
    #[error("{endpoint} names the server of a client: serve at xdp://INTERFACE:PORT")]
    XdpPeer {
        /// The endpoint asked for.
        endpoint: Endpoint,
    },
    /// With the caller's clock, an endpoint of the kernel needs another protocol.
    #[error(
        "{endpoint} by the caller's clock needs Server::framing: give it, or use Server::open or Server::open_over"
    )]
    NoFraming {
        /// The endpoint asked for.
        endpoint: Endpoint,
    },
    /// Other protocols are not spoken over shared memory, or in sealed datagrams.
    #[error("{endpoint} cannot speak a protocol of others: give tcp:// or udp:// without keys")]
    Framing {
        /// The endpoint asked for.
        endpoint: Endpoint,
    },
    /// Under the policy threads search for work, so that none can sleep until something arrives.
    #[error(
        "under {policy} threads look for work where others leave it and cannot sleep until an RPC arrives: use the adaptive idle policy"
    )]
    Block {
        /// The policy asked for.
        policy: Policy,
    },
    /// A system call failed.
    #[error("cannot serve: {0}")]
    System(#[from] std::io::Error),
    /// There is not enough memory.
    #[error(transparent)]
    Memory(#[from] MemError),
    /// Shared memory could not be created or mapped.
    #[error(transparent)]
    Shared(#[from] SharedError),
    /// The NIC cannot have this configuration.
    #[error(transparent)]
    Nic(#[from] ConfigError),
    /// A region cannot be registered.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// Only the simulator has the policy.
    #[error("policy {policy} is simulated only: serve with one of {}", Policy::served().join(", "))]
    SimulatedOnly {
        /// The policy asked for.
        policy: Policy,
    },
    /// A custom policy and a built-in one.
    #[error(
        "a server has one policy, not {policy} and a custom one: leave `policy` at its default beside `custom_policy`"
    )]
    TwoPolicies {
        /// The built-in policy asked for.
        policy: Policy,
    },
    /// More suspended RPCs than a worker can have.
    #[error("a worker can have 62 suspended RPCs at most, not {got}")]
    Suspended {
        /// The number asked for.
        got: u16,
    },
    /// `Server::serve_async` outside a `tokio` runtime.
    #[error("asynchronous handlers run as tasks of tokio: call serve_async within a runtime, as in its block_on")]
    NoExecutor,
    /// More RPCs that wait for later replies than a worker can have.
    #[error(
        "under this policy at most {max} RPCs of a worker can wait for later replies, those in the pool included, not {got}: lower later_max or pool_max"
    )]
    Later {
        /// The number asked for.
        got: u32,
        /// The most.
        max: u32,
    },
    /// Later replies under a policy that gives a worker no further RPCs meanwhile.
    #[error(
        "replies are given later, by a pool too, under jbsq:N and single-queue, not under {policy} or a custom policy: use one of those, or no later_max and \
         pool_threads of 0"
    )]
    LaterPolicy {
        /// The policy asked for.
        policy: Policy,
    },
    /// A decision log under `work-stealing` with too many workers.
    #[error("a decision log records steals for up to {max} workers, not {workers}: use fewer workers, or no log")]
    StealsLogged {
        /// Workers asked for.
        workers: u16,
        /// The most.
        max: u16,
    },
    /// Fewer workers than groups.
    #[error("{groups} groups need at least {groups} workers, not {workers}")]
    Groups {
        /// Groups asked for.
        groups: u16,
        /// Workers asked for.
        workers: u16,
    },
    /// A group cannot have this configuration.
    #[error(transparent)]
    Group(#[from] GroupConfigError),
    /// A group's manager cannot have this configuration.
    #[error(transparent)]
    Manager(#[from] ManagerConfigError),
    /// Inline mode with another number of workers than of engines.
    #[error(
        "inline mode runs an engine and its worker on one thread: it takes as many workers as engines, not {workers} and {engines}"
    )]
    InlineWorkers {
        /// Workers asked for.
        workers: u16,
        /// Engines asked for.
        engines: u16,
    },
    /// More polling threads than cores, with [`oversubscribe`](crate::ServerConfig::oversubscribe)
    /// set to `false`.
    #[error(
        "{} threads ({workers} for workers, {engines} for engines) would poll on the {cores} cores that this process may use: take fewer workers, or ask for more \
         threads than cores (oversubscribe, --oversubscribe)", .workers + .engines
    )]
    Oversubscribed {
        /// Workers asked for.
        workers: usize,
        /// Engines with their own threads.
        engines: usize,
        /// Cores that this process may use.
        cores: usize,
    },
    /// Several engines together with groups.
    #[error("under {policy} a server has an engine a group, not {engines}: leave `engines` at 1")]
    EnginesAndGroups {
        /// Engines asked for.
        engines: u16,
        /// The policy asked for.
        policy: Policy,
    },
    /// An impossible number of engines.
    #[error(
        "a server has 1 to 256 engines and at least a worker for each, not {engines} engines and {workers} workers"
    )]
    Engines {
        /// Engines asked for.
        engines: u16,
        /// Workers asked for.
        workers: u16,
    },
    /// Several engines over one network of the caller's.
    #[error("a server over the caller's network has 1 engine, not {engines}: each needs its own socket")]
    EnginesOverOneWire {
        /// Engines asked for.
        engines: u16,
    },
    /// Requests at an endpoint that only passes packets on.
    #[error("{endpoint} is not served by requests: use Server::serve_packets")]
    PacketsNotAsked {
        /// The endpoint asked for.
        endpoint: Endpoint,
    },
    /// A tenant with two weights.
    #[error("tenant {name} has two weights: give it one")]
    TenantTwice {
        /// Its name.
        name: String,
    },
    /// More tenants than the NIC supports, or none but the others.
    #[error("a server has 1 to {max} tenants with a name, and * for all others")]
    Tenants {
        /// The most.
        max: usize,
    },
    /// Tenants over UDP without keys, which identify them.
    #[error(
        "a tenant over udp:// or tcp:// is the owner of a key: give keys with names (ServerConfig::keys, --key-file)"
    )]
    TenantsWithoutKeys,
    /// A tenant over shared memory that is not a user id.
    #[error("a tenant over shm:// is a user id, not {name}")]
    TenantOverShm {
        /// Its name.
        name: String,
    },
    /// The decision log cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// An impossible payload of a slot or packet.
    #[error(
        "a payload of {got} bytes in a slot or packet is not possible: give 1 to 1048576, in a packet of a network a multiple of 64"
    )]
    Mtu {
        /// Bytes asked for.
        got: u32,
    },
    /// Requests longer than a ring can carry.
    #[error(
        "requests of {got} bytes are too long for these slots: at most {max}; make the slots larger with mtu_bytes"
    )]
    RpcTooLarge {
        /// Bytes asked for.
        got: u32,
        /// The longest.
        max: u32,
    },
    /// Replies longer than a ring can carry.
    #[error("replies of {got} bytes are too long for these slots: at most {max}; make the slots larger with mtu_bytes")]
    ReplyTooLarge {
        /// Bytes asked for.
        got: u32,
        /// The longest.
        max: u32,
    },
    /// A receive buffer that is too large.
    #[error("a receive buffer of {slots} slots is too large: lower the SLO, the RPC size, or the buffer asked for")]
    BufferTooLarge {
        /// Slots that it would have.
        slots: u64,
    },
    /// A thread cannot be pinned to the core.
    #[error("cannot pin a thread to core {core}: {cause}; give cores that this process may use")]
    Pin {
        /// The core asked for.
        core: usize,
        /// The kernel's reason.
        cause: std::io::Error,
    },
}

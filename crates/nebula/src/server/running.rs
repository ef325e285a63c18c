//! A running server: its threads, and its shutdown.

use super::crew::{Crew, Kind};
use super::groups::{Part, groups_of, part};
use super::{IdlePolicy, ServerConfig};
use crate::endpoint::{Endpoint, EndpointError};
use crate::engine::bell::Bell;
use crate::engine::port::Port;
use crate::engine::{Engine, Parts};
use crate::net::{Environment, KernelWire, Time, Watch};
use crate::status::{Status, StatusPage, StatusReader, status_bytes};
use crate::transport::shm::listener::{Listener, Mailbox, Terms, ring};
use crate::transport::shm::registry::Registry;
use crate::transport::shm::rings::Rings;
use crate::transport::shm::slot::mtu_for;
use crate::transport::udp::port::UdpPort;
use crate::worker::Worker;
use nebula_nic::schedule::ManagerConfigError;
use nebula_nic::{Availability, BackendConfig, CentralDispatch, ConfigError, GroupConfigError, Policy, Span};
use nebula_sys::affinity::pin_to;
use nebula_sys::mem::MemError;
use nebula_sys::shared::{ReadOnlyMemory, SharedError, SharedMemory};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The text is not an endpoint.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// Another server has the endpoint.
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
    /// The address can be reached from other machines and there is no key: everybody would be served, unauthenticated.
    #[error(
        "{endpoint} can be reached from other machines: give a key (ServerConfig::key, --key-file), or accept an open network \
         (ServerConfig::insecure, --insecure)"
    )]
    Insecure {
        /// The endpoint asked for.
        endpoint: Endpoint,
    },
    /// Clients over shared memory do not wake the server.
    #[error(
        "a shm:// server cannot sleep until an RPC arrives, as its clients do not wake it: use the adaptive idle policy"
    )]
    BlockOverShm,
    /// Under the policy, workers look for work themselves.
    #[error(
        "under {policy} workers look for work themselves and cannot sleep until an RPC arrives: use the adaptive idle policy"
    )]
    Block {
        /// The policy asked for.
        policy: Policy,
    },
    /// A `udp://` server has one engine.
    #[error("policy {policy} needs several engines, and a udp:// server has one: serve over shm://, or use jbsq:2")]
    GroupsOverUdp {
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
    /// Inline mode with several workers.
    #[error("inline mode runs engine and worker on one thread: it takes 1 worker, not {workers}")]
    InlineWorkers {
        /// Workers asked for.
        workers: u16,
    },
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

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub struct RunningServer {
    endpoint: Endpoint,
    stop: Arc<AtomicBool>,
    /// Wakes the listener, where there is one.
    door: Option<Arc<OwnedFd>>,
    /// Wake engines and workers.
    bells: Vec<Arc<Bell>>,
    registry: Arc<Registry>,
    status: StatusReader,
    threads: Vec<JoinHandle<()>>,
}

impl RunningServer {
    /// The endpoint. After `udp://…:0`, the port that the kernel chose.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The server's counters.
    #[must_use]
    pub fn status(&self) -> &StatusReader {
        &self.status
    }

    /// Stops the server, waits until its threads have ended, and returns its last counters. RPCs in flight end with an error at their
    /// clients.
    ///
    /// An RPC that a worker has answered, but not yet freed when it stops, is not counted as freed: at most one for each worker.
    pub fn stop(mut self) -> Status {
        self.shut_down();
        self.status.read()
    }

    /// Waits until [`stopper`](Self::stopper) stops the server.
    pub fn join(mut self) {
        while !self.stop.load(Ordering::Acquire) {
            std::thread::park_timeout(std::time::Duration::from_millis(50));
        }
        self.shut_down();
    }

    /// A flag that stops the server from another thread, such as a signal handler: set it to `true`.
    #[must_use]
    pub fn stopper(&self) -> Arc<AtomicBool> {
        self.stop.clone()
    }

    fn shut_down(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.door.iter().for_each(|door| ring(door));
        self.bells.iter().for_each(|bell| bell.ring());
        for thread in self.threads.drain(..) {
            // A thread that panicked has already printed why.
            let _ = thread.join();
        }
        self.registry.disconnect_all();
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.shut_down();
    }
}

/// Starts a server with threads on which `run` runs the workers.
pub(super) fn serve(
    endpoint: Endpoint,
    config: ServerConfig,
    run: Arc<dyn Fn(Worker) + Send + Sync>,
) -> Result<RunningServer, ServeError> {
    let pins = config.pin.clone();
    let engines = if Kind::of(&config).has_engine() { usize::from(groups_of(&config)) } else { 0 };
    let (mut running, workers) = open(endpoint, config)?;
    for (index, worker) in workers.into_iter().enumerate() {
        let run = run.clone();
        // The first cores are those of engines with their own threads.
        let pin = pins.get(engines + index).copied();
        let thread = spawn(&format!("nebula-worker-{index}"), pin, Box::new(move || run(worker)))?;
        running.threads.push(thread);
    }
    Ok(running)
}

/// Opens an endpoint: listener and engine run, the workers are the caller's.
pub(super) fn open(endpoint: Endpoint, config: ServerConfig) -> Result<(RunningServer, Vec<Worker>), ServeError> {
    let mut config = checked(&endpoint, config)?;
    let ground = match &endpoint {
        Endpoint::Shm(name) => {
            if !(1..=1 << 20).contains(&config.mtu_bytes) {
                return Err(ServeError::Mtu { got: config.mtu_bytes });
            }
            config.mtu_bytes = mtu_for(config.mtu_bytes);
            let status = Arc::new(SharedMemory::create_published("nebula-status", status_bytes(groups_of(&config)))?);
            let listener = open_door(name, &config, status.clone()).map_err(|cause| taken(&endpoint, cause))?;
            return assemble(endpoint, &config, status, Ground::Shm(listener));
        }
        &Endpoint::Udp(address) => {
            if config.key.is_none() && !config.insecure && !address.ip().is_loopback() {
                return Err(ServeError::Insecure { endpoint });
            }
            let wire = KernelWire::bind(address).map_err(|cause| taken(&endpoint, cause))?;
            Environment::machine(wire)?
        }
    };
    open_over(ground, config)
}

/// Opens a `udp://` server over an environment of the caller's.
pub(super) fn open_over(
    environment: Environment,
    config: ServerConfig,
) -> Result<(RunningServer, Vec<Worker>), ServeError> {
    let endpoint = Endpoint::Udp(environment.wire.local());
    let mut config = checked(&endpoint, config)?;
    if config.packet_bytes == 0 || !config.packet_bytes.is_multiple_of(64) {
        return Err(ServeError::Mtu { got: config.packet_bytes });
    }
    config.mtu_bytes = config.packet_bytes;
    // Packets that are lost are asked for again, which takes round trips.
    config.reassembly_timeout.get_or_insert(Span::from_ms(500));
    let status = Arc::new(SharedMemory::create_published("nebula-status", status_bytes(1))?);
    assemble(endpoint, &config, status, Ground::Udp(environment))
}

/// What a server is opened over.
enum Ground {
    Shm(Listener),
    Udp(Environment),
}

/// The configuration, if this endpoint supports it.
fn checked(endpoint: &Endpoint, mut config: ServerConfig) -> Result<ServerConfig, ServeError> {
    // Where workers share the engine, none of them is it alone.
    config.inline &= Kind::of(&config) != Kind::Shared;
    if config.custom_policy.is_some() && config.policy != Policy::default() {
        return Err(ServeError::TwoPolicies { policy: config.policy });
    }
    if config.policy.availability() == Availability::Simulated {
        return Err(ServeError::SimulatedOnly { policy: config.policy });
    }
    let policy = config.policy;
    match endpoint {
        Endpoint::Shm(_) if config.idle == IdlePolicy::Block => Err(ServeError::BlockOverShm),
        Endpoint::Udp(_) if groups_of(&config) > 1 => Err(ServeError::GroupsOverUdp { policy }),
        Endpoint::Udp(_) if config.idle == IdlePolicy::Block && !Kind::of(&config).sleeps() => {
            Err(ServeError::Block { policy })
        }
        Endpoint::Shm(_) | Endpoint::Udp(_) => Ok(config),
    }
}

/// Builds engines and workers, and starts the server's own threads.
fn assemble(
    endpoint: Endpoint,
    config: &ServerConfig,
    status: Arc<SharedMemory>,
    ground: Ground,
) -> Result<(RunningServer, Vec<Worker>), ServeError> {
    let backend_config = config.backend_config()?;
    backend_config.validate()?;
    let reader = StatusReader::new(ReadOnlyMemory::open(status.fd(), status_bytes(groups_of(config)))?);
    let (stop, registry) = (Arc::new(AtomicBool::new(false)), Arc::new(Registry::default()));
    let bound = config.dispatcher(&backend_config).bound();
    let watch = Watch::new(if let Ground::Udp(environment) = &ground { &environment.time } else { &Time::Machine });
    let (ports, listener) = ports(config, &backend_config, ground, &registry);
    let mut running = RunningServer {
        endpoint,
        stop: stop.clone(),
        door: listener.as_ref().map(Listener::bell),
        bells: Vec::new(),
        registry: registry.clone(),
        status: reader,
        threads: Vec::new(),
    };
    let (mut engines, mut workers) = (Vec::new(), Vec::new());
    for (Part { config, group }, port) in part(config)?.into_iter().zip(ports) {
        let (log, choices) = config.decision_log.as_ref().map(|_| channel()).unzip();
        let seed = backend_config.seed;
        let bell = Arc::new(Bell::new()?);
        let crew = Crew {
            config: &config,
            bound,
            seed,
            registry: &registry,
            stop: &stop,
            bell: &bell,
            watch: &watch,
            log: &log,
        };
        let (links, ends) = crew.links()?;
        running.bells.extend(links.iter().filter_map(|link| link.bell.clone()).chain([bell.clone()]));
        let status = StatusPage::new(status.clone(), engines.len());
        let parts =
            Parts { port, watch: watch.clone(), bell: bell.clone(), status, links, choices, stop: stop.clone() };
        let (team, engine) = crew.workers(ends, Engine::try_new(&config, group, parts)?)?;
        workers.extend(team);
        engines.extend(engine);
    }
    if let Some(listener) = listener {
        running.threads.push(spawn("nebula-listener", None, Box::new(move || listener.run(&stop)))?);
    }
    for (index, engine) in engines.into_iter().enumerate() {
        let name = if index == 0 { "nebula-engine".to_owned() } else { format!("nebula-engine-{index}") };
        running.threads.push(spawn(&name, config.pin.get(index).copied(), Box::new(move || engine.run()))?);
    }
    Ok((running, workers))
}

/// The engines' ports, and the listener where there is one.
fn ports(
    config: &ServerConfig,
    backend: &BackendConfig,
    ground: Ground,
    registry: &Arc<Registry>,
) -> (Vec<Port>, Option<Listener>) {
    match ground {
        Ground::Shm(listener) => {
            let rings = |mailbox: &Arc<Mailbox>| Rings::new(config.clients_max, registry.clone(), mailbox.clone());
            (listener.mailboxes().iter().map(|mailbox| Port::Shm(rings(mailbox))).collect(), Some(listener))
        }
        Ground::Udp(environment) => (vec![Port::Udp(Box::new(UdpPort::new(config, backend, environment)))], None),
    }
}

fn open_door(name: &str, config: &ServerConfig, status: Arc<SharedMemory>) -> std::io::Result<Listener> {
    let terms = Terms {
        mtu_bytes: config.mtu_bytes,
        rpc_bytes_max: config.rpc_bytes_max,
        reply_bytes_max: config.reply_bytes_max.unwrap_or(0),
        slo_ps: config.slo.as_ps(),
        clients_max: config.clients_max,
        engines: groups_of(config),
        allowed_uids: config.allowed_uids.clone(),
    };
    Listener::open(name, terms, status)
}

fn taken(endpoint: &Endpoint, cause: std::io::Error) -> ServeError {
    match cause.kind() {
        std::io::ErrorKind::AddrInUse => ServeError::Taken { endpoint: endpoint.clone() },
        std::io::ErrorKind::AddrNotAvailable => ServeError::NotHere { endpoint: endpoint.clone() },
        _ => ServeError::System(cause),
    }
}

/// Starts a named thread, pinned where asked; waits until it is known whether that succeeded.
fn spawn(name: &str, pin: Option<usize>, run: Box<dyn FnOnce() + Send>) -> Result<JoinHandle<()>, ServeError> {
    let (tell, told) = std::sync::mpsc::channel();
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        let pinned = pin.map_or(Ok(()), |core| pin_to(core).map_err(|cause| ServeError::Pin { core, cause }));
        let is_pinned = pinned.is_ok();
        if tell.send(pinned).is_ok() && is_pinned {
            run();
        }
    })?;
    match told.recv() {
        Ok(Err(error)) => Err(error),
        _ => Ok(thread),
    }
}

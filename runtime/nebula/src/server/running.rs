//! A running server: its threads, and its shutdown.

use super::assembly::{Assembly, Meters};
use super::claim::claim;
use super::drain::Draining;
use super::parts::{Part, check_parts, part};
use super::pool::{Pool, Pooled};
use super::stopper::{Stop, Stopper};
use super::thread::spawn;
use crate::config::error::{LogError, ServeError};
use crate::config::key::Keys;
use crate::config::kind::Kind;
use crate::config::server::{IdlePolicy, Queueing, ServerConfig};
use crate::config::tenant;
use crate::config::threads::{Cores, Threads};
use crate::endpoint::{Endpoint, XdpAddress};
use crate::engine::turn::{Engine, Parts};
use crate::net::{Environment, KernelWire, Sockets, TcpServerWire, Time, Watch, Wire, random_bytes, xdp};
use crate::nic::one_sided::OneSided;
use crate::nic::recorder::FirstLogError;
use crate::nic::transport::Transport;
use crate::rpc::parking::Parker;
use crate::rpc::region::Registered;
use crate::rpc::service::Service;
use crate::rpc::slot::mtu_for;
use crate::status::{Layout, PoolStatus, Status, StatusPage, StatusReader};
use crate::transport::packets::counters::PacketCounters;
use crate::transport::shm::listener::{EventQueue, Listener, Spread, Terms, wake};
use crate::transport::shm::registry::Registry;
use crate::transport::shm::rings::Rings;
use crate::transport::stream::framing::Framing;
use crate::transport::stream::port::{Ears, StreamPort};
use crate::transport::udp::key_box::KeyBox;
use crate::transport::udp::numbers::{GROUP_KEY, Numbers, first_number};
use crate::transport::udp::port::UdpPort;
use crate::ways::inline::InlineTransport;
use crate::worker::Worker;
use nebula_nic::{Availability, CentralDispatch, Policy, RegionId, Span};
use nebula_sys::shared::{ReadOnlyMemory, SharedMemory};
use nebula_sys::udp::GroupKey;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub struct RunningServer {
    endpoint: Endpoint,
    stop: Stop,
    registry: Arc<Registry>,
    status: StatusReader,
    /// The status page and its layout, for later writers.
    page: (Arc<SharedMemory>, Layout),
    draining: Draining,
    key_boxes: Vec<Arc<KeyBox>>,
    regions: Vec<Registered>,
    log_error: FirstLogError,
    threads: Vec<JoinHandle<()>>,
    pool: Option<Arc<Pool>>,
    packets: Option<Arc<PacketCounters>>,
    /// Workers whose threads have not ended.
    workers: Arc<AtomicU32>,
    chosen: Threads,
}

impl RunningServer {
    /// The endpoint; after `udp://…:0` or `tcp://…:0` with the port that the kernel chose.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Its polling threads, and why it has them.
    #[must_use]
    pub fn threads(&self) -> Threads {
        self.chosen
    }

    /// The reader of the server's counters.
    #[must_use]
    pub fn status(&self) -> &StatusReader {
        &self.status
    }

    /// Refuses new RPCs and waits until all accepted ones are answered, for `timeout` at most.
    /// Returns whether they are. [Stop](Self::stop) the server afterwards.
    ///
    /// Over `shm://` and `tcp://` no client can connect any more, and another server may have the
    /// endpoint. Connected clients, and over `udp://` all clients, get a NACK for each further RPC.
    /// Accepted RPCs are served; those with [later](crate::Reply::later) replies keep the server
    /// waiting.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula::{Client, Reply, Server};
    /// use std::time::Duration;
    ///
    /// let name = format!("shm://doc-drain-{}", std::process::id());
    /// let server = Server::bind(&name).serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
    /// let mut client = Client::connect(&name)?;
    /// assert_eq!(client.call(b"hello")?, b"hello");
    /// assert!(server.drain(Duration::from_secs(5)));
    /// assert!(Client::connect(&name).is_err());
    /// server.stop();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn drain(&self, timeout: Duration) -> bool {
        self.draining.begin();
        self.stop.listener.iter().for_each(|listener_waker| wake(listener_waker));
        let until = Instant::now() + timeout;
        loop {
            self.stop.parkers.iter().for_each(|parker| parker.wake());
            if self.draining.is_over(&self.status.read(), self.pool().as_ref()) {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The counters of the pool, if long RPCs have one.
    #[must_use]
    pub fn pool(&self) -> Option<PoolStatus> {
        self.pool.as_ref().map(|pool| pool.status())
    }

    /// The counters of the packets that [pass through](crate::Server::serve_packets) the server, if
    /// any do.
    #[must_use]
    pub fn packets(&self) -> Option<Arc<PacketCounters>> {
        self.packets.clone()
    }

    pub(super) fn set_packets(&mut self, packets: Arc<PacketCounters>) {
        self.packets = Some(packets);
    }

    pub(crate) fn set_pool(&mut self, pool: Arc<Pool>) {
        self.pool = Some(pool);
    }

    /// Replaces the keys of a `udp://` or `tcp://` server that was started with keys. Each engine
    /// applies them in its next turn; a client whose key is not among them gets no more answers.
    /// Without keys, and for a server started without, nothing changes.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula::{Key, Keys, Reply, Server};
    ///
    /// let old = Key::random()?;
    /// let server = Server::bind("udp://127.0.0.1:0").inline(true).key(old.clone());
    /// let server = server.serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
    /// let keys: Keys = format!("{}\n{}", Key::random()?.to_hex(), old.to_hex()).parse()?;
    /// server.set_keys(&keys);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_keys(&self, keys: &Keys) {
        self.key_boxes.iter().for_each(|key_box| key_box.put(keys.clone()));
        // A sleeping engine must learn at once which clients it may no longer answer.
        self.stop.parkers.iter().for_each(|parker| parker.wake());
    }

    /// Refuses every one-sided operation on `region` from here on. Returns whether there is such a
    /// region. Clients that have mapped it keep the memory until they disconnect; no further client
    /// gets it.
    pub fn revoke(&self, region: RegionId) -> bool {
        let registered = self.regions.get(region.place()).filter(|_| region.0 >> 16 == 0);
        registered.inspect(|registered| registered.revoke()).is_some()
    }

    /// Why the [decision log](ServerConfig::decision_log) has ended, if writing it failed. The
    /// server goes on without it.
    #[must_use]
    pub fn log_error(&self) -> Option<&LogError> {
        self.log_error.get()
    }

    /// Stops the server, waits until its threads have ended, and returns its last counters. RPCs in
    /// flight end with an error at their clients.
    ///
    /// The pool serves the RPCs that it has accepted; those with [later](crate::Reply::later)
    /// replies end unanswered.
    ///
    /// An RPC that a worker has answered but not yet freed does not count as freed: at most one a
    /// worker, and those with later replies.
    pub fn stop(mut self) -> Status {
        self.shut_down();
        self.status.read()
    }

    /// As [`stop`](Self::stop), and also returns whether the decision log is complete.
    ///
    /// Drop your own workers ([`Server::open`](crate::Server::open)) first: the log of one that is
    /// also the engine ends with it.
    pub fn stop_with_log(mut self) -> (Status, Result<(), LogError>) {
        self.shut_down();
        (self.status.read(), self.log_result())
    }

    fn log_result(&self) -> Result<(), LogError> {
        self.log_error.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Waits until [`stopper`](Self::stopper) stops the server, which goes on if its decision log
    /// fails.
    ///
    /// # Errors
    ///
    /// [`LogError`]: the decision log is incomplete.
    pub fn join(mut self) -> Result<(), LogError> {
        self.stop.wait();
        self.shut_down();
        self.log_result()
    }

    /// Stops the server from another thread or a signal handler.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stop.stopper()
    }

    fn shut_down(&mut self) {
        self.stopper().stop();
        for thread in self.threads.drain(..) {
            // A thread that panicked has printed why.
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

pub(super) type Spoken = (Endpoint, Option<Arc<dyn Framing>>);

/// Opens a server, and starts a thread for each worker, which `run` gets.
pub(super) fn serve(
    open: impl FnOnce(ServerConfig) -> Result<(RunningServer, Vec<Worker>), ServeError>,
    config: ServerConfig,
    run: Arc<dyn Fn(Worker) + Send + Sync>,
) -> Result<RunningServer, ServeError> {
    let (config, threads) = config.with_threads_chosen();
    let (pins, engines) = (config.pin.clone(), config.engine_threads());
    let (mut running, workers) = open(config)?;
    running.chosen = threads;
    for (index, worker) in workers.into_iter().enumerate() {
        let (run, at_work) = (run.clone(), AtWork::new(&running));
        // The first cores are for engines with their own threads.
        let pin = pins.get(engines + index).copied();
        let work = Box::new(move || {
            let _at_work = at_work;
            run(worker);
        });
        running.threads.push(spawn(&format!("nebula-worker-{index}"), pin, work)?);
    }
    Ok(running)
}

/// A worker with a thread. Engines end after it, since they send its answers.
struct AtWork {
    workers: Arc<AtomicU32>,
    parkers: Vec<Arc<Parker>>,
}

impl AtWork {
    fn new(running: &RunningServer) -> Self {
        running.workers.fetch_add(1, Ordering::Relaxed);
        Self { workers: running.workers.clone(), parkers: running.stop.parkers.clone() }
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        // Release: after everything that the worker gave back.
        self.workers.fetch_sub(1, Ordering::Release);
        self.parkers.iter().for_each(|parker| parker.wake());
    }
}

/// As [`serve`], with a pool for long RPCs.
pub(super) fn serve_pooled(
    endpoint: Spoken,
    config: ServerConfig,
    service: Arc<dyn Service + Send + Sync>,
) -> Result<RunningServer, ServeError> {
    let mut config = config.with_pool();
    let pool = Arc::new(Pool::new(&config, &endpoint.0, endpoint.1.is_some()));
    config.description = config.description.map(|description| pool.drained_first(description));
    let pins = config.pin.get(config.threads().number()..).unwrap_or_default().to_vec();
    let pooled = Pooled::new(service.clone(), pool.clone());
    let run = Arc::new(move |worker: Worker| {
        pooled.log_to(worker.log());
        worker.run(&pooled);
    });
    let mut running = serve(|config| open(endpoint, config), config, run)?;
    for index in 0..usize::from(pool.threads()) {
        let (pool, service) = (pool.clone(), service.clone());
        let run = Box::new(move || pool.work(&*service));
        running.threads.push(spawn(&format!("nebula-pool-{index}"), pins.get(index).copied(), run)?);
    }
    pool.publish_on(running.page.0.clone(), running.page.1);
    running.pool = Some(pool);
    Ok(running)
}

/// What [`open`] would refuse before it takes memory, an address or a thread.
pub(super) fn check((endpoint, framing): Spoken, config: ServerConfig) -> Result<(), ServeError> {
    let config = if config.threads_of_pool() > 0 { config.with_pool() } else { config };
    let mut config = checked(&endpoint, config.with_threads_chosen().0)?;
    check_address(&endpoint, framing.is_some(), &config)?;
    fit(&endpoint, framing.is_some(), &mut config)?;
    for part in part(&config, None)? {
        part.config.backend_config()?.validate()?;
    }
    if config.oversubscribe { Ok(()) } else { config.threads_of_own().check() }
}

/// Whether clients may be served at this address, in this protocol.
fn check_address(endpoint: &Endpoint, is_framed: bool, config: &ServerConfig) -> Result<(), ServeError> {
    let endpoint = endpoint.clone();
    let is_closed = config.insecure || (!is_framed && !config.keys.is_empty());
    match &endpoint {
        Endpoint::Udp(_) if is_framed && !config.keys.is_empty() => Err(ServeError::Framing { endpoint }),
        Endpoint::Udp(address) | Endpoint::Tcp(address) if !is_closed && !address.ip().is_loopback() => {
            Err(ServeError::Insecure { endpoint })
        }
        Endpoint::Udp(_) | Endpoint::Tcp(_) => Ok(()),
        Endpoint::Unix(_) if is_framed => Ok(()),
        _ if is_framed => Err(ServeError::Framing { endpoint }),
        Endpoint::Xdp(address) if address.server.is_some() => Err(ServeError::XdpPeer { endpoint }),
        Endpoint::Xdp(_) if !is_closed => Err(ServeError::Insecure { endpoint }),
        Endpoint::Xdp(_) if config.parts() > 1 => Err(ServeError::EnginesOverOneWire { engines: config.parts() }),
        Endpoint::Shm(_) | Endpoint::Xdp(_) | Endpoint::Packets(_) | Endpoint::Unix(_) => Ok(()),
    }
}

/// Chooses the packets of the NIC as this endpoint's transport needs them.
fn fit(endpoint: &Endpoint, is_framed: bool, config: &mut ServerConfig) -> Result<(), ServeError> {
    match endpoint {
        // Every request is one packet, so none waits for the rest of it in the receive buffer.
        _ if is_framed => config.mtu_bytes = config.rpc_bytes_max.next_multiple_of(64).max(64),
        Endpoint::Shm(_) if !(1..=1 << 20).contains(&config.mtu_bytes) => {
            return Err(ServeError::Mtu { got: config.mtu_bytes });
        }
        Endpoint::Shm(_) => config.mtu_bytes = mtu_for(config.mtu_bytes),
        Endpoint::Packets(_) | Endpoint::Unix(_) => {}
        _ if config.packet_bytes == 0 || !config.packet_bytes.is_multiple_of(64) => {
            return Err(ServeError::Mtu { got: config.packet_bytes });
        }
        Endpoint::Udp(_) | Endpoint::Tcp(_) | Endpoint::Xdp(_) => {
            config.mtu_bytes = config.packet_bytes;
            // Lost packets are asked for again, which takes round trips.
            config.reassembly_timeout.get_or_insert(Span::from_ms(500));
        }
    }
    Ok(())
}

pub(super) fn open(
    (endpoint, framing): Spoken,
    config: ServerConfig,
) -> Result<(RunningServer, Vec<Worker>), ServeError> {
    let config = checked(&endpoint, config)?;
    check_address(&endpoint, framing.is_some(), &config)?;
    if let Some(framing) = framing {
        return open_stream(endpoint, framing, config, &Time::Machine);
    }
    match &endpoint {
        Endpoint::Shm(name) => open_shm(name, endpoint.clone(), config),
        &Endpoint::Udp(address) | &Endpoint::Tcp(address) => {
            let wires = claim(&endpoint, || match &endpoint {
                Endpoint::Tcp(_) => listen_for_datagrams(address, &config),
                _ => bind(address, config.parts(), Some(GROUP_KEY)),
            })?;
            open_udp(&endpoint, wires, &Time::Machine, &random_bytes()?, config)
        }
        Endpoint::Xdp(address) => open_xdp(address, config),
        Endpoint::Packets(_) => Err(ServeError::PacketsNotAsked { endpoint }),
        Endpoint::Unix(_) => Err(ServeError::NoFraming { endpoint }),
    }
}

/// As [`open`], of another protocol, with the caller's clock.
pub(super) fn open_by(
    (endpoint, framing): Spoken,
    config: ServerConfig,
    time: &Time,
) -> Result<(RunningServer, Vec<Worker>), ServeError> {
    let config = checked(&endpoint, config)?;
    check_address(&endpoint, framing.is_some(), &config)?;
    match framing {
        Some(framing) => open_stream(endpoint, framing, config, time),
        None => Err(ServeError::NoFraming { endpoint }),
    }
}

/// A socket for each engine. Without `key`, which selects the engine, each sender has one engine.
fn bind(address: SocketAddr, engines: u16, key: Option<GroupKey>) -> std::io::Result<Vec<Box<dyn Wire>>> {
    let boxed = |wire: KernelWire| Box::new(wire) as Box<dyn Wire>;
    // One engine needs no selection by the kernel, which may lack it.
    if engines == 1 {
        return Ok(vec![boxed(KernelWire::bind(address)?)]);
    }
    Ok(KernelWire::bind_group(address, engines, key)?.into_iter().map(boxed).collect())
}

/// If the kernel denies this process the interface's frames, uses its sockets at the same address.
fn open_xdp(address: &XdpAddress, config: ServerConfig) -> Result<(RunningServer, Vec<Worker>), ServeError> {
    let endpoint = Endpoint::Xdp(address.clone());
    let (wire, is_past_the_stack) = claim(&endpoint, || xdp::bind(&address.interface, address.port))?;
    let local = wire.local();
    let endpoint = if is_past_the_stack { endpoint } else { Endpoint::Udp(local) };
    open_udp(&endpoint, vec![wire], &Time::Machine, &random_bytes()?, config)
}

/// A listening socket for each engine, which keeps the connections that the kernel gives it.
fn listen_for_datagrams(address: SocketAddr, config: &ServerConfig) -> std::io::Result<Vec<Box<dyn Wire>>> {
    let wires = TcpServerWire::bind_group(address, config.parts(), config.clients_max.into())?;
    Ok(wires.into_iter().map(|wire| Box::new(wire) as Box<dyn Wire>).collect())
}

fn open_shm(
    name: &str,
    endpoint: Endpoint,
    mut config: ServerConfig,
) -> Result<(RunningServer, Vec<Worker>), ServeError> {
    fit(&endpoint, false, &mut config)?;
    let mut ground = Ground::new(endpoint, &config, &Time::Machine)?;
    let open = || open_listener(name, &config, ground.page.clone());
    let listener = claim(&ground.endpoint, open)?.until(ground.draining.flag());
    ground.listener_waker = Some(listener.waker());
    let registry = ground.registry.clone();
    let one_sided = OneSided::try_new(&config)?;
    let rings =
        |queue: &Arc<EventQueue>| Rings::new(config.clients_max, registry.clone(), queue.clone(), one_sided.clone());
    let rings: Vec<Rings> = listener.queues().iter().map(rings).collect();
    let (mut running, workers) = assemble(part(&config, Rings::SOURCES)?, ground, rings)?;
    running.regions = config.regions;
    let stop = running.stop.flag.clone();
    running.threads.push(spawn("nebula-listener", None, Box::new(move || listener.run(&stop)))?);
    Ok((running, workers))
}

pub(super) fn open_over(
    environment: Environment,
    config: ServerConfig,
) -> Result<(RunningServer, Vec<Worker>), ServeError> {
    let Environment { wire, time, entropy } = environment;
    let endpoint = Endpoint::Udp(wire.local());
    let config = checked(&endpoint, config)?;
    if config.parts() > 1 {
        return Err(ServeError::EnginesOverOneWire { engines: config.parts() });
    }
    open_udp(&endpoint, vec![wire], &time, &entropy, config)
}

fn open_udp(
    asked: &Endpoint,
    wires: Vec<Box<dyn Wire>>,
    time: &Time,
    entropy: &[u8; 32],
    mut config: ServerConfig,
) -> Result<(RunningServer, Vec<Worker>), ServeError> {
    let local = wires[0].local();
    let endpoint = match asked {
        Endpoint::Tcp(_) => Endpoint::Tcp(local),
        Endpoint::Xdp(address) => Endpoint::Xdp(XdpAddress { port: local.port(), ..address.clone() }),
        _ => Endpoint::Udp(local),
    };
    fit(&endpoint, false, &mut config)?;
    let parts = part(&config, UdpPort::SOURCES)?;
    let numbers = Numbers::for_engines(config.parts(), first_number(entropy));
    let key_boxes: Vec<Arc<KeyBox>> = parts.iter().map(|_| Arc::default()).collect();
    let ports = parts.iter().zip(wires).zip(numbers).zip(&key_boxes).map(|(((part, wire), numbers), key_box)| {
        Ok(UdpPort::new(
            (&part.config, &part.config.backend_config()?),
            wire,
            entropy,
            numbers,
            key_box.clone(),
            OneSided::try_new(&config)?,
            Watch::new(time),
        ))
    });
    let ports = ports.collect::<Result<Vec<_>, ServeError>>()?;
    let (mut running, workers) = assemble(parts, Ground::new(endpoint, &config, time)?, ports)?;
    running.key_boxes = key_boxes;
    running.regions = config.regions;
    Ok((running, workers))
}

/// Opens a server of another protocol; its engines keep the connections that the kernel gives them.
fn open_stream(
    endpoint: Endpoint,
    framing: Arc<dyn Framing>,
    mut config: ServerConfig,
    time: &Time,
) -> Result<(RunningServer, Vec<Worker>), ServeError> {
    fit(&endpoint, true, &mut config)?;
    let parts = part(&config, StreamPort::SOURCES)?;
    let ears = claim(&endpoint, || listen(&endpoint, config.parts()))?;
    let local = |ears: &[Ears]| ears[0].local();
    let endpoint = match endpoint {
        Endpoint::Udp(_) => Endpoint::Udp(local(&ears)?),
        Endpoint::Tcp(_) => Endpoint::Tcp(local(&ears)?),
        endpoint => endpoint,
    };
    let keeps_order =
        config.kind() == Kind::Inline && !matches!(config.policy, Policy::Preemptive(_)) && config.laters() == 0;
    let ports = ears.into_iter().map(|ears| {
        let reply_bytes_max = config.reply_bound();
        StreamPort::new(ears, framing.clone(), (config.clients_max.into(), config.slo), reply_bytes_max, keeps_order)
    });
    let ports = ports.collect();
    assemble(parts, Ground::new(endpoint, &config, time)?, ports)
}

fn listen(endpoint: &Endpoint, engines: u16) -> std::io::Result<Vec<Ears>> {
    let sockets = match endpoint {
        &Endpoint::Udp(address) => return Ok(bind(address, engines, None)?.into_iter().map(Ears::Datagrams).collect()),
        &Endpoint::Tcp(address) => Sockets::listen_group(address, engines)?,
        Endpoint::Unix(path) => Sockets::listen_at(path, engines)?,
        _ => return Err(std::io::ErrorKind::Unsupported.into()),
    };
    Ok(sockets.into_iter().map(Ears::Stream).collect())
}

pub(super) struct Ground {
    endpoint: Endpoint,
    page: (Arc<SharedMemory>, Layout),
    draining: Draining,
    registry: Arc<Registry>,
    listener_waker: Option<Arc<OwnedFd>>,
    watch: Watch,
    pin: Vec<usize>,
    threads: Threads,
}

impl Ground {
    pub(super) fn new(endpoint: Endpoint, config: &ServerConfig, time: &Time) -> Result<Self, ServeError> {
        let layout = Layout::of(config);
        let status = SharedMemory::create_published("nebula-status", layout.bytes())?;
        Ok(Self {
            endpoint,
            page: (Arc::new(status), layout),
            draining: Draining::default(),
            registry: Arc::default(),
            listener_waker: None,
            watch: Watch::new(time),
            pin: config.pin.clone(),
            threads: config.threads_of_own(),
        })
    }
}

/// The configuration with what describes the service, if this endpoint supports it.
pub(super) fn checked(endpoint: &Endpoint, config: ServerConfig) -> Result<ServerConfig, ServeError> {
    let mut config = config.with_description();
    // Workers that share the engine are never inline.
    if config.kind() == Kind::Shared {
        config.inline = Some(false);
    }
    if config.custom_policy.is_some() && config.policy != Policy::default() {
        return Err(ServeError::TwoPolicies { policy: config.policy });
    }
    if config.policy.availability() == Availability::Simulated {
        return Err(ServeError::SimulatedOnly { policy: config.policy });
    }
    if config.idle == IdlePolicy::Adaptive && config.sleeps() && Cores::of_this_process().quota_millicores().is_some() {
        config.idle = IdlePolicy::Block;
    }
    let has_network = !matches!(endpoint, Endpoint::Shm(_));
    tenant::check(&config.tenants, has_network, !config.keys.is_empty())?;
    let policy = config.policy;
    match endpoint {
        _ if config.engines > 1 && config.groups() > 1 => {
            Err(ServeError::EnginesAndGroups { engines: config.engines, policy })
        }
        _ if config.idle == IdlePolicy::Block && !config.sleeps() => Err(ServeError::Block { policy }),
        _ => check_parts(&config).map(|()| config),
    }
}

/// Builds an engine for each transport and its workers, and starts the engines' threads.
pub(super) fn assemble<T: InlineTransport>(
    parts: Vec<Part>,
    ground: Ground,
    transports: Vec<T>,
) -> Result<(RunningServer, Vec<Worker>), ServeError> {
    if parts.iter().any(|part| !part.config.oversubscribe) {
        ground.threads.check()?;
    }
    let Ground { endpoint, page: (status, layout), draining, registry, listener_waker, watch, pin, threads } = ground;
    let reader = StatusReader::new(ReadOnlyMemory::open(status.fd(), layout.bytes())?, layout.bytes());
    let stop = Stop::try_new(listener_waker)?;
    let flag = stop.flag.clone();
    let at_work = Arc::new(AtomicU32::new(0));
    let mut running = RunningServer {
        endpoint,
        stop,
        registry: registry.clone(),
        status: reader,
        page: (status.clone(), layout),
        draining: draining.clone(),
        key_boxes: Vec::new(),
        regions: Vec::new(),
        log_error: FirstLogError::default(),
        threads: Vec::new(),
        pool: None,
        packets: None,
        workers: at_work.clone(),
        chosen: threads,
    };
    let (mut engines, mut workers) = (Vec::new(), Vec::<Worker>::new());
    for (index, (Part { config, group }, transport)) in parts.into_iter().zip(transports).enumerate() {
        let backend_config = config.backend_config()?;
        backend_config.validate()?;
        let bound = config.dispatcher(&backend_config).bound();
        let (log, choices) = config.decision_log.as_ref().map(|_| channel()).unzip();
        let seed = backend_config.seed;
        let parker = Arc::new(Parker::new()?);
        let page = config.metrics.then(|| status.clone());
        let description = config.description.clone().unwrap_or_default();
        let meters = Meters { page, layout, engine: index, first: workers.len(), watch: watch.clone(), description };
        let assembly = Assembly {
            config: &config,
            bound,
            seed,
            registry: &registry,
            stop: &flag,
            parker: &parker,
            watch: &watch,
            meters: &meters,
            log: &log,
        };
        let (links, ends) = assembly.links()?;
        running.stop.parkers.extend(links.iter().filter_map(|link| link.parker.clone()).chain([parker.clone()]));
        let status = StatusPage::new(status.clone(), layout, index);
        let parts = Parts {
            transport,
            watch: watch.clone(),
            parker: parker.clone(),
            status,
            meter: meters.of(0),
            drain: draining.flag(),
            links,
            choices,
            log_error: running.log_error.clone(),
            stop: flag.clone(),
            workers: at_work.clone(),
        };
        let (team, engine) = assembly.workers(ends, Engine::try_new(&config, group, parts)?)?;
        workers.extend(team);
        engines.extend(engine);
    }
    for (index, engine) in engines.into_iter().enumerate() {
        let name = if index == 0 { "nebula-engine".to_owned() } else { format!("nebula-engine-{index}") };
        running.threads.push(spawn(&name, pin.get(index).copied(), Box::new(move || engine.run()))?);
    }
    Ok((running, workers))
}

fn open_listener(name: &str, config: &ServerConfig, page: (Arc<SharedMemory>, Layout)) -> std::io::Result<Listener> {
    let bounded = config.queueing == Queueing::SloBounded;
    let terms = Terms {
        domain: config.domain,
        mtu_bytes: config.mtu_bytes,
        rpc_bytes_max: config.rpc_bytes_max,
        reply_bytes_max: config.reply_bytes_max.unwrap_or(0),
        slo_ps: config.promised_slo().as_ps(),
        clients_max: config.clients_max,
        rings_bytes_max: config.rings_bytes_max,
        queue_bound: if bounded { config.queue_bound(config.service_mean) } else { 0 },
        engines: config.parts(),
        spread: if config.groups() > 1 { Spread::Hashed } else { Spread::InTurn },
        allowed_uids: config.allowed_uids.clone(),
        tenants: tenant::by_uid(&config.tenants),
        regions: config.regions.clone(),
    };
    Listener::open(name, terms, page)
}

//! A server: turns an endpoint, a configuration and a service into running threads.

mod assembly;
mod claim;
mod drain;
mod forwarding;
mod parts;
mod pool;
mod running;
mod stopper;
#[cfg(feature = "tokio")]
mod tasks;
mod thread;

pub(crate) use pool::{Pool, Pooled};
pub use running::RunningServer;
pub use stopper::Stopper;
pub(crate) use thread::spawn;

use crate::config::error::ServeError;
use crate::config::key::Key;
use crate::config::server::ServerConfig;
use crate::endpoint::{Endpoint, EndpointError, IntoEndpoint};
use crate::net::{Environment, Forwarding, Time};
use crate::rpc::description::Description;
use crate::rpc::region::{Region, Registered};
use crate::rpc::service::Service;
use crate::transport::stream::framing::Framing;
use crate::worker::Worker;
use nebula_nic::{CoreId, CustomPolicy, Policy, Rights, Span, Steering};
use std::sync::Arc;

/// A server that has not been started.
///
/// Its methods set what most servers need; [`config`](Self::config) sets everything.
///
/// # Examples
///
/// ```
/// use nebula::{Client, Reply, Server};
///
/// let name = format!("shm://doc-server-{}", std::process::id());
/// let server = Server::bind(&name).serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
/// let mut client = Client::connect(&name)?;
/// assert_eq!(client.call(b"hello")?, b"hello");
/// server.stop();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Server {
    endpoint: Result<Endpoint, EndpointError>,
    config: ServerConfig,
    framing: Option<Arc<dyn Framing>>,
}

/// Methods of [`Server`] for the most common settings of [`ServerConfig`].
macro_rules! passed_on {
    ($($(#[$more:meta])* $setting:ident: $of:ty),* $(,)?) => {
        impl Server {
            $(
                #[doc = concat!("Sets [`ServerConfig::", stringify!($setting), "`].")]
                $(#[$more])*
                #[must_use]
                pub fn $setting(mut self, value: $of) -> Self {
                    self.config = self.config.$setting(value);
                    self
                }
            )*
        }
    };
}

passed_on! {
    slo: impl Into<Span>,
    workers: u16,
    inline: bool,
    oversubscribe: bool,
    steering: Steering,
    rpc_bytes_max: u32,
    reply_bytes_max: u32,
    pool_threads: u16,
    key: Key,
    /// For [`serve_each`](Self::serve_each) and [`open`](Self::open), which have no service at the
    /// start.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula::{Client, Description, Server};
    ///
    /// let name = format!("shm://doc-describe-{}", std::process::id());
    /// let (server, workers) = Server::bind(&name).description(Description::default().reply_bytes_max(100)).open()?;
    /// assert_eq!(Client::connect(&name)?.reply_bytes_max(), Some(100));
    /// # drop((workers, server));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    description: Description,
    /// Threads that both receive and serve RPCs, each with its own queue and share of the clients.
    ///
    /// Clients are assigned in turn and stay; for one common queue, set [`workers`](Self::workers)
    /// alone.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula::{Client, Reply, Server};
    ///
    /// let name = format!("shm://doc-flows-{}", std::process::id());
    /// let server = Server::bind(&name).flows(2).serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
    /// assert_eq!(Client::connect(&name)?.call(b"hello")?, b"hello");
    /// server.stop();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    flows: u16,
    /// Engines, among which clients and workers are divided evenly.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula::{Client, Reply, Server};
    ///
    /// let server = Server::bind("udp://127.0.0.1:0").engines(2).workers(2).inline(true);
    /// let server = server.serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
    /// let mut client = Client::connect(server.endpoint().clone())?;
    /// assert_eq!(client.call(b"hello")?, b"hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    engines: u16,
}

impl Server {
    /// A server for `endpoint`. Starting it reports an invalid endpoint.
    #[must_use]
    pub fn bind(endpoint: impl IntoEndpoint) -> Self {
        Self { endpoint: endpoint.into_endpoint(), config: ServerConfig::default(), framing: None }
    }

    /// Serves clients of another protocol over `tcp://` or `udp://`: their requests become RPCs.
    /// The bounds are [`rpc_bytes_max`](Self::rpc_bytes_max), at most 1 MiB here, and
    /// [`clients_max`](ServerConfig::clients_max).
    #[must_use]
    pub fn framing(mut self, framing: impl Framing) -> Self {
        self.framing = Some(Arc::new(framing));
        self
    }

    /// Replaces the whole configuration.
    #[must_use]
    pub fn config(mut self, config: ServerConfig) -> Self {
        self.config = config;
        self
    }

    /// Sets how RPCs are dispatched to workers; JBSQ(2) by default.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        (self.config.policy, self.config.custom_policy) = (policy, None);
        self
    }

    /// Dispatches RPCs by a custom policy, with the engine on its own thread or
    /// [inline](Self::inline).
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula::{Choose, CoreId, CustomPolicy, Header, PerCore, Server};
    ///
    /// #[derive(Clone)]
    /// struct LongApart(u16);
    ///
    /// impl Choose for LongApart {
    ///     fn choose(&mut self, header: &Header) -> CoreId {
    ///         CoreId(if header.rpc_bytes > 1024 { self.0 - 1 } else { 0 })
    ///     }
    /// }
    ///
    /// let policy = CustomPolicy::try_new("long-apart", |cores, _seed| PerCore::new(cores, LongApart(cores)))?;
    /// let server = Server::bind("shm://files").workers(2).policy_with(policy);
    /// # Ok::<(), nebula::PolicyNameError>(())
    /// ```
    #[must_use]
    pub fn policy_with(mut self, policy: CustomPolicy) -> Self {
        (self.config.policy, self.config.custom_policy) = (Policy::default(), Some(policy));
        self
    }

    /// Lets clients use `region` by one-sided operations within `rights`, without any worker.
    /// Clients of this server's messaging domain name regions by number, in the order of
    /// registration from 0.
    ///
    /// With [`Rights::MAP`], clients on this machine that [ask for
    /// it](crate::ClientConfig::one_sided) map the memory and access it directly.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula::{Client, ClientConfig, Region, RegionId, Reply, Rights, Server};
    ///
    /// let name = format!("shm://doc-register-{}", std::process::id());
    /// let region = Region::create(4096)?;
    /// region.write(64, b"hello")?;
    /// let server = Server::bind(&name).register(&region, Rights::READ);
    /// let server = server.serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
    /// let mut client = Client::connect_with(&name, ClientConfig::default().one_sided(true))?;
    /// let ticket = client.read(RegionId(0), 64, 5)?;
    /// assert_eq!(client.finish(ticket)?, b"hello");
    /// server.stop();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn register(mut self, region: &Region, rights: Rights) -> Self {
        self.config.regions.push(Registered::new(region.clone(), rights));
        self
    }

    /// Starts threads that serve `service`, and returns.
    ///
    /// # Errors
    ///
    /// [`ServeError`], which says in one line why: the endpoint or the configuration is invalid,
    /// another server has the endpoint, or memory or threads are lacking.
    pub fn serve<S: Service + Send + Sync + 'static>(mut self, service: S) -> Result<RunningServer, ServeError> {
        self = self.described(&service);
        let (spoken, service) = ((self.endpoint?, self.framing), Arc::new(service));
        if self.config.threads_of_pool() > 0 {
            return running::serve_pooled(spoken, self.config, service);
        }
        let run = Arc::new(move |worker: Worker| worker.run(&*service));
        running::serve(|config| running::open(spoken, config), self.config, run)
    }

    /// Checks whether [`serve`](Self::serve) would refuse this configuration; takes no memory, no
    /// address and no thread.
    ///
    /// # Errors
    ///
    /// As `serve`, but for what depends on the service or on other processes.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula::{ServeError, Server};
    /// assert!(Server::bind("shm://any").workers(1).check().is_ok());
    /// assert!(Server::bind("shm://any").workers(0).check().is_err());
    /// assert!(matches!(Server::bind("udp://0.0.0.0:7400").check(), Err(ServeError::Insecure { .. })));
    /// ```
    pub fn check(self) -> Result<(), ServeError> {
        running::check((self.endpoint?, self.framing), self.config)
    }

    /// As [`serve`](Self::serve), with a service for each worker, so that state of one worker needs
    /// no synchronization. `make` makes it on the worker's thread from the worker's number.
    ///
    /// [`Service::describe`] is not called, as no service exists at the start: give the
    /// [`description`](Self::description) here if there is one. RPCs of
    /// [`Class::Worker`](crate::Class::Worker) run where they arrive.
    ///
    /// # Errors
    ///
    /// As [`serve`](Self::serve).
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula::{Client, CoreId, Reply, Server};
    /// use std::cell::Cell;
    /// let name = format!("shm://each-{}", std::process::id());
    /// let server = Server::bind(&name).workers(2).serve_each(|_: CoreId| {
    ///     let served = Cell::new(0u8);
    ///     move |_: &[u8], reply: &mut Reply| {
    ///         served.set(served.get() + 1);
    ///         reply.write(&[served.get()]);
    ///     }
    /// })?;
    /// let mut client = Client::connect(&name)?;
    /// assert_eq!(client.call(b"how many?")?, [1]);
    /// # drop(server);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn serve_each<S: Service>(
        self,
        make: impl Fn(CoreId) -> S + Send + Sync + 'static,
    ) -> Result<RunningServer, ServeError> {
        let run = move |worker: Worker| {
            let service = make(worker.core());
            worker.run(&service);
        };
        let spoken = (self.endpoint?, self.framing);
        running::serve(|config| running::open(spoken, config), self.config, Arc::new(run))
    }

    pub(crate) fn described(mut self, service: &impl Service) -> Self {
        self.config.description.get_or_insert_with(|| service.describe());
        self
    }

    /// The server with room for the RPCs in its pool, if it has one.
    pub(crate) fn with_pool(self) -> (Self, Option<Arc<Pool>>) {
        if self.config.threads_of_pool() == 0 {
            return (self, None);
        }
        let server = self.reconfigured(ServerConfig::with_pool);
        let pool = server.endpoint.as_ref().ok().map(|at| Pool::new(&server.config, at, server.framing.is_some()));
        (server, pool.map(Arc::new))
    }

    pub(crate) fn reconfigured(mut self, change: impl FnOnce(ServerConfig) -> ServerConfig) -> Self {
        self.config = change(self.config);
        self
    }

    /// Starts threads that serve packets, each a one-way RPC, between the two sides of a device.
    /// The endpoint given to [`bind`](Self::bind) is ignored.
    ///
    /// A request is a packet, as [`packet_of`](crate::net::packet_of) reads it. The reply is the
    /// frame that leaves at the other side; an empty reply drops the packet. A packet that
    /// admission control refuses is dropped too, and counts as a NACK. There is one engine.
    ///
    /// # Errors
    ///
    /// As [`serve`](Self::serve).
    pub fn serve_packets<S: Service + Send + Sync + 'static>(
        mut self,
        forwarding: Forwarding,
        service: S,
    ) -> Result<RunningServer, ServeError> {
        self = self.described(&service);
        let run = Arc::new(move |worker: Worker| worker.run(&service));
        running::serve(|config| forwarding::open(forwarding, config), self.config, run)
    }

    /// As [`open`](Self::open), for a `udp://` server over the caller's network, clock and random
    /// bytes. The endpoint given to [`bind`](Self::bind) is ignored.
    ///
    /// # Errors
    ///
    /// As [`serve`](Self::serve).
    pub fn open_over(self, environment: Environment) -> Result<(RunningServer, Vec<Worker>), ServeError> {
        running::open_over(environment, self.config)
    }

    /// As [`open`](Self::open), with the caller's clock: for a server of another protocol
    /// ([`framing`](Self::framing)) whose time is moved by hand. Its sockets are the kernel's.
    ///
    /// # Errors
    ///
    /// As [`serve`](Self::serve); [`ServeError::NoFraming`] without another protocol.
    pub fn open_by(self, time: &Time) -> Result<(RunningServer, Vec<Worker>), ServeError> {
        running::open_by((self.endpoint?, self.framing), self.config, time)
    }

    /// Opens the endpoint and returns the workers, which the caller runs: the papers' interface,
    /// [`Worker::wait_for_rpc`]. The engine has its own thread, which does not depend on the
    /// caller; with [`inline`](Self::inline) the one worker is the engine too.
    ///
    /// No service exists at the start, also for [`Worker::run`]: give its
    /// [`description`](Self::description) here if there is one.
    ///
    /// # Errors
    ///
    /// As [`serve`](Self::serve).
    pub fn open(self) -> Result<(RunningServer, Vec<Worker>), ServeError> {
        running::open((self.endpoint?, self.framing), self.config)
    }
}

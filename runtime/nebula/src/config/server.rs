//! The configuration of a server: fields, defaults, and the sizes that follow from them.

use std::path::PathBuf;

use crate::rpc::parking::{POLLED_FOR, Parker};
use derive_setters::Setters;
use nebula_nic::schedule::SUSPENDED_MAX;
use nebula_nic::turn::PaceConfig;
use nebula_nic::{
    Backend, BackendConfig, CLIENTS_WAITING_MAX, CentralDispatch, CustomPolicy, Dispatcher, DomainId, JBSQ_BOUND_MAX,
    Mtu, PER_CORE_BOUND, Policy, QueueRule, SLOT_BYTES, SOURCE_BITS_MAX, STEALABLE_BOUND, ScrubMode, SlotOrder,
    Sources, Span, Steering, slots_of,
};

use super::error::ServeError;
use super::kind::{Kind, groups_of};
use super::migration::MigrationConfig;
use crate::config::key::{Key, Keys};
use crate::config::tenant::{self, Tenant};
use crate::rpc::description::Description;
use crate::rpc::region::Registered;
use crate::rpc::rpc_types::RpcTypes;
use crate::rpc::slot::{MTU_BYTES_MAX, SPAN_MAX};

/// Admission control: when a long queue makes the server refuse RPCs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queueing {
    /// The SLO sizes the receive buffer and the queue. An RPC that would miss the SLO gets a NACK
    /// at once.
    SloBounded,
    /// The receive buffer has a fixed size, and no RPC is refused before it is full. Under overload
    /// the queue grows as with a buffer for each connection. For comparisons.
    Unbounded {
        /// Size of the receive buffer, in bytes.
        recv_buffer_bytes: u64,
    },
}

/// For how long an adaptive engine polls: some times as long as a thread takes to wake up.
const ADAPTIVE: Span = Span::from_us(50);

/// How a thread of the server waits without work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdlePolicy {
    /// It polls all the time: the lowest latency, for a whole core.
    Spin,
    /// It polls for 50 µs, then sleeps until something arrives: an idle server uses no processor
    /// time. An engine whose core other threads use polls for 2 to 5 µs. The first RPC after a
    /// silence waits for the threads on its way, some 10 µs each. Where several threads share a
    /// queue (`mcs-lock`, `work-stealing`, `altocumulus`), or the kernel lacks `membarrier`,
    /// threads poll, yield, and after 5 ms sleep 50 µs between polls, which takes a tenth of a core
    /// each. Under a CPU quota it is [`Block`](Self::Block).
    Adaptive,
    /// As [`Adaptive`](Self::Adaptive), after 25 µs.
    Block,
}

/// The configuration of a server.
///
/// Each field has a setter of the same name, which takes the value of an optional field. Times are
/// [`Span`]s; the setters take [`std::time::Duration`] too.
///
/// # Examples
///
/// ```
/// use nebula::{Server, ServerConfig};
/// use std::time::Duration;
///
/// let config = ServerConfig::default().workers(2).slo(Duration::from_micros(50)).rpc_bytes_max(4096);
/// let server = Server::bind("shm://doc-server-config").config(config);
/// # drop(server);
/// ```
#[derive(Clone, Debug, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct ServerConfig {
    /// How RPCs are given to workers. Default: JBSQ(2).
    pub policy: Policy,
    /// A custom policy. With one, `policy` must be at its default and is not used. Default: none.
    pub custom_policy: Option<CustomPolicy>,
    /// The latency that 99 % of the RPCs must keep, from arrival to reply. The receive buffer and
    /// the queue are sized from it. Default: 100 µs.
    #[setters(into)]
    pub slo: Span,
    /// The messaging domain: clients of another are refused, and the decision log names it.
    /// Default: 0.
    pub domain: u8,
    /// Worker threads. Default: 1.
    pub workers: u16,
    /// Engines, among which clients are divided evenly; each has its own queue, and its share of
    /// the workers, of the receive buffer and of the memory of executed RPCs. For more RPCs than
    /// one engine can take; see [`flows`](Self::flows). Default: 1.
    pub engines: u16,
    /// Whether each engine and its worker run on one thread, which takes one worker an engine.
    /// Under `mcs-lock` it changes nothing: there the workers take turns as the engine.
    ///
    /// `None`, the default, is one thread if each engine has one worker, unless [`pin`](Self::pin)
    /// names more cores than there are workers. While a handler runs on such a thread, the server
    /// accepts and refuses nothing: set `Some(false)` if handlers take long compared with the SLO
    /// and the engine can have a core. Workers from [`Server::open`](crate::Server::open) have an
    /// engine thread by default.
    pub inline: Option<bool>,
    /// Whether the server may have more polling threads, workers and engines, than this process may
    /// use cores. With `false` such a server does not start
    /// ([`ServeError::Oversubscribed`](crate::ServeError::Oversubscribed)). Default: `true`, since
    /// a program sets its workers deliberately; the program `nebula` asks for `--oversubscribe`.
    pub oversubscribe: bool,
    /// The most RPCs that an inline worker serves before it sends their answers and looks for more,
    /// 1 to 32. Fewer if domains share its thread ([`Domains`](crate::Domains)). Default: 32.
    pub turn_rpcs_max: u32,
    /// Whether the payload of a worker's next RPC is fetched while it serves the one before.
    /// Default: on.
    pub steering: Steering,
    /// The longest request, in bytes. A longer one gets a NACK. Default: 64 KiB.
    pub rpc_bytes_max: u32,
    /// Over `shm://`: the least payload of one slot of a client's ring, in bytes, up to 1 MiB. A
    /// slot is a multiple of a cache line with 16 bytes of header: it holds 48, 112, 176… bytes.
    /// Default: 4,096, which holds a page and its key in one packet. Only the parts of slots that
    /// messages reach take memory.
    pub mtu_bytes: u32,
    /// Over `udp://`: payload of one packet, in bytes, a multiple of 64. Default: 1,088, which with
    /// all headers fits the smallest MTU that IPv6 allows.
    pub packet_bytes: u32,
    /// The longest reply that the service sends, in bytes. The server announces it to every client
    /// that connects, and refuses a client with less room, before any handler runs. Over `udp://` a
    /// longer reply becomes [`Fault::ReplyTooLarge`](crate::Fault).
    ///
    /// `None`, the default: the server announces nothing. Over `shm://` each client then provisions
    /// the room that it expects to need, and a reply that does not fit fails only after the handler
    /// has run. Over `udp://` a reply has at most [`rpc_bytes_max`](Self::rpc_bytes_max) bytes, or
    /// 64 KiB if that is less.
    pub reply_bytes_max: Option<u32>,
    /// Over `udp://`: finished RPCs that the server remembers, of all clients together, so that
    /// none is executed twice. It remembers at least as many as fit the receive buffer. Default:
    /// 65,536.
    pub retention_rpcs: u32,
    /// Over `udp://`: memory for replies that may have to be sent again, in bytes; at least four of
    /// the longest. Default: 8 MiB.
    pub retention_bytes: usize,
    /// Over `udp://`: the keys of the clients, any of which is accepted. With keys every datagram
    /// is authenticated and encrypted, and a client whose address changes goes on. They may be
    /// replaced while the server runs
    /// ([`RunningServer::set_keys`](crate::RunningServer::set_keys)). Default: none.
    pub keys: Keys,
    /// Groups of clients that each have one share of the server under overload, with the weight of
    /// the share: owners of keys over `udp://`, user ids over `shm://`. A tenant gets at least its
    /// part by weight, or its demand if that is less; its clients share that evenly. At most 15 and
    /// `*` for all others, fixed while the server runs. Default: none; then all clients share
    /// evenly.
    #[setters(into)]
    pub tenants: Vec<Tenant>,
    /// Over `udp://`: whether to serve other machines without a key. Then anyone who reaches the
    /// address is served, and anyone on the path can read and change the RPCs. Default: `false`.
    pub insecure: bool,
    /// The expected mean service time of an RPC, until it has been measured. The receive buffer is
    /// sized from it. Default: 500 ns.
    #[setters(into)]
    pub service_mean: Span,
    /// The expected mean length of a request, in bytes. The receive buffer is sized from it.
    /// Default: 576.
    pub rpc_bytes_mean: u32,
    /// The largest receive buffer, in bytes, however long the SLO is. The longest RPC fits it twice
    /// in any case. If the SLO needs more, RPCs are refused for lack of room before they would miss
    /// it. Default: 64 MiB.
    pub recv_buffer_bytes_max: u64,
    /// How long an RPC of several packets may take to arrive, counted from its first packet. Then
    /// it gets a NACK. `None`, the default, is 10 ms over `shm://` and 500 ms over `udp://`.
    #[setters(into)]
    pub reassembly_timeout: Option<Span>,
    /// When the receive buffer is searched for room behind a slow RPC: before an RPC is refused,
    /// after it as in the paper, or ahead of need. Ahead of need, RPCs are also accepted singly
    /// instead of in bursts, which costs time. Default: [`ScrubMode::OnFull`].
    pub scrub: ScrubMode,
    /// When RPCs are refused because the queue is long. Default: when they would miss the SLO.
    pub queueing: Queueing,
    /// However slow RPCs are, one RPC of each client may wait, of so many clients at most: those
    /// that connected or asked lately, over `udp://` those that met others waiting. Then a client
    /// with one RPC outstanding is not refused, and may wait longer than the SLO. More clients are
    /// refused by the SLO; with 0 all are. Default:
    /// [`CLIENTS_WAITING_MAX`](nebula_nic::CLIENTS_WAITING_MAX), 64, which is also the most.
    pub clients_waiting_max: u32,
    /// Over `shm://`: clients that can be connected at once. Default: 4,096.
    pub clients_max: u16,
    /// Over `shm://`: memory for the rings of all clients together, in bytes. A client whose ring
    /// does not fit any more is refused ([`Refusal::NoMemory`](crate::Refusal::NoMemory)). Default:
    /// no bound but the machine's memory.
    pub rings_bytes_max: u64,
    /// Under `preemptive:Q`: RPCs that a worker can have suspended, at most 62. With 0 each runs to
    /// its end. Default: 16.
    pub suspended_max: u16,
    /// RPCs of a worker that may wait for [later](crate::Reply::later) replies at once, under
    /// `jbsq:N` and `single-queue`: a worker is given as many more, up to 64 in all. These wait at
    /// the worker instead of in the common queue, so set no more than needed. `None`, the default,
    /// is the service's own number ([`Description::later_max`]), or none: handlers reply at once.
    pub later_max: Option<u16>,
    /// Threads of the pool that runs the RPCs of [`Class::Worker`](crate::Class::Worker) of all
    /// workers; with 0 they run where they arrive. Needs `jbsq:N` or `single-queue`, and
    /// [`Server::serve`](crate::Server::serve). `None`, the default, is one if the service has such
    /// RPCs; under `darc`, which keeps cores free of them, it is 0.
    pub pool_threads: Option<u16>,
    /// RPCs that the pool accepts at once, waiting and running; fewer if the SLO needs that, by
    /// their measured service time. Each keeps its worker's credit like one with a
    /// [later](Self::later_max) reply, in addition to those. Default: 32.
    pub pool_max: u16,
    /// Under `darc`: RPCs in one sample of the service time and frequency of each type; cores are
    /// reserved from the first sample on. Default: 50,000.
    pub type_window: u32,
    /// Under `preemptive:Q`: the stack of each handler, in bytes. Default: 256 KiB.
    pub stack_bytes: usize,
    /// Under `altocumulus:G`: how groups hand RPCs to one another.
    pub migration: MigrationConfig,
    /// How threads without work wait. Default: [`IdlePolicy::Adaptive`].
    pub idle: IdlePolicy,
    /// Cores that threads are pinned to: first the engines' threads, then the workers'. Default:
    /// empty, nothing is pinned.
    #[setters(into)]
    pub pin: Vec<usize>,
    /// Over `shm://`: user ids that may connect in addition to the server's own. Default: none.
    #[setters(into)]
    pub allowed_uids: Vec<u32>,
    /// A description in the place of the service's. `None`, the default, asks the service
    /// ([`Service::describe`](crate::Service::describe)). Needed only where no service
    /// exists at the start: [`Server::serve_each`](crate::Server::serve_each) and
    /// [`Server::open`](crate::Server::open).
    pub description: Option<Description>,
    /// Memory that clients read and write by one-sided operations: the first is region 0, the next
    /// one 1. See [`Server::register`](crate::Server::register). Default: none.
    pub regions: Vec<Registered>,
    /// Whether workers sample one RPC in 64 for the [status page](crate::StatusReader): its times
    /// of waiting, service and both. This costs an RPC less than 2 % of its instructions. Default:
    /// `true`.
    pub metrics: bool,
    /// A file for every decision of the NIC, for replay. Under `altocumulus:G` each group appends
    /// its number to the name. It costs far more time than the decisions. A server that cannot
    /// begin its log does not start ([`ServeError::Log`](crate::ServeError::Log)); one that cannot
    /// continue it goes on without, and reports that
    /// ([`RunningServer::log_error`](crate::RunningServer::log_error),
    /// [`stop_with_log`](crate::RunningServer::stop_with_log),
    /// [`join`](crate::RunningServer::join)). Default: none.
    #[setters(into)]
    pub decision_log: Option<PathBuf>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            custom_policy: None,
            slo: Span::from_us(100),
            domain: 0,
            workers: 1,
            engines: 1,
            inline: None,
            oversubscribe: true,
            turn_rpcs_max: 32,
            steering: Steering::On,
            rpc_bytes_max: 64 * 1024,
            mtu_bytes: 4096,
            packet_bytes: 1088,
            reply_bytes_max: None,
            retention_rpcs: 65_536,
            retention_bytes: 8 << 20,
            keys: Keys::default(),
            tenants: Vec::new(),
            insecure: false,
            service_mean: Span::from_ns(500),
            rpc_bytes_mean: 576,
            recv_buffer_bytes_max: 64 << 20,
            reassembly_timeout: None,
            scrub: ScrubMode::OnFull,
            queueing: Queueing::SloBounded,
            clients_waiting_max: CLIENTS_WAITING_MAX,
            clients_max: 4096,
            rings_bytes_max: u64::MAX,
            suspended_max: 16,
            later_max: None,
            pool_threads: None,
            pool_max: 32,
            type_window: 50_000,
            stack_bytes: 256 * 1024,
            migration: MigrationConfig::default(),
            idle: IdlePolicy::Adaptive,
            pin: Vec::new(),
            allowed_uids: Vec::new(),
            description: None,
            regions: Vec::new(),
            metrics: true,
            decision_log: None,
        }
    }
}

impl ServerConfig {
    /// So many [engines](Self#structfield.engines), each inline with its one worker: Dagger's
    /// dispatch threads, each with its own queue. Clients are assigned to them in turn and stay.
    #[must_use]
    pub fn flows(self, flows: u16) -> Self {
        self.engines(flows).workers(flows).inline(true)
    }

    /// Sets one [key](Self#structfield.keys) for all clients.
    #[must_use]
    pub fn key(self, key: Key) -> Self {
        self.keys(key.into())
    }

    pub(crate) fn kind(&self) -> Kind {
        Kind::of(self.policy, self.is_inline())
    }

    pub(crate) fn groups(&self) -> u16 {
        groups_of(self.policy)
    }

    /// Parts of the server, each with an engine: its groups, or the engines asked for.
    pub(crate) fn parts(&self) -> u16 {
        self.groups().max(self.engines)
    }

    /// Whether all threads can sleep until something arrives: none searches for work, as groups do.
    pub(crate) fn sleeps(&self) -> bool {
        self.groups() == 1 && self.kind().sleeps()
    }

    /// The silence after which an engine and its workers sleep. Adaptive ones on separate
    /// threads do so only if that costs no RPC a fence: each is handed on with a look at a parker.
    pub(crate) fn sleeps_after(&self, parker: &Parker) -> Option<Span> {
        match self.idle {
            IdlePolicy::Block => Some(POLLED_FOR),
            IdlePolicy::Adaptive if !self.sleeps() => None,
            IdlePolicy::Adaptive if self.kind() == Kind::Inline => Some(ADAPTIVE),
            IdlePolicy::Adaptive => Some(ADAPTIVE).filter(|_| parker.is_cheap_to_ask()),
            IdlePolicy::Spin => None,
        }
    }

    pub(crate) fn engine_threads(&self) -> usize {
        if self.kind().has_engine() { self.parts().into() } else { 0 }
    }

    /// Whether each engine is its worker too, as configured or [chosen](Self::with_threads_chosen).
    pub(crate) fn is_inline(&self) -> bool {
        self.inline.unwrap_or(false)
    }

    /// Whether to serve RPCs on arrival. Those of a run end together: none is preempted or answered
    /// later.
    pub(crate) fn may_serve_at_once(&self) -> bool {
        self.is_inline() && !matches!(self.policy, Policy::Preemptive(_)) && self.laters() == 0
    }

    /// RPCs that may wait when one takes `service`, so that the next keeps the SLO.
    pub(crate) fn queue_bound(&self, service: Span) -> u32 {
        self.pace().queue_bound(service)
    }

    /// The server as the measurement of its pace sees it.
    pub(crate) fn pace(&self) -> PaceConfig {
        PaceConfig {
            slo: self.slo,
            service_mean: self.service_mean,
            workers: self.workers,
            is_inline: self.is_inline(),
            replies_later: self.laters() > 0,
            queue: (self.queueing == Queueing::SloBounded).then(|| self.queue_rule()),
        }
    }

    /// The SLO that clients are told: none without a bound on the queue.
    pub(crate) fn promised_slo(&self) -> Span {
        if self.queueing == Queueing::SloBounded { self.slo } else { Span::ZERO }
    }

    fn queue_rule(&self) -> QueueRule {
        QueueRule { slo: self.slo, workers: self.workers, in_worker_queues: self.given_max() - PER_CORE_BOUND }
    }

    /// As [`queue_bound`](Self::queue_bound) under [`Queueing::SloBounded`].
    pub(crate) fn slo_bound(&self, service: Span) -> u32 {
        self.queue_rule().bound(service)
    }

    /// The most RPCs of a worker; further ones wait in the arrival queue.
    fn given_max(&self) -> u32 {
        match &self.custom_policy {
            Some(policy) => policy.dispatcher(self.workers, 0).bound().max(PER_CORE_BOUND),
            None if self.policy == Policy::WorkStealing => STEALABLE_BOUND,
            None => PER_CORE_BOUND,
        }
    }

    fn slots(&self) -> Result<u32, ServeError> {
        let slots = match self.queueing {
            Queueing::Unbounded { recv_buffer_bytes } => recv_buffer_bytes / u64::from(SLOT_BYTES),
            Queueing::SloBounded => {
                let given = u64::from(self.workers) * u64::from(self.given_max() + self.laters());
                // The bound may rise so that each client has room.
                let bound = self.queue_bound(self.service_mean).max(self.clients_waiting_max.min(CLIENTS_WAITING_MAX));
                let rpcs = u64::from(bound) + given;
                let most = self.recv_buffer_bytes_max / u64::from(SLOT_BYTES);
                (rpcs * u64::from(slots_of(self.rpc_bytes_mean))).min(most)
            }
        };
        // Room for the longest RPC twice, or one could block all others.
        let slots = slots.max(2 * u64::from(slots_of(self.rpc_bytes_max)));
        u32::try_from(slots)
            .ok()
            .filter(|&slots| slots <= nebula_nic::SLOTS_MAX)
            .ok_or(ServeError::BufferTooLarge { slots })
    }

    pub(crate) fn retained_bytes(&self) -> usize {
        self.retention_bytes.max(4 * self.reply_bound() as usize)
    }

    /// Over UDP, bytes of the longest reply that is sent.
    pub(crate) fn reply_bound(&self) -> u32 {
        self.reply_bytes_max.unwrap_or(self.rpc_bytes_max.max(REPLY_BYTES_UNSAID))
    }

    pub(crate) fn backend(&self, sources: Option<Sources>) -> Result<Backend, ServeError> {
        let config = self.backend_config_for(sources)?;
        Ok(Backend::try_with(config, self.dispatcher(&config))?)
    }

    /// With the shares of a transport that knows the owners of RPCs better than by client number.
    pub(crate) fn backend_config_for(&self, sources: Option<Sources>) -> Result<BackendConfig, ServeError> {
        let config = self.backend_config()?;
        Ok(sources.map_or(config, |sources| config.sources(sources)))
    }

    pub(crate) fn dispatcher(&self, config: &BackendConfig) -> Dispatcher {
        match &self.custom_policy {
            Some(policy) => policy.dispatcher(config.cores, config.seed),
            None => config.policy.dispatcher(config.cores, config.seed),
        }
    }

    /// Over shared memory each client has its own share: the low bits of its number are its place.
    pub(crate) fn sources(&self) -> Sources {
        let clients = u32::from(self.clients_max.max(1)).next_power_of_two();
        Sources { shift: 0, bits: u8::try_from(clients.trailing_zeros()).unwrap_or(SOURCE_BITS_MAX) }
    }

    /// Suspended RPCs keep their worker's credit, which gets one to run and one behind it in
    /// addition.
    fn nic_policy(&self) -> Policy {
        match self.policy {
            Policy::Preemptive(_) => Policy::Jbsq(u32::from(self.suspended_max) + 2),
            // RPCs with later replies keep it too.
            Policy::Jbsq(bound) => Policy::Jbsq(bound + self.laters()),
            Policy::SingleQueue if self.laters() > 0 => Policy::Jbsq(1 + self.laters()),
            policy => policy,
        }
    }

    /// Threads of the pool; none if no RPC is for it.
    pub(crate) fn threads_of_pool(&self) -> u16 {
        match self.description.as_ref().and_then(|description| description.classes.as_ref()) {
            Some(_) => self.pool_threads.unwrap_or(u16::from(self.policy != Policy::Darc)),
            None => 0,
        }
    }

    /// The types of RPCs, under a policy that distinguishes them.
    pub(crate) fn rpc_types(&self) -> Option<&RpcTypes> {
        self.description.as_ref()?.types.as_ref().filter(|_| self.policy == Policy::Darc)
    }

    /// The same with the bounds of the service where none is set.
    pub(crate) fn with_description(mut self) -> Self {
        if let Some(description) = &self.description {
            self.reply_bytes_max = self.reply_bytes_max.or(description.reply_bytes_max);
            self.later_max = self.later_max.or(description.later_max);
        }
        self
    }

    /// The same with room for the RPCs in a pool.
    pub(crate) fn with_pool(self) -> Self {
        let config = self.with_description();
        let later_max = config.later_max.unwrap_or(0).saturating_add(config.pool_max);
        config.later_max(later_max)
    }

    pub(crate) fn laters(&self) -> u32 {
        self.later_max.unwrap_or(0).into()
    }

    /// The most later replies of a worker that the policy allows; `None` if it allows none.
    fn laters_max(&self) -> Option<u32> {
        let beside = match (&self.custom_policy, self.policy) {
            (None, Policy::Jbsq(bound)) => bound,
            (None, Policy::SingleQueue) => 1,
            (Some(_), _) | (None, _) => return None,
        };
        Some(JBSQ_BOUND_MAX.saturating_sub(beside))
    }

    /// The same beside the RPCs in a pool; at least one, so that a policy that allows none is
    /// refused.
    #[cfg(feature = "tokio")]
    pub(crate) fn laters_possible(&self) -> u16 {
        let in_pool = if self.threads_of_pool() > 0 { self.pool_max } else { 0 };
        let max = self.laters_max().map_or(1, |max| max.saturating_sub(in_pool.into()));
        u16::try_from(max).unwrap_or(u16::MAX)
    }

    /// Whether the policy allows so many later replies.
    fn check_laters(&self) -> Result<(), ServeError> {
        let got = self.laters();
        match self.laters_max() {
            _ if got == 0 => Ok(()),
            None => Err(ServeError::LaterPolicy { policy: self.policy }),
            Some(max) if got > max => Err(ServeError::Later { got, max }),
            Some(_) => Ok(()),
        }
    }

    pub(crate) fn backend_config(&self) -> Result<BackendConfig, ServeError> {
        if u32::from(self.suspended_max) > SUSPENDED_MAX {
            return Err(ServeError::Suspended { got: self.suspended_max });
        }
        self.check_laters()?;
        if self.mtu_bytes > MTU_BYTES_MAX {
            return Err(ServeError::Mtu { got: self.mtu_bytes });
        }
        if self.rpc_bytes_max > self.mtu_bytes.saturating_mul(SPAN_MAX) {
            return Err(ServeError::RpcTooLarge { got: self.rpc_bytes_max, max: self.mtu_bytes * SPAN_MAX });
        }
        let reply_bytes = self.reply_bytes_max.unwrap_or(0);
        if reply_bytes > self.mtu_bytes.saturating_mul(SPAN_MAX) {
            return Err(ServeError::ReplyTooLarge { got: reply_bytes, max: self.mtu_bytes * SPAN_MAX });
        }
        let mtu = Mtu::try_new(self.mtu_bytes).map_err(|_| ServeError::Mtu { got: self.mtu_bytes })?;
        let bound = self.queue_bound(self.service_mean);
        let entries = bound.clamp(64, 65_536);
        let config = BackendConfig::new(self.workers, self.nic_policy());
        let config = self.custom_policy.iter().fold(config, |config, policy| config.custom(policy.name()));
        Ok(config
            .domain(DomainId(self.domain.into()))
            .slots(self.slots()?)
            .mtu(mtu)
            .rpc_bytes_max(self.rpc_bytes_max)
            .queue_bound(bound)
            .sources(self.sources())
            .tenants(tenant::weights(&self.tenants))
            .types(self.rpc_types().map_or(1, RpcTypes::types))
            .type_window(self.type_window)
            .slot_order(SlotOrder::FirstWhenEmpty)
            .scrub(self.scrub)
            .reassembler_entries(entries)
            // Once the table is half full: a client that leaves RPCs incomplete leaves room for
            // others.
            .incomplete_per_peer(entries / 4)
            .reassembly_timeout(self.reassembly_timeout.unwrap_or(Span::from_ms(10))))
    }
}

/// Over UDP, the longest reply of a server that announces none, unless requests may be longer.
const REPLY_BYTES_UNSAID: u32 = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_receive_buffer_follows_the_slo_up_to_its_most_and_holds_the_longest_rpc_twice() {
        let bytes = |config: &ServerConfig| u64::from(config.slots().expect("a buffer")) * u64::from(SLOT_BYTES);
        let config = ServerConfig::default().rpc_bytes_max(1024);
        let of_slo = |slo| bytes(&config.clone().slo(slo));
        assert!(of_slo(Span::from_ms(2)) > 15 * of_slo(Span::from_us(100)));
        assert_eq!(of_slo(Span::from_secs(10)), config.recv_buffer_bytes_max);
        let small = config.recv_buffer_bytes_max(4096).slo(Span::from_secs(10));
        assert_eq!(bytes(&small), 4096);
        assert_eq!(bytes(&small.clone().recv_buffer_bytes_max(64)), 2 * u64::from(small.rpc_bytes_max));
    }
}

//! What a server can be told, with its defaults and its sizes.

use nebula_nic::schedule::SUSPENDED_MAX;
use nebula_nic::{
    Backend, BackendConfig, Mtu, PER_CORE_BOUND, Policy, STEALABLE_BOUND, Span, Steering, queue_bound_for_slo,
};

use super::crew::Kind;
use super::{MigrationConfig, ServeError};
use crate::transport::shm::handshake::MTU_BYTES_MAX;
use crate::transport::shm::slot::SPAN_MAX;
use crate::transport::udp::seal::Key;

/// What becomes of RPCs that find the queue long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queueing {
    /// Receive buffer and queue are sized from the SLO; what would miss it is NACKed at once.
    SloBounded,
    /// The receive buffer has this many bytes and nothing is NACKed before it is full: what connection-sized buffers do.
    /// For comparisons.
    Unbounded {
        /// Bytes of the receive buffer.
        recv_buffer_bytes: u64,
    },
}

/// What a thread of the server does when there is nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdlePolicy {
    /// Polls without end: lowest latency, a whole core.
    Spin,
    /// Polls for a while, then lets others run between polls, then sleeps between polls: an idle server costs next to nothing, and
    /// the first RPC after a silence of more than 5 ms waits up to 0.1 ms longer.
    Adaptive,
    /// Polls for 20 µs, then sleeps until something comes: an idle server costs nothing at all, and the first RPC after a silence waits
    /// until the thread is awake, some 10 µs. Over `udp://` only.
    Block,
}

/// Everything that a server can be told.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// How RPCs are given to workers.
    pub policy: Policy,
    /// The bound that 99 % of RPCs are to keep.
    pub slo: Span,
    /// Worker threads.
    pub workers: u16,
    /// Engine and worker on one thread. Under `mcs-lock` it changes nothing: workers are the engine in turns.
    pub inline: bool,
    /// Payload steering and prefetching.
    pub steering: Steering,
    /// Longest request, in bytes.
    pub rpc_bytes_max: u32,
    /// Over `shm://`, payload of one slot of a client's ring, in bytes, a multiple of 64. 576 holds a 512 B value with its key in one
    /// packet.
    pub mtu_bytes: u32,
    /// Over `udp://`, payload of one packet, in bytes, a multiple of 64. With all headers and the seal, 1,088 fit the least MTU of IPv6.
    pub packet_bytes: u32,
    /// Over `udp://`, longest reply, in bytes; over `shm://` each client provisions its own room.
    pub reply_bytes_max: u32,
    /// Over `udp://`: RPCs that are over and remembered, of all clients together, so that none is run twice. At least as many as fit
    /// the receive buffer are.
    pub retention_rpcs: u32,
    /// Over `udp://`: bytes of the last replies that can be sent again; at least four of the longest.
    pub retention_bytes: usize,
    /// Over `udp://`: the key that clients have too. With it, everything is authenticated and encrypted.
    pub key: Option<Key>,
    /// Over `udp://`: serve on addresses beyond this machine without a key. Then whoever reaches the address is served, and whoever is
    /// on the way reads and changes what he likes.
    pub insecure: bool,
    /// What an RPC is thought to take until it has been measured; sizes the receive buffer.
    pub service_mean: Span,
    /// What the mean request is thought to have, in bytes; sizes the receive buffer.
    pub rpc_bytes_mean: u32,
    /// How long an RPC of several packets may take to become whole, from its first packet on, before it is refused; 10 ms over `shm://`
    /// and 500 ms over `udp://` when `None`.
    pub reassembly_timeout: Option<Span>,
    /// What becomes of RPCs that find the queue long.
    pub queueing: Queueing,
    /// Most clients at once.
    pub clients_max: u16,
    /// Under `preemptive:Q`: RPCs that a worker can have suspended, at most 62; 0 lets each run to its end.
    pub suspended_max: u16,
    /// Under `preemptive:Q`: bytes of the stack that each handler has.
    pub stack_bytes: usize,
    /// Under `altocumulus:G`: how groups hand RPCs to one another.
    pub migration: MigrationConfig,
    /// What idle threads do.
    pub idle: IdlePolicy,
    /// Cores to pin threads to: the engines, where they have threads, to the first, workers to those after; nothing is pinned when empty.
    pub pin: Vec<usize>,
    /// User ids beside the server's own that may connect.
    pub allowed_uids: Vec<u32>,
    /// Where to write every decision of the NIC, for replay; under `altocumulus:G` each group appends its number to the name; costs far more than the decisions.
    pub decision_log: Option<std::path::PathBuf>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            slo: Span::from_us(100),
            workers: 1,
            inline: false,
            steering: Steering::On,
            rpc_bytes_max: 64 * 1024,
            mtu_bytes: 576,
            packet_bytes: 1088,
            reply_bytes_max: 64 * 1024,
            retention_rpcs: 65_536,
            retention_bytes: 8 << 20,
            key: None,
            insecure: false,
            service_mean: Span::from_ns(500),
            rpc_bytes_mean: 576,
            reassembly_timeout: None,
            queueing: Queueing::SloBounded,
            clients_max: 4096,
            suspended_max: 16,
            stack_bytes: 256 * 1024,
            migration: MigrationConfig::default(),
            idle: IdlePolicy::Adaptive,
            pin: Vec::new(),
            allowed_uids: Vec::new(),
            decision_log: None,
        }
    }
}

/// The part of the SLO that an RPC may spend waiting and in service; the rest is for the way there and back and for the machine's own
/// pauses.
const SLO_SHARE_PERCENT: u64 = 70;

impl ServerConfig {
    /// RPCs that may wait when one takes `service`, so that the next keeps the SLO.
    pub(crate) fn queue_bound(&self, service: Span) -> u32 {
        match self.queueing {
            Queueing::Unbounded { .. } => u32::MAX,
            Queueing::SloBounded => self.slo_bound(service),
        }
    }

    /// As above, whether or not anything is refused for it.
    pub(super) fn slo_bound(&self, service: Span) -> u32 {
        let slo = Span::from_ps(self.slo.as_ps() / 100 * SLO_SHARE_PERCENT);
        // At least two a core: with fewer, steering has nothing to fetch ahead.
        let bound = queue_bound_for_slo(slo, service, u32::from(self.workers)).unwrap_or(0);
        // What lies in the workers' own queues waits too.
        let elsewhere = u32::from(self.workers) * (self.given_max() - PER_CORE_BOUND);
        bound.saturating_sub(elsewhere).max(2 * u32::from(self.workers))
    }

    /// RPCs that a worker has at most, beyond which they wait in the arrival queue.
    fn given_max(&self) -> u32 {
        if self.policy == Policy::WorkStealing { STEALABLE_BOUND } else { PER_CORE_BOUND }
    }

    /// Slots of the receive buffer.
    fn slots(&self) -> Result<u32, ServeError> {
        let slots = match self.queueing {
            Queueing::Unbounded { recv_buffer_bytes } => recv_buffer_bytes / 64,
            Queueing::SloBounded => {
                let given = u64::from(self.workers) * u64::from(self.given_max());
                let rpcs = u64::from(self.queue_bound(self.service_mean)) + given;
                rpcs * u64::from(slots_of(self.rpc_bytes_mean))
            }
        };
        // Room for the longest RPC twice, or one of them could lock out every other.
        let slots = slots.max(2 * u64::from(slots_of(self.rpc_bytes_max)));
        u32::try_from(slots)
            .ok()
            .filter(|&slots| slots <= nebula_nic::SLOTS_MAX)
            .ok_or(ServeError::BufferTooLarge { slots })
    }

    /// Bytes of the ring of replies.
    pub(crate) fn retained_bytes(&self) -> usize {
        self.retention_bytes.max(4 * self.reply_bytes_max as usize)
    }

    /// The back end of this server.
    pub(crate) fn backend(&self) -> Result<Backend, ServeError> {
        Ok(Backend::try_new(self.backend_config()?)?)
    }

    /// What the NIC does of the policy. RPCs that take turns at their workers keep their credit while they are suspended: a worker is
    /// given one to run and one behind it beside those.
    fn nic_policy(&self) -> Policy {
        match self.policy {
            Policy::Preemptive(_) => Policy::Jbsq(u32::from(self.suspended_max) + 2),
            policy => policy,
        }
    }

    /// What the back end is built with.
    pub(crate) fn backend_config(&self) -> Result<BackendConfig, ServeError> {
        if Kind::of(self) == Kind::Inline && self.workers != 1 {
            return Err(ServeError::InlineWorkers { workers: self.workers });
        }
        if u32::from(self.suspended_max) > SUSPENDED_MAX {
            return Err(ServeError::Suspended { got: self.suspended_max });
        }
        if self.mtu_bytes > MTU_BYTES_MAX {
            return Err(ServeError::Mtu { got: self.mtu_bytes });
        }
        if self.rpc_bytes_max > self.mtu_bytes.saturating_mul(SPAN_MAX) {
            return Err(ServeError::RpcTooLarge { got: self.rpc_bytes_max, max: self.mtu_bytes * SPAN_MAX });
        }
        let mtu = Mtu::try_new(self.mtu_bytes).map_err(|_| ServeError::Mtu { got: self.mtu_bytes })?;
        let bound = self.queue_bound(self.service_mean);
        let entries = bound.clamp(64, 65_536);
        Ok(BackendConfig::new(self.workers, self.nic_policy())
            .slots(self.slots()?)
            .mtu(mtu)
            .rpc_bytes_max(self.rpc_bytes_max)
            .queue_bound(bound)
            .reassembler_entries(entries)
            // While the table is more than half full: so that who begins RPCs and does not end them leaves room for others.
            .incomplete_per_peer(entries / 4)
            .reassembly_timeout(self.reassembly_timeout.unwrap_or(Span::from_ms(10))))
    }
}

/// Slots of a payload of `bytes` bytes; an empty RPC takes one too.
fn slots_of(bytes: u32) -> u32 {
    bytes.div_ceil(nebula_nic::SLOT_BYTES).max(1)
}

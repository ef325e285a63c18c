//! The builder methods of [`ServerConfig`]: one for each field, of the field's name.

use super::{IdlePolicy, Queueing, ServerConfig};
use crate::config::key::{Key, Keys};
use crate::config::migration::MigrationConfig;
use crate::config::tenant::Tenant;
use crate::rpc::region::Registered;
use crate::rpc::rpc_types::RpcTypes;
use nebula_nic::{CustomPolicy, Policy, ScrubMode, Span, Steering};
use std::path::PathBuf;

impl ServerConfig {
    /// Sets [how RPCs are given to workers](Self#structfield.policy).
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets [a policy of the caller's own](Self#structfield.custom_policy); leave `policy` at its default.
    #[must_use]
    pub fn custom_policy(mut self, policy: CustomPolicy) -> Self {
        self.custom_policy = Some(policy);
        self
    }

    /// Sets [the latency that 99 % of the RPCs must keep](Self#structfield.slo).
    #[must_use]
    pub fn slo(mut self, slo: impl Into<Span>) -> Self {
        self.slo = slo.into();
        self
    }

    /// Sets how many RPCs an inline worker serves at most in a turn.
    #[must_use]
    pub fn turn_rpcs_max(mut self, rpcs: u32) -> Self {
        self.turn_rpcs_max = rpcs;
        self
    }

    /// Sets the messaging domain.
    #[must_use]
    pub fn domain(mut self, domain: u8) -> Self {
        self.domain = domain;
        self
    }

    /// Sets [the number of worker threads](Self#structfield.workers).
    #[must_use]
    pub fn workers(mut self, workers: u16) -> Self {
        self.workers = workers;
        self
    }

    /// So many [engines](Self#structfield.engines), each inline with its one worker: Dagger's dispatch threads, each with its own queue and its share
    /// of the clients, which are dealt out in turn and stay.
    #[must_use]
    pub fn flows(self, flows: u16) -> Self {
        self.engines(flows).workers(flows).inline(true)
    }

    /// Sets [the number of engines](Self#structfield.engines).
    #[must_use]
    pub fn engines(mut self, engines: u16) -> Self {
        self.engines = engines;
        self
    }

    /// Sets [whether engine and worker run on one thread](Self#structfield.inline).
    #[must_use]
    pub fn inline(mut self, inline: bool) -> Self {
        self.inline = inline;
        self
    }

    /// Sets [whether payloads are fetched ahead of their RPC's turn](Self#structfield.steering).
    #[must_use]
    pub fn steering(mut self, steering: Steering) -> Self {
        self.steering = steering;
        self
    }

    /// Sets [the longest request, in bytes](Self#structfield.rpc_bytes_max).
    #[must_use]
    pub fn rpc_bytes_max(mut self, bytes: u32) -> Self {
        self.rpc_bytes_max = bytes;
        self
    }

    /// Sets [the payload of one slot of a client's ring, in bytes](Self#structfield.mtu_bytes).
    #[must_use]
    pub fn mtu_bytes(mut self, bytes: u32) -> Self {
        self.mtu_bytes = bytes;
        self
    }

    /// Sets [the payload of one packet over `udp://`, in bytes](Self#structfield.packet_bytes).
    #[must_use]
    pub fn packet_bytes(mut self, bytes: u32) -> Self {
        self.packet_bytes = bytes;
        self
    }

    /// Sets [the longest reply, in bytes](Self#structfield.reply_bytes_max).
    #[must_use]
    pub fn reply_bytes_max(mut self, bytes: u32) -> Self {
        self.reply_bytes_max = Some(bytes);
        self
    }

    /// Sets [how many finished RPCs are remembered over `udp://`](Self#structfield.retention_rpcs).
    #[must_use]
    pub fn retention_rpcs(mut self, rpcs: u32) -> Self {
        self.retention_rpcs = rpcs;
        self
    }

    /// Sets [the memory for replies that may have to be sent again over `udp://`, in bytes](Self#structfield.retention_bytes).
    #[must_use]
    pub fn retention_bytes(mut self, bytes: usize) -> Self {
        self.retention_bytes = bytes;
        self
    }

    /// Sets [the keys of the clients](Self#structfield.keys).
    #[must_use]
    pub fn keys(mut self, keys: Keys) -> Self {
        self.keys = keys;
        self
    }

    /// Sets one [key](Self#structfield.keys) for all clients.
    #[must_use]
    pub fn key(self, key: Key) -> Self {
        self.keys(key.into())
    }

    /// Sets [the tenants and what they weigh](Self#structfield.tenants).
    #[must_use]
    pub fn tenants(mut self, tenants: impl Into<Vec<Tenant>>) -> Self {
        self.tenants = tenants.into();
        self
    }

    /// Sets [whether to serve other machines without a key](Self#structfield.insecure).
    #[must_use]
    pub fn insecure(mut self, insecure: bool) -> Self {
        self.insecure = insecure;
        self
    }

    /// Sets [the expected mean service time of an RPC](Self#structfield.service_mean).
    #[must_use]
    pub fn service_mean(mut self, mean: impl Into<Span>) -> Self {
        self.service_mean = mean.into();
        self
    }

    /// Sets [the expected mean length of a request, in bytes](Self#structfield.rpc_bytes_mean).
    #[must_use]
    pub fn rpc_bytes_mean(mut self, bytes: u32) -> Self {
        self.rpc_bytes_mean = bytes;
        self
    }

    /// Sets [the most that the receive buffer takes, in bytes](Self#structfield.recv_buffer_bytes_max).
    #[must_use]
    pub fn recv_buffer_bytes_max(mut self, bytes: u64) -> Self {
        self.recv_buffer_bytes_max = bytes;
        self
    }

    /// Sets [how long an RPC of several packets may take to arrive](Self#structfield.reassembly_timeout).
    #[must_use]
    pub fn reassembly_timeout(mut self, timeout: impl Into<Span>) -> Self {
        self.reassembly_timeout = Some(timeout.into());
        self
    }

    /// Sets [when the receive buffer is searched for room behind a slow RPC](Self#structfield.scrub).
    #[must_use]
    pub fn scrub(mut self, scrub: ScrubMode) -> Self {
        self.scrub = scrub;
        self
    }

    /// Sets [when RPCs are refused because the queue is long](Self#structfield.queueing).
    #[must_use]
    pub fn queueing(mut self, queueing: Queueing) -> Self {
        self.queueing = queueing;
        self
    }

    /// Sets [how many clients can be connected at once over `shm://`](Self#structfield.clients_max).
    #[must_use]
    pub fn clients_max(mut self, clients: u16) -> Self {
        self.clients_max = clients;
        self
    }

    /// Sets [how many RPCs a worker can have suspended](Self#structfield.suspended_max).
    #[must_use]
    pub fn suspended_max(mut self, rpcs: u16) -> Self {
        self.suspended_max = rpcs;
        self
    }

    /// Sets [how many RPCs of a worker may wait for later replies](Self#structfield.later_max).
    #[must_use]
    pub fn later_max(mut self, rpcs: u16) -> Self {
        self.later_max = Some(rpcs);
        self
    }

    /// Sets [how many threads run what takes long](Self#structfield.pool_threads).
    #[must_use]
    pub fn pool_threads(mut self, threads: u16) -> Self {
        self.pool_threads = Some(threads);
        self
    }

    /// Sets [how many RPCs those take on at once](Self#structfield.pool_max).
    #[must_use]
    pub fn pool_max(mut self, rpcs: u16) -> Self {
        self.pool_max = rpcs;
        self
    }

    /// Sets [how many RPCs make one sample of their types under `darc`](Self#structfield.type_window).
    #[must_use]
    pub fn type_window(mut self, rpcs: u32) -> Self {
        self.type_window = rpcs;
        self
    }

    /// Sets [the types of RPCs under `darc`](Self#structfield.rpc_types).
    #[must_use]
    pub fn rpc_types(mut self, types: RpcTypes) -> Self {
        self.rpc_types = Some(types);
        self
    }

    /// Sets [the stack of each handler under `preemptive:Q`, in bytes](Self#structfield.stack_bytes).
    #[must_use]
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.stack_bytes = bytes;
        self
    }

    /// Sets [how groups hand RPCs to one another](Self#structfield.migration).
    #[must_use]
    pub fn migration(mut self, migration: MigrationConfig) -> Self {
        self.migration = migration;
        self
    }

    /// Sets [what threads do while they have no work](Self#structfield.idle).
    #[must_use]
    pub fn idle(mut self, idle: IdlePolicy) -> Self {
        self.idle = idle;
        self
    }

    /// Sets [the cores that threads are pinned to](Self#structfield.pin).
    #[must_use]
    pub fn pin(mut self, cores: impl Into<Vec<usize>>) -> Self {
        self.pin = cores.into();
        self
    }

    /// Sets [the memory for the rings of all clients](Self#structfield.rings_bytes_max), in bytes.
    #[must_use]
    pub fn rings_bytes_max(mut self, bytes: u64) -> Self {
        self.rings_bytes_max = bytes;
        self
    }

    /// Sets [the user ids that may connect beside the server's own](Self#structfield.allowed_uids).
    #[must_use]
    pub fn allowed_uids(mut self, uids: impl Into<Vec<u32>>) -> Self {
        self.allowed_uids = uids.into();
        self
    }

    /// Sets [the memory that clients read and write by one-sided operations](Self#structfield.regions).
    #[must_use]
    pub fn regions(mut self, regions: Vec<Registered>) -> Self {
        self.regions = regions;
        self
    }

    /// Sets [whether workers sample RPCs for the status page](Self#structfield.metrics).
    #[must_use]
    pub fn metrics(mut self, metrics: bool) -> Self {
        self.metrics = metrics;
        self
    }

    /// Sets [the file that every decision of the NIC is written to](Self#structfield.decision_log).
    #[must_use]
    pub fn decision_log(mut self, path: impl Into<PathBuf>) -> Self {
        self.decision_log = Some(path.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rebuilt::rebuilt;
    use crate::rpc::region::Region;
    use nebula_nic::{Rights, SingleQueue};

    fn own() -> CustomPolicy {
        CustomPolicy::try_new("own", |cores, _| SingleQueue::new(cores)).expect("a name")
    }

    /// A configuration whose every field is another than by default.
    fn unusual() -> ServerConfig {
        ServerConfig {
            policy: Policy::Jbsq(7),
            custom_policy: Some(own()),
            slo: Span::from_us(7),
            workers: 7,
            domain: 7,
            turn_rpcs_max: 5,
            engines: 8,
            inline: true,
            steering: Steering::Off,
            rpc_bytes_max: 701,
            mtu_bytes: 702,
            packet_bytes: 703,
            reply_bytes_max: Some(704),
            retention_rpcs: 705,
            retention_bytes: 706,
            keys: Key::new([7; 32]).into(),
            tenants: vec![Tenant::try_new("ann", 7).expect("a tenant")],
            insecure: true,
            service_mean: Span::from_us(707),
            rpc_bytes_mean: 708,
            recv_buffer_bytes_max: 722,
            reassembly_timeout: Some(Span::from_us(709)),
            scrub: ScrubMode::Ahead,
            queueing: Queueing::Unbounded { recv_buffer_bytes: 710 },
            clients_max: 711,
            suspended_max: 712,
            later_max: Some(718),
            pool_threads: Some(719),
            pool_max: 720,
            type_window: 721,
            rpc_types: Some(RpcTypes::asked(7)),
            stack_bytes: 713,
            migration: MigrationConfig { bulk: 714, ..MigrationConfig::default() },
            idle: IdlePolicy::Block,
            pin: vec![715],
            allowed_uids: vec![716],
            rings_bytes_max: 722,
            regions: vec![Registered::new(Region::create(64).expect("memory"), Rights::READ)],
            metrics: false,
            decision_log: Some("717".into()),
        }
    }

    #[test]
    fn every_field_has_a_builder_of_its_name_that_sets_it() {
        let rebuilt = rebuilt!(
            ServerConfig from unusual();
            policy, slo, domain, turn_rpcs_max, workers, engines, inline, steering, rpc_bytes_max, mtu_bytes, packet_bytes, retention_rpcs, retention_bytes, keys, tenants, insecure, service_mean, rpc_bytes_mean, recv_buffer_bytes_max, scrub, queueing, clients_max, rings_bytes_max, suspended_max, pool_max, type_window, stack_bytes, migration, idle, pin, allowed_uids, regions, metrics;
            optional custom_policy, reply_bytes_max, later_max, pool_threads, rpc_types, reassembly_timeout, decision_log
        );
        assert_eq!(format!("{rebuilt:?}"), format!("{:?}", unusual()));
    }
}

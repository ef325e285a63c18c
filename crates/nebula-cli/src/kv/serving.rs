//! The servers of one store: Nebula's own endpoint, and those of memcached's clients.

use std::sync::{Arc, OnceLock};

use nebula::{Endpoint, IdlePolicy, Keys, Region, Registered, Rights, RunningServer, Server, ServerConfig};
use nebula_kvs::Store;
use nebula_workload::KEY_BYTES;

use super::memcached::{ANSWER_BYTES_MAX, Facts, Memcached, MemcachedService, REQUEST_BYTES_MAX};
use super::service::KvService;
use super::times::ServiceTimes;
use super::{Args, config};
use crate::memory;
use crate::output::Failure;

/// Starts all servers that are asked for, over one store: that of Nebula's own clients first, if there is one.
pub(super) fn start(
    args: &Args,
    keys: Keys,
    times: Option<&Arc<ServiceTimes>>,
    (store, memory): (&Arc<Store>, Option<Region>),
) -> Result<Vec<RunningServer>, Failure> {
    let own = args.own_endpoint().map(|endpoint| {
        let service = KvService::new(store.clone(), KEY_BYTES + args.value_bytes as usize);
        let service = service.working(args.work).timed(times.cloned());
        let mut config = config(args);
        config.keys = keys;
        config.regions = memory.into_iter().map(|memory| Registered::new(memory, Rights::READ | Rights::MAP)).collect();
        Ok(Server::bind(&endpoint).config(config).serve(service)?)
    });
    let memcached = args.memcached.iter().map(|endpoint| serve_memcached(args, endpoint, store));
    own.into_iter().chain(memcached).collect()
}

/// Starts the server of memcached's clients at `endpoint`.
fn serve_memcached(args: &Args, endpoint: &Endpoint, store: &Arc<Store>) -> Result<RunningServer, Failure> {
    let config = memcached_config(args, endpoint);
    let port = |wanted: &str| {
        let text = endpoint.to_string();
        let port = text.strip_prefix(wanted).and_then(|address| address.rsplit(':').next());
        port.and_then(|port| port.parse().ok()).unwrap_or(0)
    };
    let facts = Arc::new(Facts {
        memory_bytes: memory::store_bytes(&memory::config_for(args.items, args.value_bytes, args.store_mode())),
        threads: config.workers,
        clients_max: config.clients_max,
        tcp_port: port("tcp://"),
        udp_port: port("udp://"),
        status: OnceLock::new(),
    });
    let service = MemcachedService::new(store.clone(), facts.clone());
    let server = Server::bind(endpoint).config(config).framing(Memcached).serve(service)?;
    let _ = facts.status.set(server.status().clone());
    Ok(server)
}

fn memcached_config(args: &Args, endpoint: &Endpoint) -> ServerConfig {
    let engines = if matches!(endpoint, Endpoint::Udp(_)) { 1 } else { args.workers };
    let mut config = config(args)
        .slo(args.memcached_slo)
        .flows(engines)
        .clients_max(args.memcached_clients_max)
        .rpc_bytes_max(REQUEST_BYTES_MAX)
        .reply_bytes_max(ANSWER_BYTES_MAX)
        .tenants(Vec::new());
    if config.idle == IdlePolicy::Adaptive {
        config.idle = IdlePolicy::Block;
    }
    config
}

//! The servers of one store: Nebula's own endpoint and memcached's. A tenant with a quota has a
//! separate server and store.

use std::sync::{Arc, OnceLock};

use nebula::{Endpoint, IdlePolicy, Keys, Policy, Registered, Rights, RunningServer, Server, ServerConfig};
use nebula_workload::KEY_BYTES;

use super::memcached::{ANSWER_BYTES_MAX, Facts, Memcached, MemcachedService, REQUEST_BYTES_MAX};
use super::partitioned::{self, Partitions};
use super::quota::Part;
use super::service::KvService;
use super::times::ServiceTimes;
use super::{Args, config, store_config};
use nebula_ops::or_fail::OrFail;
use nebula_ui::output::Failure;

/// Starts all servers: over the `common` store, that of Nebula's own clients first, if there is
/// one; then those of tenants with a quota, each over its part.
pub(super) fn start(
    args: &Args,
    keys: Keys,
    times: Option<&Arc<ServiceTimes>>,
    common: &Part,
    parts: &[Part],
) -> Result<Vec<RunningServer>, Failure> {
    let own = args.own_endpoint().map(|endpoint| serve_own(args, &endpoint, keys.clone(), times, common));
    let memcached = args.memcached.iter().map(|endpoint| serve_memcached(args, endpoint, common));
    let tenants = args.quotas.iter().zip(parts).map(|(quota, part)| match quota.endpoint {
        _ if quota.has_memcached() => serve_memcached(args, &quota.endpoint, part),
        Endpoint::Shm(_) => serve_own(args, &quota.endpoint, Keys::default(), times, part),
        _ => serve_own(args, &quota.endpoint, keys.clone(), times, part),
    });
    own.into_iter().chain(memcached).chain(tenants).collect()
}

fn serve_own(
    args: &Args,
    endpoint: &Endpoint,
    keys: Keys,
    times: Option<&Arc<ServiceTimes>>,
    part: &Part,
) -> Result<RunningServer, Failure> {
    let service = KvService::new(part.store.clone(), KEY_BYTES + args.value_bytes() as usize);
    let service = service.working(args.work).timed(times.cloned());
    let mut config = config(args)?;
    if keys.is_empty() {
        // Only a key says which tenant a client is.
        config.tenants = Vec::new();
    }
    config.keys = keys;
    let readable = part.readable.iter().cloned();
    config.regions = readable.map(|memory| Registered::new(memory, Rights::READ | Rights::MAP)).collect();
    Server::bind(endpoint).config(config).serve(service).or_fail()
}

pub(super) fn start_partitioned(args: &Args, access: Partitions, keys: Keys) -> Result<RunningServer, Failure> {
    if args.server.policy != Policy::KeyHash || args.engines != 1 {
        let why = "each key's RPCs must reach its worker";
        return Err(Failure::bad_input(format!("--partitions needs --policy key-hash and one engine: {why}")));
    }
    let Some(endpoint) = args.own_endpoint() else { return Err(Failure::bad_input("--partitions needs --endpoint")) };
    let mut config = config(args)?;
    let partitions = partitioned::divide(store_config(args)?, access, config.workers).or_fail()?;
    config.keys = keys;
    partitioned::serve(Server::bind(&endpoint).config(config), partitions, KEY_BYTES + args.value_bytes() as usize)
}

fn serve_memcached(args: &Args, endpoint: &Endpoint, part: &Part) -> Result<RunningServer, Failure> {
    let config = memcached_config(args)?;
    let port = |wanted: &str| {
        let text = endpoint.to_string();
        let port = text.strip_prefix(wanted).and_then(|address| address.rsplit(':').next());
        port.and_then(|port| port.parse().ok()).unwrap_or(0)
    };
    let facts = Arc::new(Facts {
        memory_bytes: part.bytes,
        threads: config.workers,
        clients_max: config.clients_max,
        tcp_port: port("tcp://"),
        udp_port: port("udp://"),
        status: OnceLock::new(),
    });
    let service = MemcachedService::new(part.store.clone(), facts.clone());
    let server = Server::bind(endpoint).config(config).framing(Memcached).serve(service).or_fail()?;
    let _ = facts.status.set(server.status().clone());
    Ok(server)
}

fn memcached_config(args: &Args) -> Result<ServerConfig, Failure> {
    let config = config(args)?;
    let workers = config.workers;
    let mut config = config
        .slo(args.memcached_slo)
        .flows(workers)
        .clients_max(args.memcached_clients_max)
        .rpc_bytes_max(REQUEST_BYTES_MAX)
        .reply_bytes_max(ANSWER_BYTES_MAX)
        .tenants(Vec::new());
    if config.idle == IdlePolicy::Adaptive {
        config.idle = IdlePolicy::Block;
    }
    Ok(config)
}

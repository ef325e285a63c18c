//! The servers of one store: Nebula's own endpoint and memcached's. A tenant with a quota has a
//! separate server and store.

use std::sync::{Arc, OnceLock};

use nebula::{Endpoint, IdlePolicy, Keys, Policy, Rights, RunningServer, Server, ServerConfig};
use nebula_kvs::StoreConfig;
use nebula_workload::KEY_BYTES;

use super::memcached::{ANSWER_BYTES_MAX, Facts, Memcached, MemcachedService, REQUEST_BYTES_MAX};
use super::partitioned::{self, Partitions};
use super::quota::Part;
use super::service::KvService;
use super::times::ServiceTimes;
use super::{Args, config};
use nebula_ops::or_fail::OrFail;
use nebula_ui::output::Failure;

/// Starts all servers: over the `common` store, that of Nebula's own clients first, if there is
/// one; then those of tenants with a quota, each over its part.
pub(super) fn start(
    args: &Args,
    keys: &Keys,
    times: Option<&Arc<ServiceTimes>>,
    common: &Part,
    parts: &[Part],
) -> Result<Vec<RunningServer>, Failure> {
    let own = args.own_endpoint().map(|endpoint| serve_own(args, &endpoint, keys, times, common));
    let memcached = args.memcached.iter().map(|endpoint| serve_memcached(args, endpoint, common));
    let tenants = args.quotas.iter().zip(parts).map(|(quota, part)| match quota.endpoint {
        _ if quota.has_memcached() => serve_memcached(args, &quota.endpoint, part),
        _ => serve_own(args, &quota.endpoint, keys, times, part),
    });
    own.into_iter().chain(memcached).chain(tenants).collect()
}

/// Whether one of the servers would refuse its configuration.
pub(super) fn check(args: &Args, keys: &Keys) -> Result<(), Failure> {
    if args.partitions.is_some() {
        return partitioned_server(args, keys)?.0.check().or_fail();
    }
    let own = args.own_endpoint();
    own.iter().try_for_each(|endpoint| own_server(args, endpoint, keys)?.check().or_fail())?;
    args.memcached.iter().try_for_each(|endpoint| memcached_server(args, endpoint)?.0.check().or_fail())?;
    args.quotas.iter().try_for_each(|quota| match quota.endpoint {
        _ if quota.has_memcached() => memcached_server(args, &quota.endpoint)?.0.check().or_fail(),
        _ => own_server(args, &quota.endpoint, keys)?.check().or_fail(),
    })
}

fn own_server(args: &Args, endpoint: &Endpoint, keys: &Keys) -> Result<Server, Failure> {
    let mut config = config(args)?;
    if !matches!(endpoint, Endpoint::Shm(_)) {
        config.keys = keys.clone();
    }
    if config.keys.is_empty() {
        // Only a key says which tenant a client is.
        config.tenants = Vec::new();
    }
    Ok(Server::bind(endpoint).config(config))
}

fn memcached_server(args: &Args, endpoint: &Endpoint) -> Result<(Server, ServerConfig), Failure> {
    let config = memcached_config(args)?;
    Ok((Server::bind(endpoint).config(config.clone()).framing(Memcached), config))
}

fn serve_own(
    args: &Args,
    endpoint: &Endpoint,
    keys: &Keys,
    times: Option<&Arc<ServiceTimes>>,
    part: &Part,
) -> Result<RunningServer, Failure> {
    let service = KvService::new(part.store.clone(), KEY_BYTES + args.value_bytes() as usize);
    let service = service.working(args.work).timed(times.cloned());
    let server = own_server(args, endpoint, keys)?;
    let readable = part.readable.iter();
    let server = readable.fold(server, |server, memory| server.register(memory, Rights::READ | Rights::MAP));
    server.serve(service).or_fail()
}

pub(super) fn start_partitioned(
    args: &Args,
    store_config: StoreConfig,
    access: Partitions,
    keys: &Keys,
) -> Result<RunningServer, Failure> {
    let (server, workers) = partitioned_server(args, keys)?;
    let partitions = partitioned::divide(store_config, access, workers).or_fail()?;
    partitioned::serve(server, partitions, KEY_BYTES + args.value_bytes() as usize)
}

/// The server and the number of its workers.
fn partitioned_server(args: &Args, keys: &Keys) -> Result<(Server, u16), Failure> {
    if args.server.policy != Policy::KeyHash || args.engines != 1 {
        let why = "each key's RPCs must reach its worker";
        return Err(Failure::bad_input(format!("--partitions needs --policy key-hash and one engine: {why}")));
    }
    let Some(endpoint) = args.own_endpoint() else { return Err(Failure::bad_input("--partitions needs --endpoint")) };
    let mut config = config(args)?;
    config.keys = keys.clone();
    let workers = config.workers;
    Ok((Server::bind(&endpoint).config(config), workers))
}

fn serve_memcached(args: &Args, endpoint: &Endpoint, part: &Part) -> Result<RunningServer, Failure> {
    let (server, config) = memcached_server(args, endpoint)?;
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
    let server = server.serve(service).or_fail()?;
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

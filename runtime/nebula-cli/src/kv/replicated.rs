//! `serve kv --replicate`: the store as one of several replicas.

use std::path::PathBuf;

use nebula::Endpoint;
#[cfg(feature = "replicate")]
use nebula::{ClientConfig, Keys, RunningServer, Server, ServerConfig};
#[cfg(feature = "replicate")]
use nebula_kvs::Mode;
#[cfg(feature = "replicate")]
use nebula_replication::{machine::Room, replica::ReplicaConfig, running::Tasks, service::MESSAGE_BYTES_MAX};

use crate::flags;
#[cfg(feature = "replicate")]
use crate::flags::Format;
#[cfg(feature = "replicate")]
use nebula_ops::life::{self, Life};
#[cfg(feature = "replicate")]
use nebula_ops::or_fail::OrFail;
#[cfg(feature = "replicate")]
use nebula_ui::output;
use nebula_ui::output::Failure;

const WITHOUT: [&str; 12] = [
    "memcached",
    "quotas",
    "partitions",
    "eviction",
    "adopt",
    "load",
    "snapshot",
    "service_times",
    "work",
    "one_sided",
    "memory",
    "memory_bytes",
];

/// Flags of a replica.
#[derive(Debug, clap::Args)]
pub(crate) struct ReplicaArgs {
    /// Replicate the store by Raft: the endpoints of all replicas that begin together, --endpoint
    /// among them, as the others reach it. One whose --endpoint is not among them waits until it is
    /// added (nebula replicas --add). Later the log says who they are. Needs --mode store,
    /// --replica-dir, and a program built with --features replicate
    #[arg(long, value_name = "ENDPOINT,…", value_delimiter = ',', requires = "replica_dir", conflicts_with_all = WITHOUT)]
    replicate: Vec<Endpoint>,
    /// Folder of the replica's log, vote and snapshot, made if it is not there. An fsync is done
    /// before a write is acknowledged
    #[arg(long, value_name = "DIR", requires = "replicate")]
    replica_dir: Option<PathBuf>,
    /// Entries of the log after which a replica takes a snapshot, and drops what is before; writes
    /// that wait at once share an entry
    #[arg(long, value_name = "ENTRIES", default_value = "50k", value_parser = entries, requires = "replicate")]
    snapshot_every: u64,
}

/// A tenth of them stays behind a snapshot, for followers that are a little late.
fn entries(text: &str) -> Result<u64, String> {
    match flags::count(text)? {
        entries @ 10.. => Ok(entries),
        _ => Err("give at least 10".to_owned()),
    }
}

impl ReplicaArgs {
    pub(super) fn is_asked_for(&self) -> bool {
        !self.replicate.is_empty()
    }
}

#[cfg(not(feature = "replicate"))]
pub(super) fn not_built() -> Failure {
    Failure::bad_input("--replicate: this program was built without it: cargo build -p nebula-cli --features replicate")
}

#[cfg(feature = "replicate")]
pub(super) struct Parts<'a> {
    pub(super) endpoint: Option<&'a Endpoint>,
    pub(super) mode: Mode,
    pub(super) room: Room,
    pub(super) config: ServerConfig,
    pub(super) keys: Keys,
    pub(super) format: Format,
}

/// Serves a replica until a signal, or until its disk fails, then prints the server's counters.
#[cfg(feature = "replicate")]
pub(super) fn run(
    args: &ReplicaArgs,
    life: Life,
    parts: Parts<'_>,
    on_hang_up: impl Fn(&[RunningServer]),
) -> Result<(), Failure> {
    let endpoint = checked(parts.endpoint, parts.mode)?;
    let mut config = parts.config;
    config.keys = parts.keys.clone();
    config.rpc_bytes_max = config.rpc_bytes_max.max(MESSAGE_BYTES_MAX + parts.room.value_bytes_max);
    let peers = ClientConfig::default().keys(parts.keys).insecure(config.insecure);
    let folder = args.replica_dir.as_deref().ok_or_else(|| Failure::bad_input("--replicate needs --replica-dir"))?;
    let tasks = Tasks::begin(args.config(endpoint, parts.room), folder, peers).map_err(Failure::fault)?;
    let server = Server::bind(endpoint).config(config).serve(tasks.service()).or_fail()?;
    tasks.served_by(&server);
    let goes_on = |_: &[RunningServer]| tasks.replica().failure().is_none();
    let ended = life.live(vec![server], Some(&goes_on), on_hang_up)?;
    let failed = tasks.replica().failure();
    tasks.stop();
    let printed = output::print(parts.format, &ended.statuses.iter().map(life::counters).collect::<Vec<_>>());
    let failed = failed.map_or(Ok(()), |why| Err(Failure::fault(format!("the replica has stopped: {why}"))));
    ended.end(printed.and(failed))
}

#[cfg(feature = "replicate")]
pub(super) fn checked(endpoint: Option<&Endpoint>, mode: Mode) -> Result<&Endpoint, Failure> {
    let Some(endpoint @ (Endpoint::Udp(_) | Endpoint::Tcp(_))) = endpoint else {
        return Err(Failure::bad_input("--replicate needs --endpoint udp://ADDRESS:PORT or tcp://ADDRESS:PORT"));
    };
    if mode != Mode::Store {
        return Err(Failure::bad_input("--replicate needs --mode store: a replica never evicts what was acknowledged"));
    }
    Ok(endpoint)
}

#[cfg(feature = "replicate")]
impl ReplicaArgs {
    fn config(&self, endpoint: &Endpoint, room: Room) -> ReplicaConfig {
        let is_member = self.replicate.contains(endpoint);
        let members: Vec<_> = self.replicate.iter().filter(|_| is_member).map(ToString::to_string).collect();
        if !is_member {
            tracing::info!("{endpoint} waits to be added: nebula replicas {} --add {endpoint}", self.replicate[0]);
        }
        ReplicaConfig::new(&endpoint.to_string(), &members, room).snapshot_every(self.snapshot_every)
    }
}

//! Commits of three replicas compared with etcd's: a majority syncs every write before it is
//! acknowledged, on the same disk, in turns within one run.
//!
//! The folders are in the system's folder for temporary files (`TMPDIR`), which must be on a disk
//! for syncs to have a cost. Clients of both talk to the leader only.

use crate::Failure;
use crate::child::{Server, unused_address};
use crate::measure::median;
use crate::row::{against, plain};
use nebula::{AsyncClient, ClientConfig};
use nebula_kvs::protocol::{Reply, Request, Status};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};

const WRITERS: u64 = 32;
const VALUE_BYTES: usize = 256;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(2);
/// Longer than a cluster's first election.
const PATIENCE: Duration = Duration::from_secs(30);

pub fn run(program: &str) -> Result<(), Failure> {
    let folder = Folder::new()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let ours = nebula(program, &folder.0)?;
    let theirs = etcd(&folder.0, &runtime)?;
    let mut seen: [Vec<Seen>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (side, client) in [&theirs.client, &ours.client].into_iter().enumerate() {
            seen[side].push(runtime.block_on(round(client))?);
        }
    }
    let of = |side: usize, what: fn(&Seen) -> f64| median(seen[side].iter().map(what).collect());
    let figures: [Figure; 3] =
        [("", "writes/s", |seen| seen.rate), (", p50", "ns", |seen| seen.p50_ns), (", p99", "ns", |seen| seen.p99_ns)];
    for (name, unit, figure) in figures {
        let what = |who: &str| format!("writes of {VALUE_BYTES} B, three replicas, {WRITERS} under way: {who}{name}");
        let [theirs, ours] = [0, 1].map(|side| of(side, figure));
        plain(&what("etcd"), theirs, unit);
        against(&what("Nebula"), ours, unit, ("etcd", theirs), None);
    }
    Ok(())
}

/// A suffix of the row's name, its unit and its value.
type Figure = (&'static str, &'static str, fn(&Seen) -> f64);

struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("nebula-bench-replication-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[derive(Clone)]
enum Client {
    Nebula(AsyncClient),
    Etcd(Channel),
}

impl Client {
    async fn put(&self, key: u64) -> Result<(), Failure> {
        let (key, value) = (key.to_le_bytes(), [7; VALUE_BYTES]);
        match self {
            Self::Nebula(client) => {
                let request = Request::Set { key: &key, value: &value };
                let mut message = vec![0; request.encoded_bytes()];
                request.encode_into(&mut message)?;
                match Reply::decode(&client.call(message).await?)?.status {
                    Status::Ok => Ok(()),
                    status => Err(format!("a write ended with {status:?}").into()),
                }
            }
            Self::Etcd(channel) => {
                let mut client = tonic::client::Grpc::new(channel.clone());
                client.ready().await?;
                let put = tonic::Request::new(Put { key: key.to_vec(), value: value.to_vec() });
                let path = PathAndQuery::from_static("/etcdserverpb.KV/Put");
                let codec = tonic_prost::ProstCodec::<Put, Done>::default();
                client.unary(put, path, codec).await?;
                Ok(())
            }
        }
    }
}

/// The needed part of etcd's `PutRequest`.
#[derive(Clone, PartialEq, prost::Message)]
struct Put {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// Its answer, of which nothing is needed.
#[derive(Clone, PartialEq, prost::Message)]
struct Done {}

struct Seen {
    rate: f64,
    p50_ns: f64,
    p99_ns: f64,
}

async fn round(client: &Client) -> Result<Seen, Failure> {
    let began = Instant::now();
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let client = client.clone();
        writers.spawn(async move {
            let (mut times, mut number) = (Vec::new(), 0);
            while began.elapsed() < ROUND {
                let sent = Instant::now();
                client.put(writer * 1000 + number % 1000).await.map_err(|error| error.to_string())?;
                times.push(sent.elapsed().as_nanos() as f64);
                number += 1;
            }
            Ok::<_, String>(times)
        });
    }
    let mut times = Vec::new();
    while let Some(one) = writers.join_next().await {
        times.extend(one??);
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    Ok(Seen { rate: times.len() as f64 / began.elapsed().as_secs_f64(), p50_ns: at(0.5), p99_ns: at(0.99) })
}

struct Served {
    client: Client,
    _servers: Vec<Server>,
}

fn nebula(program: &str, folder: &Path) -> Result<Served, Failure> {
    let endpoints = (0..3).map(|_| Ok(format!("udp://{}", unused_address()?))).collect::<Result<Vec<_>, Failure>>()?;
    let all = endpoints.join(",");
    let start = |endpoint: &String| {
        let place = folder.join(endpoint.rsplit(':').next().unwrap_or_default()).display().to_string();
        let replica = ["serve", "kv", "--endpoint", endpoint, "--replicate", &all, "--replica-dir", &place];
        let rest = ["--mode", "store", "--items", "100k", "--slo", "1s", "--inline", "--block", "--end-with-parent"];
        Server::start_program(program, &[&replica[..], &rest, &["--log", "off"]].concat())
    };
    let servers = endpoints.iter().map(start).collect::<Result<Vec<_>, _>>()?;
    let leader = until(|| {
        let listed = Command::new(program).args(["replicas", &all, "--format", "json"]).output()?;
        let listed: serde_json::Value = serde_json::from_slice(&listed.stdout)?;
        Ok(listed["leader"].as_str().ok_or("nobody leads")?.to_owned())
    })?;
    let client = AsyncClient::connect_with(&leader, ClientConfig::default()).wait()?;
    Ok(Served { client: Client::Nebula(client), _servers: servers })
}

fn etcd(folder: &Path, runtime: &Runtime) -> Result<Served, Failure> {
    let urls = |_| Ok([(); 2].map(|()| unused_address().map(|address| format!("http://{address}"))));
    let urls = (0..3).map(urls).collect::<Result<Vec<_>, Failure>>()?;
    let urls = urls.into_iter().map(|[a, b]| Ok([a?, b?])).collect::<Result<Vec<_>, Failure>>()?;
    let cluster: Vec<_> = urls.iter().enumerate().map(|(n, [_, peer])| format!("member-{n}={peer}")).collect();
    let cluster = cluster.join(",");
    let start = |(n, [client, peer]): (usize, &[String; 2])| -> Result<Server, Failure> {
        let mut etcd = Command::new("etcd");
        etcd.args(["--name", &format!("member-{n}"), "--data-dir"]).arg(folder.join(format!("etcd-{n}")));
        etcd.args(["--listen-client-urls", client, "--advertise-client-urls", client]);
        etcd.args(["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", &cluster]);
        let started = etcd.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Ok(Server::of(started.map_err(|error| format!("cannot start etcd (Debian's etcd-server): {error}"))?))
    };
    let servers = urls.iter().enumerate().map(start).collect::<Result<Vec<_>, _>>()?;
    let clients: Vec<_> = urls.iter().map(|[client, _]| client.as_str()).collect();
    let leader = until(|| {
        let mut status = Command::new("etcdctl");
        status.env("ETCDCTL_API", "3").args(["--endpoints", &clients.join(","), "endpoint", "status", "-w", "json"]);
        let told = status.output().map_err(|error| format!("cannot run etcdctl (Debian's etcd-client): {error}"))?;
        let told: Vec<serde_json::Value> = serde_json::from_slice(&told.stdout)?;
        let leads = |one: &&serde_json::Value| one["Status"]["header"]["member_id"] == one["Status"]["leader"];
        let leader = told.iter().find(leads).ok_or("nobody leads")?;
        Ok(leader["Endpoint"].as_str().ok_or("a leader without an endpoint")?.to_owned())
    })?;
    let channel = runtime.block_on(Endpoint::from_shared(leader)?.tcp_nodelay(true).connect())?;
    Ok(Served { client: Client::Etcd(channel), _servers: servers })
}

fn until<T>(mut attempt: impl FnMut() -> Result<T, Failure>) -> Result<T, Failure> {
    let began = Instant::now();
    loop {
        match attempt() {
            Err(error) if began.elapsed() > PATIENCE => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
            done => return done,
        }
    }
}

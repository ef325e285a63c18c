//! `nebula replicas`: shows a store's replicas, its leader and the time of its commits; adds and
//! removes replicas.

use std::path::PathBuf;

use nebula::Endpoint;
#[cfg(feature = "replicate")]
use nebula::{ClientConfig, Span};
#[cfg(feature = "replicate")]
use nebula_replication::{
    client::administer,
    times::Figures,
    wire::{Members, Message},
};

#[cfg(feature = "replicate")]
use crate::flags;
use crate::flags::{Format, ServerList};
use nebula_ui::output::Failure;
#[cfg(feature = "replicate")]
use nebula_ui::output::{self, Row, Value, units};

const EXAMPLES: &str = "Examples:
  nebula replicas udp://10.0.0.1:7400                            who leads, who votes, and how long commits take
  nebula replicas udp://10.0.0.1:7400,udp://10.0.0.2:7400 --key-file kv.key --format json      whichever answers
  nebula replicas udp://10.0.0.1:7400 --add udp://10.0.0.4:7400  one that runs and waits; it is brought up to date first
  nebula replicas udp://10.0.0.1:7400 --remove udp://10.0.0.2:7400

Any replica says which one leads, and that one is asked. Commits are from when Raft was given an entry until it was applied; rounds are an entry's way to a follower, onto its disk and back. Both are the leader's since it began.";

/// Show who the replicas of a store are, or change it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A replica, or several with commas between them, the first of which that answers is asked
    endpoint: ServerList,
    /// Add the replica at this endpoint
    #[arg(long, value_name = "ENDPOINT", conflicts_with = "remove")]
    add: Option<Endpoint>,
    /// Remove the replica at this endpoint
    #[arg(long, value_name = "ENDPOINT")]
    remove: Option<Endpoint>,
    /// Key file shared with the replicas (see nebula keygen)
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Ask a replica on another machine without a key
    #[arg(long, conflicts_with = "key_file")]
    insecure: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// A replica that is added first receives the whole store.
#[cfg(feature = "replicate")]
const PATIENCE: Span = Span::from_secs(60);

#[cfg(feature = "replicate")]
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let keys = flags::read_keys(args.key_file.as_deref(), args.endpoint.has_network())?;
    let config = ClientConfig::default().keys(keys).insecure(args.insecure).call_timeout(PATIENCE);
    let message = match (&args.add, &args.remove) {
        (Some(endpoint), _) => Message::Add(endpoint.to_string()),
        (None, Some(endpoint)) => Message::Remove(endpoint.to_string()),
        (None, None) => Message::List,
    };
    let members = administer(args.endpoint.as_str(), &config, &message).map_err(Failure::fault)?;
    output::print(args.format, &[row(&members)])
}

#[cfg(feature = "replicate")]
fn row(members: &Members) -> Row {
    let list = |endpoints: &[String]| Value::from(endpoints.join(","));
    let row = Row::new()
        .field("leader", members.leader.as_deref())
        .field("term", members.term)
        .field("voters", list(&members.voters))
        .field("learners", list(&members.learners))
        .field("applied", members.applied)
        .field("snapshot", members.snapshot)
        .field("writes", members.writes);
    let row = row
        .field("commits", members.commits.count)
        .field("commits_ns", times(members.commits))
        .field("rounds", members.rounds.count)
        .field("rounds_ns", times(members.rounds));
    row.field("buffer_bytes", members.buffer_bytes)
        .field("buffer_bytes_used_max", members.buffer_bytes_used_max)
        .word("leader", members.leader.as_deref().unwrap_or("none"))
        .shown("voters", members.voters.len().to_string())
        .shown("learners", members.learners.len().to_string())
        .shown("writes", members.writes.to_string())
        .shown("commits", members.commits.count.to_string())
        .shown("p50", shown(members.commits.p50_ns))
        .shown("p99", shown(members.commits.p99_ns))
        .shown("round p50", shown(members.rounds.p50_ns))
        .shown("round p99", shown(members.rounds.p99_ns))
        .shown("receive buffer", units::bytes(members.buffer_bytes))
        .shown("most used", units::bytes(members.buffer_bytes_used_max))
}

#[cfg(feature = "replicate")]
fn times(figures: Figures) -> Value {
    Value::object([("p50", Value::from(figures.p50_ns)), ("p99", Value::from(figures.p99_ns))])
}

#[cfg(feature = "replicate")]
fn shown(ns: u64) -> String {
    if ns == 0 { "–".to_owned() } else { units::span(Span::from_ns(ns)) }
}

#[cfg(not(feature = "replicate"))]
pub(crate) fn run(_: &Args) -> Result<(), Failure> {
    Err(Failure::bad_input(
        "replicas: this program was built without them: cargo build -p nebula-cli --features replicate",
    ))
}

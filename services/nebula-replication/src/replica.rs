//! A replica: Raft over a log on disk, a store and a carrier.
//!
//! ```text
//!  writes ─▶ those that wait become one entry ─▶ fsync here ─▶ 1:N to the others ─▶ majority ─▶ applied ─▶ done
//!  reads  ─▶ those that wait share one round:  "am I still the leader?" ─▶ majority ─▶ applied so far ─▶ read
//! ```
//!
//! Callers bound both queues: a server hands over at most as many RPCs as may be answered later.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use nebula::StatusReader;
use nebula_kvs::Store;
use openraft::error::{InitializeError, RaftError};
use openraft::storage::RaftLogStorage;
use openraft::{ChangeMembers, Config, Raft, ServerState, SnapshotPolicy, StorageError, Vote};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::time::timeout;

use crate::command::{Kv, Outcome, Write};
use crate::disk::Disk;
use crate::machine::{Machine, MachineError, Replicated, Room};
use crate::peers::{Carrier, Peers};
use crate::times::Measured;
use crate::wire::{self, Answer, Members, Message, Sender};

/// The configuration of a replica.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReplicaConfig {
    /// Its name among the replicas.
    pub endpoint: String,
    /// The endpoints of all replicas that begin together, including its own; empty for one that is
    /// [added](Message::Add) later. Used at the first start only: then the log has the members.
    pub members: Vec<String>,
    /// The room of the store.
    pub room: Room,
    /// Between two heartbeats of the leader. Default: 50 ms.
    pub heartbeat: Duration,
    /// The least time without heartbeats before an election; the most is twice that. Default: 300
    /// ms.
    pub election_timeout: Duration,
    /// How long a write waits for a majority before its outcome counts as unknown. Default: 2 s.
    pub commit_timeout: Duration,
    /// Entries of the log after which a snapshot is taken. Default: 10,000.
    pub snapshot_every: u64,
    /// Bytes of keys and values that share an entry, unless one write has more. Default: 32 KiB.
    pub entry_bytes_max: usize,
}

impl ReplicaConfig {
    /// The configuration of the replica at `endpoint`, with defaults.
    #[must_use]
    pub fn new(endpoint: &str, members: &[String], room: Room) -> Self {
        Self {
            endpoint: endpoint.to_owned(),
            members: members.to_vec(),
            room,
            heartbeat: Duration::from_millis(50),
            election_timeout: Duration::from_millis(300),
            commit_timeout: Duration::from_secs(2),
            snapshot_every: 10_000,
            entry_bytes_max: 32 << 10,
        }
    }

    /// Sets the times of heartbeats and elections.
    #[must_use]
    pub fn times(mut self, heartbeat: Duration, election_timeout: Duration) -> Self {
        (self.heartbeat, self.election_timeout) = (heartbeat, election_timeout);
        self
    }

    /// Sets the number of entries between two snapshots.
    #[must_use]
    pub fn snapshot_every(mut self, entries: u64) -> Self {
        self.snapshot_every = entries;
        self
    }

    fn raft(&self) -> Result<Config, ReplicaError> {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX / 4).max(1);
        let config = Config {
            cluster_name: "nebula".to_owned(),
            heartbeat_interval: millis(self.heartbeat),
            election_timeout_min: millis(self.election_timeout),
            election_timeout_max: 2 * millis(self.election_timeout),
            snapshot_policy: SnapshotPolicy::LogsSinceLast(self.snapshot_every),
            max_in_snapshot_log_to_keep: self.snapshot_every / 10,
            replication_lag_threshold: self.snapshot_every,
            snapshot_max_chunk_size: SNAPSHOT_CHUNK_BYTES,
            install_snapshot_timeout: 1_000,
            ..Config::default()
        };
        config.validate().map_err(|error| ReplicaError::Times(error.to_string()))
    }
}

/// Of the receive buffer.
const SLOT_BYTES: u64 = 64;
/// In one RPC.
const SNAPSHOT_CHUNK_BYTES: u64 = 32 << 10;

/// A replica could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplicaError {
    /// Two members have one number, or the replica is not among them.
    #[error("{0}")]
    Members(String),
    /// Its state could not be restored.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// Its times do not fit each other.
    #[error("heartbeat and election timeout do not fit each other: {0}")]
    Times(String),
    /// Raft did not start.
    #[error("the replica cannot begin: {0}")]
    Raft(String),
}

/// The end of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Committed, with this outcome.
    Committed(Outcome),
    /// This replica does not lead: the write was not executed.
    NotLeader,
    /// Committed or not, now or later: the leader changed, or no majority answered in time.
    Unknown,
}

/// Called at the end of a write.
pub type WriteDone = Box<dyn FnOnce(Written) + Send>;
/// Called with the store to read, or `None` if this replica cannot know that its store is current.
pub type ReadDone = Box<dyn FnOnce(Option<&Store>) + Send>;

/// A replica. Clones share it.
#[derive(Clone)]
pub struct Replica {
    raft: Raft<Kv>,
    endpoint: Arc<str>,
    room: Room,
    replicated: Replicated,
    measured: Arc<Measured>,
    written: Arc<AtomicU64>,
    /// Set once there is a server.
    server: Arc<OnceLock<StatusReader>>,
    writes: UnboundedSender<(Write, WriteDone)>,
    reads: UnboundedSender<ReadDone>,
}

impl std::fmt::Debug for Replica {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replica").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl Replica {
    /// Starts a replica on the runtime of the caller's task. An empty log begins with the
    /// configured members.
    ///
    /// # Errors
    ///
    /// [`ReplicaError`].
    pub async fn start(config: ReplicaConfig, mut disk: Disk, carrier: impl Carrier) -> Result<Self, ReplicaError> {
        let members = checked(&config)?;
        resign(&mut disk, wire::id(&config.endpoint)).await.map_err(|error| ReplicaError::Raft(error.to_string()))?;
        let machine = Machine::open(disk.clone(), config.room)?;
        let replicated = machine.replicated();
        let sender = Sender::Replica(config.room);
        let measured = Arc::new(Measured::new());
        let peers = Peers { carrier: Arc::new(carrier), sender, pause: config.heartbeat, measured: measured.clone() };
        let me = wire::id(&config.endpoint);
        let raft = Raft::new(me, Arc::new(config.raft()?), peers, disk, machine).await;
        let raft = raft.map_err(|error| ReplicaError::Raft(error.to_string()))?;
        if !members.is_empty() {
            match raft.initialize(members).await {
                Ok(()) | Err(RaftError::APIError(InitializeError::NotAllowed(_))) => {}
                Err(error) => return Err(ReplicaError::Raft(error.to_string())),
            }
        }
        let (writes, waiting_writes) = mpsc::unbounded_channel();
        let (reads, waiting_reads) = mpsc::unbounded_channel();
        let endpoint = config.endpoint.as_str().into();
        let writer = Writer { raft: raft.clone(), measured: measured.clone(), written: Arc::default(), config };
        let replica = Self {
            raft,
            endpoint,
            room: writer.config.room,
            replicated,
            measured,
            written: writer.written.clone(),
            server: Arc::default(),
            writes,
            reads,
        };
        tokio::spawn(writer.write_all(waiting_writes));
        tokio::spawn(read_all(replica.raft.clone(), replica.replicated.clone(), waiting_reads));
        Ok(replica)
    }

    /// Replicates `write`; calls `done` at its end, on a thread of the replica.
    pub fn write(&self, write: Write, done: impl FnOnce(Written) + Send + 'static) {
        if let Err(refused) = self.writes.send((write, Box::new(done))) {
            (refused.0.1)(Written::NotLeader);
        }
    }

    /// Calls `read` with the state of the store at some moment between this call and that one,
    /// whichever replica wrote it: reads are linearizable. `read` gets `None` if this replica does
    /// not lead.
    pub fn read(&self, read: impl FnOnce(Option<&Store>) + Send + 'static) {
        if let Err(refused) = self.reads.send(Box::new(read)) {
            (refused.0)(None);
        }
    }

    /// Whether both are the same replica, and not two with the same endpoint one after the other.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.measured, &other.measured)
    }

    /// Sets the server whose counters the replica reports.
    pub(crate) fn served_by(&self, server: &StatusReader) {
        // A replica has one server.
        let _ = self.server.set(server.clone());
    }

    /// Whether this replica believes that it leads. Another may already lead: reads and writes find
    /// out.
    #[must_use]
    pub fn leads(&self) -> bool {
        is_leader(&self.raft)
    }

    /// The store at this replica, which may lag behind the leader's.
    #[must_use]
    pub fn replicated(&self) -> &Replicated {
        &self.replicated
    }

    /// Why the replica has stopped, such as a full disk; it answers no more.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.raft.metrics().borrow().running_state.as_ref().err().map(ToString::to_string)
    }

    /// Stops the replica. Acknowledged writes are on disk.
    pub async fn stop(&self) {
        // A task that panicked has stopped, too.
        let _ = self.raft.shutdown().await;
    }

    /// Takes a snapshot, after which the log before it can be removed.
    pub async fn snapshot(&self) {
        // Fails if the replica has stopped.
        let _ = self.raft.trigger().snapshot().await;
    }

    /// Answers a request of a replica or an administrator.
    pub async fn answer(&self, request: &[u8]) -> Vec<u8> {
        let answer = match wire::decode(request, self.room) {
            Ok(Message::Append(request)) => Answer::Append(self.raft.append_entries(request).await),
            Ok(Message::Vote(request)) => Answer::Vote(self.raft.vote(request).await),
            Ok(Message::Snapshot(request)) => Answer::Snapshot(self.raft.install_snapshot(request).await),
            Ok(Message::Leads) => Answer::Leads(self.leads()),
            Ok(Message::List) => Answer::Members(self.members()),
            Ok(Message::Add(endpoint)) => self.changed(self.add(&endpoint).await),
            Ok(Message::Remove(endpoint)) => self.changed(self.remove(&endpoint).await),
            Err(error) => Answer::Refused(error.to_string()),
        };
        wire::encode_answer(&answer)
    }

    fn changed(&self, change: Result<(), String>) -> Answer {
        change.map_or_else(Answer::Refused, |()| Answer::Members(self.members()))
    }

    /// All members, as far as this replica knows.
    #[must_use]
    pub fn members(&self) -> Members {
        let metrics = self.raft.metrics();
        let metrics = metrics.borrow();
        let membership = metrics.membership_config.membership();
        let endpoint = |id: u64| membership.get_node(&id).map(|node| node.addr.clone());
        let all = |ids: &mut dyn Iterator<Item = u64>| {
            let mut endpoints: Vec<_> = ids.filter_map(endpoint).collect();
            endpoints.sort();
            endpoints
        };
        let server = self.server.get().map(StatusReader::read);
        Members {
            writes: self.written.load(Ordering::Relaxed),
            commits: self.measured.commits.figures(),
            rounds: self.measured.rounds.figures(),
            buffer_bytes: server.as_ref().map_or(0, nebula::Status::buffer_bytes),
            buffer_bytes_used_max: server.as_ref().map_or(0, |server| server.slots_used_max * SLOT_BYTES),
            leader: metrics.current_leader.and_then(endpoint),
            term: metrics.current_term,
            voters: all(&mut membership.voter_ids()),
            learners: all(&mut membership.learner_ids()),
            applied: metrics.last_applied.map(|applied| applied.index),
            snapshot: metrics.snapshot.map(|snapshot| snapshot.index),
        }
    }

    /// Adds a running replica, which is brought up to date before it votes.
    async fn add(&self, endpoint: &str) -> Result<(), String> {
        let (id, node) = wire::node(endpoint);
        self.raft.add_learner(id, node, true).await.map_err(|error| error.to_string())?;
        self.change(ChangeMembers::AddVoterIds(BTreeSet::from([id]))).await
    }

    async fn remove(&self, endpoint: &str) -> Result<(), String> {
        if !self.members().voters.iter().any(|voter| voter == endpoint) {
            return Err(format!("{endpoint} is no replica here; see the list"));
        }
        self.change(ChangeMembers::RemoveVoters(BTreeSet::from([wire::id(endpoint)]))).await
    }

    async fn change(&self, change: ChangeMembers<u64, openraft::BasicNode>) -> Result<(), String> {
        self.raft.change_membership(change, false).await.map(drop).map_err(|error| error.to_string())
    }
}

/// Makes a replica that led when it ended stand for election. The library would continue as the
/// leader of the same term. But a commit is not synced by itself, so its reads could show a state
/// before its last acknowledgments. An elected leader commits an entry of its term before it
/// answers a read.
async fn resign(disk: &mut Disk, me: u64) -> Result<(), StorageError<u64>> {
    match disk.read_vote().await? {
        Some(vote) if vote.committed && vote.leader_id.node_id == me => {
            disk.save_vote(&Vote::new(vote.leader_id.term, me)).await
        }
        _ => Ok(()),
    }
}

fn checked(config: &ReplicaConfig) -> Result<BTreeMap<u64, openraft::BasicNode>, ReplicaError> {
    let members: BTreeMap<_, _> = config.members.iter().map(|member| wire::node(member)).collect();
    if members.len() != config.members.len() {
        return Err(ReplicaError::Members("a replica is named twice: name each once".to_owned()));
    }
    if !members.is_empty() && !members.contains_key(&wire::id(&config.endpoint)) {
        let why = format!("{} is not among the replicas: name all, this one too", config.endpoint);
        return Err(ReplicaError::Members(why));
    }
    Ok(members)
}

fn is_leader(raft: &Raft<Kv>) -> bool {
    raft.metrics().borrow().state == ServerState::Leader
}

struct Writer {
    raft: Raft<Kv>,
    measured: Arc<Measured>,
    written: Arc<AtomicU64>,
    config: ReplicaConfig,
}

impl Writer {
    /// Writes that wait while an entry is committed share the next one.
    async fn write_all(self, mut waiting: UnboundedReceiver<(Write, WriteDone)>) {
        while let Some((write, done)) = waiting.recv().await {
            let mut bytes = write.bytes();
            let (mut writes, mut dones) = (vec![write], vec![done]);
            while bytes < self.config.entry_bytes_max {
                let Ok((write, done)) = waiting.try_recv() else { break };
                bytes += write.bytes();
                writes.push(write);
                dones.push(done);
            }
            let ends = self.commit(writes).await;
            for (index, done) in dones.into_iter().enumerate() {
                done(ends.as_ref().map_or_else(|&end| end, |outcomes| Written::Committed(outcomes[index])));
            }
        }
    }

    async fn commit(&self, writes: Vec<Write>) -> Result<Vec<Outcome>, Written> {
        if !is_leader(&self.raft) {
            return Err(Written::NotLeader);
        }
        let (count, began) = (writes.len(), Instant::now());
        match timeout(self.config.commit_timeout, self.raft.client_write(writes)).await {
            Ok(Ok(committed)) if committed.data.len() == count => {
                self.measured.commits.record(began.elapsed());
                self.written.fetch_add(count as u64, Ordering::Relaxed);
                Ok(committed.data)
            }
            // Raft does not distinguish an entry that it refused from one that a later leader may
            // still keep.
            _ => Err(Written::Unknown),
        }
    }
}

/// Answers reads: those that wait share one round.
async fn read_all(raft: Raft<Kv>, replicated: Replicated, mut waiting: UnboundedReceiver<ReadDone>) {
    while let Some(read) = waiting.recv().await {
        let mut reads = vec![read];
        while let Ok(read) = waiting.try_recv() {
            reads.push(read);
        }
        let is_current = is_leader(&raft) && raft.ensure_linearizable().await.is_ok();
        let (_guard, store) = replicated.read();
        reads.into_iter().for_each(|read| read(is_current.then_some(store)));
    }
}

//! A replica with its server: started together, stopped in the order that loses nothing.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nebula::{ClientConfig, RunningServer, ServeError, Server, Status};
use tokio::runtime::{Builder, Runtime};

use crate::carrier::Clients;
use crate::disk::{Disk, DiskError};
use crate::replica::{Replica, ReplicaConfig, ReplicaError};
use crate::service::{MESSAGE_BYTES_MAX, ReplicaService};

/// The file of a replica, in its folder.
const FILE: &str = "replica.redb";
/// Threads of Raft's tasks: an fsync keeps one, heartbeats and elections go on beside it.
const THREADS: usize = 3;

/// A replica could not be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Its folder cannot be made, or its threads cannot.
    #[error("cannot begin the replica: {0}")]
    Io(#[from] io::Error),
    /// Its file cannot be opened.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// Raft does not start.
    #[error(transparent)]
    Replica(#[from] ReplicaError),
    /// The server does not.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// The tasks of a replica, and what they need.
#[derive(Debug)]
pub struct Tasks {
    replica: Replica,
    runtime: Arc<Runtime>,
}

impl Tasks {
    /// Begins a replica whose file is in `folder`, which is created; `peers` is how it speaks with
    /// the others.
    ///
    /// # Errors
    ///
    /// [`StartError`].
    pub fn begin(config: ReplicaConfig, folder: &Path, peers: ClientConfig) -> Result<Self, StartError> {
        fs::create_dir_all(folder)?;
        let disk = Disk::open(&folder.join(FILE))?;
        let runtime =
            Builder::new_multi_thread().worker_threads(THREADS).thread_name("replica").enable_time().build()?;
        // An RPC that takes longer is not useful any more: another leader has been elected.
        let clients = Clients::new(peers, config.election_timeout);
        let replica = runtime.block_on(Replica::start(config, disk, clients))?;
        Ok(Self { replica, runtime: Arc::new(runtime) })
    }

    /// The replica.
    #[must_use]
    pub fn replica(&self) -> &Replica {
        &self.replica
    }

    /// Its service.
    #[must_use]
    pub fn service(&self) -> ReplicaService {
        ReplicaService::new(self.replica.clone(), self.runtime.handle().clone())
    }

    /// Says which server's counters are shown with the replica's.
    pub fn served_by(&self, server: &RunningServer) {
        self.replica.served_by(server.status());
    }

    /// Stops the replica. What it has acknowledged is on disk.
    pub fn stop(self) {
        self.runtime.block_on(self.replica.stop());
        if let Ok(runtime) = Arc::try_unwrap(self.runtime) {
            // One that connects to a replica that is gone is not waited for.
            runtime.shutdown_timeout(Duration::from_secs(1));
        }
    }
}

/// A replica that is served.
#[derive(Debug)]
pub struct RunningReplica {
    server: RunningServer,
    tasks: Tasks,
}

impl RunningReplica {
    /// The replica.
    #[must_use]
    pub fn replica(&self) -> &Replica {
        self.tasks.replica()
    }

    /// The server.
    #[must_use]
    pub fn server(&self) -> &RunningServer {
        &self.server
    }

    /// Stops replica and server; the server's last counters.
    pub fn stop(self) -> Status {
        self.tasks.stop();
        self.server.stop()
    }
}

/// Starts a replica, and `server` for its clients and the other replicas. Requests are at least as
/// long as the messages of replicas need.
///
/// # Errors
///
/// [`StartError`].
pub fn serve(
    server: Server,
    config: ReplicaConfig,
    folder: &Path,
    peers: ClientConfig,
) -> Result<RunningReplica, StartError> {
    let rpc_bytes_max = MESSAGE_BYTES_MAX + config.room.value_bytes_max;
    let tasks = Tasks::begin(config, folder, peers)?;
    let server = server.rpc_bytes_max(rpc_bytes_max).serve(tasks.service())?;
    tasks.served_by(&server);
    Ok(RunningReplica { server, tasks })
}

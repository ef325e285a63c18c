//! A replica with its server: started together, and stopped in the order that loses nothing.

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

const FILE: &str = "replica.redb";
/// One may wait for an fsync while heartbeats and elections go on.
const THREADS: usize = 3;

/// A replica could not be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Its folder or threads cannot be created.
    #[error("cannot begin the replica: {0}")]
    Io(#[from] io::Error),
    /// Its file cannot be opened.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// Raft cannot start.
    #[error(transparent)]
    Replica(#[from] ReplicaError),
    /// The server cannot start.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// The tasks of a replica, and their runtime.
#[derive(Debug)]
pub struct Tasks {
    replica: Replica,
    runtime: Arc<Runtime>,
}

impl Tasks {
    /// Starts a replica with its file in `folder`, which is created; `peers` configures its clients
    /// of the others.
    ///
    /// # Errors
    ///
    /// [`StartError`].
    pub fn begin(config: ReplicaConfig, folder: &Path, peers: ClientConfig) -> Result<Self, StartError> {
        fs::create_dir_all(folder)?;
        let disk = Disk::open(&folder.join(FILE))?;
        let runtime =
            Builder::new_multi_thread().worker_threads(THREADS).thread_name("replica").enable_time().build()?;
        // After that time another leader has been elected.
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

    /// Sets the server whose counters the replica reports.
    pub fn served_by(&self, server: &RunningServer) {
        self.replica.served_by(server.status());
    }

    /// Stops the replica. Acknowledged writes are on disk.
    pub fn stop(self) {
        self.runtime.block_on(self.replica.stop());
        if let Ok(runtime) = Arc::try_unwrap(self.runtime) {
            // Does not wait for a task that connects to a dead replica.
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

    /// Stops replica and server; returns the server's last counters.
    pub fn stop(self) -> Status {
        self.tasks.stop();
        self.server.stop()
    }
}

/// Starts a replica, and `server` for its clients and the other replicas. Requests may be as long
/// as the replicas' messages.
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

//! Carries Raft's messages to other replicas, as RPCs.

use std::error::Error;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use openraft::error::{InstallSnapshotError, NetworkError, RPCError, RaftError, RemoteError, Unreachable};
use openraft::network::{Backoff, RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse, VoteRequest,
    VoteResponse,
};
use openraft::{BasicNode, OptionalSend};

use crate::command::Kv;
use crate::times::Measured;
use crate::wire::{self, Answer, Message, Sender, WireError};

/// An RPC to another replica that has no reply.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CarryError {
    /// No answer: Raft pauses before it tries again.
    #[error("replica {endpoint} cannot be reached: {cause}")]
    Unreachable {
        /// Its endpoint.
        endpoint: String,
        /// The cause.
        cause: String,
    },
    /// This RPC failed, for instance by a NACK: Raft tries again at once.
    #[error("replica {endpoint} did not answer: {cause}")]
    Failed {
        /// Its endpoint.
        endpoint: String,
        /// The cause.
        cause: String,
    },
}

/// Carries RPCs to other replicas: Nebula's transports, or a test's network.
pub trait Carrier: Send + Sync + 'static {
    /// Sends `request` to the replica at `endpoint`; returns its reply.
    ///
    /// # Errors
    ///
    /// [`CarryError`].
    fn carry(&self, endpoint: &str, request: Vec<u8>) -> impl Future<Output = Result<Vec<u8>, CarryError>> + Send;
}

pub(crate) struct Peers<C> {
    pub(crate) carrier: Arc<C>,
    pub(crate) sender: Sender,
    /// The pause after a replica was unreachable.
    pub(crate) pause: Duration,
    pub(crate) measured: Arc<Measured>,
}

pub(crate) struct Peer<C> {
    carrier: Arc<C>,
    sender: Sender,
    pause: Duration,
    measured: Arc<Measured>,
    id: u64,
    endpoint: String,
}

impl<C: Carrier> RaftNetworkFactory<Kv> for Peers<C> {
    type Network = Peer<C>;

    async fn new_client(&mut self, id: u64, node: &BasicNode) -> Peer<C> {
        let (carrier, endpoint) = (self.carrier.clone(), node.addr.clone());
        Peer { carrier, sender: self.sender, pause: self.pause, measured: self.measured.clone(), id, endpoint }
    }
}

type Failed<E> = RPCError<u64, BasicNode, RaftError<u64, E>>;

impl<C: Carrier> Peer<C> {
    async fn ask<E: Error>(&self, message: &Message) -> Result<Answer, Failed<E>> {
        let network = |error: &WireError| RPCError::Network(NetworkError::new(error));
        let request = wire::encode(self.sender, message).map_err(|error| network(&error))?;
        match self.carrier.carry(&self.endpoint, request).await {
            Ok(reply) => match wire::decode_answer(&reply).map_err(|error| network(&error))? {
                Answer::Refused(why) => Err(self.refused(why)),
                answer => Ok(answer),
            },
            Err(error @ CarryError::Unreachable { .. }) => Err(RPCError::Unreachable(Unreachable::new(&error))),
            Err(error) => Err(RPCError::Network(NetworkError::new(&error))),
        }
    }

    /// It will not change its answer soon.
    fn refused<E: Error>(&self, cause: String) -> Failed<E> {
        tracing::warn!("replica {} refuses: {cause}", self.endpoint);
        let error = CarryError::Unreachable { endpoint: self.endpoint.clone(), cause };
        RPCError::Unreachable(Unreachable::new(&error))
    }

    fn unexpected<E: Error>(&self) -> Failed<E> {
        self.refused("its reply belongs to another message".to_owned())
    }

    fn remote<E: Error>(&self, error: RaftError<u64, E>) -> Failed<E> {
        RPCError::RemoteError(RemoteError::new(self.id, error))
    }
}

impl<C: Carrier> RaftNetwork<Kv> for Peer<C> {
    async fn append_entries(
        &mut self,
        rpc: AppendEntriesRequest<Kv>,
        _option: RPCOption,
    ) -> Result<AppendEntriesResponse<u64>, RPCError<u64, BasicNode, RaftError<u64>>> {
        let (has_entries, began) = (!rpc.entries.is_empty(), Instant::now());
        match self.ask(&Message::Append(rpc)).await? {
            Answer::Append(answer) => {
                if has_entries && answer.is_ok() {
                    self.measured.rounds.record(began.elapsed());
                }
                answer.map_err(|error| self.remote(error))
            }
            _ => Err(self.unexpected()),
        }
    }

    async fn install_snapshot(
        &mut self,
        rpc: InstallSnapshotRequest<Kv>,
        _option: RPCOption,
    ) -> Result<InstallSnapshotResponse<u64>, RPCError<u64, BasicNode, RaftError<u64, InstallSnapshotError>>> {
        match self.ask(&Message::Snapshot(rpc)).await? {
            Answer::Snapshot(answer) => answer.map_err(|error| self.remote(error)),
            _ => Err(self.unexpected()),
        }
    }

    async fn vote(
        &mut self,
        rpc: VoteRequest<u64>,
        _option: RPCOption,
    ) -> Result<VoteResponse<u64>, RPCError<u64, BasicNode, RaftError<u64>>> {
        match self.ask(&Message::Vote(rpc)).await? {
            Answer::Vote(answer) => answer.map_err(|error| self.remote(error)),
            _ => Err(self.unexpected()),
        }
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat(self.pause))
    }
}

/// Futures of a peer must be able to change threads.
const _: fn() = || {
    fn is_send<T: OptionalSend>() {}
    is_send::<Message>();
};

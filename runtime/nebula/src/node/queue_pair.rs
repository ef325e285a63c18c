//! The queue pair of one domain: the node's worker and clients there.

use super::error::NodeError;
use crate::client::{CallError, Client, Completion, Ticket};
use crate::rpc::later::LaterReply;
use crate::server::RunningServer;
use crate::ways::core::Begun;
use crate::worker::{Rpc, Worker};

#[derive(Debug)]
pub(super) struct QueuePair {
    pub(super) domain: u8,
    hosted: Option<(RunningServer, Worker)>,
    clients: Vec<Client>,
    first: usize,
}

#[derive(Debug)]
pub(super) enum Event {
    Begun(Begun),
    Ended(Ended),
}

#[derive(Debug)]
pub(super) struct Ended {
    pub(super) client: usize,
    pub(super) ticket: Ticket,
    pub(super) result: Result<(), CallError>,
}

impl QueuePair {
    pub(super) fn new(domain: u8) -> Self {
        Self { domain, hosted: None, clients: Vec::new(), first: 0 }
    }

    pub(super) fn serve(&mut self, server: RunningServer, worker: Worker) -> &RunningServer {
        &self.hosted.insert((server, worker)).0
    }

    pub(super) fn connect(&mut self, client: Client) -> usize {
        self.clients.push(client);
        self.clients.len() - 1
    }

    pub(super) fn server(&self) -> Option<&RunningServer> {
        self.hosted.as_ref().map(|(server, _)| server)
    }

    pub(super) fn next(&mut self, into: &mut Vec<u8>) -> Option<Event> {
        if let Some(ended) = self.ended(into) {
            return Some(Event::Ended(ended));
        }
        let (_, worker) = self.hosted.as_ref()?;
        worker.try_begin().map(Event::Begun)
    }

    /// Replies come before requests: there are at most as many as this node has sent, and their
    /// servers keep resources for them.
    fn ended(&mut self, into: &mut Vec<u8>) -> Option<Ended> {
        for step in 0..self.clients.len() {
            let client = (self.first + step) % self.clients.len();
            if self.clients[client].outstanding() == 0 {
                continue;
            }
            if let Some(Completion { ticket, result }) = self.clients[client].poll() {
                self.first = client + 1;
                into.clear();
                let result = result.map(|reply| into.extend_from_slice(reply));
                return Some(Ended { client, ticket, result });
            }
        }
        None
    }

    /// The request that has begun; `None` if the node is no server here.
    pub(super) fn request(&self, begun: Begun) -> Option<Rpc<'_>> {
        self.hosted.as_ref().map(|(_, worker)| worker.rpc(begun))
    }

    pub(super) fn check(&mut self) -> Result<(), NodeError> {
        let Self { domain, hosted, clients, .. } = self;
        match hosted {
            Some((_, worker)) => match worker.finish_if_stopped() {
                true => Err(NodeError::Stopped { domain: *domain }),
                false => Ok(()),
            },
            None if clients.iter().all(|client| client.outstanding() == 0) => {
                Err(NodeError::NothingToWaitFor { domain: *domain })
            }
            None => Ok(()),
        }
    }

    /// Progresses the NIC and sends waiting requests, while the node waits in another domain.
    pub(super) fn attend(&mut self) {
        self.hosted.iter().for_each(|(_, worker)| worker.attend());
        self.clients.iter_mut().filter(|client| client.outstanding() > 0).for_each(Client::flush);
    }

    pub(super) fn submit(&mut self, client: usize, request: &[u8]) -> Result<Ticket, NodeError> {
        Ok(self.clients[client].submit(request)?)
    }

    pub(super) fn reply(&self, caller: LaterReply, reply: &[u8]) {
        match &self.hosted {
            Some((_, worker)) => worker.send(caller, reply),
            None => caller.answer(reply),
        }
    }
}

//! A node of messaging domains: the papers' three calls for a thread that is server and client.

mod error;
mod queue_pair;

pub use error::NodeError;

use crate::client::{CallError, Client, Ticket};
use crate::config::client::ClientConfig;
use crate::config::error::ServeError;
use crate::endpoint::IntoEndpoints;
use crate::rpc::later::LaterReply;
use crate::rpc::parking::rest_after;
use crate::server::{RunningServer, Server};
use crate::worker::Rpc;
use crate::yielding::Yielding;
use nebula_nic::Span;
use nebula_sys::clock::Clock;
use queue_pair::{Ended, Event, QueuePair};

/// A thread's queue pairs, one for each messaging domain that it joined (NEBULA §V-B).
///
/// | NEBULA, Fig. 4 | here |
/// |---|---|
/// | `payload_ptr = wait_for_RPC(msg_domain)` | [`wait_for_rpc`](Self::wait_for_rpc), which blocks, and [`try_wait_for_rpc`](Self::try_wait_for_rpc) |
/// | `free_buffer(buffer_ptr, buffer_size)` | [`Rpc::free`], which returns the caller to answer; for a reply the next call |
/// | `RPC_send(buffer_ptr, buffer_size, target_node, msg_domain)` | [`rpc_send`](Self::rpc_send) |
///
/// A node that [hosts](Self::host) a domain has a receive buffer there; one that
/// [connects](Self::connect) to peers in the domain sends them requests. It may do both. One call
/// returns requests and replies, as from the papers' completion queue. A request borrows the node,
/// so the compiler enforces the order of Fig. 4: nothing can be sent before the buffer is free.
///
/// A request in a `match` arm lasts until the `match` ends: let that return what is to be sent.
///
/// The waiting thread is the NIC of all its hosted domains: they progress while it waits in one.
///
/// # Examples
///
/// ```
/// use nebula::{Client, ClientConfig, Node, Received, Server};
///
/// const SHOUT: u8 = 3;
/// let name = format!("shm://doc-node-{}", std::process::id());
/// let mut node = Node::default();
/// node.host(SHOUT, Server::bind(&name))?;
/// let serving = std::thread::spawn(move || {
///     let Ok(Received::Request(rpc)) = node.wait_for_rpc(SHOUT) else { panic!("a request comes first") };
///     let reply = rpc.payload().to_ascii_uppercase();
///     let caller = rpc.free().expect("it was not answered");
///     node.rpc_send(&reply, caller, SHOUT).expect("a domain of the node");
/// });
/// let mut client = Client::connect_with(&name, ClientConfig::default().domain(SHOUT))?;
/// assert_eq!(client.call(b"abc")?, b"ABC");
/// serving.join().unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Node {
    pairs: Vec<QueuePair>,
    reply: Vec<u8>,
    clock: Clock,
    yielding: Yielding,
}

/// Another node of a domain, which this node sends requests to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    domain: u8,
    index: usize,
}

/// Where an RPC is sent: the papers' `target_node`.
#[derive(Debug)]
pub enum Target {
    /// A request, to a node that this one [connected](Node::connect) to.
    Peer(Peer),
    /// A reply, to the caller of a request that was [freed](Rpc::free).
    Caller(LaterReply),
}

impl From<Peer> for Target {
    fn from(peer: Peer) -> Self {
        Self::Peer(peer)
    }
}

impl From<LaterReply> for Target {
    fn from(caller: LaterReply) -> Self {
        Self::Caller(caller)
    }
}

/// A request or a reply in a domain.
#[derive(Debug)]
pub enum Received<'n> {
    /// A request, in the receive buffer. Dropping it frees the buffer and ends the RPC.
    Request(Rpc<'n>),
    /// The end of a request that this node sent.
    Reply {
        /// The peer that it was sent to.
        peer: Peer,
        /// The ticket that [`Node::rpc_send`] returned.
        ticket: Ticket,
        /// The reply, or why there is none: a NACK is [`CallError::Nack`].
        result: Result<&'n [u8], CallError>,
    },
}

impl Node {
    /// Joins `domain` as a server at `server`'s endpoint, with one worker that is the engine too.
    ///
    /// # Errors
    ///
    /// [`NodeError::Hosted`]: the node is a server there already. [`NodeError::Serve`]: the server
    /// cannot be started.
    pub fn host(&mut self, domain: u8, server: Server) -> Result<&RunningServer, NodeError> {
        if self.server(domain).is_some() {
            return Err(NodeError::Hosted { domain });
        }
        let server = server.reconfigured(|config| config.domain(domain).inline(true).workers(1).engines(1));
        let (running, mut workers) = server.open()?;
        let worker = workers.pop().ok_or(NodeError::Serve(ServeError::NoDomains))?;
        Ok(self.pair_or_new(domain).serve(running, worker))
    }

    /// Joins `domain` as a client of the server at `endpoint`, or of several of one service.
    ///
    /// Those servers need another thread: this one does not serve while it connects.
    pub fn connect(
        &mut self,
        domain: u8,
        endpoint: impl IntoEndpoints,
        config: ClientConfig,
    ) -> Result<Peer, NodeError> {
        let client = Client::connect_with(endpoint, config.domain(domain))?;
        let index = self.pair_or_new(domain).connect(client);
        Ok(Peer { domain, index })
    }

    /// The server of a domain that this node hosts, to read its counters or stop it.
    #[must_use]
    pub fn server(&self, domain: u8) -> Option<&RunningServer> {
        self.pairs.iter().find(|pair| pair.domain == domain)?.server()
    }

    /// Waits for the next request or reply in `domain`, as the papers' `wait_for_RPC`, and frees
    /// the previous one's buffer.
    ///
    /// # Errors
    ///
    /// [`NodeError::NoDomain`]. [`NodeError::Stopped`]: the node's server there has stopped.
    /// [`NodeError::NothingToWaitFor`]: there is no server, and no request is outstanding.
    pub fn wait_for_rpc(&mut self, domain: u8) -> Result<Received<'_>, NodeError> {
        let at = self.at(domain)?;
        let mut idle_since = None;
        let event = loop {
            // First, because a stopping server may always have another request.
            self.pairs[at].check()?;
            if let Some(event) = self.pairs[at].next(&mut self.reply) {
                break event;
            }
            self.attend_others(at);
            self.rest(&mut idle_since);
        };
        self.received(at, event).ok_or(NodeError::Stopped { domain })
    }

    /// As [`wait_for_rpc`](Self::wait_for_rpc), but returns `None` instead of waiting.
    ///
    /// # Errors
    ///
    /// As there, except [`NodeError::NothingToWaitFor`].
    pub fn try_wait_for_rpc(&mut self, domain: u8) -> Result<Option<Received<'_>>, NodeError> {
        let at = self.at(domain)?;
        match self.pairs[at].check() {
            Ok(()) | Err(NodeError::NothingToWaitFor { .. }) => {}
            Err(stopped) => return Err(stopped),
        }
        let event = self.pairs[at].next(&mut self.reply);
        if event.is_none() {
            self.attend_others(at);
        }
        Ok(event.and_then(|event| self.received(at, event)))
    }

    /// Sends `payload` in `domain`, as the papers' `RPC_send`: a request to a [`Peer`], or the
    /// reply to a request whose buffer was [freed](Rpc::free). A request returns the ticket that
    /// its end will have.
    ///
    /// The papers' call returns whether the RPC was accepted. Here its end does, by
    /// [`CallError::Nack`].
    ///
    /// # Errors
    ///
    /// [`NodeError::NoDomain`], and [`NodeError::OtherDomain`] for a peer of another domain.
    /// [`NodeError::NotSent`]: there is no room, or the peer has left.
    ///
    /// # Cost
    ///
    /// A request costs what [`Client::submit`] does, a reply one copy.
    pub fn rpc_send(
        &mut self,
        payload: &[u8],
        target: impl Into<Target>,
        domain: u8,
    ) -> Result<Option<Ticket>, NodeError> {
        let at = self.at(domain)?;
        match target.into() {
            Target::Peer(peer) if peer.domain != domain => Err(NodeError::OtherDomain { domain, peer: peer.domain }),
            Target::Peer(peer) => self.pairs[at].submit(peer.index, payload).map(Some),
            Target::Caller(caller) => {
                self.pairs[at].reply(caller, payload);
                Ok(None)
            }
        }
    }

    fn at(&self, domain: u8) -> Result<usize, NodeError> {
        self.pairs.iter().position(|pair| pair.domain == domain).ok_or(NodeError::NoDomain { domain })
    }

    fn pair_or_new(&mut self, domain: u8) -> &mut QueuePair {
        let at = self.at(domain).unwrap_or_else(|_| {
            self.pairs.push(QueuePair::new(domain));
            self.pairs.len() - 1
        });
        &mut self.pairs[at]
    }

    fn rest(&mut self, idle_since: &mut Option<u64>) {
        let now = self.clock.now_ps();
        rest_after(Span::from_ps(now.saturating_sub(*idle_since.get_or_insert(now))), &mut self.yielding);
    }

    fn attend_others(&mut self, at: usize) {
        for (index, pair) in self.pairs.iter_mut().enumerate() {
            if index != at {
                pair.attend();
            }
        }
    }

    fn received(&self, at: usize, event: Event) -> Option<Received<'_>> {
        let pair = &self.pairs[at];
        match event {
            Event::Begun(begun) => pair.request(begun).map(Received::Request),
            Event::Ended(Ended { client, ticket, result }) => {
                let peer = Peer { domain: pair.domain, index: client };
                Some(Received::Reply { peer, ticket, result: result.map(|()| &self.reply[..]) })
            }
        }
    }
}

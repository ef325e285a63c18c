//! A client of several servers that have the same service.

use crate::client::{CallError, Client, ConnectError, Executed, SubmitError, Ticket};
use crate::config::client::{ClientConfig, Options};
use crate::endpoint::{Endpoint, EndpointError, IntoEndpoint};
use nebula_nic::{Balance, SERVERS_MAX, ServerEnd, ServerSet, Servers, Timestamp};
use nebula_sys::clock::Clock;

/// A connection to each of several servers, of which one gets each RPC: as [`Balance`] says, and never one that is left alone for a while because
/// an RPC was lost there.
///
/// A call that is refused goes to another server, at most once to each. So does one that was not executed for another reason. An RPC of which
/// nobody knows whether it was executed goes nowhere else, unless it is [idempotent](Options::idempotent): at most once holds over all servers.
///
/// # Examples
///
/// ```
/// use nebula::{Balance, BalancedClient, Reply, Server};
///
/// let names: Vec<String> = (0..2).map(|n| format!("shm://doc-balanced-{}-{n}", std::process::id())).collect();
/// let echo = |request: &[u8], reply: &mut Reply| reply.write(request);
/// let servers = names.iter().map(|name| Server::bind(name).serve(echo)).collect::<Result<Vec<_>, _>>()?;
/// let mut client = BalancedClient::connect(&names.join(","), Balance::PowerOfTwo)?;
/// assert_eq!(client.call(b"hello")?, b"hello");
/// servers.into_iter().for_each(|server| drop(server.stop()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct BalancedClient {
    connections: Vec<Connection>,
    servers: Servers,
    config: ClientConfig,
    clock: Clock,
    /// The connection that is polled first.
    first: usize,
}

#[derive(Debug)]
struct Connection {
    endpoint: Endpoint,
    /// None while there is none.
    client: Option<Client>,
}

impl Connection {
    /// The connection, made again where there is none.
    fn client(&mut self, config: &ClientConfig) -> Option<&mut Client> {
        if self.client.is_none() {
            self.client = Client::connect_with(&self.endpoint, config.clone()).ok();
        }
        self.client.as_mut()
    }
}

impl BalancedClient {
    /// Connects to the servers at `endpoints`, with commas between them: `"udp://a:7400,udp://b:7400"`.
    ///
    /// # Errors
    ///
    /// As [`connect_with`](Self::connect_with).
    pub fn connect(endpoints: &str, balance: Balance) -> Result<Self, ConnectError> {
        Self::connect_with(endpoints, balance, ClientConfig::default())
    }

    /// As [`connect`](Self::connect), with the caller's configuration of each connection. Servers that cannot be reached are tried again later.
    ///
    /// # Errors
    ///
    /// [`ConnectError`] of the last server, where none can be reached; what is no endpoint; [`ConnectError::TooManyServers`].
    pub fn connect_with(endpoints: &str, balance: Balance, config: ClientConfig) -> Result<Self, ConnectError> {
        let endpoints = endpoints.split(',').map(|endpoint| endpoint.trim().into_endpoint());
        let endpoints = endpoints.collect::<Result<Vec<Endpoint>, EndpointError>>()?;
        let clock = Clock::new();
        let given = endpoints.len();
        let count = u16::try_from(given).ok().filter(|&count| count <= SERVERS_MAX);
        let count = count.ok_or(ConnectError::TooManyServers { given, max: SERVERS_MAX })?;
        let mut servers = Servers::new(count, balance, clock.ticks());
        let (mut connections, mut failed) = (Vec::new(), None);
        for (number, endpoint) in (0..).zip(endpoints) {
            let client = match Client::connect_with(&endpoint, config.clone()) {
                Ok(client) => Some(client),
                Err(error) => {
                    servers.end(Timestamp::from_ps(clock.now_ps()), number, ServerEnd::Lost);
                    failed = Some(error);
                    None
                }
            };
            connections.push(Connection { endpoint, client });
        }
        match failed {
            Some(error) if connections.iter().all(|connection| connection.client.is_none()) => Err(error),
            _ => Ok(Self { connections, servers, config, clock, first: 0 }),
        }
    }

    /// Sends `request` to one server after the other until one answers it, each at most once.
    ///
    /// # Errors
    ///
    /// [`CallError`] of the last server that it was at; [`SubmitError::ServerGone`] as [`CallError::NotSent`] where each is left alone;
    /// [`CallError::Outstanding`] when submitted RPCs are outstanding.
    pub fn call(&mut self, request: &[u8]) -> Result<Vec<u8>, CallError> {
        self.call_with(request, Options::default())
    }

    /// As [`call`](Self::call), with options for this RPC alone; each try has the whole of its deadline.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub fn call_with(&mut self, request: &[u8], options: Options) -> Result<Vec<u8>, CallError> {
        let outstanding = self.outstanding();
        if outstanding > 0 {
            return Err(CallError::Outstanding { rpcs: outstanding });
        }
        let (mut tried, mut last) = (ServerSet::default(), CallError::NotSent(SubmitError::ServerGone));
        while let Some(server) = self.pick(options.key_hash, tried) {
            tried.insert(server);
            self.servers.begin(server);
            let connection = &mut self.connections[usize::from(server)];
            let result = match connection.client(&self.config) {
                Some(client) => client.call_with(request, options).map(<[u8]>::to_vec),
                None => Err(CallError::NotSent(SubmitError::ServerGone)),
            };
            self.end(server, result.as_ref().err());
            match result {
                Err(error) if may_go_on(&error, options) => last = error,
                ended => return ended,
            }
        }
        Err(last)
    }

    /// Sends `request` to one server and returns at once; the end comes from [`poll`](Self::poll) under the ticket. A NACK is told to the caller, who
    /// may submit again. [`Options::idempotent`] means nothing here. To connect again to a server that was lost may take a moment.
    ///
    /// # Errors
    ///
    /// [`SubmitError`]: that of the server which was chosen; [`SubmitError::ServerGone`] where each is left alone.
    pub fn submit(&mut self, request: &[u8], options: Options) -> Result<Ticket, SubmitError> {
        let server = self.pick(options.key_hash, ServerSet::default()).ok_or(SubmitError::ServerGone)?;
        self.servers.begin(server);
        let submitted = match self.connections[usize::from(server)].client(&self.config) {
            Some(client) => client.submit_with(request, options),
            None => Err(SubmitError::ServerGone),
        };
        match submitted {
            Ok(Ticket(ticket)) => Ok(Ticket(ticket * u64::from(self.servers.count()) + u64::from(server))),
            Err(error) => {
                self.end(server, Some(&CallError::NotSent(error.clone())));
                Err(error)
            }
        }
    }

    /// The next submitted RPC that has ended, if there is one. Never waits.
    pub fn poll(&mut self) -> Option<(Ticket, Result<Vec<u8>, CallError>)> {
        let count = self.connections.len();
        for step in 0..count {
            let at = (self.first + step) % count;
            let polled = self.connections[at].client.as_mut().and_then(Client::poll);
            let polled = polled.map(|done| (done.ticket, done.result.map(<[u8]>::to_vec)));
            if let Some((Ticket(ticket), result)) = polled {
                self.first = (at + 1) % count;
                let server = u16::try_from(at).unwrap_or(SERVERS_MAX);
                self.end(server, result.as_ref().err());
                return Some((Ticket(ticket * count as u64 + at as u64), result));
            }
        }
        None
    }

    /// RPCs submitted and not ended.
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        self.connections.iter().filter_map(|connection| connection.client.as_ref()).map(Client::outstanding).sum()
    }

    fn pick(&mut self, key_hash: u32, tried: ServerSet) -> Option<u16> {
        self.servers.pick(Timestamp::from_ps(self.clock.now_ps()), key_hash, tried)
    }

    /// An RPC at `server` has ended, with `error` or with a reply.
    fn end(&mut self, server: u16, error: Option<&CallError>) {
        let end = match error {
            None | Some(CallError::Fault(_) | CallError::Cancelled | CallError::Expired) => ServerEnd::Answered,
            Some(CallError::Nack { .. } | CallError::Stale) => ServerEnd::Refused,
            Some(CallError::NotSent(SubmitError::Full | SubmitError::TooLarge { .. })) => ServerEnd::Refused,
            Some(_) => ServerEnd::Lost,
        };
        self.servers.end(Timestamp::from_ps(self.clock.now_ps()), server, end);
        let connection = &mut self.connections[usize::from(server)];
        // One with others outstanding still has to say what became of them.
        if end == ServerEnd::Lost && connection.client.as_ref().is_some_and(|client| client.outstanding() == 0) {
            connection.client = None;
        }
    }
}

/// Whether the RPC may be sent to another server.
fn may_go_on(error: &CallError, options: Options) -> bool {
    match error.was_executed() {
        Executed::No => !matches!(error, CallError::Expired),
        Executed::Unknown => options.idempotent && !matches!(error, CallError::Forked),
        Executed::Yes => false,
    }
}

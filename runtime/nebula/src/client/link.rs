//! The connection of a [`Client`](crate::Client) or `AsyncClient`, by kind: shared memory is called
//! directly, so that its few instructions are inlined; the others by an indirect call.

use super::balanced::Balanced;
use super::connection::{Connection, Rest};
use super::error::{ConnectError, SubmitError};
use super::one_sided::{Mapped, OneSided};
use super::shm::{Glance, ShmClient};
use super::ticket::{Completion, Ticket};
use super::udp::UdpClient;
use crate::config::client::{ClientConfig, Options};
use crate::endpoint::{Endpoint, Endpoints};
use crate::net::{Environment, Time};
use nebula_nic::Span;
use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one a client, and shared memory is to need no further look")]
pub(super) enum Link {
    Shm(ShmClient),
    /// Over either, with operations on the same connection.
    OneSided(Box<OneSided>),
    Other(Box<dyn Connection>),
}

// A client with operations ends them too: its methods that differ are those of `Link` itself.
impl Deref for Link {
    type Target = dyn Connection;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Shm(shm) => shm,
            Self::OneSided(operations) => &*operations.carrier,
            Self::Other(other) => &**other,
        }
    }
}

impl DerefMut for Link {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Shm(shm) => shm,
            Self::OneSided(operations) => &mut *operations.carrier,
            Self::Other(other) => &mut **other,
        }
    }
}

/// Makes a connection to one of several servers.
fn open(endpoint: Endpoint, config: &ClientConfig, rest: Rest) -> Result<Box<dyn Connection>, ConnectError> {
    Ok(match Link::connect_to(endpoint, config, rest)? {
        Link::Shm(shm) => Box::new(shm),
        Link::OneSided(operations) => operations.carrier,
        Link::Other(other) => other,
    })
}

impl Link {
    pub(super) fn connect(endpoints: Endpoints, config: &ClientConfig, rest: Rest) -> Result<Self, ConnectError> {
        match endpoints.only() {
            Some(endpoint) if config.one_sided => {
                Self::connect_to(endpoint.clone(), config, rest)?.with_operations(config)
            }
            Some(endpoint) => Self::connect_to(endpoint.clone(), config, rest),
            None if config.one_sided => Err(ConnectError::OneSidedOfSeveral),
            None => Ok(Self::Other(Box::new(Balanced::connect(endpoints, &config.with_exact_slots(), rest, open)?))),
        }
    }

    fn connect_to(endpoint: Endpoint, config: &ClientConfig, rest: Rest) -> Result<Self, ConnectError> {
        let server = match endpoint {
            Endpoint::Shm(ref name) => {
                return Ok(Self::Shm(ShmClient::connect(name, config, rest == Rest::Sleeps)?));
            }
            Endpoint::Packets(_) => return Err(ConnectError::PacketsOnly { endpoint: endpoint.to_string() }),
            Endpoint::Unix(_) => return Err(ConnectError::OthersProtocol { endpoint: endpoint.to_string() }),
            Endpoint::Udp(server) | Endpoint::Tcp(server) => server,
            Endpoint::Xdp(ref address) => {
                let lacks_server = || ConnectError::XdpPeer { endpoint: endpoint.to_string() };
                (address.server.ok_or_else(lacks_server)?, address.port).into()
            }
        };
        Ok(Self::Other(Box::new(UdpClient::connect(&endpoint, server, config)?)))
    }

    /// A connection over a network of the caller's.
    pub(super) fn over(
        server: SocketAddr,
        environment: Environment,
        config: &ClientConfig,
    ) -> Result<Self, ConnectError> {
        let link = Self::Other(Box::new(UdpClient::connect_over(server, environment, config)?));
        if config.one_sided { link.with_operations(config) } else { Ok(link) }
    }

    /// Connections over networks of the caller's, and their clock.
    pub(super) fn over_all(
        servers: Vec<(SocketAddr, Environment)>,
        config: &ClientConfig,
    ) -> Result<(Self, Time), ConnectError> {
        let time = servers.first().map_or(Time::Machine, |(_, environment)| environment.time.clone());
        let links = servers.into_iter().map(|(server, environment)| {
            let udp = UdpClient::connect_over(server, environment, config)?;
            Ok((Endpoint::Udp(server), Box::new(udp) as Box<dyn Connection>))
        });
        let links = links.collect::<Result<_, ConnectError>>()?;
        Ok((Self::Other(Box::new(Balanced::over(links, &time, config, open)?)), time))
    }

    fn with_operations(self, config: &ClientConfig) -> Result<Self, ConnectError> {
        let (carrier, regions): (Box<dyn Connection>, _) = match self {
            Self::Shm(mut shm) => {
                let regions = shm.take_regions();
                (Box::new(shm), regions)
            }
            Self::Other(other) => (other, Vec::new()),
            Self::OneSided(_) => return Ok(self),
        };
        let mapped = regions.into_iter().map(|(mappable, fd)| Mapped::open(mappable, fd));
        let mapped = mapped.collect::<Result<_, _>>()?;
        Ok(Self::OneSided(Box::new(OneSided::new(carrier, mapped, config))))
    }

    #[inline]
    pub(super) fn operations(&mut self) -> Option<&mut OneSided> {
        if let Self::OneSided(operations) = self { Some(operations) } else { None }
    }
}

/// The calls of each RPC. Others than over shared memory are not inlined: a further call costs
/// nothing there, and keeps this path short.
impl Link {
    #[inline]
    pub(super) fn submit_keyed(&mut self, request: &[u8], key_hash: u32) -> Result<Ticket, SubmitError> {
        match self {
            Self::Shm(shm) => shm.submit_keyed(request, key_hash),
            other => other.submit_elsewhere(request, key_hash),
        }
    }

    #[inline(never)]
    fn submit_elsewhere(&mut self, request: &[u8], key_hash: u32) -> Result<Ticket, SubmitError> {
        self.submit_with(request, Options::default().key_hash(key_hash))
    }

    #[inline]
    pub(super) fn poll(&mut self) -> Option<Completion<'_>> {
        match self {
            Self::Shm(shm) => shm.poll(),
            other => other.poll_elsewhere(),
        }
    }

    #[inline(never)]
    fn poll_elsewhere(&mut self) -> Option<Completion<'_>> {
        match self {
            Self::Shm(shm) => shm.poll(),
            Self::OneSided(operations) => operations.poll(),
            Self::Other(other) => other.poll(),
        }
    }

    /// The part of most polls: its results are to stay in the caller's registers.
    #[inline(always)]
    pub(super) fn glance(&mut self) -> Glance {
        if let Self::Shm(shm) = self { shm.glance() } else { Glance::Otherwise }
    }

    #[inline(always)]
    pub(super) fn taken(&self, bytes: u32) -> &[u8] {
        if let Self::Shm(shm) = self { shm.taken(bytes) } else { &[] }
    }

    #[inline(never)]
    pub(super) fn poll_otherwise(&mut self) -> Option<Completion<'_>> {
        match self {
            Self::Shm(shm) => shm.poll_otherwise(),
            other => other.poll_elsewhere(),
        }
    }
}

/// The calls that end operations too.
impl Link {
    pub(super) fn cancel(&mut self, ticket: Ticket) -> bool {
        if let Self::OneSided(operations) = self { operations.cancel(ticket) } else { (**self).cancel(ticket) }
    }

    pub(super) fn take_all(&mut self, visit: &mut dyn FnMut(Completion<'_>)) {
        if let Self::OneSided(operations) = self { operations.take_all(visit) } else { (**self).take_all(visit) }
    }

    pub(super) fn wait(&mut self, timeout: Span) {
        if let Self::OneSided(operations) = self { operations.wait(timeout) } else { (**self).wait(timeout) }
    }

    pub(super) fn outstanding(&self) -> u32 {
        if let Self::OneSided(operations) = self { operations.outstanding() } else { (**self).outstanding() }
    }
}

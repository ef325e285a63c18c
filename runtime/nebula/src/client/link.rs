//! A connection over any transport, or one to each of several servers: the base of
//! [`Client`](crate::Client) and of `AsyncClient`.

use super::balanced::{Balanced, Greeting, greet};
use super::connection::{Connection, Rest};
use super::error::{CallError, ConnectError, SubmitError};
use super::one_sided::{Mapped, OneSided};
use super::shm::Glance;
use super::shm::ShmClient;
use super::ticket::{Completion, Ticket};
use super::udp::UdpClient;
use crate::config::client::{ClientConfig, Options};
use crate::config::key::Keys;
use crate::endpoint::{Endpoint, Endpoints};
use crate::net::{Environment, Time};
use crate::status::StatusReader;
use nebula_nic::Span;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one a client, and shared memory is to need no further look")]
pub(super) enum Link {
    Shm(ShmClient),
    Udp(Box<UdpClient>),
    Balanced(Box<Balanced<Link>>),
    /// Over either, with operations on the same connection.
    OneSided(Box<OneSided<Link>>),
}

/// Calls the connection's method of this name; over UDP its session's.
macro_rules! forward {
    ($link:ident.$method:ident $arguments:tt) => {
        match $link {
            Self::Shm(shm) => shm.$method $arguments,
            Self::Udp(udp) => udp.session.$method $arguments,
            Self::Balanced(balanced) => balanced.$method $arguments,
            Self::OneSided(operations) => operations.carrier.$method $arguments,
        }
    };
}

impl Link {
    pub(super) fn connect(endpoints: Endpoints, config: &ClientConfig, rest: Rest) -> Result<Self, ConnectError> {
        match endpoints.only() {
            Some(endpoint) if config.one_sided && rest == Rest::Polls => {
                Self::connect_to(endpoint.clone(), config, rest)?.with_operations(config)
            }
            Some(endpoint) => Self::connect_to(endpoint.clone(), config, rest),
            None if config.one_sided => Err(ConnectError::OneSidedOfSeveral),
            None => Ok(Self::Balanced(Box::new(Balanced::connect(endpoints, config, rest)?))),
        }
    }

    pub(super) fn with_operations(mut self, config: &ClientConfig) -> Result<Self, ConnectError> {
        let regions = match &mut self {
            Self::Shm(shm) => shm.take_regions(),
            Self::Udp(_) | Self::Balanced(_) | Self::OneSided(_) => Vec::new(),
        };
        let mapped = regions.into_iter().map(|(mappable, fd)| Mapped::open(mappable, fd));
        let mapped = mapped.collect::<Result<_, _>>()?;
        Ok(Self::OneSided(Box::new(OneSided::new(self, mapped, config))))
    }

    #[inline]
    pub(super) fn operations(&mut self) -> Option<&mut OneSided<Self>> {
        if let Self::OneSided(operations) = self { Some(operations) } else { None }
    }

    /// Connections over networks of the caller's, and their clock.
    pub(super) fn over(
        servers: Vec<(SocketAddr, Environment)>,
        config: &ClientConfig,
    ) -> Result<(Self, Time), ConnectError> {
        let time = servers.first().map_or(Time::Machine, |(_, environment)| environment.time.clone());
        let links = servers.into_iter().map(|(server, environment)| {
            let udp = UdpClient::connect_over(server, environment, config)?;
            Ok((Endpoint::Udp(server), Self::Udp(Box::new(udp))))
        });
        let links = links.collect::<Result<_, ConnectError>>()?;
        Ok((Self::Balanced(Box::new(Balanced::over(links, &time, config)?)), time))
    }

    pub(super) fn greet(&mut self, greeting: Arc<Greeting>) -> bool {
        match self {
            Self::Balanced(balanced) => balanced.greet(greeting),
            Self::OneSided(operations) => operations.carrier.greet(greeting),
            link if link.outstanding() > 0 => false,
            link => greet(link, &*greeting),
        }
    }

    pub(super) fn deadline(&self) -> Span {
        forward!(self.deadline())
    }

    /// The time limit that a request must carry itself: over UDP the header has it.
    pub(super) fn waits_for(&self, options: &Options) -> Option<Span> {
        let waits = options.deadline.unwrap_or(Span::MAX).min(self.deadline());
        let is_told = waits != Span::MAX
            && match self {
                Self::Shm(_) => true,
                Self::Udp(_) => false,
                Self::Balanced(balanced) => balanced.has_local(),
                Self::OneSided(operations) => return operations.carrier.waits_for(options),
            };
        is_told.then_some(waits)
    }

    pub(super) fn status(&self) -> Option<&StatusReader> {
        match self {
            Self::Shm(shm) => Some(shm.status()),
            Self::Udp(_) | Self::Balanced(_) => None,
            Self::OneSided(operations) => operations.carrier.status(),
        }
    }
}

/// The part of most polls: its results are to stay in the caller's registers.
impl Link {
    #[inline(always)]
    pub(super) fn glance(&mut self) -> Glance {
        match self {
            Self::Shm(shm) => shm.glance(),
            Self::Udp(_) | Self::Balanced(_) | Self::OneSided(_) => Glance::Otherwise,
        }
    }

    #[inline(always)]
    pub(super) fn taken(&self, bytes: u32) -> &[u8] {
        match self {
            Self::Shm(shm) => shm.taken(bytes),
            Self::Udp(_) | Self::Balanced(_) | Self::OneSided(_) => &[],
        }
    }

    #[inline(never)]
    pub(super) fn poll_otherwise(&mut self) -> Option<Completion<'_>> {
        match self {
            Self::Shm(shm) => shm.poll_otherwise(),
            other => other.poll_elsewhere(),
        }
    }
}

// Not inlined: a further call costs nothing here, and keeps the path over shared memory short.
impl Link {
    #[inline(never)]
    fn submit_elsewhere(&mut self, request: &[u8], key_hash: u32) -> Result<Ticket, SubmitError> {
        self.submit_with(request, Options::default().key_hash(key_hash))
    }

    #[inline(never)]
    fn poll_elsewhere(&mut self) -> Option<Completion<'_>> {
        match self {
            Self::Shm(shm) => shm.poll(),
            Self::Udp(udp) => udp.poll(),
            Self::Balanced(balanced) => balanced.poll(),
            Self::OneSided(operations) => operations.poll(),
        }
    }
}

impl Connection for Link {
    fn connect_to(endpoint: Endpoint, config: &ClientConfig, rest: Rest) -> Result<Self, ConnectError> {
        Ok(match endpoint {
            Endpoint::Shm(ref name) => Self::Shm(ShmClient::connect(name, config, rest == Rest::Sleeps)?),
            Endpoint::Udp(server) | Endpoint::Tcp(server) => {
                Self::Udp(Box::new(UdpClient::connect(&endpoint, server, config)?))
            }
            Endpoint::Packets(_) => return Err(ConnectError::PacketsOnly { endpoint: endpoint.to_string() }),
            Endpoint::Xdp(ref address) => {
                let lacks_server = || ConnectError::XdpPeer { endpoint: endpoint.to_string() };
                let server = (address.server.ok_or_else(lacks_server)?, address.port).into();
                Self::Udp(Box::new(UdpClient::connect(&endpoint, server, config)?))
            }
        })
    }

    #[inline]
    fn submit_keyed(&mut self, request: &[u8], key_hash: u32) -> Result<Ticket, SubmitError> {
        match self {
            Self::Shm(shm) => shm.submit_keyed(request, key_hash),
            other => other.submit_elsewhere(request, key_hash),
        }
    }

    fn submit_with(&mut self, request: &[u8], options: Options) -> Result<Ticket, SubmitError> {
        match self {
            Self::Shm(shm) => shm.submit_with(request, options),
            Self::Udp(udp) => udp.submit(request, options),
            Self::Balanced(balanced) => balanced.submit(request, options),
            Self::OneSided(operations) => operations.carrier.submit_with(request, options),
        }
    }

    #[inline]
    fn poll(&mut self) -> Option<Completion<'_>> {
        match self {
            Self::Shm(shm) => shm.poll(),
            other => other.poll_elsewhere(),
        }
    }

    #[inline]
    fn flush(&mut self) {
        match self {
            Self::Shm(_) => {}
            Self::Udp(udp) => udp.flush(),
            Self::Balanced(balanced) => balanced.flush(),
            Self::OneSided(operations) => operations.carrier.flush(),
        }
    }

    fn cancel(&mut self, ticket: Ticket) -> bool {
        match self {
            Self::Shm(shm) => shm.cancel(ticket),
            Self::Udp(udp) => udp.session.cancel(ticket),
            Self::Balanced(balanced) => balanced.cancel(ticket),
            Self::OneSided(operations) => operations.cancel(ticket),
        }
    }

    fn call(&mut self, request: &[u8], options: Options) -> Result<&[u8], CallError> {
        match self {
            Self::Shm(shm) => shm.call(request, options),
            Self::Udp(udp) => udp.call(request, options),
            Self::Balanced(balanced) => balanced.call(request, options),
            Self::OneSided(operations) => operations.carrier.call(request, options),
        }
    }

    fn set_keys(&mut self, keys: &Keys) {
        match self {
            Self::Shm(_) => {}
            Self::Udp(udp) => udp.session.set_keys(keys),
            Self::Balanced(balanced) => balanced.set_keys(keys),
            Self::OneSided(operations) => operations.carrier.set_keys(keys),
        }
    }

    fn bind_to_server(&mut self) {
        match self {
            Self::Shm(_) => {}
            Self::Udp(udp) => udp.session.bind_to_server(),
            Self::Balanced(balanced) => balanced.bind_to_server(),
            Self::OneSided(operations) => operations.carrier.bind_to_server(),
        }
    }

    #[inline]
    fn outstanding(&self) -> u32 {
        match self {
            Self::Shm(shm) => shm.outstanding(),
            Self::Udp(udp) => udp.session.outstanding(),
            Self::Balanced(balanced) => balanced.outstanding(),
            Self::OneSided(operations) => operations.outstanding(),
        }
    }

    fn slo(&self) -> Span {
        forward!(self.slo())
    }

    fn rpc_bytes_max(&self) -> u32 {
        forward!(self.rpc_bytes_max())
    }

    fn server_reply_bytes_max(&self) -> Option<u32> {
        forward!(self.server_reply_bytes_max())
    }

    fn buffer_bytes(&self) -> usize {
        forward!(self.buffer_bytes())
    }

    fn take_all(&mut self, visit: &mut dyn FnMut(Completion<'_>)) {
        match self {
            Self::Shm(shm) => shm.take_all(visit),
            Self::Udp(udp) => udp.take_all(visit),
            Self::Balanced(balanced) => balanced.take_all(visit),
            Self::OneSided(operations) => operations.take_all(visit),
        }
    }

    fn set_armed(&self, is_armed: bool) {
        match self {
            Self::Shm(shm) => shm.ring.set_armed(is_armed),
            Self::Udp(_) => {}
            Self::Balanced(balanced) => balanced.set_armed(is_armed),
            Self::OneSided(operations) => operations.carrier.set_armed(is_armed),
        }
    }

    fn take_wake_ups(&mut self) {
        match self {
            Self::Shm(shm) => shm.take_wake_ups(),
            Self::Udp(_) => {}
            Self::Balanced(balanced) => balanced.take_wake_ups(),
            Self::OneSided(operations) => operations.carrier.take_wake_ups(),
        }
    }

    fn is_watched_on_request(&self) -> bool {
        match self {
            Self::Shm(_) => false,
            Self::Udp(_) | Self::Balanced(_) => true,
            Self::OneSided(operations) => operations.carrier.is_watched_on_request(),
        }
    }

    fn socket(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Shm(shm) => Some(shm.ring.socket()),
            Self::Udp(udp) => udp.socket(),
            Self::Balanced(balanced) => balanced.socket(),
            Self::OneSided(operations) => operations.carrier.socket(),
        }
    }

    fn due(&mut self) -> Option<Span> {
        forward!(self.due())
    }

    #[cfg(feature = "tower")]
    fn has_room(&mut self) -> bool {
        forward!(self.has_room())
    }

    fn paced_for(&mut self) -> Option<Span> {
        match self {
            Self::Shm(_) => None,
            Self::Udp(udp) => udp.session.paced_for(),
            Self::Balanced(balanced) => balanced.paced_for(),
            Self::OneSided(operations) => operations.carrier.paced_for(),
        }
    }

    fn wait(&mut self, timeout: Span) {
        match self {
            Self::Shm(shm) => shm.wait(timeout),
            Self::Udp(udp) => udp.wait(timeout),
            Self::Balanced(balanced) => balanced.wait(timeout),
            Self::OneSided(operations) => operations.wait(timeout),
        }
    }

    fn packet_bytes(&self) -> u32 {
        match self {
            Self::Shm(shm) => shm.packet_bytes(),
            Self::Udp(udp) => udp.packet_bytes(),
            Self::Balanced(_) => 0,
            Self::OneSided(operations) => operations.carrier.packet_bytes(),
        }
    }

    #[inline(always)]
    fn poll_next(&mut self) -> Option<Completion<'_>> {
        match self {
            Self::Udp(udp) => udp.poll(),
            other => other.poll(),
        }
    }

    #[inline]
    fn submit_operation(&mut self, token: Ticket, message: &[u8]) -> Result<(), SubmitError> {
        match self {
            Self::Shm(shm) => shm.submit_operation(token, message),
            Self::Udp(udp) => udp.submit_operation(token, message),
            Self::Balanced(_) => Err(SubmitError::NotOneSided),
            Self::OneSided(operations) => operations.carrier.submit_operation(token, message),
        }
    }
}

//! A client over UDP, or over datagrams in TCP: it keeps each request and sends it again until it
//! is answered.
//!
//! ```text
//! submit ──▶ rpcs, by place ──queue──▶ outbox: messages into datagrams ──▶ wire
//!               ▲   │  time-outs ▲
//!  requester: numbers, NACKs     │ flights: what is lost, how much may be on its way
//!               ▼                │
//! poll  ◀── done ◀── session: whose answer is it ◀── seal ◀── wire
//! ```
//!
//! The machines of `nebula-nic` decide; this module has the bytes. Nothing happens between two
//! calls: a [`poll`](UdpClient::poll) that finds no finished RPC sends, receives, and looks at the
//! clock.

mod done;
mod handshake;
mod incoming;
mod outbox;
mod outgoing;
mod rpc;
mod server_time;
mod session;
mod unwanted;

use crate::client::call::{Caller, Patience, call};
use crate::client::connection::Connection;
use crate::client::error::{CallError, ConnectError, Hint, SubmitError};
use crate::client::ticket::{Completion, Ticket};
use crate::config::client::{ClientConfig, Options, Wait};
use crate::config::key::Keys;
use crate::endpoint::Endpoint;
use crate::net::{Environment, KernelWire, TcpClientWire, Time, Wire, random_bytes, xdp};
use crate::yielding::Yielding;
use done::Slice;
use nebula_nic::Span;
use session::Session;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// A server counts as absent after so many of the kernel's refusals, over at least this time.
const REFUSALS: u32 = 3;
const REFUSED_FOR: Span = Span::from_ms(100);

#[derive(Debug)]
pub(crate) struct UdpClient {
    wire: Box<dyn Wire>,
    session: Session,
    call_timeout: Span,
    wait: Wait,
    silent_ticks: Option<u64>,
    yielding: Yielding,
}

impl UdpClient {
    /// Connects to the `server` at `endpoint` through the kernel, and waits for its welcome.
    pub(crate) fn connect(
        endpoint: &Endpoint,
        server: SocketAddr,
        config: &ClientConfig,
    ) -> Result<Self, ConnectError> {
        check_open(endpoint, server, config)?;
        let environment = machine(endpoint, server, config);
        let environment = environment.map_err(|cause| ConnectError::System { endpoint: endpoint.to_string(), cause });
        let mut client = Self::over(endpoint, server, environment?, config)?;
        client.wait_for_welcome(endpoint, config)?;
        match client.session.reply_room() {
            Some((server, client)) => Err(ConnectError::ReplyRoom { server, client }),
            None if client.session.lacks_grants() => Err(ConnectError::NoGrants { endpoint: endpoint.to_string() }),
            None => Ok(client),
        }
    }

    pub(crate) fn connect_over(
        server: SocketAddr,
        environment: Environment,
        config: &ClientConfig,
    ) -> Result<Self, ConnectError> {
        let endpoint = Endpoint::Udp(server);
        check_open(&endpoint, server, config)?;
        Self::over(&endpoint, server, environment, config)
    }

    fn over(
        endpoint: &Endpoint,
        server: SocketAddr,
        environment: Environment,
        config: &ClientConfig,
    ) -> Result<Self, ConnectError> {
        let Environment { wire, time, entropy } = environment;
        let datagram_bytes = config.datagram_bytes.unwrap_or(u16::MAX);
        let datagram_bytes = u16::try_from(wire.datagram_bytes_max()).unwrap_or(u16::MAX).min(datagram_bytes);
        let session = Session::new((endpoint, server), config, &time, &entropy, (datagram_bytes, wire.is_lossless()))?;
        // In a simulated network the caller's thread moves the server too.
        let yielding = if matches!(time, Time::Machine) { Yielding::new() } else { Yielding::never() };
        Ok(Self { wire, session, call_timeout: config.call_timeout, wait: config.wait, silent_ticks: None, yielding })
    }

    fn wait_for_welcome(&mut self, endpoint: &Endpoint, config: &ClientConfig) -> Result<(), ConnectError> {
        let (endpoint, started) = (endpoint.to_string(), self.session.tick());
        loop {
            self.turn();
            let asked_for = self.session.now - started;
            let hint = self.session.hint();
            if !self.session.handshake.is_asking() {
                return Ok(());
            }
            if config.keys.is_empty() && hint != Hint::Nothing {
                return Err(ConnectError::NotAdmitted { endpoint, hint });
            }
            if self.session.speaks_otherwise {
                return Err(ConnectError::OthersProtocol { endpoint });
            }
            if self.session.refusals >= REFUSALS && asked_for >= REFUSED_FOR {
                return Err(ConnectError::NobodyServes { endpoint });
            }
            if asked_for >= self.call_timeout {
                return Err(ConnectError::Silent { endpoint, waited: config.call_timeout, hint });
            }
            self.wait(config.call_timeout);
        }
    }

    #[inline]
    fn take(&mut self) -> Option<(Ticket, Result<Slice, CallError>)> {
        let taken = self.session.done.take()?;
        self.session.handed_out(taken.place);
        Some((taken.ticket, taken.result))
    }

    fn turn(&mut self) {
        self.session.done.begin_batch();
        if self.session.is_quiet() || self.session.is_forked() {
            self.silent_ticks = None;
            return;
        }
        let Self { wire, session, .. } = self;
        if session.has_to_send() {
            session.tick();
            session.transmit(&mut **wire);
        }
        let mut is_first = true;
        let received = wire.recv(&mut |from, datagram| {
            if std::mem::take(&mut is_first) {
                session.tick();
            }
            session.receive(from.peer, datagram);
        });
        if is_first {
            session.tick();
        }
        session.note(received.map(drop));
        session.keep_time(&mut **wire);
        if session.has_to_send() {
            session.transmit(&mut **wire);
        }
        self.let_others_run(!is_first);
    }

    #[inline]
    fn let_others_run(&mut self, has_come: bool) {
        if has_come {
            self.silent_ticks = None;
        } else {
            let ticks = self.yielding.ticks();
            self.yielding.wait_since(*self.silent_ticks.get_or_insert(ticks));
        }
    }
}

impl Connection for UdpClient {
    #[inline]
    fn submit_with(&mut self, request: &[u8], options: Options) -> Result<Ticket, SubmitError> {
        if self.session.is_forked() {
            return Err(SubmitError::Forked);
        }
        let ticket = self.session.submit(request, options)?;
        if self.session.is_to_send_at_once() {
            self.flush();
        }
        Ok(ticket)
    }

    #[inline]
    fn submit_operation(&mut self, token: Ticket, message: &[u8]) -> Result<(), SubmitError> {
        if self.session.is_forked() {
            return Err(SubmitError::Forked);
        }
        self.session.submit_operation(token, message)?;
        if self.session.is_operation_to_send_at_once() {
            self.flush();
        }
        Ok(())
    }

    /// Payload bytes of a packet; the least possible until the server has answered.
    fn packet_bytes(&self) -> u32 {
        self.session.mtu.bytes()
    }

    #[inline]
    fn poll(&mut self) -> Option<Completion<'_>> {
        if self.session.done.is_empty() {
            self.turn();
        }
        let (ticket, result) = self.take()?;
        Some(Completion { ticket, result: result.map(|slice| self.session.done.bytes(slice)) })
    }

    fn flush(&mut self) {
        if self.session.has_to_send() && !self.session.is_forked() {
            self.session.tick();
            self.session.transmit(&mut *self.wire);
        }
    }

    fn wait(&mut self, timeout: Span) {
        if !self.session.done.is_empty() {
            return;
        }
        self.flush();
        let now = self.session.tick();
        let due = self.session.poll_timeout().map_or(Span::MAX, |due| due - now).min(timeout);
        if due > Span::ZERO {
            // Rounded up, or the client would spend the last microsecond in turns.
            let slept = self.wire.wait(Some(Duration::from_nanos(due.as_ps().div_ceil(1000))), None);
            self.session.note(slept);
        }
    }

    fn take_all(&mut self, visit: &mut dyn FnMut(Completion<'_>)) {
        loop {
            let mut found = false;
            while let Some(completion) = self.poll() {
                found = true;
                visit(completion);
            }
            if !found {
                return;
            }
        }
    }

    fn socket(&self) -> Option<BorrowedFd<'_>> {
        self.wire.descriptor()
    }

    fn call(&mut self, request: &[u8], options: Options) -> Result<&[u8], CallError> {
        let slice = call(self, request, options)?;
        Ok(self.session.done.bytes(slice))
    }

    fn cancel(&mut self, ticket: Ticket) -> bool {
        self.session.cancel(ticket)
    }

    fn set_keys(&mut self, keys: &Keys) {
        self.session.set_keys(keys);
    }

    fn bind_to_server(&mut self) {
        self.session.bind_to_server();
    }

    fn outstanding(&self) -> u32 {
        self.session.outstanding()
    }

    fn deadline(&self) -> Span {
        self.session.deadline()
    }

    fn breaks(&self) -> u32 {
        self.session.breaks
    }

    fn is_broken(&self) -> bool {
        self.session.is_broken
    }

    fn slo(&self) -> Span {
        self.session.slo()
    }

    fn rpc_bytes_max(&self) -> u32 {
        self.session.rpc_bytes_max()
    }

    fn server_reply_bytes_max(&self) -> Option<u32> {
        self.session.server_reply_bytes_max()
    }

    fn buffer_bytes(&self) -> usize {
        self.session.buffer_bytes()
    }

    fn due(&mut self) -> Option<Span> {
        self.session.due()
    }

    #[cfg(feature = "tower")]
    fn has_room(&mut self) -> bool {
        self.session.has_room()
    }

    fn paced_for(&mut self) -> Option<Span> {
        self.session.paced_for()
    }
}

impl Caller for UdpClient {
    type Place = Slice;
    type Patience = Patience;

    fn patience(&mut self) -> Patience {
        Patience::new(self.session.tick())
    }

    #[inline]
    fn submit(&mut self, request: &[u8], options: Options) -> Result<Ticket, SubmitError> {
        self.submit_with(request, options)
    }

    #[inline]
    fn next_end(&mut self) -> Option<(Ticket, Result<Slice, CallError>)> {
        if self.session.done.is_empty() {
            self.turn();
        }
        self.take()
    }

    #[inline]
    fn pause(&mut self, patience: &mut Patience) -> bool {
        let (now, wait) = (self.session.now, (self.wait, self.call_timeout));
        patience.pause(now, wait, |left| self.wait(left))
    }

    fn abandon(&mut self, ticket: Ticket) {
        self.session.abandon(ticket);
    }
}

fn machine(endpoint: &Endpoint, server: SocketAddr, config: &ClientConfig) -> std::io::Result<Environment> {
    let bytes = config.datagram_bytes.map(usize::from);
    if let Endpoint::Tcp(_) = endpoint {
        let wire = TcpClientWire::new(server)?;
        return Environment::machine(bytes.into_iter().fold(wire, TcpClientWire::datagram_bytes));
    }
    if let (Endpoint::Xdp(address), SocketAddr::V4(server)) = (endpoint, server) {
        let wire = xdp::connect(&address.interface, server, bytes)?;
        return Ok(Environment { wire, time: Time::Machine, entropy: random_bytes()? });
    }
    let wire = KernelWire::connect(server)?;
    Environment::machine(bytes.into_iter().fold(wire, KernelWire::datagram_bytes))
}

/// Without a key a client connects only within this machine, unless configured as insecure.
fn check_open(endpoint: &Endpoint, server: SocketAddr, config: &ClientConfig) -> Result<(), ConnectError> {
    let is_fine = server.ip().is_loopback() || !config.keys.is_empty() || config.insecure;
    if is_fine { Ok(()) } else { Err(ConnectError::Open { endpoint: endpoint.to_string() }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::key::Key;
    use std::net::UdpSocket;

    #[test]
    fn a_fork_of_the_process_sends_nothing_and_its_rpcs_end() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        server.set_nonblocking(true).unwrap();
        let at = server.local_addr().unwrap();
        let sends = || server.recv(&mut [0; 2000]).is_ok();
        let environment = Environment::machine(KernelWire::connect(at).unwrap()).unwrap();
        let config = ClientConfig::default().key(Key::new([1; 32]));
        let mut client = UdpClient::connect_over(at, environment, &config).unwrap();
        let ticket = client.submit_with(b"before", Options::default()).unwrap();
        assert!(client.poll().is_none());
        assert!(sends(), "a hello");
        client.session.mark.wipe();
        assert!(
            matches!(client.poll(), Some(Completion { ticket: ended, result: Err(CallError::Forked) }) if ended == ticket)
        );
        assert_eq!(client.submit_with(b"after", Options::default()), Err(SubmitError::Forked));
        assert_eq!(client.call(b"after", Options::default()), Err(CallError::NotSent(SubmitError::Forked)));
        client.flush();
        client.wait(Span::from_ms(30));
        assert!(client.poll().is_none() && !sends());
    }
}

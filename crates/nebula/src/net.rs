//! The environment of a `udp://` transport: a network, a clock, and random bytes.
//!
//! The kernel's sockets are one [`Wire`]; a simulated network is another. Server and client are the same on both. On a simulated network
//! with [`Time::Manual`] they are deterministic, and each run can be repeated.

mod kernel;

pub use kernel::{KernelWire, SAFE_DATAGRAM_BYTES};

use nebula_sys::clock::Clock;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The route to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The peer's address.
    pub peer: SocketAddr,
    /// The local address that the peer sends to, where the wire has several. Answers must come from it.
    pub local: Option<IpAddr>,
}

impl From<SocketAddr> for Route {
    fn from(peer: SocketAddr) -> Self {
        Self { peer, local: None }
    }
}

/// A network that carries datagrams. It may lose, duplicate, delay or change them.
///
/// Only [`wait`](Self::wait) blocks.
pub trait Wire: Send + std::fmt::Debug {
    /// The local address.
    fn local(&self) -> SocketAddr;

    /// Bytes of the longest datagram that may be sent.
    fn datagram_bytes_max(&self) -> usize;

    /// Queues `bytes` for `to`, cut into datagrams of `segment` bytes each; the last may be shorter.
    ///
    /// # Errors
    ///
    /// When later datagrams cannot be sent either. A datagram that cannot be sent now may be dropped instead.
    fn send(&mut self, to: Route, bytes: &[u8], segment: usize) -> io::Result<()>;

    /// Sends what is queued.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send); `ConnectionRefused` where no process listens at the peer, which may change.
    fn flush(&mut self) -> io::Result<()>;

    /// Visits datagrams that have arrived, at most some dozens, each with its route. Returns how many.
    ///
    /// # Errors
    ///
    /// As [`flush`](Self::flush). It is no error that nothing has arrived.
    fn recv(&mut self, visit: &mut dyn FnMut(Route, &mut [u8])) -> io::Result<usize>;

    /// Sleeps until a datagram has arrived, the eventfd `bell` is readable, or `timeout` is over.
    ///
    /// # Errors
    ///
    /// When the system call fails.
    fn wait(&mut self, timeout: Option<std::time::Duration>, bell: Option<BorrowedFd<'_>>) -> io::Result<()>;
}

/// The clock of a transport.
#[derive(Clone, Debug, Default)]
pub enum Time {
    /// The machine's clock.
    #[default]
    Machine,
    /// A counter of picoseconds that the caller advances.
    Manual(Arc<AtomicU64>),
}

/// The environment of a `udp://` server or client.
pub struct Environment {
    /// The network.
    pub wire: Box<dyn Wire>,
    /// The clock.
    pub time: Time,
    /// Random bytes, from which secrets are derived. They must be secret and never used twice, except in a simulation.
    pub entropy: [u8; 32],
}

impl std::fmt::Debug for Environment {
    /// Without the random bytes, from which secrets are derived.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Environment").field("wire", &self.wire).field("time", &self.time).finish_non_exhaustive()
    }
}

impl Environment {
    /// The environment of this machine: its clock, and random bytes from the kernel.
    ///
    /// # Errors
    ///
    /// When the kernel returns no random bytes.
    pub fn machine(wire: impl Wire + 'static) -> io::Result<Self> {
        Ok(Self { wire: Box::new(wire), time: Time::Machine, entropy: random_bytes()? })
    }
}

/// Random bytes from the kernel.
pub(crate) fn random_bytes() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(bytes)
}

/// A clock, ready to be read.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    machine: Clock,
    manual: Option<Arc<AtomicU64>>,
}

impl Watch {
    pub(crate) fn new(time: &Time) -> Self {
        let manual = match time {
            Time::Machine => None,
            Time::Manual(ps) => Some(ps.clone()),
        };
        Self { machine: Clock::new(), manual }
    }

    /// Ticks of the machine's counter, or the picoseconds of a manual clock.
    #[inline(always)]
    pub(crate) fn ticks(&self) -> u64 {
        match &self.manual {
            None => self.machine.ticks(),
            Some(ps) => ps.load(Ordering::Relaxed),
        }
    }

    /// The moment of `ticks` in picoseconds.
    #[inline(always)]
    pub(crate) fn at_ps(&self, ticks: u64) -> u64 {
        if self.manual.is_none() { self.machine.at_ps(ticks) } else { ticks }
    }

    /// Picoseconds.
    #[inline(always)]
    pub(crate) fn now_ps(&self) -> u64 {
        self.at_ps(self.ticks())
    }
}

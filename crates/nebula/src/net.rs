//! What a `udp://` transport stands on: a way for datagrams, a clock, and random bytes.
//!
//! The kernel's sockets are one [`Wire`]; a simulated network is another. Server and client are the same on both: under a simulated
//! network and [`Time::Manual`] they are deterministic, and each run can be had again.

mod kernel;

pub use kernel::{KernelWire, SAFE_DATAGRAM_BYTES};

use nebula_sys::clock::Clock;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The way to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Its address.
    pub peer: SocketAddr,
    /// The own address that its datagrams come to, where the wire has several: answers have to come from there.
    pub local: Option<IpAddr>,
}

impl From<SocketAddr> for Route {
    fn from(peer: SocketAddr) -> Self {
        Self { peer, local: None }
    }
}

/// How datagrams come and go. They may be lost, doubled, delayed or changed on the way.
///
/// Nothing blocks but [`wait`](Self::wait).
pub trait Wire: Send + std::fmt::Debug {
    /// The address that datagrams come to.
    fn local(&self) -> SocketAddr;

    /// Bytes of the longest datagram that may be sent.
    fn datagram_bytes_max(&self) -> usize;

    /// Queues `bytes` for `to`, cut into datagrams of `segment` bytes each; the last may be shorter.
    ///
    /// # Errors
    ///
    /// When no later datagram can be sent either. One that cannot be sent at the moment may be lost instead.
    fn send(&mut self, to: Route, bytes: &[u8], segment: usize) -> io::Result<()>;

    /// Hands what is queued to the network.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send); `ConnectionRefused` where nobody listens at the other end, which may change.
    fn flush(&mut self) -> io::Result<()>;

    /// Visits datagrams that have come, at most some dozens, with the ways they came; how many there were.
    ///
    /// # Errors
    ///
    /// As [`flush`](Self::flush); that nothing has come is no error.
    fn recv(&mut self, visit: &mut dyn FnMut(Route, &mut [u8])) -> io::Result<usize>;

    /// Sleeps until a datagram has come, `bell` can be read, or `timeout` is over.
    ///
    /// # Errors
    ///
    /// When it cannot be waited for.
    fn wait(&mut self, timeout: Option<std::time::Duration>, bell: Option<BorrowedFd<'_>>) -> io::Result<()>;
}

/// A clock.
#[derive(Clone, Debug, Default)]
pub enum Time {
    /// The machine's.
    #[default]
    Machine,
    /// Picoseconds that somebody else counts.
    Manual(Arc<AtomicU64>),
}

/// What server and client of `udp://` stand on.
pub struct Environment {
    /// The way for datagrams.
    pub wire: Box<dyn Wire>,
    /// The clock.
    pub time: Time,
    /// Random bytes: secrets are made of them, so they must be nobody else's, except in a simulation.
    pub entropy: [u8; 32],
}

impl std::fmt::Debug for Environment {
    /// Without the random bytes: secrets are made of them.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Environment").field("wire", &self.wire).field("time", &self.time).finish_non_exhaustive()
    }
}

impl Environment {
    /// On this machine: its clock, and random bytes of the kernel's.
    ///
    /// # Errors
    ///
    /// When the kernel has no random bytes.
    pub fn machine(wire: impl Wire + 'static) -> io::Result<Self> {
        Ok(Self { wire: Box::new(wire), time: Time::Machine, entropy: random_bytes()? })
    }
}

/// Random bytes of the kernel's.
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

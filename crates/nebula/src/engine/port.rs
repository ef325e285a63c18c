//! The way that an engine's packets come and its answers go: one trait for all transports.

use super::ingress::Intake;
use crate::status::NetworkCounters;
use crate::transport::Answer;
use crate::transport::shm::rings::Rings;
use crate::transport::udp::port::UdpPort;
use nebula_nic::{NodeId, RpcKey, Timestamp};
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// What an engine asks of a transport.
pub(crate) trait Transport {
    /// Hands what has come to `intake`, at most some packets of each client. Returns the packets.
    fn poll(&mut self, now: Timestamp, intake: &mut Intake<'_>) -> usize;

    /// An RPC of `snid` is over: its answer goes out, unless the worker has written it where the client reads it.
    fn ended(&mut self, snid: NodeId, answer: Option<Box<Answer>>);

    /// An RPC never became whole: its client is told.
    fn abandoned(&mut self, rpc: RpcKey, answer: Option<Box<Answer>>);

    /// Hands what waits to be sent to the network.
    fn flush(&mut self, now: Timestamp);

    /// Clients, where the transport knows how many there are.
    fn clients(&self) -> u32;

    /// What came that made no sense.
    fn violations(&self) -> u64;
}

/// The transport of one engine. An enum, so that the calls of the per-RPC path can be inlined.
#[derive(Debug)]
pub(crate) enum Port {
    Shm(Rings),
    Udp(Box<UdpPort>),
}

/// Calls the method of whichever transport it is.
macro_rules! each {
    ($port:expr, $transport:ident => $call:expr) => {
        match $port {
            Port::Shm($transport) => $call,
            Port::Udp($transport) => $call,
        }
    };
}

impl Port {
    #[inline(always)]
    pub(super) fn ended(&mut self, snid: NodeId, answer: Option<Box<Answer>>) {
        each!(self, transport => transport.ended(snid, answer));
    }

    pub(super) fn abandoned(&mut self, rpc: RpcKey, answer: Option<Box<Answer>>) {
        each!(self, transport => transport.abandoned(rpc, answer));
    }

    #[inline(always)]
    pub(super) fn flush(&mut self, now: Timestamp) {
        each!(self, transport => transport.flush(now));
    }

    pub(super) fn clients(&self) -> u32 {
        each!(self, transport => transport.clients())
    }

    pub(super) fn violations(&self) -> u64 {
        each!(self, transport => transport.violations())
    }

    pub(super) fn network(&self) -> NetworkCounters {
        match self {
            Port::Shm(_) => NetworkCounters::default(),
            Port::Udp(udp) => udp.counters(),
        }
    }

    /// Sleeps until something has come or `bell` is rung, where the transport can; whether it can.
    pub(super) fn wait(&mut self, timeout: Option<Duration>, bell: BorrowedFd<'_>) -> bool {
        match self {
            Port::Shm(_) => false,
            Port::Udp(udp) => {
                udp.wait(timeout, bell);
                true
            }
        }
    }

    /// The time that a turn may take beside its RPCs before it counts as a pause of the machine.
    #[inline(always)]
    pub(super) fn turn_ps(&self) -> u64 {
        match self {
            Port::Shm(_) => 2_000_000,
            // System calls.
            Port::Udp(_) => 40_000_000,
        }
    }
}

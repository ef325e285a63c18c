//! The border to the transports: the way that an engine's packets come and its answers go.

use super::ingress::{AtOnce, Intake};
use crate::rpc::answer::Answer;
use crate::status::NetworkCounters;
use nebula_nic::{NodeId, RpcKey, Sources, Timestamp};
use std::fmt::Debug;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// What an engine asks of a transport.
pub(crate) trait Transport: Debug + Send + 'static {
    /// Whether packets and answers take system calls: answers then wait for others to share one
    /// with.
    const MAKES_SYSTEM_CALLS: bool;
    /// Whether a core that is engine and worker takes its RPCs in runs, and answers them where they
    /// were read.
    const SERVES_RUNS: bool = false;
    /// Whether what a client is answered at once goes out before the next client is looked at: a
    /// turn may then be long, and holds no answer back.
    const SENDS_AT_ONCE: bool = false;
    /// Which bits of a client's number say whose share of the queue is its; otherwise each client
    /// has one.
    const SOURCES: Option<Sources> = None;

    /// Hands what has come to `intake`, at most some packets of each client, and has `at_once`
    /// serve it where nothing waits before it. Returns the packets.
    fn poll(&mut self, now: Timestamp, intake: &mut Intake, at_once: &mut impl AtOnce) -> usize;

    /// An RPC of `snid` is over: its answer goes out, unless the worker has written it where the
    /// client reads it.
    fn ended(&mut self, snid: NodeId, answer: Option<Box<Answer>>);

    /// Whether the client has taken back an RPC that waits for a core, where the transport does not
    /// say so in the room for the answer. It is counted.
    #[inline(always)]
    fn is_taken_back(&mut self, _rpc: RpcKey) -> bool {
        false
    }

    /// An RPC never became whole: its client is told.
    fn abandoned(&mut self, rpc: RpcKey, answer: Option<Box<Answer>>);

    /// Hands what waits to be sent to the network.
    #[inline(always)]
    fn flush(&mut self, _now: Timestamp) {}

    /// Lets in the clients that have connected; those that are gone, where there is any news of
    /// clients.
    #[inline(always)]
    fn news(&mut self) -> Option<Vec<NodeId>> {
        None
    }

    /// The server drains: no further client is let in. May be said more than once.
    fn let_nobody_in(&mut self) {}

    /// Forgets a client that is gone, after its incomplete RPCs were abandoned.
    fn forget(&mut self, _snid: NodeId) {}

    /// Clients, where the transport knows how many there are.
    fn clients(&self) -> u32;

    /// What came that made no sense.
    fn violations(&self) -> u64;

    /// What happened on a network.
    fn counters(&self) -> NetworkCounters {
        NetworkCounters::default()
    }

    /// Sleeps until something has come or `parker` is readable, where the transport can; whether it
    /// can.
    fn wait(&mut self, _timeout: Option<Duration>, _parker: BorrowedFd<'_>) -> bool {
        false
    }
}

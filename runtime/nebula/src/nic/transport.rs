//! The border to the transports, which bring an engine's packets and carry its answers.

use super::ingress::{AtOnce, Intake};
use super::recorder::Recorder;
use crate::rpc::answer::Answer;
use crate::status::Status;
use nebula_nic::{NodeId, RpcKey, Sources, Timestamp};
use std::fmt::Debug;
use std::os::fd::BorrowedFd;
use std::time::Duration;

pub(crate) trait Transport: Debug + Send + 'static {
    /// Whether packets and answers take system calls. If so, answers wait for others to share one.
    const MAKES_SYSTEM_CALLS: bool;
    /// Whether an inline worker takes RPCs in runs, and answers them where they were read.
    const SERVES_RUNS: bool = false;
    /// Whether immediate answers leave before the next client is read, even in a long turn.
    const SENDS_AT_ONCE: bool = false;
    /// The bits of a client's number that identify its share of the queue; by default all.
    const SOURCES: Option<Sources> = None;

    /// Hands packets to `intake`, at most some of each client, and lets `at_once` serve RPCs that
    /// nothing waits before. Returns the number of packets.
    fn poll(&mut self, now: Timestamp, intake: &mut Intake, at_once: &mut impl AtOnce) -> usize;

    /// An RPC of `snid` has ended: sends its answer, unless the client reads it in place.
    fn ended(&mut self, snid: NodeId, answer: Option<Box<Answer>>);

    /// Whether the client has cancelled a waiting RPC, if the transport does not write that into
    /// the room for the answer. Counts it.
    #[inline(always)]
    fn is_taken_back(&mut self, _rpc: RpcKey) -> bool {
        false
    }

    /// An RPC never became complete: informs its client. Decisions that follow go into `log`.
    fn abandoned(&mut self, now: Timestamp, rpc: RpcKey, answer: Option<Box<Answer>>, log: &mut Option<Recorder>);

    #[inline(always)]
    fn flush(&mut self, _now: Timestamp) {}

    /// Accepts clients that have connected; returns those that have left, if there are any news.
    #[inline(always)]
    fn news(&mut self) -> Option<Vec<NodeId>> {
        None
    }

    /// Clients that connected or asked lately, if the transport knows them: silent ones need no
    /// room in the queue.
    #[inline(always)]
    fn clients_active(&self) -> Option<u32> {
        None
    }

    /// The server drains: accepts no further client. May be called again.
    fn let_nobody_in(&mut self) {}

    /// Forgets a client that has left, after its incomplete RPCs were abandoned.
    fn forget(&mut self, _snid: NodeId) {}

    /// The counters of the transport itself; the rest is zero.
    fn counters(&self) -> Status {
        Status::default()
    }

    /// Sleeps until a packet comes or `parker` is readable; returns whether it can do that.
    fn wait(&mut self, _timeout: Option<Duration>, _parker: BorrowedFd<'_>) -> bool {
        false
    }
}

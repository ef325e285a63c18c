//! Stations 8 to 10, at the worker: a queue pair, the papers' calls, and the loop that runs a
//! [`Service`].
//!
//! [`Rpc::free`] frees the request's buffer before the reply is sent, as NEBULA's Fig. 4 does:
//! slots and credit go back, and the room for the reply stays until the reply is given.

use crate::config::server::ServerConfig;
use crate::net::Watch;
use crate::rpc::fault::Fault;
use crate::rpc::later::{LaterError, LaterReply};
use crate::rpc::reply::Reply;
use crate::rpc::service::Service;
use crate::status::Meter;
use crate::transport::packets::port::PacketPort;
use crate::transport::shm::rings::Rings;
use crate::transport::stream::port::StreamPort;
use crate::transport::udp::port::UdpPort;
use crate::ways::core::{Begun, Core};
use crate::ways::inline::Inline;
use crate::ways::lock::Lock;
use crate::ways::preemption::Preemption;
use crate::ways::ring::Ring;
use crate::ways::stealing::Stealing;
use nebula_nic::{Arrival, CoreId};
use std::cell::RefCell;

/// One core's queue pair: the completion queue that RPCs come from, and the queue that replies and
/// freed buffers go back on.
///
/// [`Server::serve`](crate::Server::serve) runs workers itself.
/// [`Server::open`](crate::Server::open) returns them, for the papers' interface (NEBULA §IV-B):
///
/// | the papers | here |
/// |---|---|
/// | `wait_for_RPC`, blocking and not | [`wait_for_rpc`](Self::wait_for_rpc), [`try_wait_for_rpc`](Self::try_wait_for_rpc) |
/// | `RPC_send` | [`Rpc::rpc_send`] |
/// | `free_buffer` | dropping the [`Rpc`]; before the reply is sent [`Rpc::free`], then [`send`](Self::send) |
///
/// # Examples
///
/// ```
/// use nebula::{Client, Server};
///
/// let name = format!("shm://doc-worker-{}", std::process::id());
/// let (server, mut workers) = Server::bind(&name).open()?;
/// let worker = workers.pop().unwrap();
/// let serving = std::thread::spawn(move || {
///     while let Some(mut rpc) = worker.wait_for_rpc() {
///         let reversed: Vec<u8> = rpc.payload().iter().rev().copied().collect();
///         rpc.rpc_send(&reversed);
///     }
/// });
/// assert_eq!(Client::connect(&name)?.call(b"abc")?, b"cba");
/// server.stop();
/// serving.join().unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Worker {
    inner: RefCell<Inner>,
}

#[derive(Debug)]
struct Inner {
    way: Way,
    /// Under `preemptive:Q`.
    preemption: Option<Box<Preemption>>,
}

/// The core of a worker, by the way that its RPCs come.
#[derive(Debug)]
pub(crate) enum Way {
    Ring(Core<Ring>),
    InlineShm(Core<Inline<Rings>>),
    InlineUdp(Core<Inline<UdpPort>>),
    InlineStream(Core<Inline<StreamPort>>),
    InlinePackets(Core<Inline<PacketPort>>),
    LockShm(Core<Lock<Rings>>),
    LockUdp(Core<Lock<UdpPort>>),
    LockStream(Core<Lock<StreamPort>>),
    LockPackets(Core<Lock<PacketPort>>),
    Stealing(Core<Stealing>),
}

/// Evaluates an expression with the core of whichever way it is.
macro_rules! with_core {
    ($way:expr, $core:ident => $call:expr) => {
        match $way {
            Way::Ring($core) => $call,
            Way::InlineShm($core) => $call,
            Way::InlineUdp($core) => $call,
            Way::InlineStream($core) => $call,
            Way::InlinePackets($core) => $call,
            Way::LockShm($core) => $call,
            Way::LockUdp($core) => $call,
            Way::LockStream($core) => $call,
            Way::LockPackets($core) => $call,
            Way::Stealing($core) => $call,
        }
    };
}

impl Worker {
    pub(crate) fn new(way: Way) -> Self {
        Self { inner: RefCell::new(Inner { way, preemption: None }) }
    }

    /// Takes over what concerns a worker.
    pub(crate) fn configure(&mut self, config: &ServerConfig, watch: &Watch) {
        with_core!(&mut self.inner.get_mut().way, core => core.configure(config, watch));
    }

    /// What it samples, from here on.
    pub(crate) fn set_meter(&mut self, meter: Meter) {
        with_core!(&mut self.inner.get_mut().way, core => core.set_meter(meter));
    }

    pub(crate) fn set_preemption(&mut self, preemption: Preemption) {
        self.inner.get_mut().preemption = Some(Box::new(preemption));
    }

    /// Waits for the next RPC; `None` once the server stops. Under `preemptive:Q` such RPCs are not
    /// preempted, as the worker does not know where their handlers end.
    #[must_use]
    pub fn wait_for_rpc(&self) -> Option<Rpc<'_>> {
        let mut idle_since = None;
        loop {
            // Asked first, for there may always be a next one.
            if with_core!(&self.inner.borrow().way, core => core.is_stopped()) {
                with_core!(&mut self.inner.borrow_mut().way, core => core.finish());
                return None;
            }
            if let Some(rpc) = self.try_wait_for_rpc() {
                return Some(rpc);
            }
            with_core!(&mut self.inner.borrow_mut().way, core => core.rest(&mut idle_since));
        }
    }

    /// The next RPC, if one has been dispatched to this core. Never waits.
    #[must_use]
    pub fn try_wait_for_rpc(&self) -> Option<Rpc<'_>> {
        self.try_begin().map(|begun| self.rpc(begun))
    }

    /// Begins the next RPC, if there is one.
    pub(crate) fn try_begin(&self) -> Option<Begun> {
        let no_service = |_: &[u8], _: &mut Reply<'_>| ();
        with_core!(&mut self.inner.borrow_mut().way, core => {
            core.end_later();
            core.pull(&no_service);
            let begun = core.begin(&no_service);
            // What needs no worker has answers too: handshakes, refusals.
            if begun.is_none() {
                core.settle();
            }
            begun
        })
    }

    /// What the papers' calls are for an RPC that was begun.
    pub(crate) fn rpc(&self, begun: Begun) -> Rpc<'_> {
        Rpc { worker: self, begun: Some(begun), is_answered: false }
    }

    /// Sends the reply to an RPC whose buffer was freed ([`Rpc::free`]), or whose reply was
    /// [taken](Rpc::later). From the worker's own thread, where it takes no lock and no allocation.
    /// What was [written](LaterReply::write) before comes first, and then goes by way of the
    /// worker's mailbox.
    pub fn send(&self, to: LaterReply, reply: &[u8]) {
        let left = match to.written() {
            [] => with_core!(&mut self.inner.borrow_mut().way, core => core.end_now(to, reply)),
            _ => Some(to),
        };
        if let Some(to) = left {
            to.answer(reply);
        }
    }

    /// Runs a turn of the engine, where this worker is the engine too, without beginning an RPC.
    pub(crate) fn attend(&self) {
        let no_service = |_: &[u8], _: &mut Reply<'_>| ();
        with_core!(&mut self.inner.borrow_mut().way, core => {
            core.end_later();
            core.pull(&no_service);
            core.settle();
        });
    }

    /// The number of this worker's core; under `altocumulus:G`, within its group.
    #[must_use]
    pub fn core(&self) -> CoreId {
        with_core!(&self.inner.borrow().way, core => core.id())
    }

    /// Serves every RPC with `service` until the server stops.
    ///
    /// The loops of a worker are compiled in this crate, once for all services.
    pub fn run(mut self, service: &dyn Service) {
        let Inner { way, preemption } = self.inner.get_mut();
        match (way, preemption) {
            (way, Some(preemption)) => with_core!(way, core => preemption.run(core, service)),
            (Way::InlineShm(core), None) => core.run_in_runs(service),
            (way, None) => with_core!(way, core => core.run(service)),
        }
    }

    /// As [`run`](Self::run), never in runs: each RPC may be handed on.
    pub(crate) fn run_one_by_one(mut self, service: &dyn Service) {
        with_core!(&mut self.inner.get_mut().way, core => core.run(service));
    }

    /// Whether the server has stopped.
    pub(crate) fn is_stopped(&mut self) -> bool {
        with_core!(&self.inner.get_mut().way, core => core.is_stopped())
    }

    /// Gives back what it has.
    pub(crate) fn finish(&mut self) {
        with_core!(&mut self.inner.get_mut().way, core => core.finish());
    }

    /// Gives back what it has once the server has stopped; whether it has stopped.
    pub(crate) fn finish_if_stopped(&mut self) -> bool {
        let is_stopped = self.is_stopped();
        if is_stopped {
            self.finish();
        }
        is_stopped
    }

    /// Sends the replies that were given since; how many.
    pub(crate) fn send_given(&mut self) -> usize {
        with_core!(&mut self.inner.get_mut().way, core => {
            let ended = core.end_later();
            core.settle();
            ended
        })
    }

    /// As [`turn`](Self::turn), never in runs: each RPC may be handed on.
    pub(crate) fn turn_one_by_one(&mut self, service: &dyn Service) -> usize {
        with_core!(&mut self.inner.get_mut().way, core => core.turn(service))
    }

    /// Serves RPCs that have been dispatched, at most some dozens, and returns how many. For
    /// callers that have their own loop.
    ///
    /// An inline worker also runs one turn of its engine; under `preemptive:Q` one for each
    /// quantum. Every RPC that is begun ends before the call returns.
    ///
    /// # Cost
    ///
    /// No allocation, no lock, no system call. One clock read with an inline engine, and one for
    /// each RPC that has a deadline.
    pub fn turn(&mut self, service: &dyn Service) -> usize {
        let Inner { way, preemption } = self.inner.get_mut();
        match (way, preemption) {
            (way, Some(preemption)) => with_core!(way, core => preemption.turn(core, service)),
            (Way::InlineShm(core), None) => core.turn_in_runs(service),
            (way, None) => with_core!(way, core => core.turn(service)),
        }
    }
}

/// An RPC that a worker has begun: its payload in the receive buffer, and the room for its reply.
///
/// Dropping it frees the buffer (the papers' `free_buffer`). If it was not answered, its client
/// gets [`Fault::Unanswered`].
#[derive(Debug)]
pub struct Rpc<'w> {
    worker: &'w Worker,
    begun: Option<Begun>,
    is_answered: bool,
}

impl Rpc<'_> {
    /// The request.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        self.begun.as_ref().map_or(&[], |begun| begun.held.lease.payload(begun.arrival.bytes as usize))
    }

    /// What the NIC knows of the RPC: client, size, slots, time of arrival.
    #[must_use]
    pub fn arrival(&self) -> Arrival {
        self.begun.as_ref().map_or_else(Arrival::default, |begun| begun.arrival)
    }

    /// Sends the reply. Later replies to the same RPC are ignored, as the client may have read the
    /// first one already.
    pub fn rpc_send(&mut self, reply: &[u8]) {
        self.answer(|out| {
            out.write(reply);
            None
        });
    }

    /// Takes the reply for later, to be sent from any thread. The RPC keeps its slots and the
    /// core's credit; its worker sends the reply when it waits for its next RPC.
    ///
    /// # Errors
    ///
    /// [`LaterError`]: the server was not configured for it. The client gets [`Fault::Unanswered`]
    /// then, unless the RPC was answered before.
    pub fn later(mut self) -> Result<LaterReply, LaterError> {
        if self.is_answered {
            return Err(LaterError::Taken);
        }
        let Some(begun) = self.begun.take() else { return Err(LaterError::Taken) };
        let taken = with_core!(&mut self.worker.inner.borrow_mut().way, core => core.take_later(begun));
        taken.map_err(|(begun, error)| {
            self.begun = Some(begun);
            error
        })
    }

    /// Frees the buffer (the papers' `free_buffer`), as in Fig. 4 before the reply is built and
    /// sent; what is returned sends the reply. The core's credit goes back too, so it is given the
    /// next RPC meanwhile.
    ///
    /// Over `udp://` with an engine on another thread the buffer goes back with the reply, as the
    /// room for that reply goes the same way.
    ///
    /// # Errors
    ///
    /// [`LaterError::Taken`]: the RPC was answered already, and its buffer is free.
    pub fn free(mut self) -> Result<LaterReply, LaterError> {
        let Some(begun) = self.begun.take_if(|_| !self.is_answered) else { return Err(LaterError::Taken) };
        let freed = with_core!(&mut self.worker.inner.borrow_mut().way, core => {
            let freed = core.free(begun);
            core.settle();
            freed
        });
        freed.map_err(|(begun, error)| {
            self.begun = Some(begun);
            error
        })
    }

    fn answer(&mut self, write: impl FnOnce(&mut Reply<'_>) -> Option<Fault>) {
        let Some(begun) = self.begun.as_mut().filter(|_| !self.is_answered) else { return };
        with_core!(&mut self.worker.inner.borrow_mut().way, core => core.answer(begun, write));
        self.is_answered = true;
    }
}

impl Drop for Rpc<'_> {
    fn drop(&mut self) {
        self.answer(|_| Some(Fault::Unanswered));
        if let Some(begun) = self.begun.take() {
            with_core!(&mut self.worker.inner.borrow_mut().way, core => {
                core.release(begun);
                core.settle();
            });
        }
    }
}

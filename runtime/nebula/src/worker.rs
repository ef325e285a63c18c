//! Stations 8 to 10, at the worker: a queue pair, the papers' calls, and the loop that runs a
//! [`Service`].
//!
//! [`Rpc::free`] frees the request's buffer before the reply is sent, as in NEBULA's Fig. 4: it
//! returns slots and credit, and the room for the reply stays until the reply is given.

use crate::config::server::ServerConfig;
use crate::net::Watch;
use crate::nic::recorder::Choice;
use crate::rpc::fault::Fault;
use crate::rpc::later::{LaterError, LaterReply};
use crate::rpc::reply::Reply;
use crate::rpc::service::Service;
use crate::status::Meter;
use crate::ways::core::{Begun, Core};
use crate::ways::preemption::Preemption;
use nebula_nic::{Arrival, CoreId};
use std::cell::RefCell;
use std::sync::mpsc::Sender;

/// One core's queue pair: the completion queue of RPCs, and the queue of replies and freed buffers.
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
    core: Core,
    preemption: Option<Box<Preemption>>,
}

impl Worker {
    pub(crate) fn new(core: Core) -> Self {
        Self { inner: RefCell::new(Inner { core, preemption: None }) }
    }

    pub(crate) fn configure(&mut self, config: &ServerConfig, watch: &Watch) {
        self.inner.get_mut().core.configure(config, watch);
    }

    pub(crate) fn set_meter(&mut self, meter: Meter) {
        self.inner.get_mut().core.set_meter(meter);
    }

    pub(crate) fn set_log(&mut self, log: Option<Sender<Choice>>) {
        self.inner.get_mut().core.set_log(log);
    }

    pub(crate) fn log(&self) -> Option<Sender<Choice>> {
        self.inner.borrow().core.log()
    }

    pub(crate) fn set_preemption(&mut self, preemption: Preemption) {
        self.inner.get_mut().preemption = Some(Box::new(preemption));
    }

    /// Waits for the next RPC; `None` once the server stops. Under `preemptive:Q` these RPCs are
    /// not preempted, as the worker cannot see where their handlers end.
    #[must_use]
    pub fn wait_for_rpc(&self) -> Option<Rpc<'_>> {
        let mut idle_since = None;
        loop {
            // First, since there may always be a next RPC.
            if self.inner.borrow().core.is_stopped() {
                self.inner.borrow_mut().core.finish();
                return None;
            }
            if let Some(rpc) = self.try_wait_for_rpc() {
                return Some(rpc);
            }
            self.inner.borrow_mut().core.rest(&mut idle_since);
        }
    }

    /// The next RPC, if one has been dispatched to this core. Never waits.
    #[must_use]
    pub fn try_wait_for_rpc(&self) -> Option<Rpc<'_>> {
        self.try_begin().map(|begun| self.rpc(begun))
    }

    pub(crate) fn try_begin(&self) -> Option<Begun> {
        let no_service = |_: &[u8], _: &mut Reply<'_>| ();
        let core = &mut self.inner.borrow_mut().core;
        core.end_later();
        core.pull(&no_service);
        let begun = core.begin(&no_service);
        // Handshakes and refusals need answers, but no worker.
        if begun.is_none() {
            core.settle();
        }
        begun
    }

    pub(crate) fn rpc(&self, begun: Begun) -> Rpc<'_> {
        Rpc { worker: self, begun: Some(begun), is_answered: false }
    }

    /// Sends the reply to an RPC whose buffer was freed ([`Rpc::free`]), or whose reply was
    /// [taken](Rpc::later). On the worker's own thread this takes no lock and no allocation. After
    /// [`LaterReply::write`] the reply follows what was written, through the worker's mailbox.
    pub fn send(&self, to: LaterReply, reply: &[u8]) {
        let left = match to.written() {
            [] => self.inner.borrow_mut().core.end_now(to, reply),
            _ => Some(to),
        };
        if let Some(to) = left {
            to.answer(reply);
        }
    }

    /// Runs a turn of the engine, if this worker is inline, without beginning an RPC.
    pub(crate) fn attend(&self) {
        let no_service = |_: &[u8], _: &mut Reply<'_>| ();
        let core = &mut self.inner.borrow_mut().core;
        core.end_later();
        core.pull(&no_service);
        core.settle();
    }

    /// The number of this worker's core; under `altocumulus:G`, within its group.
    #[must_use]
    pub fn core(&self) -> CoreId {
        self.inner.borrow().core.id()
    }

    /// Serves every RPC with `service` until the server stops. The server has its
    /// [description](crate::Server::description), or none: the service is not asked here.
    pub fn run(mut self, service: &dyn Service) {
        let Inner { core, preemption } = self.inner.get_mut();
        match preemption {
            Some(preemption) => preemption.run(core, service),
            None => core.run(service),
        }
    }

    pub(crate) fn is_stopped(&mut self) -> bool {
        self.inner.get_mut().core.is_stopped()
    }

    pub(crate) fn finish(&mut self) {
        self.inner.get_mut().core.finish();
    }

    /// Gives back what it has if the server has stopped. Returns whether it has.
    pub(crate) fn finish_if_stopped(&mut self) -> bool {
        let is_stopped = self.is_stopped();
        if is_stopped {
            self.finish();
        }
        is_stopped
    }

    /// Sends later replies that have been given. Returns their number.
    pub(crate) fn send_given(&mut self) -> usize {
        let core = &mut self.inner.get_mut().core;
        let ended = core.end_later();
        core.settle();
        ended
    }

    /// Serves dispatched RPCs, at most some dozens, and returns their number. For callers with
    /// their own loop.
    ///
    /// An inline worker also runs one turn of its engine; under `preemptive:Q` one each quantum.
    /// Every RPC begun ends before the call returns.
    ///
    /// # Cost
    ///
    /// No allocation, lock or system call. One clock read with an inline engine, and one for each
    /// RPC with a deadline.
    pub fn turn(&mut self, service: &dyn Service) -> usize {
        let Inner { core, preemption } = self.inner.get_mut();
        match preemption {
            Some(preemption) => preemption.turn(core, service),
            None => core.turn(service),
        }
    }
}

/// An RPC that a worker has begun: its payload in the receive buffer, and the room for its reply.
///
/// Dropping it frees the buffer (the papers' `free_buffer`). If it was not answered, the client
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

    /// The NIC's record of the RPC: client, size, slots, time of arrival.
    #[must_use]
    pub fn arrival(&self) -> Arrival {
        self.begun.as_ref().map_or_else(Arrival::default, |begun| begun.arrival)
    }

    /// Sends the reply. Further replies to the same RPC are ignored, as the client may have read
    /// the first.
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
    /// [`LaterError`]: the server was not configured for it. The client then gets
    /// [`Fault::Unanswered`], unless the RPC was answered before.
    pub fn later(mut self) -> Result<LaterReply, LaterError> {
        if self.is_answered {
            return Err(LaterError::Taken);
        }
        let Some(begun) = self.begun.take() else { return Err(LaterError::Taken) };
        let taken = self.worker.inner.borrow_mut().core.take_later(begun);
        taken.map_err(|(begun, error)| {
            self.begun = Some(begun);
            error
        })
    }

    /// Frees the buffer (the papers' `free_buffer`), in Fig. 4 before the reply is built; the
    /// returned value sends the reply. The core's credit goes back too, so the core may get the
    /// next RPC meanwhile.
    ///
    /// Over `udp://` with an engine on another thread the buffer goes back only with the reply,
    /// which takes the same way.
    ///
    /// # Errors
    ///
    /// [`LaterError::Taken`]: the RPC was answered already, and its buffer is free.
    pub fn free(mut self) -> Result<LaterReply, LaterError> {
        let Some(begun) = self.begun.take_if(|_| !self.is_answered) else { return Err(LaterError::Taken) };
        let core = &mut self.worker.inner.borrow_mut().core;
        let freed = core.free(begun);
        core.settle();
        freed.map_err(|(begun, error)| {
            self.begun = Some(begun);
            error
        })
    }

    fn answer(&mut self, write: impl FnOnce(&mut Reply<'_>) -> Option<Fault>) {
        let Some(begun) = self.begun.as_mut().filter(|_| !self.is_answered) else { return };
        self.worker.inner.borrow_mut().core.answer(begun, write);
        self.is_answered = true;
    }
}

impl Drop for Rpc<'_> {
    fn drop(&mut self) {
        self.answer(|_| Some(Fault::Unanswered));
        if let Some(begun) = self.begun.take() {
            let core = &mut self.worker.inner.borrow_mut().core;
            core.release(begun);
            core.settle();
        }
    }
}

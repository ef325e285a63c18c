//! Stations 8 to 10, at the worker: a queue pair, the papers' calls, and the loop that runs a [`Service`].

mod logged_turns;
mod preemption;
mod shared;
mod stealing;

pub use preemption::yield_if_due;

pub(crate) use logged_turns::LoggedTurns;
pub(crate) use preemption::Preemption;
pub(crate) use stealing::{Queues, Stealing};

use crate::engine::bell::Bell;
use crate::engine::cpu::{Held, Job, Served};
use crate::engine::reply::{Fault, Reply};
use crate::engine::run::Turn;
use crate::engine::{Engine, POLLED_FOR, rest_after};
use crate::net::{Time, Watch};
use crate::server::{IdlePolicy, ServerConfig};
use crate::service::{Service, Stage};
use crate::transport::shm::registry::ChannelCache;
use crate::transport::{Answer, Fate};
use nebula_nic::{Arrival, CoreId, Decision, Frontend, Input, NackReason, STEALABLE_BOUND, Steer, Steering, Timestamp};
use nebula_sys::mcs::Waiter;
use nebula_sys::prefetch;
use nebula_sys::spsc::{Consumer, Producer};
use shared::Shared;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// RPCs that a worker serves between two looks at what has come.
const RPCS_PER_TURN: usize = crate::engine::run::RPCS_PER_TURN as usize;

/// What a worker's own machines have decided, for the decision log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    /// When, where the machine was told the time.
    pub(crate) at: Option<Timestamp>,
    pub(crate) input: Input,
    pub(crate) decision: Option<Decision>,
}

/// Where a worker's RPCs come from.
#[derive(Debug)]
enum Source {
    /// An engine on its own thread.
    Engine { jobs: Consumer<Job>, freed: Producer<Served>, bells: Option<Bells> },
    /// The worker is the engine too.
    Inline(Box<Engine>),
    /// All workers are the engine, in turns.
    Shared(Shared),
    /// An engine on its own thread, and the queues of the other workers.
    Stealing(Stealing),
}

/// What wakes a worker and its engine, where both sleep when there is nothing to do.
#[derive(Debug)]
pub(crate) struct Bells {
    pub(crate) own: Arc<Bell>,
    pub(crate) engine: Arc<Bell>,
}

/// One core's queue pair: the completion queue that RPCs come from, and the queue that replies and freed buffers go back on.
///
/// [`Server::serve`](crate::Server::serve) runs workers itself. [`Server::open`](crate::Server::open) returns them, for the papers'
/// interface (NEBULA §IV-B):
///
/// | the papers | here |
/// |---|---|
/// | `wait_for_RPC`, blocking and not | [`wait_for_rpc`](Self::wait_for_rpc), [`try_wait_for_rpc`](Self::try_wait_for_rpc) |
/// | `RPC_send` | [`Rpc::rpc_send`] |
/// | `free_buffer` | dropping the [`Rpc`] |
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
    source: Source,
    frontend: Frontend,
    /// Payloads of the completion queue's entries, in its order; an inline engine keeps them itself.
    waiting: VecDeque<Held>,
    /// The core that the current RPC was dispatched to: this one, unless it was stolen.
    home: CoreId,
    channels: ChannelCache,
    steering: Steering,
    idle: IdlePolicy,
    stop: Arc<AtomicBool>,
    watch: Watch,
    served: u64,
    /// Under `preemptive:Q`; it is taken out while it is at work.
    preemption: Option<Box<Preemption>>,
}

/// Where the reply to an RPC is written: into its answer, or into the client's ring; `None` when the client is gone.
#[inline(always)]
fn reply_to<'a>(
    channels: &'a mut ChannelCache,
    arrival: &Arrival,
    span: u32,
    answer: Option<&'a mut Answer>,
) -> Option<Reply<'a>> {
    match answer {
        Some(answer) => Some(Reply::buffered(answer)),
        None => Some(Reply::in_ring(channels.channel(arrival.rpc.snid)?.slots(), arrival.rpc.tid.0, span)),
    }
}

/// An RPC that a core has begun.
struct Begun {
    arrival: Arrival,
    held: Held,
    /// The core that it was given to.
    home: CoreId,
}

impl Worker {
    pub(crate) fn threaded(
        frontend: Frontend,
        channels: ChannelCache,
        jobs: Consumer<Job>,
        freed: Producer<Served>,
        bells: Option<Bells>,
        stop: Arc<AtomicBool>,
    ) -> Self {
        Self::new(Source::Engine { jobs, freed, bells }, frontend, channels, stop)
    }

    pub(crate) fn inline(frontend: Frontend, channels: ChannelCache, engine: Engine) -> Self {
        let stop = engine.stop.clone();
        Self::new(Source::Inline(Box::new(engine)), frontend, channels, stop)
    }

    pub(crate) fn shared(
        frontend: Frontend,
        channels: ChannelCache,
        engine: Waiter<Engine>,
        stop: Arc<AtomicBool>,
    ) -> Self {
        let core = frontend.core();
        Self::new(Source::Shared(Shared::new(engine, core)), frontend, channels, stop)
    }

    pub(crate) fn stealing(
        frontend: Frontend,
        channels: ChannelCache,
        queues: Stealing,
        stop: Arc<AtomicBool>,
    ) -> Self {
        Self::new(Source::Stealing(queues), frontend, channels, stop)
    }

    fn new(source: Source, frontend: Frontend, channels: ChannelCache, stop: Arc<AtomicBool>) -> Self {
        let inner = Inner {
            source,
            waiting: VecDeque::with_capacity(64),
            home: frontend.core(),
            frontend,
            channels,
            steering: Steering::On,
            idle: IdlePolicy::Adaptive,
            stop,
            watch: Watch::new(&Time::Machine),
            served: 0,
            preemption: None,
        };
        Self { inner: RefCell::new(inner) }
    }

    /// Takes over what concerns a worker.
    pub(crate) fn configure(&mut self, config: &ServerConfig, watch: &Watch) {
        let inner = self.inner.get_mut();
        inner.watch = watch.clone();
        (inner.steering, inner.idle) = (config.steering, config.idle);
        inner.frontend.set_steering(config.steering);
    }

    pub(crate) fn set_preemption(&mut self, preemption: Preemption) {
        self.inner.get_mut().preemption = Some(Box::new(preemption));
    }

    /// Waits for the next RPC; `None` once the server stops. Under `preemptive:Q` such RPCs are not preempted, as the worker does not
    /// know where their handlers end.
    #[must_use]
    pub fn wait_for_rpc(&self) -> Option<Rpc<'_>> {
        let mut idle_since = None;
        loop {
            // Asked first, for there may always be a next one.
            if self.inner.borrow().is_stopped() {
                self.inner.borrow_mut().wind_up();
                return None;
            }
            if let Some(rpc) = self.try_wait_for_rpc() {
                return Some(rpc);
            }
            self.inner.borrow_mut().rest(&mut idle_since);
        }
    }

    /// The next RPC, if one has been dispatched to this core. Never waits.
    #[must_use]
    pub fn try_wait_for_rpc(&self) -> Option<Rpc<'_>> {
        let mut inner = self.inner.borrow_mut();
        let no_service = |_: &[u8], _: &mut Reply<'_>| ();
        inner.pull(&no_service);
        let begun = inner.begin(&no_service)?;
        Some(Rpc { worker: self, begun: Some(begun), is_answered: false })
    }

    /// The number of this worker's core; under `altocumulus:G`, within its group.
    #[must_use]
    pub fn core(&self) -> CoreId {
        self.inner.borrow().frontend.core()
    }

    /// Serves every RPC with `service` until the server stops.
    pub fn run<S: Service>(mut self, service: &S) {
        let inner = self.inner.get_mut();
        if let Some(mut preemption) = inner.preemption.take() {
            preemption.run(inner, service);
            return inner.wind_up();
        }
        if inner.serves_runs() {
            inner.run_runs(service);
            return inner.wind_up();
        }
        let mut idle_since = None;
        // Asked every turn: under load there may always be something to do.
        while !self.inner.get_mut().is_stopped() {
            if self.turn(service) > 0 {
                idle_since = None;
            } else {
                self.inner.get_mut().rest(&mut idle_since);
            }
        }
        self.inner.get_mut().wind_up();
    }

    /// Serves RPCs that have been dispatched, at most some dozens, and returns how many. For callers that have their own loop.
    ///
    /// An inline worker also runs one turn of its engine; under `preemptive:Q` one for each quantum. Every RPC that is begun ends before
    /// the call returns.
    ///
    /// # Cost
    ///
    /// No allocation, no lock, no system call. One clock read with an inline engine, and one for each RPC that has a deadline.
    #[inline]
    pub fn turn<S: Service>(&mut self, service: &S) -> usize {
        let inner = self.inner.get_mut();
        if let Some(mut preemption) = inner.preemption.take() {
            let served = preemption.turn(inner, service);
            inner.preemption = Some(preemption);
            return served;
        }
        if let Some(turn) = inner.turn_of_runs(service, false) {
            return if let Turn::Busy(served) = turn { served } else { 0 };
        }
        inner.pull(service);
        let (mut served, most) = (0, inner.rpcs_per_turn());
        let began = inner.begin_serving();
        while served < most
            && let Some(begun) = inner.begin(service)
        {
            inner.serve(begun, service);
            served += 1;
        }
        inner.end_serving(began, most);
        inner.settle();
        served
    }
}

/// What is compiled for each type of service is only what calls it once an RPC, so that a type more costs its user little time to compile.
impl Inner {
    fn serves_runs(&self) -> bool {
        matches!(&self.source, Source::Inline(engine) if engine.serves_runs())
    }

    /// Serves runs until the server stops.
    fn run_runs<S: Service>(&mut self, service: &S) {
        let mut idle_since = None;
        loop {
            match self.turn_of_runs(service, true) {
                Some(Turn::Glance) => continue,
                Some(Turn::Idle) => self.rest(&mut idle_since),
                Some(Turn::Busy(_)) | None => {}
            }
            // Asked whenever more than the rings is looked at: under load there may always be something to do.
            if self.is_stopped() {
                return;
            }
        }
    }

    /// One turn of a worker that is the engine and serves runs; `None` where it does not.
    #[inline(always)]
    fn turn_of_runs<S: Service>(&mut self, service: &S, may_glance: bool) -> Option<Turn> {
        if self.frontend.outstanding() > 0 {
            self.finish_given(service);
        }
        let Source::Inline(engine) = &mut self.source else { return None };
        engine.serves_runs().then(|| engine.turn_of_runs(service, self.steering == Steering::On, may_glance))
    }

    /// Serves what was dispatched for `wait_for_rpc` and not taken, so that the core has all its credit.
    #[cold]
    fn finish_given<S: Service>(&mut self, service: &S) {
        if self.serves_runs() {
            while let Some(begun) = self.begin(service) {
                self.serve(begun, service);
            }
            self.settle();
        }
    }

    /// Takes what has been dispatched to this core; an inline worker first runs a turn of its engine.
    fn pull(&mut self, service: &dyn Service) {
        match &mut self.source {
            Source::Engine { .. } => self.take_jobs(),
            Source::Inline(engine) => {
                let now = engine.begin_turn();
                let packets = engine.poll_packets(now);
                // A pass for each stage, so that the misses of all that arrived overlap.
                if packets > 0 && self.steering == Steering::On && service.prefetches() {
                    engine.for_each_fresh(|payload| service.prefetch(payload, Stage::Arrived));
                    engine.for_each_fresh(|payload| service.prefetch(payload, Stage::Next));
                }
                engine.end_ingress(now, packets);
                self.take_dispatched();
            }
            // These are come for one at a time.
            Source::Shared(_) | Source::Stealing(_) => {}
        }
    }

    /// Takes what the engine has put into this worker's ring.
    #[inline(always)]
    fn take_jobs(&mut self) {
        if let Source::Engine { jobs, .. } = &mut self.source {
            while let Some(job) = jobs.try_pop() {
                self.frontend.handle_dispatch(job.dispatch);
                self.waiting.push_back(job.held);
            }
        }
    }

    /// Has the payload of the next RPC fetched, if it is known and not fetched yet (NEBULA §V-B).
    #[inline(always)]
    fn steer_next(&mut self, service: &dyn Service) {
        let (Some(next), Some(held)) = (self.frontend.steer_next(), self.waiting.front_mut()) else { return };
        if held.is_steered {
            return;
        }
        held.is_steered = true;
        let payload = held.lease.payload(next.bytes as usize);
        prefetch::read_bytes(payload);
        if service.prefetches() {
            service.prefetch(payload, Stage::Arrived);
        }
    }

    /// Takes what the engine on this thread has for this core.
    #[inline(always)]
    fn take_dispatched(&mut self) {
        if let Source::Inline(engine) = &mut self.source {
            while let Some(dispatch) = engine.next_dispatch() {
                self.frontend.handle_dispatch(dispatch);
            }
        }
    }

    /// Comes for the next RPC where RPCs are not handed out. Nothing can be fetched ahead of it: which one a core gets next is decided
    /// when it comes.
    #[inline(never)]
    fn fetch(&mut self) {
        let job = match &mut self.source {
            Source::Engine { .. } | Source::Inline(_) => None,
            Source::Shared(shared) => shared.take(),
            Source::Stealing(stealing) if self.frontend.outstanding() < STEALABLE_BOUND => stealing.take(),
            Source::Stealing(_) => None,
        };
        let Some(Job { dispatch, held }) = job else { return };
        self.home = dispatch.core;
        if self.frontend.handle_dispatch(dispatch) == Steer::Now {
            prefetch::read_bytes(held.lease.payload(dispatch.arrival.bytes as usize));
        }
        self.waiting.push_back(held);
    }

    /// Begins the next RPC whose answer somebody waits for.
    fn begin(&mut self, service: &dyn Service) -> Option<Begun> {
        loop {
            let begun = self.begin_any(service)?;
            let answer = begun.held.answer.as_ref();
            match answer.and_then(|answer| answer.is_over(|| self.now())) {
                None => return Some(begun),
                Some(reason) => self.refuse(begun, reason),
            }
        }
    }

    /// The time, for RPCs that have a deadline. Not that of the turn: the RPCs before may have taken long.
    #[inline]
    fn now(&self) -> Timestamp {
        Timestamp::from_ps(self.watch.now_ps())
    }

    /// Gives an RPC back that nobody waits for any more.
    #[cold]
    fn refuse(&mut self, mut begun: Begun, reason: NackReason) {
        begun.held.answer.iter_mut().for_each(|answer| answer.ending.fate = Fate::Refused(reason));
        self.release(begun);
        if let Source::Inline(engine) = &mut self.source {
            engine.uncount_served();
        }
    }

    /// Begins the next RPC, and has the payload of the one behind it fetched meanwhile. That one may have come since the last one was begun.
    #[inline(always)]
    fn begin_any(&mut self, service: &dyn Service) -> Option<Begun> {
        if matches!(self.source, Source::Shared(_) | Source::Stealing(_)) {
            self.fetch();
        }
        self.take_jobs();
        let begin = self.frontend.poll_completion()?;
        let held = match &mut self.source {
            // An inline engine has copied every payload through this core's cache already: there is nothing to steer.
            Source::Inline(engine) => engine.take_payload(&begin.arrival),
            Source::Engine { .. } | Source::Shared(_) | Source::Stealing(_) => self.waiting.pop_front()?,
        };
        self.steer_next(service);
        Some(Begun { arrival: begin.arrival, held, home: self.home })
    }

    #[inline(always)]
    fn serve<S: Service>(&mut self, begun: Begun, service: &S) {
        let Begun { arrival, mut held, home } = begun;
        if let Some(mut reply) = reply_to(&mut self.channels, &arrival, held.span, held.answer.as_deref_mut()) {
            let request = held.lease.payload(arrival.bytes as usize);
            match catch_unwind(AssertUnwindSafe(|| service.serve(request, &mut reply))) {
                Ok(()) => reply.publish(),
                Err(_) => reply.fail(Fault::HandlerPanicked),
            }
        }
        // The next one has mostly come while this one was served. Its payload is fetched while what follows from this one's end is done.
        self.take_jobs();
        self.steer_next(service);
        self.release(Begun { arrival, held, home });
    }

    /// Gives the RPC's slots and this core's credit back.
    #[inline(always)]
    fn release(&mut self, begun: Begun) {
        let Begun { arrival, held, home } = begun;
        self.frontend.handle_release(arrival.slots);
        self.served += 1;
        let Held { lease, answer, is_steered, .. } = held;
        let mut freed = Served { snid: arrival.rpc.snid, slots: arrival.slots, lease, home, is_steered, answer };
        match &mut self.source {
            Source::Engine { freed: ring, bells, .. } => {
                // The ring holds as many as the policy gives a core, so it is full only while the engine is about to look.
                while let Err(back) = ring.try_push(freed) {
                    freed = back;
                    std::hint::spin_loop();
                }
                if let Some(bells) = bells {
                    bells.engine.ring_if_armed();
                }
            }
            Source::Inline(engine) => {
                engine.count_served();
                engine.free(engine.now(), freed);
                // Everything that could be dispatched had been: one credit more is one RPC more at most.
                if let Some(dispatch) = engine.next_dispatch() {
                    self.frontend.handle_dispatch(dispatch);
                }
            }
            Source::Shared(shared) => shared.keep(freed),
            Source::Stealing(stealing) => stealing.give_back(freed),
        }
    }

    #[inline(always)]
    fn begin_serving(&self) -> u64 {
        if let Source::Inline(engine) = &self.source { engine.begin_serving() } else { 0 }
    }

    #[inline(always)]
    fn end_serving(&mut self, began: u64, most: usize) {
        if let Source::Inline(engine) = &mut self.source {
            engine.end_serving(began, most);
        }
    }

    /// Gives back what was kept for the next turn at the lock; an inline engine sends what has been answered.
    #[inline(always)]
    fn settle(&mut self) {
        match &mut self.source {
            Source::Shared(shared) => shared.settle(),
            Source::Inline(engine) => engine.flush(engine.now()),
            Source::Engine { .. } | Source::Stealing(_) => {}
        }
    }

    /// RPCs served between two looks at what has come.
    #[inline(always)]
    fn rpcs_per_turn(&self) -> usize {
        if let Source::Inline(engine) = &self.source { engine.rpcs_per_turn() } else { RPCS_PER_TURN }
    }

    /// An RPC has run and is not over: the engine on this thread is told, for it thinks that a turn serves.
    fn note_unfinished(&mut self) {
        if let Source::Inline(engine) = &mut self.source {
            engine.note_unfinished();
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn wind_up(&mut self) {
        match &mut self.source {
            Source::Inline(engine) => engine.wind_up(),
            Source::Shared(shared) => shared.wind_up(),
            Source::Engine { .. } | Source::Stealing(_) => {}
        }
    }

    #[inline]
    fn rest(&mut self, idle_since: &mut Option<u64>) {
        self.channels.tidy();
        if let Source::Inline(engine) = &mut self.source {
            return engine.rest(engine.now());
        }
        if self.idle == IdlePolicy::Spin {
            return std::hint::spin_loop();
        }
        let now = self.watch.now_ps();
        let since = *idle_since.get_or_insert(now);
        let silence = nebula_nic::Span::from_ps(now.saturating_sub(since));
        if let Source::Engine { bells: Some(bells), jobs, .. } = &mut self.source
            && silence >= POLLED_FOR
        {
            bells.own.arm();
            // One look more, for what was given before the worker said that it sleeps.
            if jobs.is_empty() && !self.stop.load(Ordering::Relaxed) {
                bells.own.wait();
            }
            return bells.own.disarm();
        }
        rest_after(silence);
        if let Source::Shared(shared) = &mut self.source {
            shared.has_rested();
        }
    }
}

/// An RPC that a worker has begun: its payload in the receive buffer, and the room for its reply.
///
/// Dropping it frees the buffer (the papers' `free_buffer`). If it was not answered, its client gets [`Fault::Unanswered`].
#[derive(Debug)]
pub struct Rpc<'w> {
    worker: &'w Worker,
    begun: Option<Begun>,
    is_answered: bool,
}

impl std::fmt::Debug for Begun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.arrival.fmt(f)
    }
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

    /// Sends the reply. Later replies to the same RPC are ignored, as the client may have read the first one already.
    pub fn rpc_send(&mut self, reply: &[u8]) {
        self.answer(|out| {
            out.write(reply);
            None
        });
    }

    fn answer(&mut self, write: impl FnOnce(&mut Reply<'_>) -> Option<Fault>) {
        let Some(begun) = self.begun.as_mut().filter(|_| !self.is_answered) else { return };
        let inner = &mut *self.worker.inner.borrow_mut();
        let Begun { arrival, held, .. } = begun;
        if let Some(mut reply) = reply_to(&mut inner.channels, arrival, held.span, held.answer.as_deref_mut()) {
            match write(&mut reply) {
                None => reply.publish(),
                Some(fault) => reply.fail(fault),
            }
        }
        self.is_answered = true;
    }
}

impl Drop for Rpc<'_> {
    fn drop(&mut self) {
        self.answer(|_| Some(Fault::Unanswered));
        if let Some(begun) = self.begun.take() {
            let mut inner = self.worker.inner.borrow_mut();
            inner.release(begun);
            inner.settle();
        }
    }
}

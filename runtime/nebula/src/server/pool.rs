//! The threads of a server that run long RPCs, so that no other RPC waits behind them.
//!
//! A worker hands an RPC of [`Class::Worker`] to the pool. The RPC keeps its slots and that
//! worker's credit, like one with a later reply, which it becomes: the worker publishes the reply
//! and does all accounting. The decider [of the same name](nebula_nic::pool::Pool) says which RPCs
//! are accepted, and which are served first.

use crate::config::server::ServerConfig;
use crate::config::tenant;
use crate::endpoint::Endpoint;
use crate::nic::recorder::Choice;
use crate::rpc::answer::{Answer, Fate};
use crate::rpc::description::{Class, Description};
use crate::rpc::fault::Fault;
use crate::rpc::handler::guarded;
use crate::rpc::later::{LaterReply, Laters, MayWait};
use crate::rpc::reply::Reply;
use crate::rpc::service::{Service, Stage};
use crate::status::{Layout, PoolPage, PoolStatus};
use crate::transport::udp::source::SOURCES;
use nebula_nic::decision::PoolStep;
use nebula_nic::fair_share::Judged;
use nebula_nic::pool::{self, PoolConfig};
use nebula_nic::{Decision, Input, NackReason, NodeId, Span, Timestamp};
use nebula_sys::clock::Clock;
use nebula_sys::shared::SharedMemory;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// How long a thread polls for work before it sleeps.
const POLLED_FOR: Span = Span::from_us(10);

#[derive(Debug)]
pub(crate) struct Pool {
    description: Description,
    clock: Clock,
    threads: u16,
    state: Mutex<State>,
    came: Condvar,
    waiting: AtomicUsize,
    page: OnceLock<PoolPage>,
    /// Where it logs its decisions, each under the lock of `state`.
    log: OnceLock<Sender<Choice>>,
}

#[derive(Debug)]
struct State {
    /// Served first: RPCs of sources that have had little.
    first: VecDeque<Job>,
    queue: VecDeque<Job>,
    /// Decides which RPCs wait, and which is next.
    decider: pool::Pool,
    asleep: u32,
    is_closed: bool,
}

#[derive(Debug)]
struct Job {
    request: Box<[u8]>,
    later: LaterReply,
}

/// A service that hands its long RPCs to a pool. The pool's threads end with it.
pub(crate) struct Pooled {
    service: Arc<dyn Service + Send + Sync>,
    pool: Arc<Pool>,
}

impl Pooled {
    pub(crate) fn new(service: Arc<dyn Service + Send + Sync>, pool: Arc<Pool>) -> Self {
        Self { service, pool }
    }

    pub(super) fn log_to(&self, log: Option<Sender<Choice>>) {
        self.pool.log_to(log);
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        self.pool.state().is_closed = true;
        self.pool.came.notify_all();
    }
}

impl Service for Pooled {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        match self.pool.description.class(request) {
            Class::Dispatch => self.service.serve(request, reply),
            Class::Worker => self.pool.take_on(request, reply),
        }
    }

    fn prefetch(&self, request: &[u8], stage: Stage) {
        self.service.prefetch(request, stage);
    }
}

impl Pool {
    /// Accepts as many RPCs as configured until service times are measured. `others`: the clients
    /// speak another protocol.
    pub(crate) fn new(config: &ServerConfig, endpoint: &Endpoint, others: bool) -> Self {
        let has_hosts = match endpoint {
            Endpoint::Udp(_) | Endpoint::Xdp(_) => true,
            Endpoint::Tcp(_) => !others,
            Endpoint::Shm(_) | Endpoint::Unix(_) | Endpoint::Packets(_) => false,
        };
        let sources = if has_hosts { SOURCES } else { config.sources() };
        let (tenants, threads) = (tenant::weights(&config.tenants), config.threads_of_pool());
        let state = State {
            first: VecDeque::new(),
            queue: VecDeque::with_capacity(config.pool_max.into()),
            decider: pool::Pool::new(PoolConfig { slo: config.slo, threads, most: config.pool_max, sources, tenants }),
            asleep: 0,
            is_closed: false,
        };
        Self {
            description: config.description.clone().unwrap_or_default(),
            clock: Clock::new(),
            threads,
            state: Mutex::new(state),
            came: Condvar::new(),
            waiting: AtomicUsize::new(0),
            page: OnceLock::new(),
            log: OnceLock::new(),
        }
    }

    pub(crate) fn threads(&self) -> u16 {
        self.threads
    }

    /// The description of a service whose workers wait for this pool before they drain it.
    pub(super) fn drained_first(self: &Arc<Self>, description: Description) -> Description {
        let (pool, then) = (self.clone(), description.on_drain.clone());
        description.on_drain(move || {
            pool.drain();
            then.iter().for_each(|drain| drain());
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Logs the pool's decisions from its beginning; does nothing with a second log.
    pub(super) fn log_to(&self, log: Option<Sender<Choice>>) {
        let state = self.state();
        if log.is_some_and(|log| self.log.set(log).is_ok()) {
            self.note(None, PoolStep::Start(*state.decider.config()), None);
        }
    }

    fn note(&self, at: Option<Timestamp>, step: PoolStep, decision: Option<Decision>) {
        if let Some(log) = self.log.get() {
            // The engine's end is gone when the server ends, and the log with it.
            let _ = log.send(Choice { at, input: Input::Pool(step), decision });
        }
    }

    pub(super) fn publish_on(&self, memory: Arc<SharedMemory>, layout: Layout) {
        let page = self.page.get_or_init(|| PoolPage::new(memory, layout));
        page.put(&self.status_of(&self.state()));
    }

    fn publish(&self, state: &State) {
        if let Some(page) = self.page.get() {
            page.put(&self.status_of(state));
        }
    }

    pub(crate) fn status(&self) -> PoolStatus {
        self.status_of(&self.state())
    }

    fn status_of(&self, state: &State) -> PoolStatus {
        PoolStatus {
            threads: self.threads,
            bound: state.decider.bound(),
            held: state.decider.held(),
            served: state.decider.served(),
            refused: state.decider.refused(),
            service: state.decider.service(),
        }
    }

    fn take_on(&self, request: &[u8], reply: &mut Reply<'_>) {
        let mut state = self.state();
        let client = reply.client().unwrap_or(NodeId(0));
        let now = Timestamp::from_ps(self.clock.now_ps());
        let judged = state.decider.judge(now, client);
        self.note(Some(now), PoolStep::Judge(client), Some(judged.into()));
        if judged == Judged::Refused {
            self.publish(&state);
            return reply.refuse();
        }
        // Fails only on a server without later replies; one with a pool has them.
        let Ok(later) = reply.later() else { return };
        let job = Job { request: request.into(), later };
        state.decider.handle_queued(judged);
        if judged == Judged::First {
            state.first.push_back(job)
        } else {
            state.queue.push_back(job)
        }
        self.waiting.store(state.waiting(), Ordering::Release);
        let sleeps = state.asleep > 0;
        self.publish(&state);
        drop(state);
        if sleeps {
            self.came.notify_one();
        }
    }

    pub(crate) fn work(&self, service: &dyn Service) {
        let clock = self.clock;
        let mut answer = Answer::new(u32::MAX);
        while let Some(job) = self.next(&clock) {
            let began = clock.now_ps();
            self.serve(job, service, &mut answer, began);
            self.end(Span::from_ps(clock.now_ps().saturating_sub(began)));
        }
    }

    /// Serves an RPC, unless its client has given up.
    fn serve(&self, job: Job, service: &dyn Service, answer: &mut Answer, now_ps: u64) {
        answer.reset_for(job.later.capacity_bytes(), job.later.asker());
        let now = Timestamp::from_ps(now_ps);
        let Some(reason) = answer.ending.over(|| now) else { return serve(job, service, answer) };
        let (deadline, is_cancelled) = (answer.ending.deadline, reason == NackReason::Cancelled);
        self.note(Some(now), PoolStep::Over { deadline, is_cancelled }, Some(Decision::nack(reason)));
        job.later.nack(reason);
    }

    fn next(&self, clock: &Clock) -> Option<Job> {
        let since = clock.now_ps();
        while self.waiting.load(Ordering::Acquire) == 0 && clock.now_ps() - since < POLLED_FOR.as_ps() {
            std::hint::spin_loop();
        }
        let mut state = self.state();
        loop {
            if let Some((job, judged)) = state.take() {
                self.note(None, PoolStep::Next, Some(judged.into()));
                self.waiting.store(state.waiting(), Ordering::Release);
                return Some(job);
            }
            if state.is_closed {
                return None;
            }
            state.asleep += 1;
            state = self.came.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.asleep -= 1;
        }
    }

    fn end(&self, took: Span) {
        let mut state = self.state();
        state.decider.handle_end(took);
        self.note(None, PoolStep::End(took), None);
        self.publish(&state);
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.state().decider.held() > 0
    }

    fn drain(&self) {
        while self.is_busy() {
            std::thread::park_timeout(Duration::from_micros(50));
        }
    }
}

impl State {
    fn waiting(&self) -> usize {
        self.first.len() + self.queue.len()
    }

    fn take(&mut self) -> Option<(Job, Judged)> {
        let judged = self.decider.poll_next()?;
        let queue = if judged == Judged::First { &mut self.first } else { &mut self.queue };
        queue.pop_front().map(|job| (job, judged))
    }
}

/// Runs the handler and sends the result.
fn serve(Job { request, later }: Job, service: &dyn Service, answer: &mut Answer) {
    let laters = Laters::of(later);
    // The client does not matter: the RPC was accepted already.
    let may_wait = MayWait { laters: &laters, client: NodeId(0), ring: None };
    let mut reply = Reply::buffered(answer).with_laters(Some(&may_wait));
    match guarded(|| service.serve(&request, &mut reply)) {
        Ok(()) => reply.publish(),
        Err(fault) => reply.fail(fault),
    }
    // Otherwise the handler took it, to reply later still.
    if let Some(later) = laters.into_given() {
        send(later, answer);
    }
}

fn send(later: LaterReply, answer: &Answer) {
    match answer.ending.fate {
        Fate::Replied => {
            let mut bytes = vec![0; answer.reply_bytes() as usize];
            answer.copy_reply(&mut bytes);
            later.send_all(bytes);
        }
        Fate::Open => later.fail(Fault::Unanswered),
        Fate::Faulted(fault) => later.fail(fault),
        Fate::Refused(reason) => later.nack(reason),
    }
}

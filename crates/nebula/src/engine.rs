//! The software NIC: one thread that plays the papers' NIC for a group of workers.
//!
//! It owns a [`Backend`], which decides, and carries out what it decides: polls the [transport](port), copies payloads into the receive region,
//! answers with NACKs, hands dispatched RPCs to workers, takes their slots back. One turn does each once:
//!
//! ```text
//!   control ─▶ frees ─▶ ingress (stations 2–6) ─▶ dispatch (7) ─▶ answers out ─▶ time-outs, pace, status
//! ```
//!
//! One clock read a turn is the time of everything in it. Under `altocumulus:G` there are several engines, each with its own clients and
//! workers; between frees and ingress each reads what the others have sent, and after the dispatch it hands RPCs over ([`groups`]).

pub(crate) mod bell;
pub(crate) mod ingress;
mod payloads;
pub(crate) mod dispatch;
pub(crate) mod cpu;
pub(crate) mod reply;
pub(crate) mod groups;
mod pace;
pub(crate) mod port;
mod recorder;
pub(crate) mod requests;
pub(crate) mod run;
mod shared;

use crate::net::Watch;
use crate::server::{IdlePolicy, ServeError, ServerConfig};
use crate::status::{Extra, StatusPage};
use crate::transport::shm::listener::Letter;
use crate::worker::Choice;
use bell::Bell;
use cpu::{Served, WorkerLink};
use groups::Neighbors;
use nebula_nic::decision::{GROUP_LOG_HEADER, GroupSetup, LOG_HEADER};
use nebula_nic::{Backend, Freed, NodeId, Policy, Span, Timestamp};
use pace::Pace;
use payloads::Payloads;
use port::Port;
use recorder::Recorder;
use run::RPCS_PER_TURN;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// How long an engine or a worker that may sleep polls first.
pub(crate) const POLLED_FOR: Span = Span::from_us(20);
/// The longest sleep, so that a lost wake-up costs little.
const SLEEP_MAX: Duration = Duration::from_secs(1);
/// How long answers may wait for others to share a datagram with: about what sending one costs.
const TURN: Span = Span::from_us(8);
/// Turns with work between two writes of the status page.
const TURNS_PER_STATUS: u32 = 256;
/// Least time between two writes of it where there is no work.
const IDLE_PER_STATUS: Span = Span::from_us(50);

/// The engine of one server.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) watch: Watch,
    pub(crate) stop: Arc<AtomicBool>,
    /// Of a whole server, or of one group of it.
    backend: Backend,
    /// The manager of a group and the ways to the others.
    neighbors: Option<Box<Neighbors>>,
    payloads: Payloads,
    port: Port,
    links: Vec<WorkerLink>,
    pace: Pace,
    status: StatusPage,
    recorder: Option<Recorder>,
    /// What workers' own machines have decided, for the log.
    choices: Option<Receiver<Choice>>,
    idle: IdlePolicy,
    /// What wakes this engine where it sleeps.
    bell: Arc<Bell>,
    is_armed: bool,
    /// RPCs that arrived in this turn, by first slot and length: what the worker's prefetches go through.
    fresh: Vec<(u32, u32)>,
    turns: u32,
    /// When the status page was written last.
    status_at: Timestamp,
    /// Rings found empty since anything else was looked at.
    idle_looks: u32,
    /// RPCs that the worker on this thread has served since the last turn.
    served: usize,
    /// RPCs served by another worker than the one that they were given to.
    stolen: u64,
    /// RPCs whose payload was steered.
    steered: u64,
    turn_started: Timestamp,
    turn_ticks: u64,
    idle_since: Option<Timestamp>,
    has_news: bool,
}

/// What an engine is made of, beside its configuration.
pub(crate) struct Parts {
    pub(crate) port: Port,
    pub(crate) watch: Watch,
    pub(crate) bell: Arc<Bell>,
    pub(crate) status: StatusPage,
    pub(crate) links: Vec<WorkerLink>,
    pub(crate) choices: Option<Receiver<Choice>>,
    pub(crate) stop: Arc<AtomicBool>,
}

impl Engine {
    /// The engine of a whole server, or of one group of it.
    pub(crate) fn try_new(
        config: &ServerConfig,
        group: Option<(Backend, Neighbors)>,
        parts: Parts,
    ) -> Result<Self, ServeError> {
        let (backend, neighbors) = match group {
            Some((backend, neighbors)) => (backend, Some(Box::new(neighbors))),
            None => (config.backend()?, None),
        };
        let slots = backend.config().slots;
        let all_slots = neighbors.as_ref().map(|neighbors| slots * neighbors.groups());
        let payloads = Payloads::new(slots, backend.first_slot(), all_slots)?;
        let log = |path| log(path, &backend, neighbors.as_deref());
        let recorder = config.decision_log.as_deref().map(log).transpose()?;
        let watch = parts.watch;
        // A worker on this thread asks, and one that serves runs asks each run itself.
        let serves_runs = matches!(parts.port, Port::Shm(_))
            && backend.takes_bursts()
            && !matches!(config.policy, Policy::Preemptive(_));
        let notes_fresh = config.inline && !serves_runs;
        Ok(Self {
            stop: parts.stop,
            backend,
            neighbors,
            payloads,
            port: parts.port,
            links: parts.links,
            pace: Pace::new(config),
            status: parts.status,
            recorder,
            choices: parts.choices,
            idle: config.idle,
            bell: parts.bell,
            is_armed: false,
            fresh: Vec::with_capacity(if notes_fresh { ingress::FRESH_MAX } else { 0 }),
            turns: 0,
            status_at: Timestamp::ZERO,
            idle_looks: 0,
            served: 0,
            stolen: 0,
            steered: 0,
            turn_started: Timestamp::from_ps(watch.now_ps()),
            turn_ticks: watch.ticks(),
            watch,
            idle_since: None,
            has_news: true,
        })
    }

    /// Begins a turn: reads the clock and the control messages.
    #[inline]
    pub(crate) fn begin_turn(&mut self) -> Timestamp {
        let ticks = self.watch.ticks();
        let now = Timestamp::from_ps(self.watch.at_ps(ticks));
        self.note_gap(now, ticks);
        (self.turn_started, self.turn_ticks) = (now, ticks);
        self.collect_choices(now);
        if let Port::Shm(rings) = &self.port
            && let Some(letters) = rings.letters()
        {
            self.read_letters(now, letters);
        }
        now
    }

    /// Ends a turn that took `packets` in and `served` RPCs out; whether it did anything decides about resting.
    #[inline]
    pub(crate) fn end_turn(&mut self, now: Timestamp, packets: usize, served: usize) {
        let work = packets + served;
        if let Some(bound) = self.pace.end_turn(now, work, served, self.backend.queue_depth()) {
            self.set_queue_bound(now, bound);
        }
        // Last, for what follows from it stands in the log with the RPCs dispatched next.
        if let Some(due) = self.backend.poll_timeout()
            && due <= now
        {
            self.expire(now);
        }
        if work > 0 {
            self.has_news = true;
            self.idle_since = None;
            self.wake_up();
        } else if self.idle_since.is_none() {
            self.idle_since = Some(now);
        }
        self.turns = self.turns.wrapping_add(1);
        let is_due = self.turns.is_multiple_of(TURNS_PER_STATUS)
            || work == 0 && self.has_news && now - self.status_at >= IDLE_PER_STATUS;
        if is_due && self.has_news {
            self.status_at = now;
            self.publish_status(work > 0);
        }
    }

    /// There is work: this engine is not about to sleep any more.
    #[inline(always)]
    fn wake_up(&mut self) {
        if std::mem::take(&mut self.is_armed) {
            self.bell.disarm();
        }
    }

    fn publish_status(&mut self, has_news: bool) {
        self.has_news = has_news;
        let extra = Extra {
            queue_bound: self.pace.queue_bound(),
            service: self.pace.service(),
            workers: u32::from(self.backend.config().cores),
            clients: self.port.clients(),
            violations: self.port.violations(),
            stolen: self.stolen,
            steered: self.steered,
            migrations: self.backend.migrations(),
            network: self.port.network(),
        };
        self.status.publish(&self.backend, extra);
        if let Some(recorder) = &mut self.recorder {
            recorder.flush();
        }
    }

    /// Lists the time since the last turn as a gap, if the work of that turn does not explain it.
    #[inline(always)]
    fn note_gap(&mut self, now: Timestamp, ticks: u64) {
        let elapsed = now - self.turn_started;
        if elapsed.as_ps() > self.port.turn_ps() && elapsed > self.pace.explained() {
            self.status.add_gap(self.turn_ticks, ticks);
        }
    }

    /// The time of this turn.
    #[inline(always)]
    pub(crate) fn now(&self) -> Timestamp {
        self.turn_started
    }

    /// Counts an RPC that the worker on this thread has served.
    #[inline(always)]
    pub(crate) fn count_served(&mut self) {
        self.served += 1;
    }

    /// One of those was not served after all.
    pub(crate) fn uncount_served(&mut self) {
        self.served = self.served.saturating_sub(1);
    }

    /// Notes that the worker on this thread has spent time on an RPC that is not over.
    pub(crate) fn note_unfinished(&mut self) {
        self.pace.note_unfinished();
    }

    /// For an inline worker: ends the turn that its own serving was part of.
    #[inline(always)]
    pub(crate) fn end_ingress(&mut self, now: Timestamp, packets: usize) {
        let served = std::mem::take(&mut self.served);
        self.end_turn(now, packets, served);
    }

    /// Rests after an idle turn, as far as the policy allows.
    #[inline]
    pub(crate) fn rest(&mut self, now: Timestamp) {
        if self.idle == IdlePolicy::Spin {
            return std::hint::spin_loop();
        }
        if let Some(since) = self.idle_since {
            if self.idle != IdlePolicy::Block || !self.block(now, now - since) {
                rest_after(now - since);
            }
            self.pace.has_rested();
            // Time at rest is no gap.
            self.turn_ticks = self.watch.ticks();
            self.turn_started = Timestamp::from_ps(self.watch.at_ps(self.turn_ticks));
        }
    }

    /// Sleeps until something comes; not at once, and never before another look for work. Whether it is done resting.
    #[cold]
    fn block(&mut self, now: Timestamp, silence: Span) -> bool {
        if silence < POLLED_FOR {
            return false;
        }
        if !std::mem::replace(&mut self.is_armed, true) {
            self.bell.arm();
            return true;
        }
        self.publish_status(false);
        let due = self.backend.poll_timeout();
        let timeout = due.map_or(SLEEP_MAX, |due| Duration::from_nanos((due - now).as_ns() + 1).min(SLEEP_MAX));
        let can_wait = self.port.wait(Some(timeout), self.bell.fd());
        self.bell.disarm();
        self.is_armed = false;
        can_wait
    }

    /// An inline worker is about to serve; when that is, if anyone is to know.
    #[inline(always)]
    pub(crate) fn begin_serving(&self) -> u64 {
        if matches!(self.port, Port::Udp(_)) { self.watch.now_ps() } else { 0 }
    }

    /// An inline worker that [began](Self::begin_serving) at `began` has served all it may, of `most`, or all there are.
    #[inline(always)]
    pub(crate) fn end_serving(&mut self, began: u64, most: usize) {
        if matches!(self.port, Port::Udp(_)) && self.served > 0 {
            let time = Span::from_ps(self.watch.now_ps().saturating_sub(began));
            self.pace.end_serving(time, self.served, most);
        }
    }

    /// RPCs that an inline worker serves before answers go out and packets are looked for: fewer where each takes long.
    #[inline(always)]
    pub(crate) fn rpcs_per_turn(&self) -> usize {
        match self.port {
            Port::Shm(_) => RPCS_PER_TURN as usize,
            Port::Udp(_) => self.pace.rpcs_within(TURN),
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn set_queue_bound(&mut self, now: Timestamp, bound: u32) {
        self.backend.set_queue_bound(bound);
        let thresholds = self.neighbors.as_mut().and_then(|neighbors| neighbors.set_queue_bound(bound));
        if let Some(recorder) = &mut self.recorder {
            recorder.queue_bound(now, bound);
            thresholds.into_iter().for_each(|thresholds| recorder.thresholds(now, thresholds));
        }
    }

    /// Abandons RPCs that did not become whole in time.
    #[cold]
    fn expire(&mut self, now: Timestamp) {
        self.backend.handle_timeout(now);
        self.has_news = true;
        if let Some(recorder) = &mut self.recorder {
            recorder.timeout(now);
        }
        self.drop_abandoned();
    }

    /// Takes back the slots of abandoned RPCs.
    fn drop_abandoned(&mut self) {
        while let Some(abandoned) = self.backend.poll_abandoned() {
            if let Some(recorder) = &mut self.recorder {
                recorder.abandoned(abandoned);
            }
            let answer = self.payloads.abandon(abandoned.slots);
            self.port.abandoned(abandoned.rpc, answer);
        }
    }

    /// Writes down what workers' own machines have decided since the last turn.
    #[inline(always)]
    fn collect_choices(&mut self, now: Timestamp) {
        if let (Some(recorder), Some(choices)) = (&mut self.recorder, &self.choices) {
            choices.try_iter().for_each(|choice| recorder.choice(now, choice));
        }
    }

    /// Takes back what a worker has done with.
    #[inline(always)]
    pub(crate) fn free(&mut self, now: Timestamp, served: Served) {
        let (core, slots) = (served.home, served.slots);
        let outcome = self.backend.handle_free(core, slots);
        if let Some(recorder) = &mut self.recorder {
            recorder.free(now, core, slots, outcome);
        }
        if let Freed::Foreign { origin } = outcome {
            return self.give_back(origin, served);
        }
        self.payloads.release(served.lease);
        self.port.ended(served.snid, served.answer);
    }

    /// Sends the answers that wait for it.
    #[inline(always)]
    pub(crate) fn flush(&mut self, now: Timestamp) {
        self.port.flush(now);
    }

    /// Acts on what the listener has seen.
    #[cold]
    fn read_letters(&mut self, now: Timestamp, letters: Vec<Letter>) {
        for letter in letters {
            match (letter, &mut self.port) {
                (Letter::Attach(channel), Port::Shm(rings)) => rings.attach(channel),
                (Letter::Gone(snid), _) => self.forget(now, snid),
                (Letter::Attach(_), Port::Udp(_)) => {}
            }
        }
        self.has_news = true;
    }

    /// Forgets a client: incomplete RPCs are dropped, complete ones run to their end.
    fn forget(&mut self, now: Timestamp, snid: NodeId) {
        self.backend.handle_peer_gone(snid);
        if let Some(recorder) = &mut self.recorder {
            recorder.peer_gone(now, snid);
        }
        self.drop_abandoned();
        if let Port::Shm(rings) = &mut self.port {
            rings.forget(snid);
        }
    }
}

/// Begins the log of an engine; each group of a server has its own file.
fn log(path: &Path, backend: &Backend, neighbors: Option<&Neighbors>) -> std::io::Result<Recorder> {
    let (Some(group), Some(neighbors)) = (backend.group(), neighbors) else {
        return Recorder::create(path, &format!("{LOG_HEADER} {}", backend.config()));
    };
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", group.group.0));
    let setup = GroupSetup { group, manager: neighbors.manager().clone() };
    Recorder::create(Path::new(&name), &format!("{GROUP_LOG_HEADER} {setup}"))
}

/// Rests as long as fits a silence of `silence`.
pub(crate) fn rest_after(silence: nebula_nic::Span) {
    use nebula_nic::Span;
    if silence < Span::from_us(20) {
        std::hint::spin_loop();
    } else if silence < Span::from_ms(5) {
        std::thread::yield_now();
    } else {
        std::thread::sleep(std::time::Duration::from_micros(50));
    }
}

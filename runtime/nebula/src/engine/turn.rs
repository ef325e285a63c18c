//! The engine, and one turn of it: when it begins, when it ends, and what that is told.

use super::long_turn::{self, LongTurn};
use super::recent::Recent;
use crate::config::error::{LogError, ServeError};
use crate::config::kind::Kind;
use crate::config::server::{IdlePolicy, ServerConfig};
use crate::net::Watch;
use crate::nic::ingress::{Intake, Others, RPCS_PER_TURN};
use crate::nic::neighbors::Neighbors;
use crate::nic::pace::Pace;
use crate::nic::payloads::Payloads;
use crate::nic::recorder::{Choice, FirstLogError, Recorder};
use crate::nic::refusals::Refusals;
use crate::nic::transport::Transport;
use crate::rpc::job::WorkerLink;
use crate::rpc::parking::Parker;
use crate::rpc::rpc_types::RpcTypes;
use crate::status::{Extra, Meter, StatusPage};
use crate::yielding::Yielding;
use nebula_nic::decision::{GROUP_LOG_HEADER, GroupSetup, LOG_HEADER};
use nebula_nic::schedule::PatternCounts;
use nebula_nic::{Backend, Policy, Span, Timestamp};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::Receiver;

/// How long answers may wait for others to share a datagram with: about what sending one costs.
const TURN: Span = Span::from_us(8);
/// RPCs that are served in a long turn at most, however little of the SLO they take.
const RPCS_PER_LONG_TURN: u32 = 8192;
/// Of the SLO, what is left to the queue where a request may wait long before it is seen, and all
/// that waits is queued.
const QUEUE_SHARE: u64 = 4;
/// Turns with work between two writes of the status page.
const TURNS_PER_STATUS: u32 = 256;
/// Least time between two writes of it where there is no work.
const IDLE_PER_STATUS: Span = Span::from_us(50);
/// Time that a turn may take beside its RPCs before it counts as a pause of the machine, in
/// picoseconds.
const TURN_PS: u64 = 2_000_000;
/// The same of a turn that makes system calls.
const TURN_OF_CALLS_PS: u64 = 40_000_000;

/// The engine of one server, or of one group of it.
#[derive(Debug)]
pub(crate) struct Engine<T> {
    pub(super) transport: T,
    /// The decider, and the memory and the log of what it decides: lent to the transport while that
    /// is polled.
    pub(super) intake: Intake,
    pub(super) links: Vec<WorkerLink>,
    pub(super) pace: Pace,
    pub(super) clock: TurnClock,
    pub(super) rest: Rest,
    pub(super) report: Report,
    /// What the worker on this thread samples of the RPCs that it serves before they are queued, or
    /// in runs.
    pub(super) meter: Meter,
    /// Whether the server ends when what is inside is answered, and takes nothing in any more.
    drain: Drain,
    /// What tells the types of RPCs apart, where the policy asks for that.
    pub(super) types: Option<RpcTypes>,
    /// What workers' own machines have decided, for the log.
    choices: Option<Receiver<Choice>>,
    /// RPCs that the worker on this thread has served since the last turn.
    served: usize,
    /// RPCs that a worker on this thread serves in a turn at most.
    pub(super) turn_rpcs_max: u32,
    /// Whether a worker on this thread takes what waits in runs.
    pub(super) may_serve_runs: bool,
    /// Whether it may serve what comes before that is queued.
    pub(super) may_serve_at_once: bool,
    /// What a turn may take, where that is a share of the SLO. Domains that share a core have short
    /// turns.
    pub(super) long_turn: Option<LongTurn>,
    stop: Arc<AtomicBool>,
    /// Workers that may give something back yet, after the server was stopped.
    workers: Arc<AtomicU32>,
}

/// When the turn began.
#[derive(Debug)]
pub(super) struct TurnClock {
    pub(super) watch: Watch,
    pub(super) started: Timestamp,
    pub(super) ticks: u64,
    /// Since when there was nothing to do.
    pub(super) idle_since: Option<Timestamp>,
    /// Rings found empty since anything else was looked at.
    pub(super) idle_looks: u32,
}

/// How the engine rests.
#[derive(Debug)]
pub(super) struct Rest {
    pub(super) policy: IdlePolicy,
    /// What wakes this engine where it sleeps.
    pub(super) parker: Arc<Parker>,
    pub(super) is_armed: bool,
    pub(super) yielding: Yielding,
}

/// What the status page is told.
#[derive(Debug)]
pub(super) struct Report {
    page: StatusPage,
    turns: u32,
    /// When the page was written last.
    written: Timestamp,
    pub(super) has_news: bool,
    /// RPCs served by another worker than the one that they were given to.
    pub(super) stolen: u64,
    /// RPCs whose payload was steered.
    pub(super) steered: u64,
    started_ticks: u64,
    recent: Recent,
    /// Whether the worker is on this thread.
    is_inline: bool,
    /// Whether this engine has no separate thread, and so no time either.
    is_shared: bool,
    slo: Span,
}

/// What bounds the ingress of a long turn, in picoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Until when RPCs are served at once, and for how long in any case.
    pub(super) serves_until_ps: u64,
    pub(super) serves_least_ps: u64,
    /// What each of them takes.
    pub(super) each_ps: u64,
    /// Until when packets are taken in or turned away.
    pub(super) takes_until_ps: u64,
}

/// Whether the server drains.
#[derive(Debug)]
struct Drain {
    asked: Arc<AtomicBool>,
    /// Whether this engine has begun to refuse whatever comes.
    is_on: bool,
}

/// What an engine is made of, beside its configuration.
pub(crate) struct Parts<T> {
    pub(crate) transport: T,
    pub(crate) watch: Watch,
    pub(crate) parker: Arc<Parker>,
    pub(crate) status: StatusPage,
    pub(crate) meter: Meter,
    pub(crate) drain: Arc<AtomicBool>,
    pub(crate) links: Vec<WorkerLink>,
    pub(crate) choices: Option<Receiver<Choice>>,
    pub(crate) log_error: FirstLogError,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) workers: Arc<AtomicU32>,
}

impl<T: Transport> Engine<T> {
    /// The engine of a whole server, or of one group of it.
    pub(crate) fn try_new(
        config: &ServerConfig,
        group: Option<(Backend, Neighbors)>,
        parts: Parts<T>,
    ) -> Result<Self, ServeError> {
        let has_long_turns = T::SENDS_AT_ONCE && config.turn_rpcs_max >= RPCS_PER_TURN;
        let queue_share = match T::SENDS_AT_ONCE {
            // A back end of the same policy tells: little is queued where most is served as it
            // comes.
            true if has_long_turns && config.may_serve_at_once() && config.backend(T::SOURCES)?.takes_bursts() => {
                long_turn::QUEUE_SHARE
            }
            true => QUEUE_SHARE,
            false => 1,
        };
        let queueing = ServerConfig { slo: config.slo / queue_share, ..config.clone() };
        let (backend, neighbors) = match group {
            Some((backend, neighbors)) => (backend, Some(Box::new(neighbors))),
            None => (queueing.backend(T::SOURCES)?, None),
        };
        let slots = backend.config().slots;
        let all_slots = neighbors.as_ref().map(|neighbors| slots * neighbors.groups());
        let payloads = Payloads::new(slots, backend.first_slot(), all_slots)?;
        let log = |path| log(path, &backend, neighbors.as_deref(), parts.log_error);
        let recorder = config.decision_log.as_deref().map(log).transpose()?;
        let serves_at_once = config.may_serve_at_once() && backend.takes_bursts();
        // A worker on this thread asks, and one that serves runs asks each run itself.
        let serves_runs = T::SERVES_RUNS && serves_at_once;
        let notes_fresh = config.is_inline() && !serves_runs;
        let watch = parts.watch;
        let ticks = watch.ticks();
        let started = Timestamp::from_ps(watch.at_ps(ticks));
        Ok(Self {
            transport: parts.transport,
            intake: Intake::new(
                backend,
                neighbors,
                payloads,
                recorder,
                Refusals::new(T::MAKES_SYSTEM_CALLS),
                notes_fresh,
            ),
            links: parts.links,
            pace: Pace::new(&queueing),
            clock: TurnClock { started, ticks, watch, idle_since: None, idle_looks: 0 },
            rest: Rest { policy: config.idle, parker: parts.parker, is_armed: false, yielding: Yielding::new() },
            report: Report {
                page: parts.status,
                turns: 0,
                written: Timestamp::ZERO,
                has_news: true,
                stolen: 0,
                steered: 0,
                started_ticks: ticks,
                recent: Recent::default(),
                is_inline: config.is_inline(),
                is_shared: config.kind() == Kind::Shared,
                slo: config.slo,
            },
            meter: parts.meter,
            drain: Drain { asked: parts.drain, is_on: false },
            types: config.rpc_types.clone().filter(|_| config.policy == Policy::Darc),
            choices: parts.choices,
            served: 0,
            may_serve_runs: serves_runs,
            may_serve_at_once: serves_at_once,
            long_turn: has_long_turns.then(|| LongTurn::new(config.slo)),
            turn_rpcs_max: config.turn_rpcs_max.clamp(1, RPCS_PER_TURN),
            stop: parts.stop,
            workers: parts.workers,
        })
    }

    /// Begins a turn: reads the clock and the control messages.
    #[inline]
    pub(crate) fn begin_turn(&mut self) -> Timestamp {
        let ticks = self.clock.watch.ticks();
        let now = Timestamp::from_ps(self.clock.watch.at_ps(ticks));
        self.note_gap(now, ticks);
        if T::SENDS_AT_ONCE
            && let Some(turn) = &mut self.long_turn
        {
            let has_worked = self.clock.idle_since.is_none() && self.report.turns > 0;
            turn.end(has_worked.then(|| now - self.clock.started));
        }
        (self.clock.started, self.clock.ticks) = (now, ticks);
        self.collect_choices(now);
        if let Some(gone) = self.transport.news() {
            self.report.has_news = true;
            gone.into_iter().for_each(|snid| self.forget(now, snid));
        }
        now
    }

    /// Takes what has come, at most some packets of each client: the transport has each
    /// [received](crate::nic::ingress::Intake::receive). Returns the packets.
    #[inline]
    pub(crate) fn poll_packets(&mut self, now: Timestamp) -> usize {
        self.intake.begin_turn();
        self.transport.poll(now, &mut self.intake, &mut Others)
    }

    /// Calls `visit` with the payload of each RPC that arrived in this turn.
    #[inline(always)]
    pub(crate) fn for_each_fresh(&self, visit: impl FnMut(&[u8])) {
        self.intake.for_each_fresh(visit);
    }

    /// Ends a turn that took `packets` in and `served` RPCs out; whether it did anything decides
    /// about resting.
    #[inline]
    pub(crate) fn end_turn(&mut self, now: Timestamp, packets: usize, served: usize) {
        let work = packets + served;
        let waiting = self.intake.backend.queue_depth();
        self.report.recent.end_turn(work, waiting);
        if let Some(bound) = self.pace.end_turn(now, work, served, waiting)
            && !self.drain.is_on
        {
            self.set_queue_bound(now, bound);
        }
        // Last, for what follows from it stands in the log with the RPCs dispatched next.
        if let Some(due) = self.intake.backend.poll_timeout()
            && due <= now
        {
            self.expire(now);
        }
        if work > 0 {
            self.report.has_news = true;
            self.clock.idle_since = None;
            self.wake_up();
        } else if self.clock.idle_since.is_none() {
            self.clock.idle_since = Some(now);
        }
        let report = &mut self.report;
        report.turns = report.turns.wrapping_add(1);
        let is_due = report.turns.is_multiple_of(TURNS_PER_STATUS)
            || work == 0 && report.has_news && now - report.written >= IDLE_PER_STATUS;
        if is_due && report.has_news {
            report.written = now;
            self.publish_status(work > 0);
        }
        if is_due && self.drain.asked.load(Ordering::Relaxed) {
            self.begin_to_drain(now);
        }
    }

    /// From here on everything that comes is refused, and its client told; what has come before is
    /// served.
    #[cold]
    fn begin_to_drain(&mut self, now: Timestamp) {
        if !std::mem::replace(&mut self.drain.is_on, true) {
            self.set_queue_bound(now, 0);
            self.transport.let_nobody_in();
        }
        self.publish_status(false);
    }

    pub(super) fn publish_status(&mut self, has_news: bool) {
        self.report.has_news = has_news;
        let backend = &self.intake.backend;
        self.report.recent.look(self.clock.started, backend.slots_used());
        let extra = Extra {
            queue_depth_recent: self.report.recent.queue_depth(),
            slots_used_recent: self.report.recent.slots_used(),
            busy_ps: if self.report.is_shared { 0 } else { self.report.recent.busy_ps() },
            is_inline: self.report.is_inline,
            slo: self.report.slo,
            started_ticks: self.report.started_ticks,
            written_ticks: self.clock.ticks,
            is_draining: self.drain.is_on,
            queue_bound: self.pace.queue_bound(),
            service: self.pace.service(),
            workers: u32::from(backend.config().cores),
            clients: self.transport.clients(),
            violations: self.transport.violations(),
            stolen: self.report.stolen,
            steered: self.report.steered,
            migrations: backend.migrations(),
            patterns: self
                .intake
                .neighbors
                .as_ref()
                .map_or_else(PatternCounts::default, |neighbors| neighbors.manager.patterns()),
            network: self.transport.counters(),
        };
        self.report.page.publish(backend, extra);
        if let Some(recorder) = &mut self.intake.recorder {
            recorder.flush();
        }
    }

    /// Lists the time since the last turn as a gap, if the work of that turn does not explain it.
    #[inline(always)]
    fn note_gap(&mut self, now: Timestamp, ticks: u64) {
        let elapsed = now - self.clock.started;
        self.report.recent.begin_turn(elapsed);
        let turn_ps = if T::MAKES_SYSTEM_CALLS { TURN_OF_CALLS_PS } else { TURN_PS };
        if elapsed.as_ps() > turn_ps && elapsed > self.pace.explained() {
            self.report.page.add_gap(self.clock.ticks, ticks);
        }
    }

    /// The time of this turn.
    #[inline(always)]
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.started
    }

    /// When an RPC ends that the worker on this thread has served: in this turn, and to the tick
    /// where how long it took decides something.
    #[inline(always)]
    pub(crate) fn time_of_end(&self) -> Timestamp {
        if self.types.is_some() { self.time_by_clock() } else { self.now() }
    }

    #[inline(never)]
    fn time_by_clock(&self) -> Timestamp {
        Timestamp::from_ps(self.clock.watch.now_ps())
    }

    /// Counts RPCs that the worker on this thread has served.
    #[inline(always)]
    pub(crate) fn count_served(&mut self, rpcs: usize) {
        self.served += rpcs;
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

    /// An inline worker is about to serve; when that is, if anyone is to know.
    #[inline(always)]
    pub(crate) fn begin_serving(&self) -> u64 {
        if T::MAKES_SYSTEM_CALLS { self.clock.watch.now_ps() } else { 0 }
    }

    /// An inline worker that [began](Self::begin_serving) at `began` has served `served` of the
    /// RPCs that waited: all it may, or all there are.
    #[inline(always)]
    pub(crate) fn end_serving(&mut self, began: u64, served: usize, most: usize) {
        if T::MAKES_SYSTEM_CALLS && served > 0 {
            let time = Span::from_ps(self.clock.watch.now_ps().saturating_sub(began));
            self.pace.end_serving(time, served, if T::SENDS_AT_ONCE { served } else { most });
            let turned_away = self.intake.refusals.turned_away();
            if turned_away > 0 {
                self.pace.end_ingress(Timestamp::from_ps(began), turned_away);
            }
        }
    }

    /// What bounds the ingress of a turn that begins now; none where that is the number of RPCs.
    #[inline(always)]
    pub(super) fn bounds_of_ingress(&self) -> Option<Bounds> {
        let (turn, began) = (self.long_turn.as_ref()?, self.clock.started);
        Some(Bounds {
            serves_until_ps: (began + turn.serves()).as_ps(),
            serves_least_ps: turn.serves_least().as_ps(),
            each_ps: self.pace.handler_mean().as_ps().max(1),
            takes_until_ps: (began + turn.ingress()).as_ps(),
        })
    }

    /// RPCs that an inline worker serves before answers go out and packets are looked for: fewer
    /// where each takes long and answers wait.
    #[inline(always)]
    pub(crate) fn rpcs_per_turn(&self) -> usize {
        match self.intake.refusals.turned_away() {
            _ if !T::MAKES_SYSTEM_CALLS => self.turn_rpcs_max as usize,
            // All that the bound has let in: each client's answers then go out by one call.
            _ if self.long_turn.is_some() => RPCS_PER_LONG_TURN as usize,
            0 => self.pace.rpcs_within(TURN).min(self.turn_rpcs_max as usize),
            _ => self.rpcs_beside_refusals().min(self.turn_rpcs_max as usize),
        }
    }

    /// RPCs that are served before any is queued, at most.
    #[inline(always)]
    pub(super) fn rpcs_at_once(&self) -> u32 {
        if self.long_turn.is_some() {
            return RPCS_PER_LONG_TURN;
        }
        u32::try_from(self.pace.rpcs_within(TURN)).map_or(self.turn_rpcs_max, |rpcs| rpcs.min(self.turn_rpcs_max))
    }

    /// As many as take as long as the ingress of this turn, much of which went into packets that
    /// were turned away; yet not so many that what comes meanwhile waits for a large part of the
    /// SLO.
    #[cold]
    fn rpcs_beside_refusals(&self) -> usize {
        let now = Timestamp::from_ps(self.clock.watch.now_ps());
        let as_long = self.pace.rpcs_of(now - self.clock.started).min(self.pace.rpcs_in_turn());
        self.pace.rpcs_within(TURN).max(as_long)
    }

    /// Whether the server stops, and no worker with a thread of the server's is left.
    pub(crate) fn is_over(&self) -> bool {
        // Acquire: what they gave back is seen.
        self.stop.load(Ordering::Relaxed) && self.workers.load(Ordering::Acquire) == 0
    }

    fn set_queue_bound(&mut self, now: Timestamp, bound: u32) {
        let Intake { backend, neighbors, recorder, .. } = &mut self.intake;
        backend.set_queue_bound(bound);
        let thresholds = neighbors.as_mut().and_then(|neighbors| neighbors.set_queue_bound(bound));
        if let Some(recorder) = recorder {
            recorder.queue_bound(now, bound);
            thresholds.into_iter().for_each(|thresholds| recorder.thresholds(now, thresholds));
        }
    }

    /// Writes down what workers' own machines have decided since the last turn.
    #[inline(always)]
    fn collect_choices(&mut self, now: Timestamp) {
        if let (Some(recorder), Some(choices)) = (&mut self.intake.recorder, &self.choices) {
            choices.try_iter().for_each(|choice| recorder.choice(now, choice));
        }
    }

    /// Sends the answers that wait for it.
    #[inline(always)]
    pub(crate) fn flush(&mut self, now: Timestamp) {
        self.transport.flush(now);
    }
}

/// Begins the log of an engine.
fn log(
    path: &Path,
    backend: &Backend,
    neighbors: Option<&Neighbors>,
    error: FirstLogError,
) -> Result<Recorder, LogError> {
    let (Some(group), Some(neighbors)) = (backend.group(), neighbors) else {
        return Recorder::create(path, &format!("{LOG_HEADER} {}", backend.config()), error);
    };
    let setup = GroupSetup { group, manager: neighbors.manager().clone() };
    Recorder::create(path, &format!("{GROUP_LOG_HEADER} {setup}"), error)
}

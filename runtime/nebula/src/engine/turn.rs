//! The engine, and the beginning and end of its turns.

use super::paced::{LoggedPace, begin_long_turns, end_long_turn};
use super::recent::Recent;
use crate::config::error::{LogError, ServeError};
use crate::config::kind::Kind;
use crate::config::server::{IdlePolicy, ServerConfig};
use crate::net::Watch;
use crate::nic::ingress::{Intake, Others, RPCS_PER_TURN};
use crate::nic::neighbors::Neighbors;
use crate::nic::payloads::Payloads;
use crate::nic::recorder::{Choice, FirstLogError, Recorder};
use crate::nic::transport::Transport;
use crate::rpc::job::WorkerLink;
use crate::rpc::parking::Parker;
use crate::rpc::rpc_types::RpcTypes;
use crate::status::{Meter, Status, StatusPage};
use crate::yielding::Yielding;
use nebula_nic::decision::{GROUP_LOG_HEADER, GroupSetup, LOG_HEADER};
use nebula_nic::turn::{Bounds, LongTurn, Refusals, long_turn};
use nebula_nic::{Backend, CLIENTS_WAITING_MAX, NackReason, Span, Timestamp};
use nebula_sys::process::preemptions;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::Receiver;

/// The queue has the SLO divided by this where requests may wait long before they are read and
/// queued.
const QUEUE_SHARE: u64 = 4;
const TURNS_PER_STATUS: u32 = 256;
const IDLE_PER_STATUS: Span = Span::from_us(50);
/// Time of a turn without its RPCs above which it counts as a pause of the machine, in picoseconds.
const TURN_PS: u64 = 2_000_000;
/// The same of a turn with system calls.
const TURN_OF_CALLS_PS: u64 = 40_000_000;

#[derive(Debug)]
pub(crate) struct Engine<T> {
    pub(super) transport: T,
    /// The decider, with the memory and the log of its decisions: lent to the transport during a
    /// poll.
    pub(super) intake: Intake,
    pub(super) links: Vec<WorkerLink>,
    pub(super) pace: LoggedPace,
    pub(super) clock: TurnClock,
    pub(super) rest: Rest,
    pub(super) report: Report,
    pub(super) meter: Meter,
    drain: Drain,
    /// Distinguishes the types of RPCs, under a policy with types.
    pub(super) types: Option<RpcTypes>,
    choices: Option<Receiver<Choice>>,
    served: usize,
    /// The clients whose room in the queue was last counted.
    clients: u32,
    clients_max: u32,
    pub(super) turn_rpcs_max: u32,
    pub(super) may_serve_runs: bool,
    /// Whether a worker on this thread may serve RPCs on arrival, before they are queued.
    pub(super) may_serve_at_once: bool,
    /// Limits of long turns; domains that share a core have short ones.
    pub(super) long_turn: Option<LongTurn>,
    stop: Arc<AtomicBool>,
    workers: Arc<AtomicU32>,
}

#[derive(Debug)]
pub(super) struct TurnClock {
    pub(super) watch: Watch,
    pub(super) started: Timestamp,
    pub(super) ticks: u64,
    pub(super) idle_since: Option<Timestamp>,
    pub(super) idle_looks: u32,
    /// Of this thread, at the last gap.
    preemptions: u64,
}

#[derive(Debug)]
pub(super) struct Rest {
    pub(super) spins: bool,
    /// The silence after which it sleeps until something arrives, if it may.
    pub(super) sleeps_after: Option<Span>,
    pub(super) parker: Arc<Parker>,
    pub(super) is_armed: bool,
    pub(super) yielding: Yielding,
}

#[derive(Debug)]
pub(super) struct Report {
    page: StatusPage,
    turns: u32,
    written: Timestamp,
    pub(super) has_news: bool,
    pub(super) stolen: u64,
    pub(super) steered: u64,
    started_ticks: u64,
    recent: Recent,
    is_inline: bool,
    /// Whether this engine has no thread, and so no busy time.
    is_shared: bool,
    slo: Span,
}

#[derive(Debug)]
struct Drain {
    asked: Arc<AtomicBool>,
    is_on: bool,
}

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
    pub(crate) fn try_new(
        config: &ServerConfig,
        group: Option<(Backend, Neighbors)>,
        parts: Parts<T>,
    ) -> Result<Self, ServeError> {
        let has_long_turns = T::SENDS_AT_ONCE && config.turn_rpcs_max >= RPCS_PER_TURN;
        let queue_share = match T::SENDS_AT_ONCE {
            // A back end of the same policy is asked: little is queued if most RPCs are served on
            // arrival.
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
        let mut recorder = config.decision_log.as_deref().map(log).transpose()?;
        let serves_at_once = config.may_serve_at_once() && backend.takes_bursts();
        // A worker on this thread prefetches fresh RPCs; one that serves runs does so in each run.
        let serves_runs = T::SERVES_RUNS && serves_at_once;
        let notes_fresh = config.is_inline() && !serves_runs;
        let watch = parts.watch;
        let ticks = watch.ticks();
        let started = Timestamp::from_ps(watch.at_ps(ticks));
        let pace = LoggedPace::new(queueing.pace(), started, &mut recorder);
        let long_turn = has_long_turns.then(|| begin_long_turns(config.slo, started, &mut recorder));
        Ok(Self {
            transport: parts.transport,
            intake: Intake::new(
                backend,
                neighbors,
                payloads,
                recorder,
                Refusals::new(Refusals::time_each(T::MAKES_SYSTEM_CALLS)),
                notes_fresh,
            ),
            links: parts.links,
            pace,
            clock: TurnClock { started, ticks, watch, idle_since: None, idle_looks: 0, preemptions: 0 },
            rest: Rest {
                sleeps_after: config.sleeps_after(&parts.parker),
                spins: config.idle == IdlePolicy::Spin,
                parker: parts.parker,
                is_armed: false,
                yielding: Yielding::new(),
            },
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
            types: config.rpc_types().cloned(),
            choices: parts.choices,
            served: 0,
            clients: 0,
            clients_max: config.clients_waiting_max.min(CLIENTS_WAITING_MAX),
            may_serve_runs: serves_runs,
            may_serve_at_once: serves_at_once,
            long_turn,
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
            let elapsed = has_worked.then(|| now - self.clock.started);
            end_long_turn(turn, now, elapsed, &mut self.intake.recorder);
        }
        (self.clock.started, self.clock.ticks) = (now, ticks);
        self.collect_choices(now);
        if let Some(gone) = self.transport.news() {
            self.report.has_news = true;
            gone.into_iter().for_each(|snid| self.forget(now, snid));
        }
        if self.clients_active() > self.clients {
            self.note_clients(now);
        }
        now
    }

    /// Clients with room in the queue for one RPC each, at most as many as count.
    #[inline(always)]
    fn clients_active(&self) -> u32 {
        self.transport.clients_active().unwrap_or_else(|| self.intake.backend.sources()).min(self.clients_max)
    }

    /// More clients have room at once; fewer do when the status is published, since it is no hurry.
    #[cold]
    fn note_clients(&mut self, now: Timestamp) {
        self.clients = self.clients_active();
        let floor = self.intake.backend.queue_bound_for(self.clients);
        if let Some(bound) = self.pace.set_floor(now, floor, &mut self.intake.recorder)
            && !self.drain.is_on
        {
            self.set_queue_bound(now, bound);
        }
    }

    /// Receives packets, at most some of each client. Returns their number.
    #[inline]
    pub(crate) fn poll_packets(&mut self, now: Timestamp) -> usize {
        self.intake.begin_turn();
        self.transport.poll(now, &mut self.intake, &mut Others)
    }

    #[inline(always)]
    pub(crate) fn for_each_fresh(&self, visit: impl FnMut(&[u8])) {
        self.intake.for_each_fresh(visit);
    }

    /// Ends a turn that took `packets` in and served `served` RPCs. A turn without either may rest.
    #[inline]
    pub(crate) fn end_turn(&mut self, now: Timestamp, packets: usize, served: usize) {
        let work = packets + served;
        let waiting = self.intake.backend.queue_depth();
        self.report.recent.end_turn(work, waiting);
        if let Some(bound) = self.pace.end_turn(now, (work, served), waiting, &mut self.intake.recorder)
            && !self.drain.is_on
        {
            self.set_queue_bound(now, bound);
        }
        // Last: the log has its results together with the RPCs dispatched next.
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
        if is_due && self.clients_active() < self.clients {
            self.note_clients(now);
        }
        if is_due && self.drain.asked.load(Ordering::Relaxed) {
            self.begin_to_drain(now);
        }
    }

    /// From here on the engine refuses new RPCs with a NACK, and serves those accepted before.
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
        self.report.recent.look(self.clock.started, self.intake.backend.slots_used());
        self.report.page.publish(self.status());
        if let Some(recorder) = &mut self.intake.recorder {
            recorder.flush();
        }
    }

    fn status(&self) -> Status {
        let (Intake { backend, neighbors, .. }, report, recent) = (&self.intake, &self.report, &self.report.recent);
        let (counters, of_transport) = (backend.counters(), self.transport.counters());
        let (migrations, darc) = (backend.migrations(), backend.darc());
        let patterns = neighbors.as_ref().map(|neighbors| neighbors.manager.patterns()).unwrap_or_default();
        Status {
            packets: counters.packets,
            completed: counters.completed,
            dispatched: counters.dispatched,
            freed: counters.freed,
            abandoned: counters.abandoned,
            nacked_buffer_full: counters.nacked(NackReason::BufferFull) + of_transport.nacked_buffer_full,
            nacked_reassembler_full: counters.nacked(NackReason::ReassemblerFull),
            nacked_queue_bound: counters.nacked(NackReason::QueueBound),
            nacked_too_large: counters.nacked(NackReason::TooLarge),
            dropped: counters.dropped_total(),
            slots: backend.config().slots.into(),
            slots_used: backend.slots_used().into(),
            slots_used_max: backend.slots_used_max().into(),
            queue_depth: backend.queue_depth().into(),
            queue_depth_max: backend.queue_depth_max().into(),
            queue_bound: self.pace.queue_bound().into(),
            service: self.pace.service(),
            workers: backend.config().cores.into(),
            stolen: report.stolen,
            steered: report.steered,
            migrated_out: migrations.sent - migrations.sent_back,
            migrated_in: migrations.adopted,
            migrations_hill: patterns.hill,
            migrations_valley: patterns.valley,
            migrations_pairing: patterns.pairing,
            queue_depth_recent: recent.queue_depth().into(),
            slots_used_recent: recent.slots_used().into(),
            incomplete: backend.incomplete().into(),
            reassembler_entries: backend.config().reassembler_entries.into(),
            engine_busy: Span::from_ps(if report.is_shared { 0 } else { recent.busy_ps() }),
            darc_plans: darc.map_or(0, |darc| darc.plans().into()),
            darc_groups: darc.map_or(0, |darc| darc.groups() as u64),
            started_ticks: report.started_ticks,
            written_ticks: self.clock.ticks,
            is_draining: self.drain.is_on,
            is_inline: report.is_inline,
            slo: report.slo,
            ..of_transport
        }
    }

    /// Adds the time since the last turn to the gaps, unless the work of that turn explains it.
    #[inline(always)]
    fn note_gap(&mut self, now: Timestamp, ticks: u64) {
        let elapsed = now - self.clock.started;
        self.report.recent.begin_turn(elapsed);
        let turn_ps = if T::MAKES_SYSTEM_CALLS { TURN_OF_CALLS_PS } else { TURN_PS };
        if elapsed.as_ps() > turn_ps && elapsed > self.pace.explained() {
            self.report.page.add_gap(self.clock.ticks, ticks);
            self.leave_out_pause();
        }
    }

    /// A turn in which another thread had this core shows no service time. A turn that was long for
    /// another reason does: a handler may have become slow.
    #[cold]
    fn leave_out_pause(&mut self) {
        // In simulated time no thread has the core for long.
        let preemptions = if self.clock.watch.is_of_machine() { preemptions() } else { 0 };
        if std::mem::replace(&mut self.clock.preemptions, preemptions) != preemptions {
            self.pace.leave_out_turn(self.clock.started, &mut self.intake.recorder);
        }
    }

    pub(crate) fn serves_runs(&self) -> bool {
        self.may_serve_runs
    }

    #[inline(always)]
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.started
    }

    /// When an RPC ends: the time of this turn, or an exact one if a policy decides by it.
    #[inline(always)]
    pub(crate) fn time_of_end(&self) -> Timestamp {
        if self.types.is_some() { self.time_by_clock() } else { self.now() }
    }

    #[inline(never)]
    fn time_by_clock(&self) -> Timestamp {
        Timestamp::from_ps(self.clock.watch.now_ps())
    }

    #[inline(always)]
    pub(crate) fn count_served(&mut self, rpcs: usize) {
        self.served += rpcs;
    }

    /// Corrects [`count_served`](Self::count_served) for an RPC that was not served after all.
    pub(crate) fn uncount_served(&mut self) {
        self.served = self.served.saturating_sub(1);
    }

    /// Notes that the worker on this thread has spent time on an unfinished RPC.
    pub(crate) fn note_unfinished(&mut self) {
        self.pace.note_unfinished(self.clock.started, &mut self.intake.recorder);
    }

    /// For an inline worker: ends a turn that included its serving.
    #[inline(always)]
    pub(crate) fn end_ingress(&mut self, now: Timestamp, packets: usize) {
        let served = std::mem::take(&mut self.served);
        self.end_turn(now, packets, served);
    }

    /// Returns the time at which an inline worker begins to serve; 0 if it is not needed.
    #[inline(always)]
    pub(crate) fn begin_serving(&self) -> u64 {
        if T::MAKES_SYSTEM_CALLS { self.clock.watch.now_ps() } else { 0 }
    }

    /// An inline worker has served `served` of at most `most` RPCs since `began`.
    #[inline(always)]
    pub(crate) fn end_serving(&mut self, began: u64, served: usize, most: usize) {
        if T::MAKES_SYSTEM_CALLS && served > 0 {
            let time = Span::from_ps(self.clock.watch.now_ps().saturating_sub(began));
            let most = if T::SENDS_AT_ONCE { served } else { most };
            self.pace.end_serving(self.clock.started, time, (served, most), &mut self.intake.recorder);
            let turned_away = self.intake.refusals.turned_away();
            if turned_away > 0 {
                let began = Timestamp::from_ps(began);
                self.pace.end_ingress(began, turned_away, &mut self.intake.recorder);
            }
        }
    }

    #[inline(always)]
    pub(super) fn bounds_of_ingress(&self) -> Option<Bounds> {
        Some(self.long_turn.as_ref()?.bounds(self.clock.started, self.pace.handler_mean()))
    }

    /// RPCs that an inline worker serves before it sends answers: fewer if each takes long.
    #[inline(always)]
    pub(crate) fn rpcs_per_turn(&mut self) -> usize {
        match self.intake.refusals.turned_away() {
            _ if !T::MAKES_SYSTEM_CALLS => self.turn_rpcs_max as usize,
            // All RPCs within the bound: each client's answers then take one system call.
            _ if self.long_turn.is_some() => long_turn::RPCS_MAX as usize,
            0 => self.pace.rpcs_together().min(self.turn_rpcs_max as usize),
            _ => self.rpcs_beside_refusals().min(self.turn_rpcs_max as usize),
        }
    }

    #[inline(always)]
    pub(super) fn rpcs_at_once(&self) -> u32 {
        if self.long_turn.is_some() {
            return long_turn::RPCS_MAX;
        }
        u32::try_from(self.pace.rpcs_together()).map_or(self.turn_rpcs_max, |rpcs| rpcs.min(self.turn_rpcs_max))
    }

    /// The ingress has taken its time until now.
    #[cold]
    fn rpcs_beside_refusals(&mut self) -> usize {
        let now = Timestamp::from_ps(self.clock.watch.now_ps());
        self.pace.rpcs_beside_refusals(now, now - self.clock.started, &mut self.intake.recorder)
    }

    pub(crate) fn is_over(&self) -> bool {
        // Acquire: sees everything that the workers gave back.
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

    #[inline(always)]
    fn collect_choices(&mut self, now: Timestamp) {
        if let (Some(recorder), Some(choices)) = (&mut self.intake.recorder, &self.choices) {
            choices.try_iter().for_each(|choice| recorder.choice(now, choice));
        }
    }

    #[inline(always)]
    pub(crate) fn flush(&mut self, now: Timestamp) {
        self.transport.flush(now);
    }
}

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

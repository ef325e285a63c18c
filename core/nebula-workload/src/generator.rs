//! The open-loop client: the operations to send, and their outcomes.
//!
//! A state machine between a schedule and a transport, without clock or socket. Each iteration of
//! the client's loop sends the due operations and reports what was received:
//!
//! ```text
//! while let Some((token, operation)) = generator.poll_send(now) {
//!     if the transport has no room { generator.handle_refused(now, token) }      // or handle_blocked(token), and break
//! }
//! for each reply { generator.handle_reply(now, token, found) }       // or handle_nack, handle_lost
//! ```
//!
//! Latency counts from the time at which the *schedule* intended an operation to be sent. It
//! includes all delays of the send: a full transport, a full table or a late loop. So a stalled
//! server cannot delay the very requests that would have measured the stall (coordinated omission).
//!
//! The lateness of sends is recorded too, excluding time without room for them; see
//! [`LoadReport::generator_was_late`].

use std::collections::VecDeque;

use nebula_nic::{Span, Timestamp};

use crate::by_op::ByOp;
use crate::operation::Operation;
use crate::outstanding::{Entry, Outstanding, Token};
use crate::recorder::{Latency, LatencyRecorder};
use crate::report::{Counts, LoadReport};
use crate::schedule::Schedule;
use crate::tails::Tails;

/// The limits and thresholds of a [`Generator`].
///
/// # Examples
///
/// ```
/// use nebula_nic::Span;
/// use nebula_workload::GeneratorConfig;
///
/// let config = GeneratorConfig { warm_up: Span::from_ms(200), ..GeneratorConfig::default() };
/// assert_eq!(config.late_after, Span::from_us(10));
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct GeneratorConfig {
    /// Operations due within this time after the schedule's start are sent but not measured.
    pub warm_up: Span,
    /// The most outstanding operations; further ones wait, and their latency counts meanwhile.
    pub outstanding_max: u32,
    /// The most completed RPCs that wait until the gaps are known (24 B each); see [`Tails`].
    pub pending_max: usize,
    /// How long after a gap RPCs are still excluded.
    pub guard: Span,
    /// The generator is late if more than 1 % of the sends are later than this.
    pub late_after: Span,
}

impl Default for GeneratorConfig {
    fn default() -> Self {
        Self {
            warm_up: Span::ZERO,
            outstanding_max: 1 << 16,
            pending_max: 1 << 20,
            guard: Tails::GUARD,
            // A tenth of a typical SLO of 100 µs, and just above a timer tick.
            late_after: Span::from_us(10),
        }
    }
}

/// Sends a schedule and measures the replies.
///
/// Times must not decrease. Three kinds of methods:
///
/// - `poll_*`, `next_*` and `is_*` return what to do;
/// - `handle_*` report the outcome of an operation; each returns it, or `None` (counted) if the
///   token is not outstanding;
/// - `into_report` ends the load.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Span, Timestamp};
/// use nebula_workload::{Generator, GeneratorConfig, Length, Seed, Workload};
///
/// let workload = Workload { length: Length::Operations(1), ..Workload::default() };
/// let schedule = workload.schedule(Seed(1), Timestamp::ZERO)?;
/// let mut generator = Generator::new(schedule, GeneratorConfig::default());
/// let due = generator.next_due().expect("one operation is left");
/// let (token, _operation) = generator.poll_send(due).expect("it is due");
/// generator.handle_reply(due + Span::from_us(3), token, true);
/// assert!(generator.is_finished());
/// assert_eq!(generator.into_report().counts.replied, 1);
/// # Ok::<(), nebula_workload::WorkloadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Generator {
    schedule: Schedule,
    late_after: Span,
    warm_until: Timestamp,
    outstanding: Outstanding,
    /// Operations for which the transport had no room, oldest first.
    blocked: VecDeque<Token>,
    /// The last time at which a due operation could not be sent for lack of room.
    held_until: Option<Timestamp>,
    counts: Counts,
    latency: Tails,
    by_op: ByOp,
    lateness: LatencyRecorder,
    /// The latest time passed in.
    now: Timestamp,
    last_answer: Timestamp,
    stopped_at: Option<Timestamp>,
}

impl Generator {
    /// Starts sending `schedule`. Allocates every table; nothing is allocated afterwards.
    #[must_use]
    pub fn new(schedule: Schedule, config: GeneratorConfig) -> Self {
        let start = schedule.start();
        let warm_until = start + config.warm_up;
        let outstanding_max = config.outstanding_max.max(1);
        Self {
            schedule,
            late_after: config.late_after,
            warm_until,
            outstanding: Outstanding::with_capacity(outstanding_max),
            blocked: VecDeque::with_capacity(outstanding_max as usize),
            held_until: None,
            counts: Counts::default(),
            latency: Tails::new(warm_until, config.guard, config.pending_max),
            by_op: ByOp::new(warm_until),
            lateness: LatencyRecorder::with_warm_up_until(warm_until),
            now: start,
            last_answer: start,
            stopped_at: None,
        }
    }

    /// An operation to send now, if one is due and the table has room. Blocked operations come
    /// first, in their order and with the same token.
    #[inline]
    pub fn poll_send(&mut self, now: Timestamp) -> Option<(Token, Operation)> {
        self.now = now;
        if self.stopped_at.is_some() {
            return None;
        }
        if let Some(token) = self.blocked.pop_front() {
            return self.unblock(token);
        }
        if self.outstanding.is_full() {
            self.hold();
            return None;
        }
        let operation = self.schedule.pop_due(now)?;
        self.begin(operation)
    }

    fn unblock(&mut self, token: Token) -> Option<(Token, Operation)> {
        let entry = self.outstanding.entry_mut(token)?;
        entry.is_blocked = false;
        // Operations due after it also had to wait until this moment.
        self.held_until = Some(self.now);
        Some((token, entry.operation))
    }

    /// Records that due operations must wait, through no lateness of the generator's.
    fn hold(&mut self) {
        if self.schedule.peek_due().is_some_and(|due| due <= self.now) {
            self.held_until = Some(self.now);
        }
    }

    fn begin(&mut self, operation: Operation) -> Option<(Token, Operation)> {
        let held_until = self.held_until.filter(|&held| held >= operation.at);
        let could_leave = held_until.unwrap_or(operation.at);
        let lateness = self.now - could_leave;
        self.lateness.record(operation.at, Latency::Finite(lateness));
        let was_late = lateness > self.late_after;
        let was_held = held_until.is_some();
        let is_measured = self.is_measured(&operation);
        self.counts.offered += u64::from(is_measured);
        self.counts.held += u64::from(is_measured && was_held);
        let token = self.outstanding.insert(Entry { operation, was_held, was_late, is_blocked: false })?;
        Some((token, operation))
    }

    fn is_measured(&self, operation: &Operation) -> bool {
        operation.at >= self.warm_until
    }

    /// Takes back an operation for which the transport has no room: it stays due, and the next poll
    /// returns it first. So stop polling in this iteration.
    pub fn handle_blocked(&mut self, token: Token) {
        self.held_until = Some(self.now);
        match self.outstanding.entry_mut(token) {
            Some(entry) if !entry.is_blocked => {
                entry.is_blocked = true;
                let is_first = !std::mem::replace(&mut entry.was_held, true);
                let is_measured = entry.operation.at >= self.warm_until;
                self.counts.held += u64::from(is_first && is_measured);
                self.blocked.push_back(token);
            }
            _ => self.counts.unexpected += 1,
        }
    }

    /// Gives up an operation for which the transport has no room, at once and unsent: infinite
    /// latency. So an overload shows where it happens. With
    /// [`handle_blocked`](Self::handle_blocked) operations would instead queue in the client
    /// without limit.
    pub fn handle_refused(&mut self, now: Timestamp, token: Token) -> Option<Operation> {
        let operation = self.complete(now, token)?.operation;
        self.record_infinite(&operation, now);
        self.counts.refused_by_client += u64::from(self.is_measured(&operation));
        Some(operation)
    }

    /// Records a reply; `is_found` is false if the server did not have the key.
    #[inline]
    pub fn handle_reply(&mut self, now: Timestamp, token: Token, is_found: bool) -> Option<Operation> {
        let operation = self.complete(now, token)?.operation;
        self.last_answer = now;
        self.latency.record_reply(operation.at, now);
        self.by_op.record(operation.op, operation.at, Latency::Finite(now - operation.at));
        let is_measured = self.is_measured(&operation);
        self.counts.replied += u64::from(is_measured);
        self.counts.not_found += u64::from(is_measured && !is_found);
        Some(operation)
    }

    /// Records a NACK that the client does not retry: infinite latency.
    #[inline]
    pub fn handle_nack(&mut self, now: Timestamp, token: Token) -> Option<Operation> {
        let Entry { operation, was_late, .. } = self.complete(now, token)?;
        self.last_answer = now;
        self.record_infinite(&operation, now);
        let is_measured = self.is_measured(&operation);
        self.counts.nacked += u64::from(is_measured);
        self.counts.nacked_late += u64::from(is_measured && was_late);
        Some(operation)
    }

    /// Gives up an operation that was never answered: infinite latency.
    pub fn handle_lost(&mut self, now: Timestamp, token: Token) -> Option<Operation> {
        let operation = self.complete(now, token)?.operation;
        self.record_infinite(&operation, now);
        self.counts.lost += u64::from(self.is_measured(&operation));
        Some(operation)
    }

    fn record_infinite(&mut self, operation: &Operation, now: Timestamp) {
        self.latency.record_infinite(operation.at, now);
        self.by_op.record(operation.op, operation.at, Latency::Infinite);
    }

    fn complete(&mut self, now: Timestamp, token: Token) -> Option<Entry> {
        self.now = now;
        let is_under_way = self.outstanding.entry_mut(token).is_some_and(|entry| !entry.is_blocked);
        if !is_under_way {
            self.counts.unexpected += 1;
            return None;
        }
        if self.outstanding.is_full() {
            self.hold();
        }
        self.outstanding.remove(token)
    }

    /// Ends the load at `now`: nothing more is sent.
    ///
    /// Outstanding operations are lost; operations that were due but not sent count as never sent.
    /// Both have infinite latency, since leaving them out would understate the tail. Operations due
    /// later do not count as offered. A second stop has no effect.
    pub fn handle_stop(&mut self, now: Timestamp) {
        if self.stopped_at.is_some() {
            return;
        }
        self.now = now;
        self.stopped_at = Some(now);
        while let Some(token) = self.blocked.pop_front() {
            if let Some(entry) = self.outstanding.remove(token) {
                self.count_never_sent(&entry.operation);
            }
        }
        let mut slot = 0;
        while let Some(token) = self.outstanding.next_live(slot) {
            slot = token.index() + 1;
            self.handle_lost(now, token);
        }
        while let Some(operation) = self.schedule.pop_due(now) {
            self.counts.offered += u64::from(self.is_measured(&operation));
            self.count_never_sent(&operation);
        }
    }

    fn count_never_sent(&mut self, operation: &Operation) {
        self.record_infinite(operation, self.now);
        self.counts.never_sent += u64::from(self.is_measured(operation));
    }

    /// When the next operation is due, without blocked ones; `None` at the end of the load.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        self.schedule.peek_due().filter(|_| self.stopped_at.is_none())
    }

    /// Outstanding operations, including blocked ones.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// Whether every operation has been sent and has its outcome, or the load was stopped.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.next_due().is_none() && self.outstanding.is_empty()
    }

    /// The outcomes so far.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The latencies so far, to show progress or to settle them during the load.
    pub fn latency_mut(&mut self) -> &mut Tails {
        &mut self.latency
    }

    /// Ends the load and returns the measurements. Operations without an outcome are closed as by
    /// [`handle_stop`](Self::handle_stop), at the latest time passed in. The tails must still be
    /// settled with the gaps of all processes.
    #[must_use]
    pub fn into_report(mut self) -> LoadReport {
        self.handle_stop(self.now);
        // A schedule that was stopped early ends where it was stopped.
        let cut_at = self.stopped_at.filter(|_| self.schedule.peek_due().is_some());
        let end = cut_at.unwrap_or_else(|| self.schedule.end().max(self.last_answer));
        LoadReport {
            rate_rps: self.schedule.rate_rps(),
            counts: self.counts,
            latency: self.latency,
            by_op: self.by_op,
            lateness: self.lateness,
            late_after: self.late_after,
            duration: end - self.warm_until,
        }
    }
}

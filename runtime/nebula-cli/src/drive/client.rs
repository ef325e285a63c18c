//! One client of the load: a loop that polls clock, schedule and ring.
//!
//! The loop reads the clock, sends the RPCs that are due, receives replies, and reads the clock
//! again: that is the completion time of the replies. So a latency may be too long by the few
//! hundred nanoseconds of an iteration, and is never too short. The same readings detect pauses of
//! the core.

use std::collections::VecDeque;
use std::sync::Arc;

use nebula::{CallError, Client, StatusReader, SubmitError};
use nebula_nic::{Span, Timestamp};
use nebula_requester::Backlog;
use nebula_sys::clock::Clock;
use nebula_workload::{Gap, GapDetector, GapLog, Generator, LoadReport, Operation, Token};

use super::exchange::{Requests, WrongAnswer};
use super::live::Live;
use super::plan::LoadPlan;
use nebula_ui::output::Failure;
use nebula_ui::signal;

/// The most RPCs sent, and received, in one iteration. With 512 B values each takes some hundred
/// nanoseconds.
const PER_TURN: usize = 4;
/// The most RPCs refused in one iteration. Each takes some ten nanoseconds, and an overload is
/// refused as fast as it comes.
const REFUSED_PER_TURN: usize = 1024;
/// How long an RPC waits for room if neither the user nor the server's SLO says.
const PATIENCE: Span = Span::from_ms(10);
/// The load ends if an outstanding RPC gets no answer for this long.
const SILENCE: Span = Span::from_secs(5);
/// Two readings of the clock this far apart are a gap: more than an iteration of [`PER_TURN`] RPCs,
/// less than a timer tick.
const GAP: Span = Span::from_us(3);
/// After this long without a reply the server is probably not running: several timer ticks.
const QUIET: Span = Span::from_us(50);
/// Gaps of 15 minutes at a thousand timer ticks per second.
const GAPS_MAX: usize = 1 << 20;
/// Between two reads of the server's gaps. The server lists thousands, so none is missed.
const LOOK_EVERY: Span = Span::from_ms(1);

#[derive(Debug)]
pub(super) struct Driven {
    /// Gaps are not yet taken into account.
    pub(super) report: LoadReport,
    pub(super) own_gaps: GapDetector,
    pub(super) server_gaps: GapLog,
    pub(super) server: nebula::Status,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub(super) token: Token,
    pub(super) operation: Operation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Replied {
        is_found: bool,
    },
    Nacked,
    /// Unknown: no reply came.
    Lost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Submitted {
    Sent,
    /// There is no room now.
    Full,
}

pub(super) trait Peer {
    /// Sends an operation, at the next poll at the latest.
    fn submit(&mut self, token: Token, operation: Operation) -> Result<Submitted, Failure>;

    fn poll(&mut self) -> Result<Option<(Flight, Ending)>, Failure>;

    fn outstanding(&self) -> u32;

    fn status(&self) -> Option<&StatusReader> {
        None
    }

    /// The SLO of the server's admission control; zero if it has none.
    fn slo(&self) -> Span {
        Span::ZERO
    }
}

#[derive(Debug)]
pub(super) struct NebulaPeer {
    client: Client,
    requests: Requests,
    /// Indexed by ticket modulo the number of slots: outstanding tickets never collide.
    flights: Box<[Option<Flight>]>,
}

impl NebulaPeer {
    pub(super) fn new(client: Client, plan: &LoadPlan) -> Self {
        Self { client, requests: plan.requests(), flights: vec![None; plan.slots as usize].into() }
    }
}

impl Peer for NebulaPeer {
    #[inline]
    fn submit(&mut self, token: Token, operation: Operation) -> Result<Submitted, Failure> {
        let (request, key_hash) = self.requests.encode(&operation).map_err(Failure::bad_input)?;
        match self.client.submit_keyed(request, key_hash) {
            Ok(ticket) => {
                let at = index(ticket.0, self.flights.len());
                self.flights[at] = Some(Flight { token, operation });
                Ok(Submitted::Sent)
            }
            Err(SubmitError::Full) => Ok(Submitted::Full),
            Err(error @ SubmitError::TooLarge { .. }) => Err(Failure::bad_input(error)),
            Err(error) => Err(Failure::fault(error)),
        }
    }

    #[inline]
    fn poll(&mut self) -> Result<Option<(Flight, Ending)>, Failure> {
        let Some(done) = self.client.poll() else { return Ok(None) };
        let at = index(done.ticket.0, self.flights.len());
        let Some(flight) = self.flights[at].take() else {
            return Err(Failure::fault(format!("received two replies to RPC {}", done.ticket.0)));
        };
        let ending = match done.result {
            Ok(reply) => match self.requests.check(&flight.operation, reply) {
                Ok(is_found) => Ending::Replied { is_found },
                Err(WrongAnswer::Unknown) => Ending::Lost,
                Err(wrong) => return Err(Failure::fault(wrong)),
            },
            Err(CallError::Nack { .. } | CallError::Expired) => Ending::Nacked,
            Err(CallError::TimedOut | CallError::Stale) => Ending::Lost,
            Err(error) => return Err(Failure::fault(error)),
        };
        Ok(Some((flight, ending)))
    }

    fn outstanding(&self) -> u32 {
        self.client.outstanding()
    }

    fn status(&self) -> Option<&StatusReader> {
        self.client.status()
    }

    fn slo(&self) -> Span {
        self.client.slo()
    }
}

#[derive(Debug)]
pub(super) struct Driver<P> {
    peer: P,
    generator: Generator,
    live: Arc<Live>,
    clock: Clock,
    gaps: GapDetector,
    server_gaps: GapLog,
    server_gaps_seen: u64,
    look_at: Timestamp,
    /// RPCs that are due and wait for room, the first one first.
    waiting: VecDeque<(Token, Operation)>,
    /// Decides which of them wait.
    backlog: Backlog,
    /// How long after it was due an RPC may wait for room; `None` if `backlog` decides.
    patience: Option<Span>,
    /// When the server last answered, or the first RPC left, while RPCs are outstanding.
    asked_at: Option<Timestamp>,
    /// The last time at which a reply came, or no RPC was outstanding.
    quiet_since: Timestamp,
    give_up_at: Timestamp,
}

impl<P: Peer> Driver<P> {
    pub(super) fn new(peer: P, plan: &LoadPlan, generator: Generator, live: Arc<Live>) -> Self {
        let (clock, slo) = (Clock::new(), peer.slo());
        Self {
            server_gaps_seen: peer.status().map_or(0, StatusReader::gaps_seen),
            peer,
            generator,
            live,
            clock,
            gaps: GapDetector::new(GAP, GAPS_MAX),
            server_gaps: GapLog::with_capacity(GAPS_MAX),
            look_at: Timestamp::ZERO,
            waiting: VecDeque::with_capacity(REFUSED_PER_TURN),
            backlog: Backlog::new(slo),
            patience: plan.patience.or((slo == Span::ZERO).then_some(PATIENCE)),
            asked_at: None,
            quiet_since: Timestamp::ZERO,
            give_up_at: Timestamp::ZERO,
        }
    }

    /// Polls until all scheduled RPCs are answered, or `give_up_at`, or a signal.
    pub(super) fn run(mut self, give_up_at: Timestamp) -> Result<Driven, Failure> {
        self.give_up_at = give_up_at;
        loop {
            let now = self.now();
            self.gaps.observe(now);
            if self.generator.is_finished() || now >= self.give_up_at || signal::has_come() {
                return Ok(self.finish(now));
            }
            let wakes = self.is_asleep();
            if self.send(now)? && wakes {
                // A call of the kernel woke the server: the machine has paused nobody.
                self.gaps.resume(self.now());
            }
            self.take_in()?;
            self.let_others_run(now);
            if now >= self.look_at {
                self.look_at_server(now);
                self.check_that_it_answers(now)?;
            }
        }
    }

    #[inline(always)]
    fn now(&self) -> Timestamp {
        Timestamp::from_ps(self.clock.now_ps())
    }

    /// Whether the server sleeps, so that the next RPC wakes it. It does not while it has one.
    #[inline]
    fn is_asleep(&self) -> bool {
        self.peer.outstanding() == 0 && self.peer.status().is_some_and(StatusReader::is_asleep)
    }

    /// Returns whether it has sent some.
    #[inline]
    fn send(&mut self, now: Timestamp) -> Result<bool, Failure> {
        for sent in 0..PER_TURN {
            let next = self.waiting.pop_front().or_else(|| self.generator.poll_send(now));
            let Some((token, operation)) = next else { return Ok(sent > 0) };
            match self.peer.submit(token, operation)? {
                Submitted::Sent => {
                    self.asked_at.get_or_insert(now);
                }
                Submitted::Full => {
                    self.handle_full(now, token, operation);
                    return Ok(sent > 0);
                }
            }
        }
        if !self.waiting.is_empty() {
            self.wait_behind(now);
        }
        Ok(true)
    }

    /// There is no room for this RPC, nor for those due behind it, until replies are received. A
    /// backlog in the client without a bound would hide the overload.
    #[cold]
    fn handle_full(&mut self, now: Timestamp, token: Token, operation: Operation) {
        match self.patience {
            Some(patience) => self.wait_for(patience, now, (token, operation)),
            None => {
                self.waiting.push_front((token, operation));
                self.wait_within_slo(now);
            }
        }
    }

    /// The first one that is due waits for `patience` at most; those behind it are not looked at.
    fn wait_for(&mut self, patience: Span, now: Timestamp, (mut token, mut operation): (Token, Operation)) {
        for _ in 0..REFUSED_PER_TURN {
            if now - operation.at < patience {
                return self.generator.handle_blocked(token);
            }
            self.refuse(now, token);
            let Some(next) = self.generator.poll_send(now) else { return };
            (token, operation) = next;
        }
        self.generator.handle_blocked(token);
    }

    /// The first ones that wait are refused if the server has become too slow for them since.
    fn wait_within_slo(&mut self, now: Timestamp) {
        let outstanding = self.peer.outstanding();
        for _ in 0..REFUSED_PER_TURN {
            let Some(&(token, operation)) = self.waiting.front() else { break };
            if self.backlog.refusal(now - operation.at, outstanding).is_none() {
                break;
            }
            self.waiting.pop_front();
            self.refuse(now, token);
        }
        self.wait_behind(now);
    }

    /// Those that are due wait behind the others if they can still keep the SLO, and are refused at
    /// once if not.
    #[cold]
    fn wait_behind(&mut self, now: Timestamp) {
        let outstanding = self.peer.outstanding();
        for _ in 0..REFUSED_PER_TURN {
            let Some((token, operation)) = self.generator.poll_send(now) else { return };
            let ahead = outstanding.saturating_add(u32::try_from(self.waiting.len()).unwrap_or(u32::MAX));
            match self.backlog.refusal(now - operation.at, ahead) {
                Some(_) => self.refuse(now, token),
                None => self.waiting.push_back((token, operation)),
            }
        }
    }

    fn refuse(&mut self, now: Timestamp, token: Token) {
        self.generator.handle_refused(now, token);
        self.live.count_refused();
    }

    #[inline]
    fn take_in(&mut self) -> Result<(), Failure> {
        let mut endings = [None; PER_TURN];
        for ending in &mut endings {
            *ending = self.peer.poll()?;
            if ending.is_none() {
                break;
            }
        }
        let is_full = !self.waiting.is_empty();
        if endings[0].is_none() {
            if !is_full {
                self.backlog.handle_answers(self.quiet_since, 0, false);
            }
            return Ok(());
        }
        let now = self.now();
        let answers = endings.iter().flatten().count();
        self.backlog.handle_answers(now, u32::try_from(answers).unwrap_or(0), is_full);
        self.gaps.observe(now);
        self.quiet_since = now;
        endings.into_iter().flatten().for_each(|(flight, ending)| self.end(now, flight, ending));
        Ok(())
    }

    /// Yields the core after a long time without a reply, because the server may need this core.
    /// Otherwise two threads that poll on one core would alternate every few milliseconds. On a
    /// dedicated core a yield costs half a microsecond of idle time.
    #[inline]
    fn let_others_run(&mut self, now: Timestamp) {
        if self.peer.outstanding() == 0 {
            self.quiet_since = now;
        } else if now - self.quiet_since > QUIET {
            std::thread::yield_now();
        }
    }

    #[inline]
    fn end(&mut self, now: Timestamp, flight: Flight, ending: Ending) {
        match ending {
            Ending::Replied { is_found } => {
                self.note_answer(now);
                self.generator.handle_reply(now, flight.token, is_found);
                self.live.count_reply(now - flight.operation.at);
            }
            Ending::Nacked => {
                self.note_answer(now);
                self.generator.handle_nack(now, flight.token);
                self.live.count_nack();
            }
            Ending::Lost => {
                self.generator.handle_lost(now, flight.token);
            }
        }
    }

    /// Restarts the wait for the server if other RPCs are outstanding. No later send would do it if
    /// all places are behind one that the server does not answer.
    #[inline]
    fn note_answer(&mut self, now: Timestamp) {
        self.asked_at = (self.peer.outstanding() > 0).then_some(now);
    }

    #[inline(never)]
    fn look_at_server(&mut self, now: Timestamp) {
        self.look_at = now + LOOK_EVERY;
        let Some(status) = self.peer.status() else { return };
        let seen = status.gaps_seen();
        for gap in status.gaps(self.server_gaps_seen, self.clock) {
            self.server_gaps.push(Gap { start: Timestamp::from_ps(gap.from_ps), end: Timestamp::from_ps(gap.to_ps) });
        }
        self.server_gaps_seen = seen;
    }

    fn check_that_it_answers(&self, now: Timestamp) -> Result<(), Failure> {
        match self.asked_at {
            Some(asked_at) if now - asked_at > SILENCE => {
                let (waited, replied) = (SILENCE.as_secs_f64(), self.generator.counts().replied);
                Err(Failure::fault(format!(
                    "the server has not answered for {waited} s, after {replied} replies to this client"
                )))
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn finish(mut self, now: Timestamp) -> Driven {
        for (token, _) in std::mem::take(&mut self.waiting) {
            self.generator.handle_blocked(token);
        }
        self.generator.handle_stop(now);
        self.look_at_server(now);
        Driven {
            report: self.generator.into_report(),
            own_gaps: self.gaps,
            server_gaps: self.server_gaps,
            server: self.peer.status().map(StatusReader::read).unwrap_or_default(),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "masked to below the number of places")]
#[inline(always)]
fn index(ticket: u64, places: usize) -> usize {
    ticket as usize & (places - 1)
}

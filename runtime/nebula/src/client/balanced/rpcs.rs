//! The RPCs of a client of several servers, and where each goes next. [`Balanced`](super::Balanced)
//! sends what this module decides.

use crate::client::error::{CallError, Executed, SubmitError};
use crate::client::ticket::Ticket;
use crate::config::client::{ClientConfig, Options};
use nebula_nic::{NackReason, Span, Timestamp};
use nebula_requester::{After, Attempts, CopyEnd, Failover, HedgeConfigError, Hedging, ServerEnd, ServerSet, Servers};
use nebula_requester::{OUTSTANDING_MAX, another, backup_after, spare};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

#[derive(Debug, Default)]
struct Entry {
    ticket: Option<u64>,
    /// Kept for another server. The next RPC uses the buffer again.
    request: Vec<u8>,
    options: Options,
    attempts: Attempts,
    begun: Timestamp,
    until: Option<Timestamp>,
    /// When one more server gets it.
    backup_at: Option<Timestamp>,
    copies: Vec<Copy>,
    /// Its end unless an answer arrives: that its execution is unknown, if any copy's is.
    error: Option<CallError>,
}

/// An RPC is outstanding at a server, by its ticket there.
#[derive(Clone, Copy, Debug)]
struct Copy {
    server: u16,
    there: Ticket,
    /// Its time for this server alone is over, and the server counted as late for it.
    is_late: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    pub(super) place: u32,
    pub(super) server: u16,
}

#[derive(Debug)]
pub(super) struct Rpcs {
    pub(super) servers: Servers,
    /// Servers that get no RPCs: without a connection, or not yet known to be healthy.
    pub(super) shut: ServerSet,
    failover: Failover,
    hedging: Option<Hedging>,
    entries: Vec<Entry>,
    free: Vec<u32>,
    timers: BinaryHeap<Reverse<(Timestamp, u64)>>,
    /// No RPC's backup is due before. Most RPCs end long before theirs, so that a look at all of
    /// them now and then costs less than a timer each.
    backups_at: Option<Timestamp>,
    pub(super) outgoing: VecDeque<Outgoing>,
    pub(super) withdrawn: Vec<(u16, Ticket)>,
    ended: VecDeque<(Ticket, CallError)>,
    reply: Vec<u8>,
    rounds: u64,
}

/// The end of an RPC, with the bytes of its reply in [`Rpcs::reply`].
pub(super) type End = (Ticket, Result<usize, CallError>);

/// RPCs that are to get a backup within this time get it together.
const BACKUPS_EVERY: Span = Span::from_ms(1);
/// After this time an RPC that no server could get is tried again.
const TRY_AGAIN: Span = Span::from_ms(1);

impl Rpcs {
    pub(super) fn new(config: &ClientConfig, seed: u64) -> Result<Self, HedgeConfigError> {
        // Connections refuse more than that.
        let slots = config.slots.min(OUTSTANDING_MAX);
        Ok(Self {
            servers: Servers::new(config.balance, seed),
            shut: ServerSet::default(),
            failover: Failover::new(config.retry),
            hedging: config.hedge.map(Hedging::try_new).transpose()?,
            entries: (0..slots).map(|_| Entry::default()).collect(),
            free: (0..slots).rev().collect(),
            timers: BinaryHeap::new(),
            backups_at: None,
            outgoing: VecDeque::new(),
            withdrawn: Vec::new(),
            ended: VecDeque::new(),
            reply: Vec::new(),
            rounds: 0,
        })
    }

    pub(super) fn reply(&self, bytes: usize) -> &[u8] {
        &self.reply[..bytes]
    }

    pub(super) fn outstanding(&self) -> u32 {
        let open = self.entries.len() - self.free.len() + self.ended.len();
        u32::try_from(open).unwrap_or(u32::MAX)
    }

    #[cfg(feature = "tower")]
    pub(super) fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    pub(super) fn begin(&mut self, now: Timestamp, request: &[u8], options: Options) -> Result<u32, SubmitError> {
        let place = self.free.pop().ok_or(SubmitError::Full)?;
        self.rounds += 1;
        let ticket = self.rounds * self.entries.len() as u64 + u64::from(place);
        let entry = &mut self.entries[place as usize];
        entry.ticket = Some(ticket);
        entry.request.clear();
        entry.request.extend_from_slice(request);
        entry.options = options;
        entry.attempts = Attempts::new(options.idempotent);
        entry.begun = now;
        entry.until = options.deadline.map(|deadline| now + deadline);
        entry.backup_at = None;
        if let Some(deadline) = options.deadline.filter(|_| options.idempotent) {
            entry.backup_at = backup_after(Span::ZERO, deadline).map(|after| now + after);
        }
        self.backups_at = earliest(self.backups_at, entry.backup_at);
        entry.error = None;
        Ok(place)
    }

    /// The server that gets an RPC first; `None` if every server is excluded.
    pub(super) fn first(&mut self, now: Timestamp, place: u32) -> Option<u16> {
        let key_hash = self.entries[place as usize].options.key_hash;
        self.servers.pick(now, key_hash, self.shut)
    }

    /// No server can get an RPC now. Returns whether it waits for one, until its deadline.
    pub(super) fn waits(&mut self, now: Timestamp, place: u32) -> bool {
        let Entry { until, ticket, .. } = &self.entries[place as usize];
        let waits = until.is_some_and(|until| now < until);
        if waits {
            self.timers.extend(ticket.map(|ticket| Reverse((now + TRY_AGAIN, ticket))));
        }
        waits
    }

    pub(super) fn ticket(&self, place: u32) -> Ticket {
        Ticket(self.entries[place as usize].ticket.unwrap_or(0))
    }

    pub(super) fn request(&self, now: Timestamp, place: u32) -> (&[u8], Options) {
        let Entry { request, options, until, .. } = &self.entries[place as usize];
        (request, Options { deadline: until.map(|until| until - now), ..*options })
    }

    pub(super) fn begin_copy(&mut self, Outgoing { place, server }: Outgoing) {
        self.servers.begin(server);
        self.entries[place as usize].attempts.begin(server);
    }

    pub(super) fn sent(&mut self, now: Timestamp, Outgoing { place, server }: Outgoing, there: Ticket) {
        let entry = &mut self.entries[place as usize];
        let is_first = entry.copies.is_empty();
        entry.copies.push(Copy { server, there, is_late: false });
        // Only the first try is hedged: a failover has been delayed already.
        if is_first && entry.begun == now && entry.options.idempotent {
            let delay = self.hedging.as_mut().and_then(Hedging::begin);
            self.timers.extend(delay.zip(entry.ticket).map(|(delay, ticket)| Reverse((now + delay, ticket))));
        }
    }

    /// A copy could not be sent. Returns the server that gets it next, if any.
    pub(super) fn not_sent(&mut self, now: Timestamp, outgoing: Outgoing, error: &SubmitError) -> Option<u16> {
        let error = CallError::NotSent(error.clone());
        self.servers.end(now, outgoing.server, server_end(&error));
        match self.after(now, outgoing.place, copy_end(&error)) {
            After::Goes(server) => Some(server),
            After::Over | After::Waits | After::Rests(_) => None,
        }
    }

    pub(super) fn forget(&mut self, place: u32) {
        let entry = &mut self.entries[place as usize];
        entry.ticket = None;
        self.outgoing.retain(|outgoing| outgoing.place != place);
        self.withdrawn.extend(entry.copies.drain(..).map(|copy| (copy.server, copy.there)));
        self.free.push(place);
    }

    pub(super) fn copy_ended(
        &mut self,
        now: Timestamp,
        at: Outgoing,
        there: Ticket,
        result: Result<&[u8], CallError>,
    ) -> Option<End> {
        let entry = &mut self.entries[at.place as usize];
        let copy = entry.copies.iter().position(|copy| (copy.server, copy.there) == (at.server, there));
        let copy = copy.map(|copy| entry.copies.swap_remove(copy));
        let end = match result.as_ref().map_or_else(server_end, |_| ServerEnd::Answered) {
            ServerEnd::Late if copy.is_some_and(|copy| copy.is_late) => ServerEnd::Withdrawn,
            end => end,
        };
        self.servers.end(now, at.server, end);
        copy?;
        match result {
            Ok(reply) => {
                if let Some(hedging) = &mut self.hedging {
                    hedging.answered(now - entry.begun);
                }
                self.reply.clear();
                self.reply.extend_from_slice(reply);
                Some((self.over(at.place), Ok(reply.len())))
            }
            Err(error) => self.failed(now, at.place, error),
        }
    }

    /// A copy has ended with `error`. Returns the end of its RPC, if it is over.
    pub(super) fn failed(&mut self, now: Timestamp, place: u32, error: CallError) -> Option<End> {
        let end = copy_end(&error);
        let is_broken = matches!(error, CallError::ServerGone | CallError::NotSent(SubmitError::ServerGone));
        let entry = &mut self.entries[place as usize];
        // An RPC that may have been executed stays so, whatever other servers answer.
        if entry.error.as_ref().is_none_or(|before| before.was_executed() == Executed::No) {
            entry.error = Some(error);
        }
        let is_late = entry.until.is_some_and(|until| until <= now);
        // Another copy may be executed: its end is the RPC's, not this impossibility.
        let waits = end == CopyEnd::Impossible && !entry.copies.is_empty();
        // Servers that refuse end it, as `retry` says. Those that are silent or gone do not while
        // it has time.
        let may_come_back = |error: &CallError| matches!(server_end(error), ServerEnd::Late | ServerEnd::Lost);
        let keeps_trying = is_broken || entry.error.as_ref().is_some_and(may_come_back);
        match self.after(now, place, end) {
            After::Waits => {
                if !is_late {
                    self.back_up_elsewhere(now, place);
                }
                None
            }
            _ if waits => None,
            After::Goes(server) if !is_late => {
                self.outgoing.push_back(Outgoing { place, server });
                None
            }
            After::Rests(span) if !is_late => {
                let ticket = self.ticket(place);
                self.timers.push(Reverse((now + span, ticket.0)));
                None
            }
            After::Over
                if keeps_trying && self.entries[place as usize].attempts.may_go_on(end) && self.waits(now, place) =>
            {
                self.entries[place as usize].attempts.forget_tried();
                None
            }
            After::Over | After::Goes(_) | After::Rests(_) => Some(self.gave_up(place)),
        }
    }

    /// A backup that a server refused, or for which there was no room, goes to the next server at
    /// once. If there is none, it is tried again soon.
    fn back_up_elsewhere(&mut self, now: Timestamp, place: u32) {
        let entry = &self.entries[place as usize];
        let is_backup = entry.backup_at.is_some() && entry.copies.iter().all(|copy| copy.is_late);
        if is_backup && !self.send_elsewhere(now, place) {
            let entry = &mut self.entries[place as usize];
            entry.backup_at = earliest(entry.backup_at, Some(now + TRY_AGAIN));
            self.backups_at = earliest(self.backups_at, entry.backup_at);
        }
    }

    fn after(&mut self, now: Timestamp, place: u32, end: CopyEnd) -> After {
        let Entry { attempts, options, .. } = &mut self.entries[place as usize];
        self.failover.after(&mut self.servers, now, (attempts, options.key_hash), end, self.shut)
    }

    fn gave_up(&mut self, place: u32) -> End {
        let error = self.entries[place as usize].error.take();
        (self.over(place), Err(error.unwrap_or(CallError::NotSent(SubmitError::ServerGone))))
    }

    fn over(&mut self, place: u32) -> Ticket {
        let ticket = self.ticket(place);
        self.forget(place);
        ticket
    }

    pub(super) fn take_ended(&mut self) -> Option<End> {
        let (ticket, error) = self.ended.pop_front()?;
        Some((ticket, Err(error)))
    }

    pub(super) fn push_ended(&mut self, end: Option<End>) {
        if let Some((ticket, Err(error))) = end {
            self.ended.push_back((ticket, error));
        }
    }

    pub(super) fn cancel(&mut self, ticket: Ticket, error: CallError) -> bool {
        let place = self.place(ticket.0);
        if let Some(place) = place {
            let ticket = self.over(place);
            self.ended.push_back((ticket, error));
        }
        place.is_some()
    }

    /// Ends an RPC without reporting it.
    pub(super) fn abandon(&mut self, ticket: Ticket) {
        let place = self.place(ticket.0);
        place.into_iter().for_each(|place| self.forget(place));
    }

    #[expect(clippy::cast_possible_truncation, reason = "a place")]
    fn place(&self, ticket: u64) -> Option<u32> {
        let place = ticket % self.entries.len() as u64;
        (self.entries[place as usize].ticket == Some(ticket)).then_some(place as u32)
    }

    pub(super) fn due(&self) -> Option<Timestamp> {
        earliest(self.timers.peek().map(|&Reverse((at, _))| at), self.backups_at)
    }

    pub(super) fn keep_time(&mut self, now: Timestamp) {
        while let Some(&Reverse((at, ticket))) = self.timers.peek()
            && at <= now
        {
            self.timers.pop();
            if let Some(place) = self.place(ticket) {
                self.its_time(now, place);
            }
        }
        if self.backups_at.is_some_and(|at| at <= now) {
            self.back_up(now);
        }
    }

    /// Gives RPCs that no server has answered in time to one more each.
    #[cold]
    fn back_up(&mut self, now: Timestamp) {
        let mut next = None;
        for place in 0..self.entries.len() {
            let Entry { ticket, begun, backup_at, until, .. } = &mut self.entries[place];
            let Some(at) = backup_at.filter(|_| ticket.is_some()) else { continue };
            if at <= now {
                let after = until.and_then(|until| backup_after(now - *begun, until - now));
                *backup_at = after.map(|after| now + after);
                next = earliest(next, *backup_at);
                self.be_late(now, place);
                #[expect(clippy::cast_possible_truncation, reason = "a place")]
                self.send_spare(now, place as u32);
            } else {
                next = earliest(next, Some(at));
            }
        }
        self.backups_at = next.map(|at| at.max(now + BACKUPS_EVERY));
    }

    /// Gives RPCs that are at `server` alone to one more each: the connection has broken.
    #[cold]
    #[expect(clippy::cast_possible_truncation, reason = "a place")]
    pub(super) fn back_up_from(&mut self, now: Timestamp, server: u16) {
        for place in 0..self.entries.len() {
            if let [copy] = &mut self.entries[place].copies[..]
                && copy.server == server
            {
                copy.is_late = true;
                self.send_spare(now, place as u32);
            }
        }
    }

    /// The servers where an RPC is have had their time.
    fn be_late(&mut self, now: Timestamp, place: usize) {
        for copy in self.entries[place].copies.iter_mut().filter(|copy| !copy.is_late) {
            copy.is_late = true;
            self.servers.be_late(now, copy.server);
        }
    }

    /// Sends one more copy of an RPC, if that does no harm: to a server where it has not been or
    /// else, in a new round, where no copy is any more.
    fn send_spare(&mut self, now: Timestamp, place: u32) {
        if self.entries[place as usize].attempts.may_be_backed_up() && !self.send_elsewhere(now, place) {
            self.entries[place as usize].attempts.forget_tried();
            self.send_elsewhere(now, place);
        }
    }

    /// Sends one more copy to a server of this round, if there is one.
    fn send_elsewhere(&mut self, now: Timestamp, place: u32) -> bool {
        let Entry { attempts, options, copies, .. } = &self.entries[place as usize];
        let mut tried = attempts.tried();
        copies.iter().for_each(|copy| tried.insert(copy.server));
        let server = spare(&mut self.servers, now, options.key_hash, tried, self.shut);
        self.outgoing.extend(server.map(|server| Outgoing { place, server }));
        server.is_some()
    }

    fn its_time(&mut self, now: Timestamp, place: u32) {
        let Entry { attempts, options, until, .. } = &mut self.entries[place as usize];
        if attempts.under_way() > 0 {
            let may_copy = attempts.may_be_copied();
            let other = || another(&mut self.servers, now, options.key_hash, attempts.tried(), self.shut);
            let server = may_copy.then(other).flatten();
            if let Some(server) = server
                && self.hedging.as_mut().is_some_and(Hedging::take)
            {
                self.outgoing.push_back(Outgoing { place, server });
            }
            return;
        }
        let is_late = until.is_some_and(|until| until <= now);
        let after = match self.servers.pick(now, options.key_hash, self.shut) {
            Some(server) => After::Goes(server),
            None if until.is_some() => After::Rests(TRY_AGAIN),
            None => self.failover.next_round(attempts),
        };
        match after {
            After::Goes(server) if !is_late => self.outgoing.push_back(Outgoing { place, server }),
            After::Rests(span) if !is_late => {
                let ticket = self.ticket(place);
                self.timers.push(Reverse((now + span, ticket.0)));
            }
            After::Over | After::Waits | After::Goes(_) | After::Rests(_) => {
                let end = self.gave_up(place);
                self.push_ended(Some(end));
            }
        }
    }

    pub(super) fn until(now: Timestamp, due: Option<Timestamp>) -> Option<Span> {
        due.map(|due| due - now)
    }
}

fn earliest(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    [one, other].into_iter().flatten().min()
}

pub(super) fn server_end(error: &CallError) -> ServerEnd {
    match error {
        CallError::Fault(_) | CallError::Refused { .. } => ServerEnd::Answered,
        CallError::Nack { .. } | CallError::Stale => ServerEnd::Refused,
        CallError::NotSent(SubmitError::Full | SubmitError::TooLarge { .. }) => ServerEnd::Unsent,
        // The connection, too, ends one that it could not send in time.
        CallError::Expired | CallError::Cancelled | CallError::Forked | CallError::Outstanding { .. } => {
            ServerEnd::Withdrawn
        }
        CallError::TimedOut => ServerEnd::Late,
        CallError::ServerGone | CallError::Protocol | CallError::NotSent(_) => ServerEnd::Lost,
    }
}

fn copy_end(error: &CallError) -> CopyEnd {
    match error {
        CallError::Fault(_) | CallError::Forked => CopyEnd::Answered,
        CallError::Nack { reason: NackReason::TooLarge } | CallError::Expired => CopyEnd::Impossible,
        CallError::NotSent(SubmitError::TooLarge { .. } | SubmitError::Forked) => CopyEnd::Impossible,
        _ => match error.was_executed() {
            Executed::No => CopyEnd::NotExecuted,
            Executed::Unknown => CopyEnd::Unknown,
            Executed::Yes => CopyEnd::Answered,
        },
    }
}

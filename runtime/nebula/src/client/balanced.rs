//! A client of several servers: an RPC goes to one of them, and to another one when the first
//! refuses it or a repetition is safe.
//!
//! ```text
//!   submit ──▶ rpcs: taken in, kept ──▶ which server (nebula_requester::Servers) ──▶ connection ──▶ its link
//!                ▲        ▲                                                                     │
//!          timers: again, or a second copy      what follows (nebula_requester::Failover) ◀── ended ──┘
//!
//!   members ──▶ servers join and leave       connection ──▶ made again, by a thread, after it was lost
//! ```
//!
//! The machines of `nebula-nic` decide; this module has the bytes and the connections. Nothing
//! happens between two calls.

mod member;
mod members;
mod rpcs;

use super::call::{Caller, Patience, call};
use super::connection::{Connection, Greeting, Open, Rest};
use super::error::{CallError, ConnectError, SubmitError};
use super::ticket::{Completion, Ticket};
use crate::config::client::{ClientConfig, HealthCheck, Options, Wait};
use crate::config::key::Keys;
use crate::endpoint::{Endpoint, Endpoints, Listed};
use crate::net::{Time, Watch};
use member::{Came, Change, Maker, Member, Unmade, slot};
use members::Members;
use nebula_nic::{Span, Timestamp};
use nebula_requester::{SERVERS_MAX, ServerEnd};
use rpcs::{End, Outgoing, Rpcs};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use siphasher::sip::SipHasher13;
use std::cell::Cell;
use std::hash::Hasher;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

const GRACE: Span = Span::from_ms(100);
/// How often it checks connections, members and health.
const LOOK_EVERY: Span = Span::from_ms(1);

#[derive(Debug)]
pub(crate) struct Balanced {
    rpcs: Rpcs,
    /// By the servers' numbers.
    connections: Vec<Member>,
    maker: Maker,
    members: Option<Members>,
    watch: Watch,
    look_at: Timestamp,
    first: usize,
    /// Readable while any connection has something to receive, for a client that sleeps.
    epoll: Option<OwnedFd>,
    /// Whether servers over shared memory have been asked for wake-ups; later ones are asked too.
    is_armed: Cell<bool>,
    health: Option<HealthCheck>,
    call_timeout: Span,
    wait: Wait,
}

impl Balanced {
    pub(super) fn connect(
        endpoints: Endpoints,
        config: &ClientConfig,
        rest: Rest,
        open: Open,
    ) -> Result<Self, ConnectError> {
        let name = endpoints.to_string();
        let system = |cause: std::io::Error| ConnectError::System { endpoint: name.clone(), cause };
        let Endpoints { fixed, resolvers, .. } = endpoints;
        let mut members = Members::new(fixed, resolvers).map_err(system)?;
        let patience = Duration::from_nanos(config.call_timeout.as_ps() / 1000);
        let first = members.first(patience).map_err(|error| match error {
            Some(error) => ConnectError::Resolve(error),
            None => ConnectError::Resolve(crate::endpoint::ResolveError::NoServers { name: name.clone() }),
        })?;
        let epoll = match rest {
            Rest::Sleeps => Some(epoll::create(CreateFlags::CLOEXEC).map_err(|cause| system(cause.into()))?),
            Rest::Polls => None,
        };
        let mut balanced = Self::new(config, rest, open, &Time::Machine)?;
        balanced.epoll = epoll;
        if first.len() > usize::from(SERVERS_MAX) {
            return Err(ConnectError::TooManyServers { given: first.len(), max: SERVERS_MAX });
        }
        first.into_iter().for_each(|endpoint| balanced.join(endpoint));
        balanced.members = Some(members);
        balanced.wait_for_one()?;
        Ok(balanced)
    }

    /// A client over these connections, which it never makes again; `time` is their clock.
    pub(super) fn over(
        servers: Vec<(Endpoint, Box<dyn Connection>)>,
        time: &Time,
        config: &ClientConfig,
        open: Open,
    ) -> Result<Self, ConnectError> {
        let given = servers.len();
        let mut balanced = Self::new(config, Rest::Polls, open, time)?;
        for (endpoint, link) in servers {
            let number = balanced.rpcs.servers.join(name_of(&endpoint));
            number.ok_or(ConnectError::TooManyServers { given, max: SERVERS_MAX })?;
            balanced.connections.push(Member::up(link, config.slots));
        }
        Ok(balanced)
    }

    fn new(config: &ClientConfig, rest: Rest, open: Open, time: &Time) -> Result<Self, ConnectError> {
        let watch = Watch::new(time);
        Ok(Self {
            rpcs: Rpcs::new(config, watch.ticks())?,
            connections: Vec::new(),
            maker: Maker::new(config, rest, open),
            members: None,
            look_at: Timestamp::ZERO,
            watch,
            first: 0,
            epoll: None,
            is_armed: Cell::new(false),
            health: config.health.clone(),
            call_timeout: config.call_timeout,
            wait: config.wait,
        })
    }

    /// Waits until one server is connected, and [`GRACE`] for the others.
    fn wait_for_one(&mut self) -> Result<(), ConnectError> {
        let (begun, mut error) = (self.now(), None);
        loop {
            for server in 0..self.connections.len() {
                if let Some(Unmade::Failed(unmade)) = self.attend(server) {
                    error = Some(unmade);
                }
            }
            let is_up = self.connections.iter().any(|connection| connection.look().is_some());
            let is_coming = self.connections.iter().any(Member::is_coming);
            match error {
                Some(error) if !is_up && !is_coming => return Err(error),
                _ if !is_coming || (is_up && self.now() - begun >= GRACE) => return Ok(()),
                _ => std::thread::sleep(Duration::from_micros(50)),
            }
        }
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_ps(self.watch.now_ps())
    }

    fn join(&mut self, listed: Listed) {
        let standing = listed.standing(self.maker.config.zone.as_deref());
        let endpoint = listed.endpoint;
        let Some(number) = self.rpcs.servers.join_as(name_of(&endpoint), standing) else { return };
        let connection = Member::new(Some(endpoint), self.maker.config.slots);
        let at = usize::from(number);
        if at < self.connections.len() {
            self.connections[at] = connection;
        } else {
            self.connections.push(connection);
        }
        self.rpcs.shut.insert(number);
        let _ = self.connections[at].begin(&self.maker);
    }

    /// Servers that are not among these are to leave; others join.
    fn reconcile(&mut self, servers: Vec<Listed>) {
        for connection in &mut self.connections {
            let is_listed = |endpoint: &Endpoint| servers.iter().any(|listed| listed.endpoint == *endpoint);
            connection.is_to_leave = !connection.endpoint.as_ref().is_some_and(is_listed);
        }
        for listed in servers {
            let known = (0..self.rpcs.servers.count()).find(|&number| {
                self.rpcs.servers.is_member(number)
                    && self.connections[usize::from(number)].endpoint.as_ref() == Some(&listed.endpoint)
            });
            match known {
                Some(number) => {
                    let standing = listed.standing(self.maker.config.zone.as_deref());
                    self.rpcs.servers.set_standing(number, standing);
                }
                None => self.join(listed),
            }
        }
    }

    /// Servers that are to leave get no more RPCs, once another one is connected.
    fn take_leave(&mut self) {
        if !self.connections.iter().any(|connection| connection.look().is_some() && !connection.is_to_leave) {
            return;
        }
        for (server, _) in self.connections.iter().enumerate().filter(|(_, connection)| connection.is_to_leave) {
            if self.rpcs.servers.is_member(number(server)) {
                self.rpcs.servers.leave(number(server));
            }
        }
    }

    /// Checks connections, members and health every [`LOOK_EVERY`].
    fn look_after(&mut self, now: Timestamp) {
        if now < self.look_at {
            return;
        }
        self.look_at = now + LOOK_EVERY;
        if let Some(endpoints) = self.members.as_mut().and_then(Members::changed) {
            self.reconcile(endpoints);
        }
        for server in 0..self.connections.len() {
            self.attend(server);
            self.ask(now, server);
        }
        self.take_leave();
    }

    fn attend(&mut self, server: usize) -> Option<Unmade> {
        let (now, number) = (self.now(), number(server));
        let has_another = self.up().nth(1).is_some();
        let connection = &mut self.connections[server];
        if !self.rpcs.servers.is_there(number) {
            connection.close();
            return None;
        }
        // Until it works again, its rest is followed by another one.
        if connection.look().is_some_and(|link| link.is_broken()) && !self.rpcs.servers.rests(now, number) {
            self.rpcs.servers.lose(now, number);
        }
        // A server that is mostly late may be reached by another connection. The last one stays.
        if has_another && self.rpcs.servers.is_lost(number) {
            connection.lose();
        }
        if connection.give_up() {
            self.rpcs.shut.insert(number);
        }
        match connection.come() {
            Some(Came::Up) => {
                if let (Some(epoll), Some(socket)) = (&self.epoll, connection.look().and_then(|link| link.socket())) {
                    // Without memory for this, its answers are found when others come.
                    let _ = epoll::add(epoll, socket, EventData::new_u64(server as u64), EventFlags::IN);
                }
                if self.is_armed.get() {
                    connection.look().into_iter().for_each(|link| link.set_armed(true));
                }
                // Its welcome was a sign of life.
                self.rpcs.servers.find(number);
                self.rpcs.shut.remove(number);
            }
            Some(Came::Failed(unmade)) => {
                self.rpcs.servers.lose(now, number);
                return Some(unmade);
            }
            None if connection.is_down() && self.rpcs.servers.rests_until(number) <= now => {
                // No thread could start: try again later.
                let error = connection.begin(&self.maker);
                error.into_iter().for_each(|_| self.rpcs.servers.lose(now, number));
            }
            None => {}
        }
        None
    }

    fn ask(&mut self, now: Timestamp, server: usize) {
        let Some(HealthCheck { every, request, .. }) = &self.health else { return };
        let connection = &mut self.connections[server];
        if now < connection.ask_at || !self.rpcs.servers.is_there(number(server)) {
            return;
        }
        connection.ask_at = now + *every;
        if connection.asked.is_some() {
            // It has not answered the check before.
            self.rpcs.servers.lose(now, number(server));
            return;
        }
        let asked = connection.link().map(|link| link.submit_with(request, Options::default()));
        if let Some(Ok(ticket)) = asked {
            connection.asked = Some(ticket);
        }
    }

    /// Takes the answers to health checks while no RPC is outstanding, so that a caller that never
    /// polls learns that a server has recovered.
    fn hear_health(&mut self, now: Timestamp) {
        if self.rpcs.outstanding() > 0 {
            return;
        }
        for server in 0..self.connections.len() {
            if self.connections[server].asked.is_some() {
                let end = self.poll_one(now, server);
                self.rpcs.push_ended(end);
            }
        }
    }

    fn send(&mut self, now: Timestamp, outgoing: Outgoing) -> Result<(), SubmitError> {
        self.rpcs.begin_copy(outgoing);
        let connection = &mut self.connections[usize::from(outgoing.server)];
        let (link, places) = connection.link_and_places().ok_or(SubmitError::ServerGone)?;
        let (request, options) = self.rpcs.request(now, outgoing.place);
        let submitted = match options.deadline {
            None => link.submit_keyed(request, options.key_hash),
            Some(_) => link.submit_with(request, options),
        };
        match submitted {
            Ok(there) => {
                places[slot(there, places.len())] = outgoing.place;
                self.rpcs.sent(now, outgoing, there);
                Ok(())
            }
            Err(error) => {
                if error == SubmitError::ServerGone {
                    connection.lose();
                }
                Err(error)
            }
        }
    }

    fn send_all(&mut self, now: Timestamp) {
        while let Some(outgoing) = self.rpcs.outgoing.pop_front() {
            if let Err(error) = self.send(now, outgoing) {
                let error = CallError::NotSent(error);
                self.rpcs.servers.end(now, outgoing.server, rpcs::server_end(&error));
                let end = self.rpcs.failed(now, outgoing.place, error);
                self.rpcs.push_ended(end);
            }
        }
        while let Some((server, there)) = self.rpcs.withdrawn.pop() {
            if let Some(link) = self.connections[usize::from(server)].link() {
                link.cancel(there);
            }
        }
    }

    fn next_end(&mut self) -> Option<End> {
        if let Some(end) = self.rpcs.take_ended() {
            return Some(end);
        }
        let now = self.now();
        let count = self.connections.len();
        for step in 0..count {
            let at = (self.first + step) % count;
            if let Some(end) = self.poll_one(now, at) {
                self.first = (at + 1) % count;
                self.send_all(now);
                return Some(end);
            }
        }
        self.rpcs.keep_time(now);
        self.look_after(now);
        self.send_all(now);
        self.rpcs.take_ended()
    }

    fn poll_one(&mut self, now: Timestamp, server: usize) -> Option<End> {
        let Self { connections, rpcs, health, .. } = self;
        let connection = &mut connections[server];
        loop {
            let asked = connection.asked;
            let (link, places) = connection.link_and_places()?;
            let Some(Completion { ticket, result }) = link.poll() else { break };
            let at = Outgoing { place: places[slot(ticket, places.len())], server: number(server) };
            if asked == Some(ticket) {
                say_health(rpcs, now, at.server, health.as_ref(), result);
                connection.asked = None;
                continue;
            }
            let is_lost = result.as_ref().is_err_and(|error| rpcs::server_end(error) == ServerEnd::Lost);
            let end = rpcs.copy_ended(now, at, ticket, result);
            if is_lost {
                connection.lose();
            }
            if end.is_some() {
                return end;
            }
        }
        self.note_breaks(now, server);
        None
    }

    /// A connection that the kernel reports broken is no reason to wait: the server may be gone.
    /// RPCs for which that does no harm go to another one at once, without leaving this one.
    #[inline]
    fn note_breaks(&mut self, now: Timestamp, server: usize) {
        match self.connections[server].change() {
            None => {}
            Some(Change::Breaks) => {
                self.rpcs.servers.lose(now, number(server));
                self.rpcs.back_up_from(now, number(server));
            }
            Some(Change::Works) => self.rpcs.servers.find(number(server)),
        }
    }

    fn links(&mut self) -> impl Iterator<Item = &mut (dyn Connection + 'static)> {
        self.connections.iter_mut().filter_map(Member::link)
    }

    fn up(&self) -> impl Iterator<Item = &(dyn Connection + 'static)> {
        self.connections.iter().filter_map(Member::look)
    }

    /// The connections with outstanding RPCs.
    fn awaited(&self) -> impl Iterator<Item = &(dyn Connection + 'static)> {
        self.up().filter(|link| link.outstanding() > 0)
    }

    /// Sleeps until an awaited connection has something to receive.
    fn sleep(&self, timeout: Span) {
        let sockets = self.awaited().filter_map(|link| link.socket());
        let mut sockets: Vec<_> = sockets.map(|socket| PollFd::from_borrowed_fd(socket, PollFlags::IN)).collect();
        let timeout = Duration::from_nanos(timeout.min(Span::from_secs(3600)).as_ps().div_ceil(1000));
        let timeout = Timespec::try_from(timeout).unwrap_or_default();
        // An interrupted wait counts as a wait.
        let _ = poll(&mut sockets, Some(&timeout));
    }
}

impl Connection for Balanced {
    fn deadline(&self) -> Span {
        self.maker.config.deadline
    }

    /// As [`Client::greet`](crate::Client::greet).
    fn greet(&mut self, greeting: Arc<Greeting>) -> bool {
        self.maker.add_greeting(greeting.clone());
        let (now, mut is_content) = (self.now(), false);
        for server in 0..self.connections.len() {
            let connection = &mut self.connections[server];
            match connection.greet(&greeting, &self.maker) {
                Some(true) => is_content = true,
                Some(false) => {
                    connection.lose();
                    self.rpcs.shut.insert(number(server));
                    self.rpcs.servers.lose(now, number(server));
                }
                None => {}
            }
        }
        is_content
    }

    fn submit_with(&mut self, request: &[u8], options: Options) -> Result<Ticket, SubmitError> {
        let now = self.now();
        self.look_after(now);
        self.hear_health(now);
        let deadline = options.deadline.or(Some(self.maker.config.deadline).filter(|&deadline| deadline != Span::MAX));
        let place = self.rpcs.begin(now, request, Options { deadline, ..options })?;
        let (mut next, mut error) = (self.rpcs.first(now, place), SubmitError::ServerGone);
        while let Some(server) = next {
            let outgoing = Outgoing { place, server };
            match self.send(now, outgoing) {
                Ok(()) => return Ok(self.rpcs.ticket(place)),
                Err(refused) => {
                    next = self.rpcs.not_sent(now, outgoing, &refused);
                    error = refused;
                }
            }
        }
        if error == SubmitError::ServerGone && self.rpcs.waits(now, place) {
            return Ok(self.rpcs.ticket(place));
        }
        self.rpcs.forget(place);
        Err(error)
    }

    fn poll(&mut self) -> Option<Completion<'_>> {
        let (ticket, result) = self.next_end()?;
        Some(Completion { ticket, result: result.map(|bytes| self.rpcs.reply(bytes)) })
    }

    fn take_all(&mut self, visit: &mut dyn FnMut(Completion<'_>)) {
        let now = self.now();
        for server in 0..self.connections.len() {
            let Self { connections, rpcs, health, .. } = self;
            let connection = &mut connections[server];
            let (asked, mut is_lost, mut has_answered) = (connection.asked, false, false);
            let Some((link, places)) = connection.link_and_places() else { continue };
            link.take_all(&mut |Completion { ticket, result }| {
                let at = Outgoing { place: places[slot(ticket, places.len())], server: number(server) };
                if asked == Some(ticket) {
                    say_health(rpcs, now, at.server, health.as_ref(), result);
                    has_answered = true;
                    return;
                }
                is_lost |= result.as_ref().is_err_and(|error| rpcs::server_end(error) == ServerEnd::Lost);
                if let Some((ticket, result)) = rpcs.copy_ended(now, at, ticket, result) {
                    visit(Completion { ticket, result: result.map(|bytes| rpcs.reply(bytes)) });
                }
            });
            if has_answered {
                connection.asked = None;
            }
            if is_lost {
                connection.lose();
            }
        }
        while let Some(Completion { ticket, result }) = self.poll() {
            visit(Completion { ticket, result });
        }
    }

    fn cancel(&mut self, ticket: Ticket) -> bool {
        let is_outstanding = self.rpcs.cancel(ticket, CallError::Cancelled);
        let now = self.now();
        self.send_all(now);
        is_outstanding
    }

    fn flush(&mut self) {
        self.links().for_each(|link| link.flush());
    }

    /// Sleeps, unless answers come over shared memory and the servers there wake nobody: then it
    /// yields the core for a moment.
    fn wait(&mut self, timeout: Span) {
        self.flush();
        let timeout = self.due().map_or(timeout, |due| due.min(timeout));
        if self.epoll.is_none() && self.awaited().any(|link| !link.is_watched_on_request()) {
            return std::thread::yield_now();
        }
        self.set_armed(true);
        if !self.links().any(Connection::has_answer) {
            self.sleep(timeout);
        }
        self.set_armed(false);
        self.take_wake_ups();
    }

    fn call(&mut self, request: &[u8], options: Options) -> Result<&[u8], CallError> {
        let bytes = call(self, request, options)?;
        Ok(self.rpcs.reply(bytes))
    }

    fn set_armed(&self, is_armed: bool) {
        self.is_armed.set(is_armed);
        self.up().for_each(|link| link.set_armed(is_armed));
    }

    fn take_wake_ups(&mut self) {
        self.links().for_each(|link| link.take_wake_ups());
    }

    fn socket(&self) -> Option<BorrowedFd<'_>> {
        self.epoll.as_ref().map(AsFd::as_fd)
    }

    fn due(&mut self) -> Option<Span> {
        let now = self.now();
        let of_links = self.links().filter_map(|link| link.due()).min();
        let of_rpcs = Rpcs::until(now, self.rpcs.due());
        // A connection in the making does not announce that it is ready.
        let is_coming = self.connections.iter().any(Member::is_coming);
        let of_health = self.health.as_ref().map(|health| health.every);
        [of_links, of_rpcs, is_coming.then_some(LOOK_EVERY), of_health].into_iter().flatten().min()
    }

    #[cfg(feature = "tower")]
    fn has_room(&mut self) -> bool {
        self.rpcs.has_room() && (self.links().any(|link| link.has_room()) || self.links().next().is_none())
    }

    fn paced_for(&mut self) -> Option<Span> {
        self.links().filter_map(|link| link.paced_for()).min()
    }

    fn outstanding(&self) -> u32 {
        self.rpcs.outstanding()
    }

    fn set_keys(&mut self, keys: &Keys) {
        self.maker.config.keys = keys.clone();
        self.links().for_each(|link| link.set_keys(keys));
    }

    fn bind_to_server(&mut self) {
        self.maker.is_bound = true;
        self.links().for_each(|link| link.bind_to_server());
    }

    fn slo(&self) -> Span {
        self.up().map(|link| link.slo()).filter(|&slo| slo > Span::ZERO).min().unwrap_or_default()
    }

    fn rpc_bytes_max(&self) -> u32 {
        self.up().map(|link| link.rpc_bytes_max()).min().unwrap_or(0)
    }

    fn server_reply_bytes_max(&self) -> Option<u32> {
        self.up().map(|link| link.server_reply_bytes_max()).max().flatten()
    }

    fn buffer_bytes(&self) -> usize {
        self.up().map(|link| link.buffer_bytes()).sum()
    }

    fn is_local(&self) -> bool {
        self.connections.iter().any(|member| matches!(member.endpoint, Some(Endpoint::Shm(_))))
    }

    fn packet_bytes(&self) -> u32 {
        0
    }

    fn submit_operation(&mut self, _: Ticket, _: &[u8]) -> Result<(), SubmitError> {
        Err(SubmitError::NotOneSided)
    }

    fn has_several_servers(&self) -> bool {
        true
    }
}

fn say_health(
    rpcs: &mut Rpcs,
    now: Timestamp,
    server: u16,
    health: Option<&HealthCheck>,
    result: Result<&[u8], CallError>,
) {
    match result.as_ref().map_err(rpcs::server_end) {
        Ok(reply) => {
            rpcs.servers.find(server);
            let is_well = health.is_none_or(|health| (health.is_well)(reply));
            rpcs.servers.set_health(server, is_well);
        }
        Err(ServerEnd::Late | ServerEnd::Lost) => rpcs.servers.lose(now, server),
        // It is alive, and overloaded.
        Err(ServerEnd::Answered | ServerEnd::Refused) => rpcs.servers.find(server),
        Err(ServerEnd::Unsent | ServerEnd::Withdrawn) => {}
    }
}

#[expect(clippy::cast_possible_truncation, reason = "at most SERVERS_MAX")]
const fn number(server: usize) -> u16 {
    server as u16
}

/// A number by which all clients know a server, whatever their lists.
fn name_of(endpoint: &Endpoint) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(endpoint.to_string().as_bytes());
    hasher.finish()
}

impl Caller for Balanced {
    type Place = usize;
    type Patience = Patience;

    fn patience(&mut self) -> Patience {
        Patience::new(self.now())
    }

    fn submit(&mut self, request: &[u8], options: Options) -> Result<Ticket, SubmitError> {
        self.submit_with(request, options)
    }

    fn next_end(&mut self) -> Option<End> {
        Self::next_end(self)
    }

    fn pause(&mut self, patience: &mut Patience) -> bool {
        let (now, wait) = (self.now(), (self.wait, self.call_timeout));
        patience.pause(now, wait, |left| self.wait(left))
    }

    fn not_sent(error: SubmitError) -> CallError {
        CallError::NotSent(error)
    }

    fn abandon(&mut self, ticket: Ticket) {
        self.rpcs.abandon(ticket);
        let now = self.now();
        self.send_all(now);
    }
}

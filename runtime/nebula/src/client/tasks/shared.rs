//! The state that the tasks of a client share: the connection, the calls, and the rule that no task
//! sleeps while its answer waits.
//!
//! **The rule.** While a task sleeps, each unseen answer triggers an event for the client: the
//! server has been asked for a wake-up, the UDP socket is watched, or the driver is about to look.
//! A thread that leaves a task asleep first asks for that, and then looks at all outstanding RPCs.
//! Polling tasks do not count: they may be stopped at any moment.

use super::calls::{CallId, Calls};
use super::driver::{Attended, Registration, Watch};
use crate::client::connection::Rest;
use crate::client::error::{CallError, ConnectError, SubmitError};
use crate::client::link::Link;
use crate::client::ticket::{Completion, Ticket};
use crate::config::client::{ClientConfig, Options};
use crate::endpoint::Endpoints;
use crate::net::{Environment, Time, Watch as Clock};
use nebula_nic::Span;
use std::cell::Cell;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;

/// How soon a call that waits for room tries again if nothing outstanding would make room.
const RETRY_ROOM: Span = Span::from_ms(1);

/// Looks of the only call before its task yields.
pub(super) const LOOKS: u32 = 16;

#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    clock: Clock,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) link: Link,
    pub(super) calls: Calls,
    /// `None` over networks of the caller's, who attends to the client.
    registration: Option<Registration>,
    is_watched: bool,
    /// Whether other calls were outstanding when the last one was sent.
    has_company: bool,
    planned: u64,
    clock: Clock,
    patience: u64,
    woken: Vec<Waker>,
    /// Wakers to be dropped once the lock is free: that may run code of an executor.
    stale: Vec<Waker>,
}

#[derive(Debug)]
pub(super) enum Submitted {
    Sent(CallId),
    /// Its end came at once, with the bytes in its reply.
    Ended(Result<(), CallError>),
    Waits(CallId),
    Refused(SubmitError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WhenFull {
    Wait,
    Refuse,
}

impl Shared {
    pub(super) fn connect(endpoints: Endpoints, config: &ClientConfig) -> Result<Arc<Self>, ConnectError> {
        let name = endpoints.to_string();
        let system = |cause| ConnectError::System { endpoint: name.clone(), cause };
        // Tasks have RPCs only.
        let link = Link::connect(endpoints, &config.clone().one_sided(false), Rest::Sleeps)?;
        let watch = if link.is_watched_on_request() { Watch::OnRequest } else { Watch::Always };
        let registration = Registration::new().map_err(system)?;
        let shared = Self::new(link, &Time::Machine, Some(registration), config);
        shared.with(|state| state.attach(Arc::downgrade(&shared), watch)).map_err(system)?;
        Ok(shared)
    }

    /// Connects over networks of the caller's, who also [attends](Attended::attend) to the client.
    pub(super) fn over(
        servers: Vec<(SocketAddr, Environment)>,
        config: &ClientConfig,
    ) -> Result<Arc<Self>, ConnectError> {
        let (link, time) = Link::over_all(servers, config)?;
        Ok(Self::new(link, &time, None, config))
    }

    fn new(link: Link, time: &Time, registration: Option<Registration>, config: &ClientConfig) -> Arc<Self> {
        let clock = Clock::new(time);
        let state = State {
            link,
            calls: Calls::default(),
            registration,
            is_watched: false,
            has_company: false,
            planned: u64::MAX,
            patience: clock.ticks_of(config.call_timeout.as_ps()),
            clock: clock.clone(),
            woken: Vec::new(),
            stale: Vec::new(),
        };
        Arc::new(Self { state: Mutex::new(state), clock })
    }

    #[inline]
    pub(super) fn with<R>(&self, act: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let result = act(&mut state);
        if !(state.woken.is_empty() && state.stale.is_empty()) {
            wake(state);
        }
        result
    }

    pub(super) fn ticks_of(&self, span: Span) -> u64 {
        self.clock.ticks_of(span.as_ps())
    }
}

/// Wakes tasks with the lock free: an executor may do anything meanwhile.
#[cold]
fn wake(mut state: MutexGuard<'_, State>) {
    let (mut woken, mut stale) = SPARE.take();
    std::mem::swap(&mut woken, &mut state.woken);
    std::mem::swap(&mut stale, &mut state.stale);
    drop(state);
    stale.clear();
    woken.drain(..).for_each(Waker::wake);
    SPARE.set((woken, stale));
}

thread_local! {
    static SPARE: Cell<(Vec<Waker>, Vec<Waker>)> = const { Cell::new((Vec::new(), Vec::new())) };
}

impl State {
    fn attach(&self, shared: Weak<Shared>, watch: Watch) -> std::io::Result<()> {
        let Some(registration) = &self.registration else { return Ok(()) };
        let socket = self.link.socket().ok_or(std::io::ErrorKind::Unsupported)?;
        registration.attach(shared, socket, watch)
    }

    #[inline]
    pub(super) fn now(&self) -> u64 {
        self.clock.ticks()
    }

    pub(super) fn submit(
        &mut self,
        call: Option<CallId>,
        request: &[u8],
        options: Options,
        full: WhenFull,
        reply: &mut Vec<u8>,
    ) -> Submitted {
        if !self.calls.goes_behind(call) {
            match self.try_submit(request, options) {
                Ok(ticket) if call.is_none() && self.is_alone() => {
                    let ended = self.look_for(ticket, reply).map(Submitted::Ended);
                    return ended.unwrap_or_else(|| self.sent(None, ticket, reply));
                }
                Ok(ticket) => return self.sent(call, ticket, reply),
                Err(SubmitError::Full) => {}
                Err(error) => {
                    call.into_iter().for_each(|call| self.forget(call));
                    return Submitted::Refused(error);
                }
            }
        }
        match (call, full) {
            (Some(call), _) => Submitted::Waits(call),
            (None, WhenFull::Refuse) => Submitted::Refused(SubmitError::Full),
            (None, WhenFull::Wait) => {
                let until = self.now().saturating_add(self.patience);
                Submitted::Waits(self.calls.queue(until, std::mem::take(reply)))
            }
        }
    }

    fn try_submit(&mut self, request: &[u8], options: Options) -> Result<Ticket, SubmitError> {
        match self.submit_now(request, options) {
            // A look may make room.
            Err(SubmitError::Full) => {
                self.look();
                self.submit_now(request, options)
            }
            submitted => submitted,
        }
    }

    #[inline]
    fn submit_now(&mut self, request: &[u8], options: Options) -> Result<Ticket, SubmitError> {
        if options.deadline.is_none() && !options.idempotent {
            self.link.submit_keyed(request, options.key_hash)
        } else {
            self.link.submit_with(request, options)
        }
    }

    #[inline]
    fn sent(&mut self, call: Option<CallId>, ticket: Ticket, reply: &mut Vec<u8>) -> Submitted {
        let id = self.calls.sent(call, ticket, reply);
        if call.is_some() {
            self.stale.extend(self.calls.take_waker(id));
            self.calls.make_room(&mut self.woken);
        }
        Submitted::Sent(id)
    }

    /// The call was polled without an end: its time runs from now on at the latest. Returns now.
    pub(super) fn note_wait(&mut self, call: CallId) -> u64 {
        let now = self.now();
        self.calls.limit(call, now.saturating_add(self.patience));
        self.expire(now);
        now
    }

    /// Whether the call just sent, not yet among the others, is the only one, as the one before it
    /// was.
    #[inline]
    fn is_alone(&mut self) -> bool {
        let is_only = self.calls.outstanding() == 0 && !self.calls.has_queued() && !self.is_watched;
        let was_alone = !std::mem::replace(&mut self.has_company, !is_only);
        is_only && was_alone
    }

    /// Some looks for the end of the only RPC, which is not among the calls.
    #[inline]
    fn look_for(&mut self, ticket: Ticket, reply: &mut Vec<u8>) -> Option<Result<(), CallError>> {
        for _ in 0..LOOKS {
            // What ends before it was cancelled.
            while let Some(ended) = self.link.poll() {
                if ended.ticket == ticket {
                    return Some(ended.result.map(|bytes| {
                        reply.clear();
                        reply.extend_from_slice(bytes);
                    }));
                }
            }
            std::hint::spin_loop();
        }
        None
    }

    #[inline]
    pub(super) fn look(&mut self) {
        let Self { link, calls, woken, .. } = self;
        let mut found = false;
        while let Some(Completion { ticket, result }) = link.poll() {
            found = true;
            woken.extend(calls.end(ticket, result));
            if calls.outstanding() == 0 {
                break;
            }
        }
        if found {
            self.found();
        }
    }

    fn found(&mut self) {
        self.calls.make_room(&mut self.woken);
        if self.is_watched && !self.calls.has_sleepers() {
            self.is_watched = false;
            self.link.set_armed(false);
        }
    }

    fn look_at_all(&mut self) {
        let Self { link, calls, woken, .. } = self;
        link.take_all(&mut |Completion { ticket, result }| woken.extend(calls.end(ticket, result)));
        calls.make_room(woken);
    }

    /// Whether a call can be sent. If not, `waker` is woken when that may have changed.
    #[cfg(feature = "tower")]
    pub(super) fn is_ready(&mut self, waker: &Waker) -> bool {
        for _ in 0..2 {
            if !self.calls.goes_behind(None) && self.link.has_room() {
                return true;
            }
            self.look();
        }
        self.calls.wake_when_ready(waker);
        self.rest();
        false
    }

    /// Has `waker` woken when the call goes on, and ensures that an event will cause that.
    pub(super) fn sleep(&mut self, call: CallId, waker: &Waker) {
        self.stale.extend(self.calls.sleep(call, waker));
        self.rest();
    }

    fn rest(&mut self) {
        if !self.is_watched {
            self.watch();
            self.look_at_all();
        }
        let due = self.due();
        if due < self.planned {
            self.planned = due;
            self.registration.iter().for_each(|registration| registration.attend_at(due));
        }
    }

    fn watch(&mut self) {
        self.is_watched = true;
        self.link.set_armed(true);
        let Some(registration) = &self.registration else { return };
        if let (true, Some(socket)) = (self.link.is_watched_on_request(), self.link.socket()) {
            registration.watch_once(socket);
        }
    }

    pub(super) fn expire(&mut self, now: u64) {
        let Self { link, calls, woken, .. } = self;
        calls.expire(now, |ticket, waker| {
            if let Some(ticket) = ticket {
                link.cancel(ticket);
            }
            woken.extend(waker);
        });
    }

    fn due(&mut self) -> u64 {
        let now = self.now();
        let after = |span: Span| now.saturating_add(self.clock.ticks_of(span.as_ps()));
        let due = self.link.due().map(after);
        let may_send = if self.calls.has_queued() {
            let nothing_ends = self.calls.outstanding() == 0;
            self.link.paced_for().or(Some(RETRY_ROOM).filter(|_| nothing_ends)).map(after)
        } else {
            None
        };
        [due, may_send, self.calls.expiry()].into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    pub(super) fn forget(&mut self, call: CallId) {
        let (ticket, waker) = self.calls.forget(call);
        self.stale.extend(waker);
        if let Some(ticket) = ticket {
            self.link.cancel(ticket);
            self.look();
        }
        // The call may have been woken for room, which the next one gets.
        self.found();
    }
}

impl Shared {
    /// As [`attend`](Attended::attend), with the time until the next one.
    pub(super) fn attend_in(&self) -> Option<Span> {
        let due = self.attend()?;
        let ticks = due.saturating_sub(self.clock.ticks());
        Some(Span::from_ps(self.clock.ps(ticks)))
    }
}

impl Attended for Shared {
    fn attend(&self) -> Option<u64> {
        self.with(|state| {
            state.link.take_wake_ups();
            state.look_at_all();
            state.expire(state.now());
            if state.calls.has_sleepers() {
                state.watch();
                state.look_at_all();
            } else if std::mem::take(&mut state.is_watched) {
                state.link.set_armed(false);
            }
            state.planned = state.due();
            Some(state.planned).filter(|&due| due != u64::MAX)
        })
    }
}

impl Drop for State {
    fn drop(&mut self) {
        if let (Some(registration), Some(socket)) = (&self.registration, self.link.socket()) {
            registration.detach(socket);
        }
    }
}

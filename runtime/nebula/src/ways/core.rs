//! A core at work, the same for all ways: begin, serve, release.

use super::completions::Completions;
use super::source::{Serving, Source};
use crate::config::server::{IdlePolicy, ServerConfig};
use crate::engine::run::Turn;
use crate::net::{Time, Watch};
use crate::nic::recorder::Choice;
use crate::rpc::answer::{Answer, Asker, Fate};
use crate::rpc::cancel::{Cancel, ShareRing};
use crate::rpc::description::Description;
use crate::rpc::fault::Fault;
use crate::rpc::handler::guarded;
use crate::rpc::job::{Held, Served};
use crate::rpc::later::{End, Ended, LaterError, LaterReply, Laters, MayWait};
use crate::rpc::parking::rest_after;
use crate::rpc::reply::Reply;
use crate::rpc::service::Service;
use crate::status::{self, Meter};
use crate::transport::shm::channel::Channel;
use crate::transport::shm::registry::ChannelCache;
use crate::yielding::Yielding;
use nebula_nic::ending::{NEVER, over};
use nebula_nic::{Arrival, CoreId, Decision, Frontend, Input, NackReason, RpcKey, Span, Timestamp};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

#[derive(Debug)]
pub(crate) struct Core {
    source: Box<dyn Source>,
    /// Whether the source serves all RPCs itself. It does not change.
    serves_runs: bool,
    pub(crate) completions: Completions,
    pub(crate) channels: ChannelCache,
    /// The RPCs with later replies, if there can be any.
    later: Option<Box<Later>>,
    idle: IdlePolicy,
    stop: Arc<AtomicBool>,
    watch: Watch,
    meter: Meter,
    yielding: Yielding,
    /// Where it logs why a client waits no more, if there is a decision log.
    log: Option<Sender<Choice>>,
    description: Description,
}

pub(crate) struct Parts {
    pub(crate) frontend: Frontend,
    pub(crate) channels: ChannelCache,
    pub(crate) stop: Arc<AtomicBool>,
}

pub(crate) struct Begun {
    pub(crate) arrival: Arrival,
    pub(crate) held: Held,
    home: CoreId,
}

impl std::fmt::Debug for Begun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.arrival.fmt(f)
    }
}

/// An RPC with a later reply, and the ring for it, if it goes into one.
#[derive(Debug)]
struct Parked {
    rpc: u64,
    kept: Kept,
    channel: Option<Arc<Channel>>,
}

#[derive(Debug)]
enum Kept {
    /// Its slots and the core's credit.
    All(Begun),
    /// Only the room for its reply: its slots were freed.
    Room { rpc: RpcKey, span: u32, answer: Option<Box<Answer>> },
}

impl Kept {
    /// The RPC, its span in the client's ring, and the buffer for a reply that goes into no ring.
    fn room(&mut self) -> (RpcKey, u32, Option<&mut Answer>) {
        match self {
            Self::All(Begun { arrival, held, .. }) => (arrival.rpc, held.span, held.answer.as_deref_mut()),
            Self::Room { rpc, span, answer } => (*rpc, *span, answer.as_deref_mut()),
        }
    }
}

#[derive(Debug, Default)]
struct Later {
    laters: Laters,
    /// At most as many as the NIC gives a core keep their slots.
    parked: Vec<Parked>,
    /// Whether handlers may take their replies: the NIC gives this core credit for that.
    is_configured: bool,
}

impl Later {
    fn remove(&mut self, rpc: u64) -> Option<Parked> {
        let at = self.parked.iter().position(|parked| parked.rpc == rpc)?;
        Some(self.parked.swap_remove(at))
    }
}

/// The reply to an RPC in its answer, or in the client's ring; `None` if the client has left.
#[inline(always)]
fn reply_to<'a>(
    channels: &'a mut ChannelCache,
    arrival: &Arrival,
    span: u32,
    answer: Option<&'a mut Answer>,
) -> Option<(Reply<'a>, Option<&'a Arc<Channel>>)> {
    match answer {
        Some(answer) => Some((Reply::buffered(answer), None)),
        None => {
            let channel = channels.channel(arrival.rpc.snid)?;
            Some((Reply::in_ring(channel.slots(), arrival.rpc.tid.0, span), Some(channel)))
        }
    }
}

fn publish_bytes(reply: &mut Reply<'_>, bytes: &[u8]) {
    reply.write(bytes);
    reply.publish();
}

impl Core {
    pub(crate) fn new(source: Box<dyn Source>, Parts { frontend, channels, stop }: Parts) -> Self {
        Self {
            serves_runs: source.serves_runs(),
            source,
            completions: Completions::new(frontend),
            channels,
            later: None,
            idle: IdlePolicy::Adaptive,
            stop,
            watch: Watch::new(&Time::Machine),
            meter: Meter::none(&Watch::new(&Time::Machine)),
            yielding: Yielding::new(),
            log: None,
            description: Description::default(),
        }
    }

    pub(crate) fn configure(&mut self, config: &ServerConfig, watch: &Watch) {
        (self.watch, self.idle) = (watch.clone(), config.idle);
        self.description = config.description.clone().unwrap_or_default();
        self.completions.set_steering(config.steering, self.description.prefetches);
        self.later = (config.laters() > 0).then(|| Box::new(Later { is_configured: true, ..Later::default() }));
    }

    pub(crate) fn set_meter(&mut self, meter: Meter) {
        self.meter = meter;
    }

    pub(crate) fn set_log(&mut self, log: Option<Sender<Choice>>) {
        self.log = log;
    }

    pub(crate) fn log(&self) -> Option<Sender<Choice>> {
        self.log.clone()
    }

    pub(crate) fn id(&self) -> CoreId {
        self.completions.frontend.core()
    }

    /// Serves until the server stops.
    pub(crate) fn run(&mut self, service: &dyn Service) {
        let mut idle_since = None;
        loop {
            match self.turn_or_glance(service, true) {
                Turn::Glance => continue,
                Turn::Busy(_) => idle_since = None,
                Turn::Idle => {
                    self.meter.note_rest();
                    self.rest(&mut idle_since);
                }
            }
            // Not after a mere glance at the rings, but even under endless load.
            if self.is_stopped() {
                self.end_service();
                return self.finish();
            }
        }
    }

    /// The service gets no more RPCs.
    #[cold]
    fn end_service(&self) {
        self.description.on_drain.iter().for_each(|drain| drain());
        self.meter.note_end();
    }

    #[cold]
    pub(super) fn note_end(&self) {
        self.meter.note_end();
    }

    #[inline]
    pub(super) fn note_served(&mut self, begun: &Begun, began_ps: u64) {
        let is_due = self.meter.is_due(1);
        self.end_sampling(NonZeroU64::new(began_ps).filter(|_| is_due), begun);
    }

    #[inline(always)]
    fn end_sampling(&mut self, begun_ps: Option<NonZeroU64>, Begun { arrival, held, .. }: &Begun) {
        if let Some(begun_ps) = begun_ps {
            let ended_ps = self.meter.now_ps();
            self.meter.sample(status::Served::one(*arrival, held.given, held.is_steered, begun_ps.get(), ended_ps));
        }
    }

    pub(super) fn note_rest(&mut self) {
        self.meter.note_rest();
    }

    /// Serves RPCs that are there, at most some, and each to its end. Returns their number.
    pub(crate) fn turn(&mut self, service: &dyn Service) -> usize {
        if let Turn::Busy(served) = self.turn_or_glance(service, false) { served } else { 0 }
    }

    /// A turn. Without a result it may be a glance, if the caller comes again at once.
    #[inline(always)]
    fn turn_or_glance(&mut self, service: &dyn Service, may_glance: bool) -> Turn {
        if !self.serves_runs {
            return self.turn_of_rpcs(service);
        }
        if self.completions.frontend.outstanding() > 0 {
            self.finish_given(service);
        }
        self.source.turn_of_runs(service, self.completions.prefetches(), may_glance)
    }

    /// Serves RPCs dispatched for `wait_for_rpc` and not taken, to regain all the credit.
    #[cold]
    fn finish_given(&mut self, service: &dyn Service) {
        while let Some(begun) = self.begin(service) {
            self.serve(begun, service);
        }
        self.settle();
    }

    #[inline(never)]
    fn turn_of_rpcs(&mut self, service: &dyn Service) -> Turn {
        let ended = self.end_later();
        let at_once = self.source.pull(&mut self.completions, service, true);
        let serving = self.source.begin_serving();
        let serving = Serving { most: serving.most.saturating_sub(at_once), ..serving };
        let mut served = 0;
        while served < serving.most
            && let Some(begun) = self.begin(service)
        {
            self.serve(begun, service);
            served += 1;
        }
        self.source.end_serving(serving, served);
        self.settle();
        match at_once + served + ended {
            0 => Turn::Idle,
            served => Turn::Busy(served),
        }
    }

    /// Takes RPCs dispatched to this core. A core that is the engine too first runs a turn of it.
    pub(crate) fn pull(&mut self, service: &dyn Service) {
        self.source.pull(&mut self.completions, service, false);
    }

    /// Begins the next RPC whose client still waits.
    pub(crate) fn begin(&mut self, service: &dyn Service) -> Option<Begun> {
        loop {
            let begun = self.begin_any(service)?;
            let (deadline, is_cancelled) = match &begun.held.answer {
                Some(answer) => (answer.ending.deadline, answer.ending.has_cancelled()),
                None => (NEVER, begun.held.is_taken_back),
            };
            match over(deadline, is_cancelled, || self.now()) {
                None => return Some(begun),
                Some(reason) => self.refuse(begun, (deadline, is_cancelled), reason),
            }
        }
    }

    /// The time, for deadlines. Not the turn's: earlier RPCs may have taken long.
    #[inline]
    fn now(&self) -> Timestamp {
        Timestamp::from_ps(self.watch.now_ps())
    }

    /// Ends an RPC whose client does not wait any more.
    #[cold]
    fn refuse(&mut self, mut begun: Begun, (deadline, is_cancelled): (Timestamp, bool), reason: NackReason) {
        if let Some(log) = &self.log {
            let input = Input::Over { rpc: begun.arrival.rpc, deadline, is_cancelled };
            // The engine's end is gone when the server ends, and the log with it.
            let _ = log.send(Choice { at: Some(self.now()), input, decision: Some(Decision::nack(reason)) });
        }
        match &mut begun.held.answer {
            Some(answer) => answer.ending.fate = Fate::Refused(reason),
            None => self.answer_by(&mut begun, |reply| reply.nack(reason)),
        }
        self.release(begun);
        self.source.uncount();
    }

    /// Begins the next RPC, and prefetches the payload of the one behind it, if it has come.
    #[inline(always)]
    fn begin_any(&mut self, service: &dyn Service) -> Option<Begun> {
        let Self { source, completions, .. } = self;
        source.fetch(completions);
        source.take_given(completions);
        let arrival = completions.frontend.poll_completion()?.arrival;
        let held = source.payload(completions, &arrival)?;
        completions.steer_next(service);
        Some(Begun { arrival, held, home: completions.home() })
    }

    #[inline(always)]
    pub(crate) fn serve(&mut self, mut begun: Begun, service: &dyn Service) {
        let Begun { arrival, held, .. } = &mut begun;
        let to = reply_to(&mut self.channels, arrival, held.span, held.answer.as_deref_mut());
        let mut taken = None;
        let begun_ps = self.meter.begin(1);
        if let Some((reply, channel)) = to {
            let laters = self.later.as_ref().filter(|later| later.is_configured).map(|later| &later.laters);
            let ring = channel.map(|channel| -> &dyn ShareRing { channel });
            let may_wait = laters.map(|laters| MayWait { laters, client: arrival.rpc.snid, ring });
            let mut reply = reply.with_laters(may_wait.as_ref());
            let request = held.lease.payload(arrival.bytes as usize);
            let served = guarded(|| service.serve(request, &mut reply));
            taken = laters.and_then(Laters::taken).filter(|_| served.is_ok());
            match served {
                Ok(()) if taken.is_some() => {}
                Ok(()) => reply.publish(),
                Err(fault) => reply.fail(fault),
            }
            if taken.is_none() {
                channel.into_iter().for_each(|channel| channel.wake_sleeper());
            }
        }
        self.end_sampling(begun_ps, &begun);
        // The next RPC has usually come meanwhile. Its payload is fetched while this one is ended.
        self.source.take_given(&mut self.completions);
        self.completions.steer_next(service);
        match taken {
            None => self.release(begun),
            Some(rpc) => self.park(rpc, begun),
        }
    }

    pub(crate) fn answer(&mut self, begun: &mut Begun, write: impl FnOnce(&mut Reply<'_>) -> Option<Fault>) {
        self.answer_by(begun, |reply| match write(reply) {
            None => reply.publish(),
            Some(fault) => reply.fail(fault),
        });
    }

    fn answer_by(&mut self, begun: &mut Begun, publish: impl FnOnce(&mut Reply<'_>)) {
        let Begun { arrival, held, .. } = begun;
        let to = reply_to(&mut self.channels, arrival, held.span, held.answer.as_deref_mut());
        if let Some((mut reply, channel)) = to {
            publish(&mut reply);
            channel.into_iter().for_each(|channel| channel.wake_sleeper());
        }
    }

    /// Takes the reply to an RPC for later, and keeps the RPC until it is given.
    pub(crate) fn take_later(&mut self, begun: Begun) -> Result<LaterReply, (Begun, LaterError)> {
        if self.later.as_ref().is_none_or(|later| !later.is_configured) {
            return Err((begun, LaterError::NotConfigured));
        }
        let (reply, rpc) = match self.number_later(&begun) {
            Ok(taken) => taken,
            Err(error) => return Err((begun, error)),
        };
        self.park(rpc, begun);
        Ok(reply)
    }

    /// Frees the slots of an RPC with a later reply. If the reply's buffer goes back by way of
    /// another thread, it goes with the slots: then both are kept until the reply is given.
    pub(crate) fn free(&mut self, mut begun: Begun) -> Result<LaterReply, (Begun, LaterError)> {
        self.later.get_or_insert_default();
        let (reply, rpc) = match self.number_later(&begun) {
            Ok(taken) => taken,
            Err(error) => return Err((begun, error)),
        };
        if begun.held.answer.is_some() && !self.source.sends_alone() {
            self.park(rpc, begun);
            return Ok(reply);
        }
        let channel = self.channel_of(&begun);
        let kept = Kept::Room { rpc: begun.arrival.rpc, span: begun.held.span, answer: begun.held.answer.take() };
        if let Some(later) = &mut self.later {
            later.parked.push(Parked { rpc, kept, channel });
        }
        self.release(begun);
        Ok(reply)
    }

    fn number_later(&mut self, begun: &Begun) -> Result<(LaterReply, u64), LaterError> {
        let Begun { arrival, held, .. } = begun;
        let (capacity, asker) = match &held.answer {
            Some(answer) => (answer.capacity(), Some(answer.ending.asker())),
            None => match self.channels.channel(arrival.rpc.snid) {
                Some(channel) => {
                    let cancel = Cancel::in_ring(channel.share(), arrival.rpc.tid.0);
                    (channel.room(held.span), Some(Asker::only(cancel)))
                }
                None => (0, None),
            },
        };
        let laters = self.later.as_ref().map(|later| &later.laters).ok_or(LaterError::NotConfigured)?;
        let reply = laters.take(capacity, || asker)?;
        Ok((reply, laters.taken().ok_or(LaterError::Taken)?))
    }

    #[cold]
    fn park(&mut self, rpc: u64, begun: Begun) {
        let channel = self.channel_of(&begun);
        if let Some(later) = &mut self.later {
            later.parked.push(Parked { rpc, kept: Kept::All(begun), channel });
        }
    }

    fn channel_of(&mut self, begun: &Begun) -> Option<Arc<Channel>> {
        if begun.held.answer.is_some() { None } else { self.channels.shared(begun.arrival.rpc.snid) }
    }

    /// Sends the reply to a kept RPC from the core's own thread, or returns another core's.
    pub(crate) fn end_now(&mut self, reply: LaterReply, bytes: &[u8]) -> Option<LaterReply> {
        let later = self.later.as_mut().filter(|later| later.laters.is_of(&reply));
        let Some(parked) = later.and_then(|later| later.remove(reply.rpc())) else { return Some(reply) };
        reply.into_sent();
        self.end_one(parked, |reply| publish_bytes(reply, bytes));
        self.settle();
        None
    }

    /// Ends RPCs whose later replies have come; returns their number.
    #[inline(always)]
    pub(crate) fn end_later(&mut self) -> usize {
        match self.later.as_ref().and_then(|later| later.laters.ended()) {
            None => 0,
            Some(ended) => self.end_parked(ended),
        }
    }

    #[cold]
    fn end_parked(&mut self, ended: Vec<Ended>) -> usize {
        let mut count = 0;
        for Ended { rpc, end } in ended {
            // An RPC whose handler panicked has ended already.
            let parked = self.later.as_mut().and_then(|later| later.remove(rpc));
            if let Some(parked) = parked {
                self.end_one(parked, |reply| match end {
                    End::Reply(bytes) => publish_bytes(reply, &bytes),
                    End::Fault(fault) => reply.fail(fault),
                    End::Nack(reason) => reply.nack(reason),
                });
                count += 1;
            }
        }
        count
    }

    fn end_one(&mut self, Parked { mut kept, channel, .. }: Parked, publish: impl FnOnce(&mut Reply<'_>)) {
        let (rpc, span, answer) = kept.room();
        let reply = match (answer, &channel) {
            (Some(answer), _) => Some(Reply::buffered(answer)),
            (None, Some(channel)) => Some(Reply::in_ring(channel.slots(), rpc.tid.0, span)),
            (None, None) => None,
        };
        if let Some(mut reply) = reply {
            publish(&mut reply);
        }
        channel.iter().for_each(|channel| channel.wake_sleeper());
        match kept {
            Kept::All(begun) => self.release(begun),
            Kept::Room { rpc, answer, .. } => answer.into_iter().for_each(|answer| self.source.send(rpc.snid, answer)),
        }
    }

    /// Ends all RPCs with later replies when the server stops.
    #[cold]
    fn end_all_later(&mut self) {
        self.end_later();
        let parked = self.later.as_mut().map_or_else(Vec::new, |later| {
            later.laters.close();
            std::mem::take(&mut later.parked)
        });
        parked.into_iter().for_each(|parked| self.end_one(parked, |reply| reply.fail(Fault::Unanswered)));
        self.settle();
    }

    #[inline(always)]
    pub(crate) fn release(&mut self, Begun { arrival, held, home }: Begun) {
        self.completions.frontend.handle_release(arrival.slots);
        let Held { lease, answer, is_steered, .. } = held;
        let served = Served { snid: arrival.rpc.snid, slots: arrival.slots, lease, home, is_steered, answer };
        self.source.give_back(&mut self.completions, served);
    }

    /// Gives back slots kept for the next turn at the lock; sends answers.
    #[inline(always)]
    pub(crate) fn settle(&mut self) {
        self.source.settle();
    }

    pub(crate) fn note_unfinished(&mut self) {
        self.source.note_unfinished();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn finish(&mut self) {
        if self.later.is_some() {
            self.end_all_later();
        }
        self.source.finish();
    }

    /// Rests after a turn without work; `idle_since` is `None` after a turn with work.
    #[inline]
    pub(crate) fn rest(&mut self, idle_since: &mut Option<u64>) {
        self.channels.tidy();
        // A later reply wakes a resting worker, but not one that sleeps until packets come.
        let may_block = self.later.as_ref().is_none_or(|later| later.parked.is_empty());
        if self.source.is_about_to_sleep(Span::ZERO) {
            self.meter.note_sleep();
        }
        if self.source.rests(may_block) {
            return;
        }
        if self.idle == IdlePolicy::Spin {
            return std::hint::spin_loop();
        }
        let now = self.watch.now_ps();
        let since = *idle_since.get_or_insert(now);
        let silence = Span::from_ps(now.saturating_sub(since));
        if may_block && self.source.is_about_to_sleep(silence) {
            self.meter.note_sleep();
        }
        if !may_block || !self.source.rest(silence, &self.stop) {
            rest_after(silence, &mut self.yielding);
        }
    }
}

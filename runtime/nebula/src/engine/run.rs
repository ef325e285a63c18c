//! Stations 7 to 11 on a core that is engine and worker in one: it serves what waits in runs of
//! RPCs.
//!
//! Credit, slots and the client's ring are handled once for a whole run. Replies come first in a
//! turn; the clock and its consequences follow. An idle turn looks at nothing but the rings.

use super::turn::Engine;
use crate::net::Watch;
use crate::nic::ingress::{AtOnce, Intake};
use crate::nic::transport::Transport;
use crate::rpc::fault::Fault;
use crate::rpc::handler::guarded;
use crate::rpc::reply::Reply;
use crate::rpc::requests::{Replies, Requests};
use crate::rpc::service::Service;
use crate::status::Meter;
use crate::transport::shm::rings::Rings;
use nebula_nic::turn::{Bounds, Refusals};
use nebula_nic::{BurstRpc, CoreId, Run, Span, Timestamp};
use std::num::NonZeroU64;

/// Consecutive empty rings before an idle turn looks at more than rings: some 300 ns.
const IDLE_LOOKS: u32 = 64;
const CORE: CoreId = CoreId(0);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Busy(usize),
    /// The rings were empty, and nothing else was looked at.
    Glance,
    Idle,
}

impl Engine<Rings> {
    /// One turn. Without a result it may be a glance, if the caller comes again at once.
    #[inline]
    pub(crate) fn turn_of_runs(&mut self, service: &dyn Service, may_prefetch: bool, may_glance: bool) -> Turn {
        // The time of the last clock read: some 300 ns, or a turn, ago.
        let worker = Worker { service, may_prefetch, served: 0, most: self.turn_rpcs_max };
        let mut sampled = Sampled { worker, meter: &mut self.meter };
        self.intake.begin_turn();
        let packets = self.transport.poll(self.clock.started, &mut self.intake, &mut sampled);
        let at_once = sampled.worker.served;
        if self.intake.refusals.turned_away() > 0 {
            self.note_refusals(at_once);
        }
        let queued =
            if self.intake.backend.queue_depth() > 0 { self.serve_runs(service, may_prefetch, at_once) } else { 0 };
        let served = (at_once + queued) as usize;
        if packets + served == 0 {
            self.clock.idle_looks += self.transport.looks().max(1);
            if may_glance && self.clock.idle_looks < IDLE_LOOKS {
                return Turn::Glance;
            }
        }
        self.clock.idle_looks = 0;
        let now = self.begin_turn();
        self.end_turn(now, packets, served);
        if packets + served > 0 { Turn::Busy(served) } else { Turn::Idle }
    }

    /// Notes refusals in this turn, whose ingress is over, and `at_once` RPCs served meanwhile.
    #[cold]
    fn note_refusals(&mut self, at_once: u32) {
        if at_once > 0 {
            return self.pace.leave_out_turn(self.clock.started, &mut self.intake.recorder);
        }
        let now = Timestamp::from_ps(self.clock.watch.now_ps());
        let turned_away = self.intake.refusals.turned_away();
        self.pace.end_ingress(now, turned_away, &mut self.intake.recorder);
    }

    /// Serves within the rest of a turn that has served `before` RPCs. Returns their number.
    #[inline(never)]
    fn serve_runs(&mut self, service: &dyn Service, may_prefetch: bool, before: u32) -> u32 {
        let mut served = before;
        while served < self.turn_rpcs_max
            && let Some(run) = self.intake.backend.poll_run(CORE, self.turn_rpcs_max - served)
        {
            self.serve_run(&run, service, may_prefetch);
            served += run.rpcs;
        }
        served - before
    }

    #[inline(always)]
    fn serve_run(&mut self, run: &Run, service: &dyn Service, may_prefetch: bool) {
        let Self { intake: Intake { backend, payloads, recorder, .. }, transport: rings, clock, meter, .. } = self;
        let snid = run.burst.first.snid;
        // A departed client keeps its ring while it has RPCs in flight.
        if let Some(channel) = rings.channel_of(snid) {
            let slots = channel.slots();
            let span = if run.burst.step > 0 { run.burst.step } else { payloads.span(run.slots(0)) };
            let payloads = payloads.from(run.first_slot);
            let replies = Replies::Ring(slots, span);
            let (rpcs, begun_ps) = (backend.rpcs_of(run), meter.begin(run.rpcs));
            serve(service, run, rpcs, payloads, replies, may_prefetch);
            channel.wake_sleeper();
            end_sampling(meter, begun_ps, run, rpcs);
        }
        if let Some(recorder) = recorder {
            recorder.run(clock.started, CORE, run, backend.rpcs_of(run));
        }
        backend.handle_run_freed(CORE, run);
        rings.end(snid, run.rpcs);
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Polled {
    pub(crate) packets: usize,
    pub(crate) served: usize,
}

impl<T: Transport> Engine<T> {
    /// As [`poll_packets`](Self::poll_packets), but serves packets on arrival while nothing waits,
    /// within the turn's bound. Not while packets are refused: then the order of datagrams must not
    /// decide which client is served first.
    pub(crate) fn poll_and_serve(&mut self, now: Timestamp, service: &dyn Service, may_prefetch: bool) -> Polled {
        if !self.may_serve_at_once || self.intake.refusals.turned_away() > 0 && !T::SENDS_AT_ONCE {
            return Polled { packets: self.poll_packets(now), served: 0 };
        }
        let most = self.rpcs_at_once();
        let worker = Worker { service, may_prefetch, served: 0, most };
        let bounds = self.bounds_of_ingress();
        let (watch, looked_ps) = (&self.clock.watch, now.as_ps());
        let mut timed = Timed { worker, meter: &mut self.meter, watch, looked_ps, time_ps: 0, bounds };
        self.intake.begin_turn();
        let packets = self.transport.poll(now, &mut self.intake, &mut timed);
        let (served, time) = (timed.worker.served as usize, Span::from_ps(timed.time_ps));
        if served > 0 {
            let most = if T::SENDS_AT_ONCE { served } else { most as usize };
            self.pace.end_serving(now, time, (served, most), &mut self.intake.recorder);
        }
        Polled { packets, served }
    }
}

struct Timed<'s> {
    worker: Worker<'s>,
    meter: &'s mut Meter,
    watch: &'s Watch,
    /// When the clock was last looked at.
    looked_ps: u64,
    time_ps: u64,
    /// Set if time bounds serving and refusing, instead of a number.
    bounds: Option<Bounds>,
}

impl AtOnce for Timed<'_> {
    #[inline(always)]
    fn most(&self) -> (CoreId, u32) {
        let (core, most) = self.worker.most();
        let in_time = |bounds: Bounds| bounds.rpcs_left(self.looked_ps, self.time_ps);
        let in_time = self.bounds.map_or(u64::MAX, in_time);
        (core, u32::try_from(in_time).map_or(most, |in_time| most.min(in_time)))
    }

    #[inline]
    fn may_turn_away(&mut self, refusals: &Refusals) -> bool {
        match self.bounds {
            None => refusals.may_turn_away(),
            Some(bounds) => bounds.may_turn_away(refusals.turned_away(), || self.look()),
        }
    }

    #[inline]
    fn look(&mut self) -> u64 {
        self.looked_ps = self.watch.now_ps();
        self.looked_ps
    }

    #[inline]
    fn looked_ps(&self) -> u64 {
        self.looked_ps
    }

    #[inline]
    fn uncount(&mut self, rpcs: u32) {
        self.worker.served -= rpcs;
    }

    #[inline]
    fn serve<'r>(&mut self, run: &Run, rpcs: &'r [BurstRpc], payloads: &'r [u8], replies: Replies<'r>) {
        let began = self.watch.now_ps();
        self.worker.serve(run, rpcs, payloads, replies);
        self.time_ps += self.look().saturating_sub(began);
        let is_due = self.meter.is_due(run.rpcs);
        let begun_ps = NonZeroU64::new(began).filter(|_| is_due);
        end_sampling(self.meter, begun_ps, run, rpcs);
    }
}

struct Sampled<'s> {
    worker: Worker<'s>,
    meter: &'s mut Meter,
}

impl AtOnce for Sampled<'_> {
    #[inline(always)]
    fn most(&self) -> (CoreId, u32) {
        self.worker.most()
    }

    #[inline(always)]
    fn serve<'r>(&mut self, run: &Run, rpcs: &'r [BurstRpc], payloads: &'r [u8], replies: Replies<'r>) {
        let begun_ps = self.meter.begin(run.rpcs);
        self.worker.serve(run, rpcs, payloads, replies);
        end_sampling(self.meter, begun_ps, run, rpcs);
    }
}

#[inline(always)]
fn end_sampling(meter: &mut Meter, begun_ps: Option<NonZeroU64>, run: &Run, rpcs: &[BurstRpc]) {
    if let Some(begun_ps) = begun_ps {
        sample(meter, begun_ps, run, rpcs);
    }
}

#[cold]
fn sample(meter: &mut Meter, begun_ps: NonZeroU64, run: &Run, rpcs: &[BurstRpc]) {
    if let Some(&first) = rpcs.first() {
        meter.sample_run(run, run.arrival(0, first), begun_ps.get());
    }
}

struct Worker<'s> {
    service: &'s dyn Service,
    may_prefetch: bool,
    served: u32,
    most: u32,
}

impl AtOnce for Worker<'_> {
    #[inline(always)]
    fn most(&self) -> (CoreId, u32) {
        (CORE, self.most.saturating_sub(self.served))
    }

    #[inline(always)]
    fn serve<'r>(&mut self, run: &Run, rpcs: &'r [BurstRpc], payloads: &'r [u8], replies: Replies<'r>) {
        serve(self.service, run, rpcs, payloads, replies, self.may_prefetch);
        self.served += run.rpcs;
    }
}

#[inline(always)]
fn serve<'r>(
    service: &dyn Service,
    run: &Run,
    rpcs: &'r [BurstRpc],
    payloads: &'r [u8],
    replies: Replies<'r>,
    may_prefetch: bool,
) {
    match (rpcs, replies) {
        ([rpc], Replies::Ring(slots, span)) => {
            let reply = Reply::in_ring(slots, run.burst.first.tid.0, span);
            serve_one(service, &payloads[..rpc.bytes() as usize], reply);
        }
        (_, replies) => serve_all(service, Requests::new(run, rpcs, payloads, replies, may_prefetch)),
    }
}

/// A single RPC has nothing to overlap or group, so it does not become a run.
#[inline(always)]
fn serve_one(service: &dyn Service, request: &[u8], mut reply: Reply<'_>) {
    match guarded(|| service.serve(request, &mut reply)) {
        Ok(()) => reply.publish_whole(),
        Err(fault) => reply.fail(fault),
    }
}

/// Has `service` answer all `requests` in one call, so that its loop is compiled with the service
/// and this one once for all services. A panic becomes a fault of the request in progress, or of
/// the next one if none is (after a panic in a prefetch). The others are served.
#[inline(always)]
fn serve_all(service: &dyn Service, mut requests: Requests<'_>) {
    while let Err(fault) = guarded(|| service.serve_burst(&mut requests)) {
        if requests.is_last_answered() && requests.next().is_none() {
            break;
        }
        requests.fail(fault);
    }
    requests.publish();
    if !requests.is_empty() {
        drop_the_rest(&mut requests);
    }
}

#[cold]
fn drop_the_rest(requests: &mut Requests<'_>) {
    while requests.next().is_some() {
        requests.fail(Fault::Unanswered);
    }
}

//! How fast RPCs are served, and so the longest queue that the SLO allows.
//!
//! An RPC that finds `q` RPCs waiting waits `q` service times over the number of workers. The
//! service time includes the engine's share. With an inline worker it is a turn's length over the
//! RPCs served in it. Separate workers show it only while the queue is never empty, so they are
//! measured over windows of such time.
//!
//! RPCs with later replies take little of a worker and keep its credit. While others wait for that
//! credit, the time counts as service, because it limits the queue's progress.
//!
//! Two things must not count as service, because they would lower the bound, which causes more
//! refusals, which take more time. One is the time for packets that were turned away: such a turn
//! is measured from the end of its ingress, plus the accepted packets' part of the ingress. The
//! other is a pause of the machine: the [median](super::median) hides it.

use super::median::Median;
use crate::sizing::QueueRule;
use crate::time::{Span, Timestamp};
use core::mem;

const WINDOW: usize = 512;
/// Turns between two updates of the bound, each of which costs a square root. Fewer while it falls.
const TURNS_PER_LOOK: u32 = 64;
const TURNS_PER_LOOK_FALLING: u32 = 16;
/// An update lowers the bound by a sixteenth at most: less than the room kept for light sources,
/// which would otherwise be refused because of RPCs that wait already.
const FALL: u32 = 16;
/// A turn is a pause of the machine if it exceeds this factor of the mean for each RPC.
const EXPLAINED_FACTOR: u64 = 4;

const TURNS_PER_SLO: u64 = 3;
/// How long answers may wait for others to share a datagram: about the cost of sending one.
const TURN: Span = Span::from_us(8);
/// The most RPCs whose answers share a turn, and a datagram if they are short. A client with twice
/// as many outstanding sends one half while the other half is served.
const RPCS_PER_TURN_MAX: usize = 32;

/// The server whose pace is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaceConfig {
    /// The latency target.
    pub slo: Span,
    /// The service time that is assumed until one is measured.
    pub service_mean: Span,
    /// The number of workers.
    pub workers: u16,
    /// Whether the worker is the engine too, and serves within its turns.
    pub is_inline: bool,
    /// Whether RPCs may keep a worker's credit after its handler, for later replies.
    pub replies_later: bool,
    /// The bound on the queue for a service time; `None` if the queue is unbounded.
    pub queue: Option<QueueRule>,
}

impl PaceConfig {
    /// The bound on the queue when an RPC takes `service`.
    #[must_use]
    pub fn queue_bound(&self, service: Span) -> u32 {
        self.queue.map_or(u32::MAX, |queue| queue.bound(service))
    }
}

/// The measured pace of a server.
#[derive(Clone, Debug)]
pub struct Pace {
    config: PaceConfig,
    service: Median,
    /// The handler's part of the service. The rest is the network's, shared in a turn.
    handler: Median,
    /// The ingress of this turn, if packets were turned away in it.
    ingress: Option<Ingress>,
    /// Whether the last turn was full. If not, its time for the network counts for no RPC.
    was_full: bool,
    queue_bound: u32,
    /// The bound never falls below this one.
    floor: u32,
    turn_ended: Option<Timestamp>,
    window_started: Option<Timestamp>,
    window_served: usize,
    turns: u32,
    is_falling: bool,
    work: u64,
    has_rested: bool,
    /// Whether this turn's time went into RPCs that have not ended.
    is_unfinished: bool,
    /// Whether RPCs have waited for credit since one was served.
    has_waited: bool,
}

#[derive(Clone, Copy, Debug)]
struct Ingress {
    ended: Timestamp,
    turned_away: u64,
}

impl Ingress {
    /// The time from `before` to `now` that counts for `served` RPCs; as many are accepted.
    #[inline(never)]
    fn counted(&self, before: Timestamp, now: Timestamp, served: u64) -> Span {
        let (ingress, rest) = (self.ended - before, now - self.ended);
        rest + Span::from_ps(ingress.as_ps() / (served + self.turned_away) * served)
    }
}

impl Pace {
    /// Assumes the configured service time.
    #[must_use]
    pub fn new(config: PaceConfig) -> Self {
        let queue_bound = config.queue_bound(config.service_mean);
        Self {
            service: Median::new(config.service_mean),
            handler: Median::new(config.service_mean),
            ingress: None,
            was_full: true,
            config,
            queue_bound,
            floor: 0,
            turn_ended: None,
            window_started: None,
            window_served: 0,
            turns: 0,
            is_falling: false,
            work: 0,
            has_rested: false,
            is_unfinished: false,
            has_waited: false,
        }
    }

    /// Ends a turn at `now` with `work` done, among it `served` RPCs, and `waiting` RPCs left.
    /// Returns the queue bound if it has changed.
    #[inline]
    pub fn end_turn(&mut self, now: Timestamp, work: usize, served: usize, waiting: u32) -> Option<u32> {
        self.work = work as u64;
        if self.config.is_inline {
            // Earlier RPCs wait and none was served: RPCs with later replies hold the credit.
            let waits = self.config.replies_later && served == 0 && u64::from(waiting) > self.work;
            self.has_waited |= waits;
            // The time of a suspended RPC, or of a wait for credit, counts with the next RPC.
            let is_unfinished = (mem::take(&mut self.is_unfinished) || waits) && served == 0;
            let before = if is_unfinished { self.turn_ended } else { self.turn_ended.replace(now) };
            let ingress = self.ingress.take();
            if let (Some(before), 1..) = (before, served) {
                let has_waited = mem::take(&mut self.has_waited);
                let turn = match ingress {
                    _ if !self.was_full && !has_waited => self.handler.mean() * served as u64,
                    None => now - before,
                    Some(ingress) => ingress.counted(before, now, served as u64),
                };
                self.service.add(turn, served as u64);
            }
        } else {
            self.end_turn_of_window(now, served, waiting);
        }
        self.turns = self.turns.wrapping_add(1);
        let turns_per_look = if self.is_falling { TURNS_PER_LOOK_FALLING } else { TURNS_PER_LOOK };
        if self.turns.is_multiple_of(turns_per_look) { self.look(waiting) } else { None }
    }

    /// Notes that the handler took `time` for the turn's `served` RPCs, of at most `most`. For
    /// transports with system calls in each turn, which cost one of many RPCs hardly anything.
    #[inline]
    pub fn end_serving(&mut self, time: Span, served: usize, most: usize) {
        if served > 0 {
            self.handler.add(time, served as u64);
        }
        self.was_full = served >= most;
    }

    /// The ingress of this turn ended at `now`, and turned away so many packets.
    #[inline(never)]
    pub fn end_ingress(&mut self, now: Timestamp, turned_away: u32) {
        self.ingress = Some(Ingress { ended: now, turned_away: turned_away.into() });
    }

    /// This turn shows no service time.
    #[inline(never)]
    pub fn leave_out_turn(&mut self) {
        self.turn_ended = None;
    }

    #[inline]
    fn end_turn_of_window(&mut self, now: Timestamp, served: usize, waiting: u32) {
        let Some(started) = self.window_started.filter(|_| waiting > 0) else {
            self.window_started = (waiting > 0).then_some(now);
            self.window_served = 0;
            return;
        };
        self.window_served += served;
        if self.window_served >= WINDOW {
            self.service.add((now - started) * u64::from(self.config.workers), self.window_served as u64);
            self.window_started = None;
        }
    }

    /// The bound, if it has moved by more than an eighth. Separate workers learn nothing while the
    /// queue is empty, so the estimate then fades.
    #[cold]
    fn look(&mut self, waiting: u32) -> Option<u32> {
        if !self.config.is_inline && waiting == 0 {
            self.service.fade(self.config.service_mean);
        }
        let wanted = self.config.queue_bound(self.service()).max(self.floor);
        let bound = wanted.max(self.queue_bound - self.queue_bound.div_ceil(FALL));
        // Once it falls, it falls down to the wanted bound.
        let has_moved =
            wanted.abs_diff(self.queue_bound) > self.queue_bound / 8 || self.is_falling && wanted < self.queue_bound;
        self.is_falling = has_moved && bound > wanted;
        has_moved.then(|| {
            self.queue_bound = bound;
            bound
        })
    }

    /// From now on the bound does not fall below `floor`, however slow the service: see
    /// [`Backend::queue_bound_for`](crate::Backend::queue_bound_for). Returns the bound if it rises
    /// at once; it falls with the next updates.
    #[cold]
    pub fn set_floor(&mut self, floor: u32) -> Option<u32> {
        self.floor = floor;
        (floor > self.queue_bound).then(|| {
            self.queue_bound = floor;
            floor
        })
    }

    /// How long a turn of the last one's work may take before it counts as a pause of the machine.
    #[inline(always)]
    pub fn explained(&mut self) -> Span {
        if mem::take(&mut self.has_rested) || self.is_unfinished {
            return Span::MAX;
        }
        Span::from_ps(2_000_000 + self.work * EXPLAINED_FACTOR * self.service().as_ps())
    }

    /// Notes that the thread rested until `now`, which is no service of a worker on it. Returns
    /// whether the next service time begins then.
    pub fn has_rested(&mut self, now: Timestamp) -> bool {
        self.has_rested = true;
        let moves = self.turn_ended.is_some() && !self.has_waited;
        if moves {
            self.turn_ended = Some(now);
        }
        moves
    }

    /// Notes that this turn's time went into an RPC that has not ended.
    pub fn note_unfinished(&mut self) {
        self.is_unfinished = true;
    }

    /// The RPCs that a turn serves before their answers leave together: fewer if each takes long.
    #[must_use]
    #[inline]
    pub fn rpcs_together(&self) -> usize {
        self.rpcs_of(TURN).clamp(1, RPCS_PER_TURN_MAX)
    }

    /// The same of a turn whose ingress took `ingress`, most of which went into refusals: serving
    /// takes as long, but a small part of the SLO.
    #[must_use]
    #[cold]
    pub fn rpcs_beside_refusals(&self, ingress: Span) -> usize {
        self.rpcs_together().max(self.rpcs_of(ingress).min(self.rpcs_in_turn()))
    }

    #[inline]
    fn rpcs_of(&self, time: Span) -> usize {
        usize::try_from(time.as_ps() / self.handler.mean().as_ps().max(1)).unwrap_or(usize::MAX)
    }

    /// How long the handler of one RPC takes.
    #[must_use]
    #[inline]
    pub const fn handler_mean(&self) -> Span {
        self.handler.mean()
    }

    /// How many RPCs are served in a third of the SLO, the network's time included.
    fn rpcs_in_turn(&self) -> usize {
        usize::try_from(self.config.slo.as_ps() / TURNS_PER_SLO / self.service().as_ps().max(1)).unwrap_or(usize::MAX)
    }

    /// The bound on the queue.
    #[must_use]
    #[inline]
    pub const fn queue_bound(&self) -> u32 {
        self.queue_bound
    }

    /// How long an RPC occupies a worker.
    #[must_use]
    #[inline]
    pub const fn service(&self) -> Span {
        self.service.mean()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVICE: Span = Span::from_us(1);

    fn config(is_inline: bool) -> PaceConfig {
        let slo = Span::from_us(100);
        let queue = Some(QueueRule { slo, workers: 1, in_worker_queues: 0 });
        PaceConfig { slo, service_mean: SERVICE, workers: 1, is_inline, replies_later: false, queue }
    }

    fn pace(is_inline: bool) -> Pace {
        Pace::new(config(is_inline))
    }

    /// Turns of 16 RPCs of `service` each, with RPCs left waiting.
    fn run(pace: &mut Pace, turns: u32, service: Span, now: &mut Timestamp) {
        for _ in 0..turns {
            *now += service * 16;
            pace.end_turn(*now, 32, 16, 100);
        }
    }

    #[test]
    fn a_longer_service_shortens_the_queue_and_a_shorter_one_lengthens_it() {
        for inline in [true, false] {
            let (mut pace, mut now) = (pace(inline), Timestamp::ZERO);
            let first = pace.queue_bound();
            run(&mut pace, 10_000, SERVICE * 5, &mut now);
            assert!(pace.service().as_ns().abs_diff(5000) < 500, "{}", pace.service());
            assert!(pace.queue_bound() < first / 3);
            run(&mut pace, 10_000, SERVICE, &mut now);
            assert!(pace.queue_bound() > first / 2, "{} of {first}", pace.queue_bound());
        }
    }

    #[test]
    fn the_queue_shortens_in_steps_that_leave_room_for_light_sources() {
        let (mut pace, mut now) = (pace(true), Timestamp::ZERO);
        run(&mut pace, 1000, SERVICE, &mut now);
        let (mut before, mut turns) = (pace.queue_bound(), 0);
        while pace.queue_bound() > 8 {
            run(&mut pace, 1, SERVICE * 10, &mut now);
            let bound = pace.queue_bound();
            assert!(bound >= crate::FairShare::open(before) || bound + 1 == before, "{bound} after {before}");
            (before, turns) = (bound, turns + 1);
        }
        assert!(turns < 800, "{turns} turns until a queue ten times as slow is as short as it must be");
    }

    /// Each turn has one RPC, which takes 5 us for the network and 100 ns for the handler.
    #[test]
    fn rpcs_that_come_alone_do_not_shorten_the_turn_or_the_queue() {
        let (mut pace, mut now) = (pace(true), Timestamp::ZERO);
        let first = pace.queue_bound();
        for _ in 0..1000 {
            now += Span::from_ns(5100);
            pace.end_turn(now, 2, 1, 0);
            pace.end_serving(Span::from_ns(100), 1, pace.rpcs_together());
        }
        assert_eq!(pace.rpcs_together(), RPCS_PER_TURN_MAX);
        assert!(pace.queue_bound() > first, "{} of {first}", pace.queue_bound());
        for _ in 0..1000 {
            now += Span::from_us(128);
            pace.end_turn(now, 128, 64, 100);
            pace.end_serving(Span::from_ns(6400), 64, 64);
        }
        assert!(pace.service().as_ns().abs_diff(2000) < 200, "{}", pace.service());
    }

    #[test]
    fn a_pause_of_the_machine_does_not_shorten_the_queue() {
        let (mut pace, mut now) = (pace(true), Timestamp::ZERO);
        run(&mut pace, 1000, SERVICE, &mut now);
        let before = pace.queue_bound();
        for _ in 0..10 {
            now += Span::from_ms(6);
            run(&mut pace, 100, SERVICE, &mut now);
        }
        assert!(pace.queue_bound() * 8 >= before * 6, "{} of {before}", pace.queue_bound());
    }

    #[test]
    fn a_rest_is_no_service() {
        let (mut pace, mut now) = (pace(true), Timestamp::ZERO);
        run(&mut pace, 1000, SERVICE, &mut now);
        let first = pace.queue_bound();
        for _ in 0..1000 {
            pace.end_turn(now, 0, 0, 0);
            now += Span::from_us(50);
            pace.has_rested(now);
            run(&mut pace, 1, SERVICE, &mut now);
        }
        assert!(pace.service().as_ns().abs_diff(1000) < 100, "{}", pace.service());
        assert!(pace.queue_bound() * 8 >= first * 7, "{} of {first}", pace.queue_bound());
    }

    /// Turns of 16 RPCs after an ingress of as many, and of `turned_away` cheaper ones.
    fn run_refusing(pace: &mut Pace, turns: u32, turned_away: u32, now: &mut Timestamp) {
        for _ in 0..turns {
            let ingress = Span::from_ns(100) * 16 + Span::from_ns(500) * u64::from(turned_away);
            let began = *now + ingress;
            *now = began + SERVICE * 16;
            if turned_away > 0 {
                pace.end_ingress(began, turned_away);
            }
            pace.end_turn(*now, 32, 16, 100);
        }
    }

    #[test]
    fn refusals_are_no_service() {
        let (mut pace, mut now) = (pace(true), Timestamp::ZERO);
        run_refusing(&mut pace, 1000, 0, &mut now);
        let first = pace.queue_bound();
        for turned_away in [16, 256, 4096, 100_000] {
            run_refusing(&mut pace, 1000, turned_away, &mut now);
            // Only the number of refusals is known, not their time: some of it counts.
            assert!(pace.service().as_ns() <= 1600, "{} where {turned_away} are refused", pace.service());
            assert!(
                pace.queue_bound() > first / 2,
                "{} of {first} where {turned_away} are refused",
                pace.queue_bound()
            );
        }
    }

    #[test]
    fn half_a_core_is_not_taken_for_a_slow_service() {
        for inline in [true, false] {
            let (mut pace, mut now) = (pace(inline), Timestamp::ZERO);
            run(&mut pace, 1000, SERVICE, &mut now);
            let first = pace.queue_bound();
            // 3 ms on the core, 3 ms off it.
            for _ in 0..200 {
                run(&mut pace, 3000 / 16, SERVICE, &mut now);
                now += Span::from_ms(3);
            }
            assert!(pace.queue_bound() * 8 >= first * 7, "{} of {first}", pace.queue_bound());
        }
    }

    /// Turns of 100 ns of an inline worker: one of ten serves an RPC; `waiting` stay queued.
    fn run_later(pace: &mut Pace, waiting: u32, now: &mut Timestamp) {
        for turn in 0..100_000 {
            *now += Span::from_ns(100);
            let served = usize::from(turn % 10 == 0);
            pace.end_turn(*now, served, served, waiting);
        }
    }

    #[test]
    fn a_wait_for_the_credit_of_later_replies_is_service_and_a_wait_for_rpcs_is_none() {
        let later = PaceConfig { replies_later: true, ..config(true) };
        for (waiting, service_ns) in [(0, 100), (50, 1000)] {
            let (mut pace, mut now) = (Pace::new(later), Timestamp::ZERO);
            run_later(&mut pace, waiting, &mut now);
            assert!(pace.service().as_ns().abs_diff(service_ns) < service_ns / 10, "{}", pace.service());
        }
    }

    #[test]
    fn what_threads_of_their_own_taught_under_load_fades_when_nothing_waits() {
        let (mut pace, mut now) = (pace(false), Timestamp::ZERO);
        let first = pace.queue_bound();
        run(&mut pace, 10_000, SERVICE * 20, &mut now);
        assert!(pace.queue_bound() < first / 4);
        for _ in 0..100_000 {
            now += SERVICE;
            pace.end_turn(now, 0, 0, 0);
        }
        assert!(pace.queue_bound() * 8 >= first * 6, "{} of {first}", pace.queue_bound());
    }

    #[test]
    fn the_bound_does_not_fall_below_the_floor_and_falls_again_with_it() {
        let (mut pace, mut now) = (pace(true), Timestamp::ZERO);
        assert_eq!(pace.set_floor(4), None, "the bound is higher");
        run(&mut pace, 4000, SERVICE * 1000, &mut now);
        assert_eq!(pace.queue_bound(), 4, "and not two, as many as without clients");
        assert_eq!((pace.set_floor(9), pace.queue_bound()), (Some(9), 9), "at once");
        pace.set_floor(0);
        run(&mut pace, 4000, SERVICE * 1000, &mut now);
        assert_eq!(pace.queue_bound(), 2);
    }
}

//! The demo's two designs in simulated time, for machines whose cores have too much other work.
//!
//! Arrivals and handler times are drawn as in the real run, and the NIC's [`Backend`] makes every
//! decision. A simulated core never pauses; NIC and client take no time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use nebula::Status;
use nebula_nic::{
    Backend, BackendConfig, CoreId, Dispatch, Header, Mtu, Policy, SLOT_BYTES, SlotRange, Span, Timestamp, TransferId,
    Verdict, queue_bound_for_slo, slots_of,
};
use nebula_workload::{
    GapTally, Generator, GeneratorConfig, Length, LoadReport, Rate, Rng, Seed, ServiceTime, Token, Workload,
};

use super::service::Kind;
use crate::drive::LoadOutcome;
use nebula_ui::output::{Failure, units};

/// A longer handler time, in multiples of the p99, is a pause of the machine: the demo's handler
/// times vary little.
const PAUSE: u64 = 10;
/// The part of the SLO for waiting and service, as in the runtime.
const SLO_SHARE_PERCENT: u64 = 70;
/// As in `nebula serve --unbounded`.
const UNBOUNDED_BYTES: u32 = 64 << 20;
/// RPCs that are due beyond these wait in the client, and their latency counts.
const OUTSTANDING_MAX: u32 = 1 << 16;
const PS_PER_SECOND: f64 = 1e12;

#[derive(Clone, Debug)]
pub(super) struct Simulated {
    service: ServiceTime,
    mean: Span,
    cores: u16,
    rpc_bytes: u32,
    /// Handler times in the sample, and those excluded as pauses.
    taken: usize,
    paused: usize,
}

impl Simulated {
    /// A service with these handler times, without those that met a pause.
    pub(super) fn of(mut times: Vec<Span>, cores: u16, rpc_bytes: u32) -> Result<Self, Failure> {
        times.sort_unstable();
        let taken = times.len();
        let p99 = times.get(taken * 99 / 100).copied().unwrap_or(Span::ZERO);
        times.truncate(times.partition_point(|&time| time <= p99 * PAUSE));
        let paused = taken - times.len();
        let service = ServiceTime::from_spans("demo", times).map_err(Failure::fault)?;
        let mean = span_of_ps(service.mean_ps());
        Ok(Self { service, mean, cores, rpc_bytes, taken, paused })
    }

    pub(super) fn describe(&self) -> String {
        let excluded = match self.paused {
            0 => String::new(),
            paused => format!(" ({paused} more met a pause of the machine)"),
        };
        format!(
            "simulated from {} handler times with a mean of {}{excluded}, on {} that never pauses",
            self.taken - self.paused,
            units::span(self.mean),
            if self.cores == 1 { "a core".to_owned() } else { format!("{} cores, each of", self.cores) },
        )
    }

    pub(super) fn saturation_rps(&self) -> f64 {
        f64::from(self.cores) * PS_PER_SECOND / self.service.mean_ps()
    }

    /// Offers a load of `rps` to a design for `duration`, after a warm-up of a fifth of it.
    pub(super) fn offer(&self, kind: Kind, slo: Span, rps: f64, duration: Span) -> Result<LoadOutcome, Failure> {
        let (warm_up, start) = (duration / 5, Timestamp::ZERO);
        let length = Length::Duration(warm_up + duration);
        let rate = Rate::try_new(rps).map_err(Failure::fault)?;
        let schedule = Workload { rate, length, ..Workload::default() }.schedule(Seed(1), start)?;
        let config =
            GeneratorConfig { warm_up, pending_max: 0, outstanding_max: OUTSTANDING_MAX, ..GeneratorConfig::default() };
        let nic = self.nic(kind, slo)?;
        let mut server = Status::default();
        server.slots = nic.slots.into();
        let world = World {
            generator: Generator::new(schedule, config),
            backend: Backend::try_new(nic).map_err(Failure::fault)?,
            rpc_bytes: self.rpc_bytes,
            cores: (0..self.cores).map(|_| VecDeque::new()).collect(),
            tokens: Vec::new(),
            service: &self.service,
            draws: Seed(1).stream("service"),
            ends: BinaryHeap::new(),
        };
        let gaps = GapTally::new().summary();
        Ok(LoadOutcome { report: world.run(), gaps, server_share_lost: 0.0, server, was_interrupted: false })
    }

    fn nic(&self, kind: Kind, slo: Span) -> Result<BackendConfig, Failure> {
        let mtu = Mtu::try_new(self.rpc_bytes.next_multiple_of(SLOT_BYTES)).map_err(Failure::fault)?;
        let config = BackendConfig::new(self.cores, Policy::Jbsq(2)).mtu(mtu).rpc_bytes_max(self.rpc_bytes);
        if kind == Kind::Unbounded {
            return Ok(config.slots(UNBOUNDED_BYTES / SLOT_BYTES).queue_bound(u32::MAX));
        }
        let in_server = Span::from_ps(slo.as_ps() / 100 * SLO_SHARE_PERCENT);
        // An SLO shorter than the service leaves one RPC to wait at each core.
        let bound = queue_bound_for_slo(in_server, self.mean, self.cores.into());
        let bound = bound.unwrap_or(0).max(u32::from(self.cores));
        let rpcs = bound + 2 * u32::from(self.cores);
        Ok(config.slots(rpcs * slots_of(self.rpc_bytes)).queue_bound(bound))
    }
}

struct World<'a> {
    generator: Generator,
    backend: Backend,
    rpc_bytes: u32,
    /// By core; the first is in service.
    cores: Vec<VecDeque<Given>>,
    tokens: Vec<Option<Token>>,
    service: &'a ServiceTime,
    draws: Rng,
    ends: BinaryHeap<Reverse<(Timestamp, u16)>>,
}

#[derive(Clone, Copy, Debug)]
struct Given {
    token: Token,
    slots: SlotRange,
}

impl World<'_> {
    fn run(mut self) -> LoadReport {
        let mut now = Timestamp::ZERO;
        while let Some(next) = self.next() {
            now = now.max(next);
            self.end(now);
            self.send(now);
            while let Some(dispatch) = self.backend.poll_dispatch() {
                self.give(now, &dispatch);
            }
        }
        self.generator.into_report()
    }

    /// The time of the next event. While the generator's table is full, only an end is possible.
    fn next(&self) -> Option<Timestamp> {
        let end = self.ends.peek().map(|Reverse((at, _))| *at);
        let has_room = self.generator.outstanding() < OUTSTANDING_MAX as usize;
        let due = self.generator.next_due().filter(|_| has_room);
        due.into_iter().chain(end).min().filter(|_| !self.generator.is_finished())
    }

    fn end(&mut self, now: Timestamp) {
        while let Some(&Reverse((at, core))) = self.ends.peek().filter(|Reverse((at, _))| *at <= now) {
            self.ends.pop();
            if let Some(given) = self.cores[usize::from(core)].pop_front() {
                self.backend.handle_free(CoreId(core), given.slots);
                self.generator.handle_reply(at, given.token, true);
            }
            self.begin(at, core);
        }
    }

    fn send(&mut self, now: Timestamp) {
        while let Some((token, _)) = self.generator.poll_send(now) {
            let tid = TransferId(self.number(token));
            let header = Header { tid, rpc_bytes: self.rpc_bytes, ..Header::default() };
            if !matches!(self.backend.handle_packet(now, header), Verdict::Write { .. }) {
                self.generator.handle_nack(now, token);
            }
        }
    }

    /// A transfer id that no other outstanding RPC has.
    #[expect(clippy::cast_possible_truncation, reason = "the low half is the place in the generator's table")]
    fn number(&mut self, token: Token) -> u32 {
        let place = token.to_u64() as u32;
        let index = place as usize;
        if self.tokens.len() <= index {
            self.tokens.resize(index + 1, None);
        }
        self.tokens[index] = Some(token);
        place
    }

    fn give(&mut self, now: Timestamp, dispatch: &Dispatch) {
        let Dispatch { core, arrival, .. } = *dispatch;
        let token = self.tokens.get(arrival.rpc.tid.0 as usize).copied().flatten();
        let Some(token) = token else { return };
        let queue = &mut self.cores[usize::from(core.0)];
        queue.push_back(Given { token, slots: arrival.slots });
        if queue.len() == 1 {
            self.begin(now, core.0);
        }
    }

    fn begin(&mut self, now: Timestamp, core: u16) {
        if !self.cores[usize::from(core)].is_empty() {
            self.ends.push(Reverse((now + self.service.sample(&mut self.draws), core)));
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean of measured times")]
fn span_of_ps(ps: f64) -> Span {
    Span::from_ps(ps as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simulated(cores: u16) -> Simulated {
        let times = (0..1000).map(|index| Span::from_ns(1000 + index)).chain([Span::from_ms(4), Span::from_ms(2)]);
        Simulated::of(times.collect(), cores, 528).unwrap()
    }

    fn offered(simulated: &Simulated, kind: Kind, share: f64) -> LoadReport {
        let rps = share * simulated.saturation_rps();
        simulated.offer(kind, Span::from_us(100), rps, Span::from_ms(200)).unwrap().report
    }

    fn goodput(report: &LoadReport) -> f64 {
        1.0 - report.latency.raw().share_above(Span::from_us(100))
    }

    #[test]
    fn a_pause_of_the_machine_is_no_handler_time() {
        let simulated = simulated(1);
        assert_eq!((simulated.taken, simulated.paused), (1002, 2));
        assert_eq!(simulated.mean, Span::from_ps(1_499_500));
        assert!(simulated.describe().contains("1000 handler times with a mean of 1.5 µs (2 more met a pause"));
        assert!(Simulated::of(Vec::new(), 1, 528).is_err());
    }

    #[test]
    fn below_saturation_both_designs_keep_the_slo_and_every_rpc_has_its_outcome() {
        for kind in [Kind::SloBounded, Kind::Unbounded] {
            let report = offered(&simulated(1), kind, 0.7);
            assert_eq!(report.counts.offered, report.counts.replied + report.counts.nacked);
            assert!(report.counts.offered > 50_000 && goodput(&report) > 0.99, "{kind:?}: {:?}", report.counts);
        }
    }

    #[test]
    fn past_saturation_the_bound_keeps_the_slo_and_without_it_all_wait() {
        for cores in [1, 4] {
            let simulated = simulated(cores);
            let bounded = offered(&simulated, Kind::SloBounded, 1.5);
            let unbounded = offered(&simulated, Kind::Unbounded, 1.5);
            // Two thirds of one and a half times what the cores can serve.
            assert!((0.63..0.69).contains(&goodput(&bounded)), "{}", goodput(&bounded));
            let refused = bounded.counts.nacked as f64 / bounded.counts.offered as f64;
            assert!((0.31..0.37).contains(&refused), "{refused}");
            assert_eq!((unbounded.counts.nacked, unbounded.counts.lost), (0, 0));
            assert!(goodput(&unbounded) < 0.01, "{}", goodput(&unbounded));
        }
    }

    #[test]
    fn the_same_load_is_simulated_alike() {
        let p99 = || offered(&simulated(2), Kind::SloBounded, 1.0).latency.raw().quantile(0.99);
        assert_eq!(p99(), p99());
    }
}

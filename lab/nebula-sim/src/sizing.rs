//! Sizes a server's queue and buffer, by an exact formula if there is one, or else by simulation.
//!
//! The formula is that of M/M/k: Poisson arrivals, exponential service times and one queue without
//! costs. An RPC waits with Erlang C's probability, and then for an exponential time; the tail of
//! the latency and the depth of the queue follow.

use crate::error::SimError;
use crate::experiment::{Effort, Estimate, estimate};
use crate::interval::Interval;
use crate::load::{Load, Source};
use crate::search::{Bracket, Highest, SearchEnd, highest_load};
use crate::system::{Costs, Speeds, System};
use nebula_nic::sizing::QUEUE_ROOM;
use nebula_nic::{Policy, SLOT_BYTES, Sizing, Span, erlang_c, queue_depth_mean};
use nebula_workload::{Arrivals, ServiceTime};

/// The queue of a server at a load.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Policy, Span};
/// use nebula_sim::sizing::queue_at_slo;
/// use nebula_sim::{Effort, Load, System};
///
/// let (system, load) = (System::new(Policy::SingleQueue, 1), Load::open("exp:1us".parse()?, 0.5));
/// let queue = queue_at_slo(&system, &load, Span::from_us(10), &Effort::default(), &|| ())?;
/// // M/M/1: e^-(1 - load)·10 is 1 % at 1 - ln(100)/10.
/// assert!((queue.load.value - 0.53948).abs() < 1e-5 && !queue.is_simulated);
/// # Ok::<(), nebula_sim::SimError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueAt {
    /// Load as a share of the cores' capacity.
    pub load: Interval,
    /// Mean number of waiting RPCs that an arrival finds.
    pub depth_mean: Interval,
    /// The p99 of the queue depth that arrivals find.
    pub depth_p99: Interval,
    /// Whether this was simulated; an exact figure has an interval of width zero.
    pub is_simulated: bool,
    /// Whether too little was simulated for the intervals to hold.
    pub is_unsettled: bool,
    /// Why a search ended at its load; `None` for a given load, and for a formula.
    pub end: Option<SearchEnd>,
    /// Whether the requested precision was reached: of a searched load, otherwise of the p99.
    pub is_precise: Option<bool>,
}

/// The queue at the highest load that meets `slo`. Costs a [`highest_load`], or nothing if a
/// formula is exact.
///
/// # Errors
///
/// [`SimError::Slo`] if no load meets it, [`SimError::Unsettled`] if none can be said to; otherwise
/// the errors of a run.
pub fn queue_at_slo(
    system: &System,
    load: &Load,
    slo: Span,
    effort: &Effort,
    progress: &(dyn Fn() + Sync),
) -> Result<QueueAt, SimError> {
    system.validate()?;
    load.validate(system)?;
    if let Some(exact) = Mmk::of(system, load) {
        return Ok(exact.at_slo(slo)?.queue());
    }
    let bracket = system.bracket(&load.service);
    let Highest { load, end, at } = highest_load(system, load, slo, bracket, effort, progress)?;
    Ok(QueueAt { end: Some(end), ..QueueAt::simulated(load, &at) })
}

/// The queue at the offered load. Costs an [`estimate`], or nothing if a formula is exact.
///
/// # Errors
///
/// Those of a run.
pub fn queue_at_load(
    system: &System,
    load: &Load,
    effort: &Effort,
    progress: &(dyn Fn() + Sync),
) -> Result<QueueAt, SimError> {
    system.validate()?;
    load.validate(system)?;
    let Source::Open { utilization, .. } = load.source else {
        let shown = estimate(system, load, effort, progress)?;
        let achieved = shown.tally.served_rps() * load.service.mean_ps() / 1e12 / system.capacity();
        return Ok(QueueAt::simulated(Interval::exact(achieved), &shown));
    };
    if let Some(exact) = Mmk::of(system, load) {
        return Ok(Mmk { utilization, ..exact }.queue());
    }
    let shown = estimate(system, load, effort, progress)?;
    Ok(QueueAt::simulated(Interval::exact(utilization), &shown))
}

impl QueueAt {
    fn simulated(load: Interval, shown: &Estimate) -> Self {
        Self {
            load,
            depth_mean: Interval::of_positive(&shown.depth_mean),
            depth_p99: Interval::of_positive(&shown.depth_p99),
            is_simulated: true,
            is_unsettled: !shown.is_settled,
            end: None,
            is_precise: shown.is_precise,
        }
    }
}

impl System {
    /// The load above which an unbounded queue is certain to grow without limit: 1 minus the costs
    /// of the mechanisms. A core with credit for `n` RPCs serves at most `n` per round of dispatch,
    /// service and notice. Under `mcs-lock` the lock is handed over once per RPC, and a dispatcher
    /// on one core is busy once per RPC. Cores that only schedule do not serve.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula_nic::{Policy, Span};
    /// use nebula_sim::{Costs, System};
    ///
    /// let costs = Costs { lock_handoff: Span::from_ns(125), ..Costs::default() };
    /// let system = System::new(Policy::McsLock, 16).costs(costs);
    /// assert_eq!(system.saturation(&"exp:1us".parse()?), 0.5);
    /// # Ok::<(), nebula_sim::SimError>(())
    /// ```
    #[must_use]
    pub fn saturation(&self, service: &ServiceTime) -> f64 {
        if self.is_tiered() {
            return 1.0;
        }
        if let Some(host) = &self.host {
            return host.saturation(service.mean_ps(), self.workers());
        }
        if self.costs.grow() {
            return self.at_size().saturation(service);
        }
        let Costs { dispatch, notify, receive, decision, lock_handoff, .. } = self.costs;
        let mean_ps = service.mean_ps();
        let busy_ps = mean_ps + (receive + lock_handoff).as_ps() as f64;
        let round_ps = busy_ps + (dispatch + notify).as_ps() as f64;
        let core = f64::from(self.per_core()) * mean_ps / round_ps;
        // Each queue in software has its own lock.
        let lock_handoff = if self.has_queues() { Span::ZERO } else { lock_handoff };
        let workers = f64::from(self.workers()) / f64::from(self.cores);
        let capacity = self.capacity() / f64::from(self.servers);
        let in_turn = |span: Span| mean_ps / (span.as_ps() as f64 * capacity);
        let at_cores = match &self.speeds {
            None => core.min(mean_ps / busy_ps).min(1.0) * workers,
            Some(speeds) => self.saturation_at(speeds, mean_ps) / capacity,
        };
        // Each group has its dispatcher.
        at_cores.min(in_turn(lock_handoff)).min(in_turn(decision) * f64::from(self.groups()))
    }

    /// The load that a server's cores can serve at this mean service time, in cores of speed 1.
    /// Where RPCs are spread evenly over the cores, the slowest core determines it.
    fn saturation_at(&self, speeds: &Speeds, mean_ps: f64) -> f64 {
        let Costs { dispatch, notify, receive, lock_handoff, .. } = self.costs;
        let of_core = |&speed: &f64| {
            let busy_ps = mean_ps / speed + (receive + lock_handoff).as_ps() as f64;
            let round_ps = busy_ps + (dispatch + notify).as_ps() as f64;
            mean_ps * (f64::from(self.per_core()) / round_ps).min(1.0 / busy_ps)
        };
        let of_cores = speeds.of_cores().iter().map(of_core);
        let is_even =
            matches!(self.policy, Policy::Rss | Policy::Static | Policy::Random | Policy::RoundRobin | Policy::KeyHash);
        match is_even && self.custom.is_none() {
            true => of_cores.fold(f64::INFINITY, f64::min) * speeds.cores() as f64,
            false => of_cores.sum(),
        }
    }

    /// The range that contains the highest load that meets an SLO. With a bound on the queue that
    /// may be slightly above saturation: at 1 % of NACKs every SLO is missed.
    #[must_use]
    pub fn bracket(&self, service: &ServiceTime) -> Bracket {
        let Bracket { lowest, highest, width } = Bracket::default();
        let highest = self.saturation(service) * if self.queue_bound.is_some() { 1.05 } else { highest };
        Bracket { lowest: lowest.min(highest / 2.0), highest, width: width.min(highest / 100.0) }
    }
}

/// Room for [`QUEUE_ROOM`] times the mean number of waiting RPCs (NEBULA's sizing rule), and never
/// less than the cores hold: slots are held until the end of service, so a smaller buffer would
/// NACK while cores are idle.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Policy, Sizing};
/// use nebula_sim::System;
/// use nebula_sim::sizing::room;
///
/// let system = System::new(Policy::SingleQueue, 64);
/// assert_eq!(room(&system, 53.9, 1024).buffer_bytes, 540 * 1024);
/// assert_eq!(room(&system, 0.2, 1024).reassembler_entries, 64);
/// ```
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative; `as` saturates")]
pub fn room(system: &System, depth_mean: f64, rpc_bytes: u32) -> Sizing {
    let waiting = (libm::round(depth_mean).max(1.0) * QUEUE_ROOM) as u64;
    let rpcs = waiting.max(system.held_at_cores().into());
    let buffer_slots = rpcs * u64::from(rpc_bytes.div_ceil(SLOT_BYTES));
    Sizing {
        queue_depth_mean: depth_mean,
        buffer_slots,
        buffer_bytes: buffer_slots * u64::from(SLOT_BYTES),
        bitvector_bytes: buffer_slots.div_ceil(8),
        reassembler_entries: rpcs,
    }
}

/// M/M/k: Poisson arrivals, exponential service times and one queue.
#[derive(Clone, Copy, Debug)]
struct Mmk {
    cores: u32,
    service_ps: f64,
    utilization: f64,
}

/// The share of RPCs later than the p99.
const LATE: f64 = 0.01;

impl Mmk {
    /// `None` unless this is an M/M/k, or several of them that share the load randomly.
    fn of(system: &System, load: &Load) -> Option<Self> {
        let Source::Open { arrivals: Arrivals::Poisson, utilization } = load.source else { return None };
        let has_one_queue = matches!(system.policy, Policy::SingleQueue | Policy::Jbsq(1));
        let is_plain = has_one_queue
            && system.queue_bound.is_none()
            && system.costs == Costs::default()
            && system.speeds.is_none()
            && load.over_time.is_none();
        (is_plain && load.service.is_exponential()).then(|| Self {
            cores: system.cores.into(),
            service_ps: load.service.mean_ps(),
            utilization,
        })
    }

    /// At the highest load that meets `slo`: the tail grows with the load.
    fn at_slo(self, slo: Span) -> Result<Self, SimError> {
        let slo_services = slo.as_ps() as f64 / self.service_ps;
        let at = |utilization| Self { utilization, ..self };
        let meets = |utilization| at(utilization).latency_above(slo_services) <= LATE;
        let (mut met_at, mut missed_at) = (0.0, 1.0);
        if !meets(met_at) {
            // Without any load an RPC takes longer than ln(100) services once in a hundred times.
            let p99_ns = -libm::log(LATE) * self.service_ps / 1e3;
            return Err(SimError::Slo { slo_ns: slo.as_ns_f64(), p99_ns });
        }
        for _ in 0..f64::MANTISSA_DIGITS {
            let middle = (met_at + missed_at) / 2.0;
            if meets(middle) { met_at = middle } else { missed_at = middle }
        }
        Ok(at(met_at))
    }

    fn offered_erlangs(self) -> f64 {
        self.utilization * f64::from(self.cores)
    }

    /// The share of RPCs whose latency exceeds `services` mean service times: an RPC that waits
    /// does so for an exponential time of rate `k − A`, and its service has rate 1.
    fn latency_above(self, services: f64) -> f64 {
        let waits = erlang_c(self.cores, self.offered_erlangs());
        let drain = f64::from(self.cores) - self.offered_erlangs();
        let served = libm::exp(-services);
        let both = if (drain - 1.0).abs() < 1e-9 {
            (1.0 + services) * served
        } else {
            (drain * served - libm::exp(-drain * services)) / (drain - 1.0)
        };
        (1.0 - waits) * served + waits * both
    }

    fn queue(self) -> QueueAt {
        QueueAt {
            load: Interval::exact(self.utilization),
            depth_mean: Interval::exact(queue_depth_mean(self.cores, self.offered_erlangs())),
            depth_p99: Interval::exact(self.depth_p99()),
            is_simulated: false,
            is_unsettled: false,
            end: None,
            is_precise: None,
        }
    }

    /// More than `n` wait with probability `C·ρ^(n+1)`.
    fn depth_p99(self) -> f64 {
        let waits = erlang_c(self.cores, self.offered_erlangs());
        let beyond = libm::log(LATE / waits) / libm::log(self.utilization);
        if waits * self.utilization <= LATE { 0.0 } else { libm::ceil(beyond - 1.0).max(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_of_one_core_is_that_of_an_exponential() {
        for utilization in [0.1, 0.5, 0.9] {
            let one = Mmk { cores: 1, service_ps: 1e6, utilization };
            for services in [0.5, 3.0, 10.0] {
                let closed = libm::exp(-(1.0 - utilization) * services);
                assert!((one.latency_above(services) - closed).abs() < 1e-12, "{utilization} {services}");
            }
        }
        let even = Mmk { cores: 4, service_ps: 1e6, utilization: 0.75 };
        let near = Mmk { utilization: 0.75 + 1e-7, ..even };
        assert!((even.latency_above(5.0) - near.latency_above(5.0)).abs() < 1e-6, "where both rates are one");
    }

    #[test]
    fn the_p99_of_the_depth_is_the_least_that_ninety_nine_of_a_hundred_do_not_exceed() {
        for (cores, utilization) in [(1, 0.5), (1, 0.01), (16, 0.3), (16, 0.95), (64, 0.984_375)] {
            let queue = Mmk { cores, service_ps: 1e6, utilization };
            let waits = erlang_c(cores, queue.offered_erlangs());
            let above = |depth: f64| waits * libm::pow(utilization, depth + 1.0);
            let depth = queue.depth_p99();
            assert!(
                above(depth) <= LATE && (depth == 0.0 || above(depth - 1.0) > LATE),
                "{cores} {utilization}: {depth}"
            );
        }
    }

    #[test]
    fn costs_lower_saturation_unless_credit_hides_them() {
        let service: ServiceTime = "fixed:1us".parse().unwrap();
        let costs = Costs { dispatch: Span::from_ns(250), notify: Span::from_ns(250), ..Costs::default() };
        let at = |policy| System::new(policy, 4).costs(costs).saturation(&service);
        assert!((at(Policy::SingleQueue) - 1.0 / 1.5).abs() < 1e-12);
        assert_eq!(at(Policy::Jbsq(2)), 1.0);
        assert_eq!(System::new(Policy::SingleQueue, 4).bracket(&service), Bracket::default());
    }
}

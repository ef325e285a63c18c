//! Whether enough was simulated: how long a load takes to forget where it began.
//!
//! Near saturation, latencies stay high or low for a relaxation time, which grows as
//! `(1 + scv) / (1 − ρ)²`. A run of few relaxation times shows one stretch of good or bad luck, and
//! its interval says nothing. So warm-up and measured window follow the relaxation time where a
//! formula gives it. In every case the means of successive batches must hardly depend on each
//! other; otherwise the run is *unsettled*.

use crate::load::{Load, Source};
use crate::system::System;
use crate::world::length::Length;
use nebula_nic::Policy;
use nebula_workload::Arrivals;

/// The relaxation time of a load, in RPCs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Relaxation {
    /// RPCs that arrive at a queue in its relaxation time.
    rpcs: f64,
    /// Queues that do not share their cores.
    queues: f64,
    /// Relaxation times of a queue to measure.
    times: f64,
}

/// Relaxation times of the measured windows together.
const MEASURED: f64 = 3_000.0;

/// The same where a queue drains in a quarter to two service times: long waits are then rare, but
/// make nearly every RPC later than the p99, so the share of late RPCs is more skewed.
const MEASURED_OF_RARE_WAITS: f64 = 9_000.0;
const DRAIN: std::ops::Range<f64> = 0.5..4.0;

/// The same for several queues, whose figures are means over all of them.
const MEASURED_OF_QUEUES: f64 = 1_000.0;

/// A bound on the queue is ignored if it is this many times the queue's mean near saturation: one
/// RPC in a million reaches it.
const BOUND_IS_FAR: f64 = 14.0;

/// Relaxation times of the warm-up.
const WARMUP: f64 = 3.0;

/// The highest correlation of neighboring batches; some 300 batches of more than about 1,000
/// relaxation times in total have a lower one.
const CORRELATION_MAX: f64 = 0.2;

impl Relaxation {
    /// `None` where no formula holds: a closed loop, tiers, `darc`, arrivals that are not renewals,
    /// a load that changes, a bound that the queue may reach, cores that differ, or service times
    /// without a variance.
    ///
    /// The relaxation time of M/M/k is `ρ / (1 − √ρ)²` arrivals for any k, where ρ is the load over
    /// the highest possible one. It grows with the mean of the squared coefficients of variation of
    /// gaps and of service; with preemption, that of service counts as at most 1.
    pub(crate) fn of(system: &System, load: &Load) -> Option<Self> {
        let Source::Open { arrivals, utilization } = &load.source else { return None };
        let scv_of_gaps = match arrivals {
            Arrivals::Poisson => 1.0,
            Arrivals::Paced => 0.0,
            Arrivals::Packets(packets) => 1.0 / f64::from(packets.get()).powi(2),
            _ => return None,
        };
        let is_plain = load.over_time.is_none() && load.is_even() && !system.is_tiered();
        let scv = load.service.scv().filter(|scv| scv.is_finite());
        let scv = match system.policy {
            Policy::Darc => return None,
            Policy::Preemptive(_) => scv.map(|scv| scv.min(1.0)),
            _ => scv,
        }?;
        let rho = utilization / system.saturation(&load.service);
        let (queues, cores) = queues(system);
        let spread = f64::midpoint(scv_of_gaps, scv);
        // The queue's tail falls by e for every `queues · spread / (1 − ρ)` RPCs.
        let is_far = |bound: u32| f64::from(bound) * (1.0 - rho) >= BOUND_IS_FAR * queues * spread.max(1.0);
        (is_plain && rho < 1.0 && system.queue_bound.is_none_or(is_far)).then(|| {
            let gap = 1.0 - libm::sqrt(rho);
            let drain = cores * (1.0 - rho);
            let times = if DRAIN.contains(&drain) { MEASURED_OF_RARE_WAITS } else { MEASURED };
            Self { rpcs: rho / (gap * gap) * spread, queues, times }
        })
    }

    fn all_rpcs(self) -> f64 {
        self.rpcs * self.queues
    }

    /// RPCs that all measured windows together should have.
    fn measured(self) -> f64 {
        let of_queues = if self.queues > 1.0 { MEASURED_OF_QUEUES * self.all_rpcs() } else { 0.0 };
        of_queues.max(self.times * self.rpcs)
    }

    pub(crate) fn warmup(self) -> u64 {
        whole(WARMUP * self.all_rpcs())
    }

    /// RPCs of each of `replications` windows; 0 if they would need more than `most`.
    pub(crate) fn window(self, replications: u32, most: u64) -> u64 {
        let each = whole(libm::ceil(self.measured())).div_ceil(replications.max(1).into());
        if each > most { 0 } else { each }
    }

    /// Whether so many replications of this length are long enough.
    pub(crate) fn is_within(self, length: Length, replications: usize) -> bool {
        let measured = length.rpcs as f64 * replications as f64;
        // The warm-up of a load that hardly fills the system may be short, too.
        measured >= self.measured() && length.warmup as f64 >= self.all_rpcs()
    }
}

/// Queues that do not share their cores, and the cores of each.
fn queues(system: &System) -> (f64, f64) {
    let by_rpc =
        matches!(system.policy, Policy::Rss | Policy::Static | Policy::Random | Policy::RoundRobin | Policy::KeyHash);
    let (workers, servers) = (f64::from(system.workers()), f64::from(system.servers));
    let (of_server, cores) = if by_rpc && system.custom.is_none() { (workers, 1.0) } else { (1.0, workers) };
    if system.router.is_some() { (1.0, servers * workers) } else { (servers * of_server, cores) }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative; `as` saturates")]
fn whole(rpcs: f64) -> u64 {
    rpcs as u64
}

/// The correlation of neighboring batches above which a window without a formula is made longer:
/// that of some 300 batches of 1,500 relaxation times in total, if dependence decays exponentially.
const CORRELATION_LONG: f64 = 0.1;

/// Whether no longer window is needed; the lists are those of [`are_independent`].
pub(crate) fn hardly_depend(replications: &[Vec<f64>]) -> bool {
    correlation(replications) <= CORRELATION_LONG
}

/// Whether batches are nearly independent; each list has a replication's batch means, in order.
pub(crate) fn are_independent(replications: &[Vec<f64>]) -> bool {
    correlation(replications) <= CORRELATION_MAX
}

/// The correlation of neighboring batches, about the mean of all replications.
fn correlation(replications: &[Vec<f64>]) -> f64 {
    let (count, sum) = replications.iter().flatten().fold((0.0, 0.0), |(count, sum), mean| (count + 1.0, sum + mean));
    let mean = sum / count;
    let square = |at: f64| (at - mean) * (at - mean);
    let squares: f64 = replications.iter().flatten().map(|&at| square(at)).sum();
    let pairs = || replications.iter().flat_map(|means| means.windows(2));
    let products: f64 = pairs().map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    // Rounding apart, equal latencies do not depend on each other.
    if squares <= 1e-18 * mean * mean * count { 0.0 } else { products / pairs().count() as f64 / (squares / count) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_workload::Seed;

    fn open(load: f64) -> Load {
        Load::open("exp:1us".parse().unwrap(), load)
    }

    #[test]
    fn a_relaxation_time_is_that_of_each_queue() {
        let of =
            |policy: &str, load: f64| Relaxation::of(&System::new(policy.parse().unwrap(), 16), &open(load)).unwrap();
        let one = of("single-queue", 0.99);
        assert!((one.rpcs / 39_401.0 - 1.0).abs() < 1e-3, "{one:?}");
        assert_eq!((of("rss", 0.99), of("jbsq:2", 0.99)), (Relaxation { queues: 16.0, ..one }, one));
        let long = Length { warmup: 40_000, rpcs: 12_000_000 };
        assert!(one.is_within(long, 10) && !one.is_within(long, 9));
        assert!(!one.is_within(Length { warmup: 30_000, ..long }, 10) && !of("rss", 0.99).is_within(long, 10));
        let rare = |load: f64| of("single-queue", load).times;
        assert_eq!([0.7, 0.8, 0.9, 0.95, 0.97].map(rare), [3_000.0, 9_000.0, 9_000.0, 9_000.0, 3_000.0]);
        assert_eq!((one.warmup() / 1000, one.window(10, 1 << 30) / 1_000_000), (118, 11));
        assert_eq!(one.window(10, 7_000_000), 0);
        for load in [0.5, 0.905, 0.96, 0.965, 0.98] {
            let (known, warmup) = (of("single-queue", load), 1_000_000);
            let enough = Length { warmup, rpcs: known.window(5, 1 << 30) };
            assert!(known.is_within(enough, 5), "{load}");
        }
    }

    #[test]
    fn no_formula_is_used_where_none_holds() {
        let system = System::new(Policy::SingleQueue, 4);
        let none = |system: &System, load: &Load| assert_eq!(Relaxation::of(system, load), None);
        none(&system, &open(0.5).arrivals("mmpp2:5x,0.1,20us".parse().unwrap()));
        none(&system, &Load::closed("exp:1us".parse().unwrap(), 5, None));
        none(&system.clone().queue_bound(5), &open(0.5));
        none(&system.clone().queue_bound(1_000), &open(0.99));
        let far = system.clone().queue_bound(2_000);
        assert_eq!(Relaxation::of(&far, &open(0.99)), Relaxation::of(&system, &open(0.99)));
        none(&system, &Load::open("pareto:min=500ns,alpha=1.5".parse().unwrap(), 0.5));
        assert!(Relaxation::of(&system, &open(0.5).arrivals("paced".parse().unwrap())).is_some());
    }

    #[test]
    fn batches_that_are_short_for_their_relaxation_depend_on_each_other() {
        let mut rng = Seed(2).stream("batches");
        // Each batch keeps this share of the one before.
        let mut replications = |kept: f64| -> Vec<Vec<f64>> {
            let mut of_one = |_| {
                let mut at = 0.0;
                let mut next = |_| {
                    at = kept * at + (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
                    at + 100.0
                };
                (0..32).map(&mut next).collect()
            };
            (0..10).map(&mut of_one).collect()
        };
        assert!(are_independent(&replications(0.0)) && are_independent(&replications(0.1)));
        assert!(hardly_depend(&replications(0.0)) && !hardly_depend(&replications(0.25)));
        assert!(!are_independent(&replications(0.6)) && !are_independent(&replications(0.99)));
        assert!(are_independent(&[vec![3.0; 8], vec![3.0; 8]]), "nothing waits");
    }
}

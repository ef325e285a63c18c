//! Many runs side by side that answer one question: how many RPCs end within a time?
//!
//! A search for the highest load at an SLO asks it of each of its runs, a dozen per replication.
//! Each lane has its seed, load and length, and draws the RPCs that [`run`](crate::run) would draw,
//! so its answer is that of the run's tally. Lanes are independent: none waits for another, and
//! vectors do what all have in common.

pub(crate) mod lane;
mod counts;
mod draws;
mod fixed;
mod sorted;
mod tournament;

use super::fits;
use crate::error::SimError;
use crate::load::{Load, Source};
use crate::recursion::lanes::lane::{BLOCK, Each, Serve, TIME_MAX};
pub use crate::recursion::lanes::lane::{LANES, Lane};
use crate::system::{Costs, System};
use counts::Counts;
use draws::{Gaps, Services};
use fixed::Fixed;
use nebula_nic::{Policy, Span};
use nebula_workload::Arrivals;
use pulp::{Arch, Simd, WithSimd};
use sorted::Sorted;
use tournament::Tournaments;

/// Whether lanes can make all of these runs: Poisson arrivals at one queue without costs or a
/// bound, and times that an `f64` holds.
#[must_use]
pub fn hold(system: &System, load: &Load, lanes: &[Lane]) -> bool {
    let is_poisson = matches!(load.source, Source::Open { arrivals: Arrivals::Poisson, .. });
    let has_one_queue = matches!(system.policy, Policy::SingleQueue | Policy::McsLock | Policy::Jbsq(1));
    let is_steady = load.service.scv().is_some_and(|scv| scv < SCV_MAX);
    let is_short = |lane: &Lane| {
        let gap_ps = load.service.mean_ps() / (f64::from(system.workers()) * lane.load);
        (lane.length.warmup + lane.length.rpcs) as f64 * gap_ps * 4.0 < TIME_MAX
    };
    let lanes_fit = (1..=LANES).contains(&lanes.len()) && lanes.iter().all(is_short);
    let is_plain = system.costs == Costs::ZERO && system.queue_bound.is_none();
    is_poisson && has_one_queue && is_plain && is_steady && lanes_fit && fits(system, load)
}

/// With more variable service the queue may outgrow a run, which lanes do not detect.
const SCV_MAX: f64 = 100.0;

/// How many RPCs of each lane's window have a latency of at most `within`; `load`'s load is unused.
///
/// # Cost
///
/// A few nanoseconds an RPC with AVX-512; up to three times that without, or above 100 cores.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Policy, Span};
/// use nebula_sim::lanes::{Lane, hold, on_time};
/// use nebula_sim::{Length, Load, System};
/// use nebula_workload::Seed;
///
/// let (system, load) = (System::new(Policy::SingleQueue, 16), Load::open("fixed:1us".parse()?, 0.5));
/// let lanes = [0.5, 0.99].map(|load| Lane { load, length: Length::of(20_000), seed: Seed(1) });
/// assert!(hold(&system, &load, &lanes));
/// let counts = on_time(&system, &load, &lanes, Span::from_us(2))?;
/// assert!(counts[0] == 20_000 && counts[1] < 20_000, "{counts:?}");
/// # Ok::<(), nebula_sim::SimError>(())
/// ```
///
/// # Errors
///
/// [`SimError`] if a load is not possible.
///
/// # Panics
///
/// If the lanes do not [`hold`] these runs.
pub fn on_time(system: &System, load: &Load, lanes: &[Lane], within: Span) -> Result<Vec<u64>, SimError> {
    assert!(hold(system, load, lanes), "runs that lanes do not hold are made one by one");
    system.validate()?;
    // Lanes without a run repeat the first.
    let all: Each<Lane> = std::array::from_fn(|lane| *lanes.get(lane).unwrap_or(&lanes[0]));
    let gaps = Gaps::try_new(system, load, &all)?;
    let services = Services::new(&load.service, &all);
    let counts = Counts::new(&all, within.as_ps());
    let cores = system.workers();
    let on_time = if load.service.scv() == Some(0.0) {
        serve_all(gaps, Fixed::new(cores, load.service.mean_ps()), counts)
    } else if cores <= SORTED_CORES_MAX {
        serve_all(gaps, Sorted::new(cores, services), counts)
    } else {
        serve_all(gaps, Tournaments::new(cores, services), counts)
    };
    Ok(on_time[..lanes.len()].to_vec())
}

/// With more cores, one path through a tournament costs less than a vectorized look at each core.
const SORTED_CORES_MAX: u16 = 192;

/// Serves all blocks with the machine's widest vectors; any width gives the same bits.
fn serve_all<S: Serve>(gaps: Gaps, serve: S, counts: Counts) -> Each<u64> {
    Arch::new().dispatch(All { gaps, serve, counts })
}

struct All<S> {
    gaps: Gaps,
    serve: S,
    counts: Counts,
}

impl<S: Serve> WithSimd for All<S> {
    type Output = Each<u64>;

    #[inline(always)]
    fn with_simd<V: Simd>(mut self, vectors: V) -> Each<u64> {
        let mut arrived = [[0.0; LANES]; BLOCK];
        while self.counts.next < self.counts.end {
            self.gaps.arrive(&mut arrived);
            self.serve.serve(vectors, &arrived, &mut self.counts);
            self.counts.next += BLOCK as u64;
        }
        self.counts.on_time
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recursion::lanes::lane::{floor, whole};
    use crate::tally::Distribution;
    use crate::world::length::Length;
    use crate::world::run;
    use nebula_workload::Seed;

    fn lanes(count: u64, load: f64) -> Vec<Lane> {
        let lane = |index: u64| Lane {
            load: load - 0.03 * index as f64,
            length: Length { warmup: 100 * index + 7, rpcs: 20_000 + 11 * index },
            seed: Seed(3).replica(index),
        };
        (0..count).map(lane).collect()
    }

    #[test]
    fn as_many_are_on_time_as_in_each_run_alone() {
        let services = ["fixed:1us", "exp:1us", "bimodal:500ns@0.9,5500ns@0.1", "lognormal:mean=1us,scv=3"];
        for (service, cores) in
            services.iter().flat_map(|service| [1, 7, 16, 60, 192, 193].map(|cores| (service, cores)))
        {
            let (system, load) = (System::new(Policy::SingleQueue, cores), Load::open(service.parse().unwrap(), 0.5));
            for count in [1, 5, 8] {
                let lanes = lanes(count, 0.95);
                assert!(hold(&system, &load, &lanes), "{service}");
                let bound = load.slo(4.0).as_ps();
                let within = Span::from_ps(Distribution::highest_within(bound));
                let counts = on_time(&system, &load, &lanes, within).unwrap();
                for (lane, count) in lanes.iter().zip(counts) {
                    let tally = run(&system, &load.clone().at(lane.load), lane.length, lane.seed).unwrap();
                    let late = tally.latency.share_above(within.as_ps());
                    let alone = libm::round((1.0 - late) * lane.length.rpcs as f64);
                    assert_eq!(count as f64, alone, "{service} on {cores} cores, {lane:?}");
                }
            }
        }
    }

    #[test]
    fn what_lanes_do_not_hold_is_said() {
        let (system, load) = (System::new(Policy::SingleQueue, 16), Load::open("exp:1us".parse().unwrap(), 0.5));
        let eight = lanes(8, 0.9);
        assert!(hold(&system, &load, &eight) && !hold(&system, &load, &[]) && !hold(&system, &load, &lanes(9, 0.9)));
        assert!(!hold(&System::new(Policy::Jbsq(2), 16), &load, &eight));
        assert!(!hold(&system.clone().queue_bound(9), &load, &eight));
        assert!(!hold(&system.clone().costs(Costs { receive: Span::from_ns(1), ..Costs::ZERO }), &load, &eight));
        assert!(!hold(&system, &load.clone().arrivals("paced".parse().unwrap()), &eight));
        assert!(!hold(&system, &Load::open("pareto:min=500ns,alpha=1.5".parse().unwrap(), 0.5), &eight));
        let long = Lane { length: Length { warmup: 0, rpcs: 1 << 40 }, ..eight[0] };
        assert!(!hold(&system, &load, &[long]));
    }

    #[test]
    fn the_whole_part_is_that_of_the_number() {
        for number in [0.0, 0.25, 0.5, 0.999_999, 1.0, 1.5, 2.5, 15_624.999_999_9, 4_503_599_627_370_494.5] {
            assert_eq!(floor(number), libm::floor(number), "{number}");
            assert_eq!(whole(floor(number)) as f64, libm::floor(number), "{number}");
        }
    }
}

//! Many runs side by side, of which only one thing is asked: how many RPCs end within a time.
//!
//! That is what a search for the highest load at an SLO asks of each of its runs, a dozen for each replication. Each lane has its own
//! seed, load and length, and its RPCs are those that [`run`](crate::run) would draw: the answer is the one that its tally gives. Lanes
//! are independent of each other, so that one need not wait for another, and what is the same for all is done in vectors.

use super::first_free::FirstFree;
use super::fits;
use crate::error::SimError;
use crate::load::{Load, Source};
use crate::system::{Costs, System};
use crate::world::Length;
use nebula_nic::{Policy, Span};
use nebula_workload::{Arrivals, Rng, Seed, ServiceTime, TypeId};

/// Runs side by side.
pub const LANES: usize = 8;

/// RPCs of a block: what eight lanes draw for it stays in the first cache.
const BLOCK: usize = 64;

/// One number for each lane.
type Each<T> = [T; LANES];

/// One run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lane {
    /// Offered load as a share of the cores' capacity.
    pub load: f64,
    /// RPCs of the warm-up and of the measured window.
    pub length: Length,
    /// Seed of its draws.
    pub seed: Seed,
}

/// Times are whole picoseconds in an `f64` or in its 52 bits of fraction.
const TIME_BITS: u32 = 52;
const TIME_MAX: f64 = (1_u64 << TIME_BITS) as f64;

/// Whether all of these runs can be made in lanes: Poisson arrivals at one queue without costs or a bound, and times that an `f64` holds.
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

/// With more variable service the queue may outgrow a run, which lanes do not notice.
const SCV_MAX: f64 = 100.0;

/// How many RPCs of each lane's measured window have a latency of at most `within`; the load in `load` is not used.
///
/// # Cost
///
/// A third of the instructions of as many [runs](crate::run).
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
    // Lanes without a run repeat the first one.
    let all: Each<Lane> = std::array::from_fn(|lane| *lanes.get(lane).unwrap_or(&lanes[0]));
    let mut draws = Draws::try_new(system, load, &all)?;
    let mut counts = Counts::new(&all, within.as_ps());
    let steady_ps = if load.service.scv() == Some(0.0) { Some(load.service.mean_ps()) } else { None };
    let cores = system.workers();
    match steady_ps {
        Some(service_ps) => serve_all(&mut Fixed::new(cores, service_ps), &mut draws, &mut counts),
        None => serve_all(&mut Any::new(cores, &load.service, &all), &mut draws, &mut counts),
    }
    Ok(counts.on_time[..lanes.len()].to_vec())
}

/// Serves the RPCs of a block in all lanes.
trait Serve {
    /// Counts those that are on time, given when they arrive.
    fn serve(&mut self, arrived: &[Each<f64>; BLOCK], counts: &mut Counts);
}

fn serve_all(serve: &mut impl Serve, draws: &mut Draws, counts: &mut Counts) {
    let mut arrived = [[0.0; LANES]; BLOCK];
    while counts.next < counts.end {
        draws.arrive(&mut arrived);
        serve.serve(&arrived, counts);
        counts.next += BLOCK as u64;
    }
}

/// The arrivals of each lane.
struct Draws {
    streams: Each<Rng>,
    gap_ps_mean: Each<f64>,
    /// The fraction of a picosecond that rounding took from the gaps so far.
    carry: Each<f64>,
    now: Each<f64>,
}

impl Draws {
    fn try_new(system: &System, load: &Load, lanes: &Each<Lane>) -> Result<Self, SimError> {
        let mut gap_ps_mean = [0.0; LANES];
        for (gap, lane) in gap_ps_mean.iter_mut().zip(lanes) {
            let load = load.clone().at(lane.load);
            load.validate(system)?;
            *gap = PS_PER_SEC / load.rate(system)?.ok_or(SimError::Load { got: lane.load })?.as_rps();
        }
        let streams = lanes.map(|lane| lane.seed.stream("arrivals"));
        Ok(Self { streams, gap_ps_mean, carry: [0.0; LANES], now: [0.0; LANES] })
    }

    /// When the RPCs of the next block arrive: gaps are drawn and rounded as [`Arrivals::Poisson`] does it.
    fn arrive(&mut self, arrived: &mut [Each<f64>; BLOCK]) {
        let mut drawn = [0.0; BLOCK];
        for (lane, stream) in self.streams.iter_mut().enumerate() {
            stream.fill_exponential(&mut drawn);
            arrived.iter_mut().zip(&drawn).for_each(|(arrived, &drawn)| arrived[lane] = drawn);
        }
        let Self { gap_ps_mean, carry, now, .. } = self;
        for arrived in arrived {
            for lane in 0..LANES {
                let exact = arrived[lane] * gap_ps_mean[lane] + carry[lane];
                let whole = floor(exact);
                carry[lane] = exact - whole;
                now[lane] += whole;
                arrived[lane] = now[lane];
            }
        }
    }
}

const PS_PER_SEC: f64 = 1e12;

/// The whole part of a number from 0 to 2⁵², in operations that every x86-64 has for vectors.
#[inline(always)]
fn floor(number: f64) -> f64 {
    let nearest = (number + TIME_MAX) - TIME_MAX;
    nearest - if nearest > number { 1.0 } else { 0.0 }
}

/// The bits of a whole number from 0 to 2⁵² as an integer.
#[inline(always)]
fn whole(number: f64) -> u64 {
    (number + TIME_MAX).to_bits() & ((1 << TIME_BITS) - 1)
}

/// What is counted.
struct Counts {
    within: u64,
    /// By lane: the number of the first RPC measured, and of the first one after those.
    from: Each<u64>,
    to: Each<u64>,
    /// The number of the block's first RPC, and that of the first one that no lane measures any more.
    next: u64,
    end: u64,
    on_time: Each<u64>,
}

impl Counts {
    fn new(lanes: &Each<Lane>, within: u64) -> Self {
        let (from, to) =
            (lanes.map(|lane| lane.length.warmup), lanes.map(|lane| lane.length.warmup + lane.length.rpcs));
        let end = to.iter().copied().max().unwrap_or(0);
        Self { within, from, to, next: 0, end, on_time: [0; LANES] }
    }

    /// By lane: the RPCs of this block that are measured.
    fn measured(&self) -> Each<std::ops::Range<usize>> {
        let place =
            |number: u64| usize::try_from(number.saturating_sub(self.next)).map_or(BLOCK, |place| place.min(BLOCK));
        std::array::from_fn(|lane| place(self.from[lane])..place(self.to[lane]))
    }
}

/// The same service time for all: RPCs end in the order in which they arrive, so a core is free when the RPC so many before has ended.
struct Fixed {
    service_ps: f64,
    ended: Vec<Each<f64>>,
    oldest: usize,
}

impl Fixed {
    fn new(cores: u16, service_ps: f64) -> Self {
        Self { service_ps, ended: vec![[0.0; LANES]; usize::from(cores)], oldest: 0 }
    }
}

impl Serve for Fixed {
    fn serve(&mut self, arrived: &[Each<f64>; BLOCK], counts: &mut Counts) {
        let (cores, within) = (self.ended.len(), counts.within as f64);
        let measured = counts.measured();
        let (from, to) = (measured.clone().map(|range| range.start as f64), measured.map(|range| range.end as f64));
        let mut on_time = [0.0; LANES];
        for (index, arrived) in arrived.iter().enumerate() {
            let ended = &mut self.ended[self.oldest];
            self.oldest += 1;
            if self.oldest == cores {
                self.oldest = 0;
            }
            let index = index as f64;
            for lane in 0..LANES {
                let begun = if arrived[lane] > ended[lane] { arrived[lane] } else { ended[lane] };
                ended[lane] = begun + self.service_ps;
                let is_counted = ended[lane] - arrived[lane] <= within && index >= from[lane] && index < to[lane];
                on_time[lane] += if is_counted { 1.0 } else { 0.0 };
            }
        }
        counts.on_time.iter_mut().zip(on_time).for_each(|(all, more)| *all += whole(more));
    }
}

/// Any service times: a tournament of its cores for each lane.
struct Any<'a> {
    law: &'a ServiceTime,
    streams: Each<Rng>,
    free: Each<FirstFree>,
    services: Box<[Each<u64>; BLOCK]>,
}

impl<'a> Any<'a> {
    fn new(cores: u16, law: &'a ServiceTime, lanes: &Each<Lane>) -> Self {
        let streams = lanes.map(|lane| lane.seed.stream("service"));
        let free = [(); LANES].map(|()| FirstFree::new(cores));
        Self { law, streams, free, services: Box::new([[0; LANES]; BLOCK]) }
    }

    /// Draws the service times of a block.
    fn draw(&mut self) {
        let mut types = [TypeId(0); BLOCK];
        let mut spans = [Span::ZERO; BLOCK];
        for (lane, stream) in self.streams.iter_mut().enumerate() {
            self.law.fill_typed(stream, &mut types, &mut spans);
            self.services.iter_mut().zip(&spans).for_each(|(services, span)| services[lane] = span.as_ps());
        }
    }

    /// The same for exponential times: they are rounded in vectors, as [`ServiceTime`] rounds them.
    fn draw_exponential(&mut self) {
        let mut drawn = [0.0; BLOCK];
        let mean_ps = self.law.mean_ps();
        for (lane, stream) in self.streams.iter_mut().enumerate() {
            stream.fill_exponential(&mut drawn);
            drawn.iter_mut().for_each(|drawn| *drawn = floor(*drawn * mean_ps + 0.5));
            self.services.iter_mut().zip(&drawn).for_each(|(services, &drawn)| services[lane] = whole(drawn));
        }
    }
}

impl Serve for Any<'_> {
    fn serve(&mut self, arrived: &[Each<f64>; BLOCK], counts: &mut Counts) {
        if self.law.is_exponential() {
            self.draw_exponential();
        } else {
            self.draw();
        }
        let mut late = [[0_u8; LANES]; BLOCK];
        for ((arrived, services), late) in arrived.iter().zip(self.services.iter()).zip(&mut late) {
            for lane in 0..LANES {
                let free = &mut self.free[lane];
                let arrived = whole(arrived[lane]);
                let ended = free.first_ps().max(arrived) + services[lane];
                free.replace(ended);
                late[lane] = u8::from(ended - arrived > counts.within);
            }
        }
        for (lane, measured) in counts.measured().into_iter().enumerate() {
            let count = measured.len() as u64;
            let late: u64 = late[measured].iter().map(|late| u64::from(late[lane])).sum();
            counts.on_time[lane] += count - late;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::Distribution;
    use crate::world::run;

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
        for (service, cores) in services.iter().flat_map(|service| [(service, 1), (service, 16), (service, 60)]) {
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

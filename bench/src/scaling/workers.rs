//! Workers behind one engine: their highest rate, and the tail at a share of it, by policy and
//! compared with the laboratory.

use super::load::{Clients, Round};
use super::service::computing;
use super::{SLO, affordable, counted};
use crate::Failure;
use crate::measure::median;
use crate::row::{Bound, against, plain};
use nebula::{IdlePolicy, ServerConfig, Span};
use nebula_nic::Policy;
use nebula_sim::{Costs, Length, Load, System};
use nebula_sys::affinity::pin_to;
use nebula_sys::clock::Clock;
use nebula_workload::Seed;

/// Engine and load have a core each in addition.
const WORKERS: [u16; 5] = [1, 2, 4, 8, 12];
const OTHERS: usize = 2;
/// The papers' baseline that draws a worker, the ideal that holds all RPCs back, and theirs.
const POLICIES: [&str; 3] = ["random", "single-queue", "jbsq:2"];
/// The mean of an exponential computation.
const MEAN_PS: f64 = 10e6;
/// As a share of the highest rate.
const LOAD: f64 = 0.8;
/// Outstanding RPCs of each worker while the highest rate is measured.
const UNDER_WAY: usize = 8;
/// Rounds of each policy, in turns, and their length: short enough that most have no long pause of
/// the machine. The median counts.
const ROUNDS: u64 = 15;
const ROUND_PS: u64 = 150_000_000_000;
const SIMULATED: u64 = 300_000;
const RUNS: u64 = 5;
/// The tail over the laboratory's.
const AGREES: Bound = Bound::AtMost(1.15);

pub fn compare(cores: &[usize]) -> Result<(), Failure> {
    let mut one = None;
    for workers in affordable("workers", &WORKERS, cores.len(), |workers| workers + OTHERS) {
        let seen = Seen::measure(workers, cores)?;
        let one = *one.get_or_insert(seen.peak_mrps[2]);
        seen.print(workers, one);
    }
    Ok(())
}

/// By policy.
struct Seen {
    peak_mrps: [f64; POLICIES.len()],
    /// As a share of the workers' computing capacity.
    load: f64,
    /// Core time of an RPC in addition to its computation.
    beside_ns: f64,
    p99_ns: [f64; POLICIES.len()],
    simulated_ns: [f64; POLICIES.len()],
}

impl Seen {
    fn measure(workers: u16, cores: &[usize]) -> Result<Self, Failure> {
        pin_to(cores[0])?;
        let under_way = UNDER_WAY * usize::from(workers);
        let closed = rounds(workers, cores, |clients| clients.closed(under_way, MEAN_PS, ROUND_PS))?;
        let peak_mrps = closed.map(|rounds| median(rounds.iter().map(Round::rate_mrps).collect()));
        // The same load for all policies: a share of the highest rate of any.
        let most = peak_mrps.iter().copied().fold(0.0, f64::max);
        let open = rounds(workers, cores, |clients| clients.open(LOAD * most, MEAN_PS, ROUND_PS))?;
        let p99_ns = open.map(|rounds| median(rounds.iter().map(|round| round.quantile_ns(0.99)).collect()));
        let beside_ns = (f64::from(workers) / most * 1e3 - MEAN_PS / 1e3).max(0.0);
        let load = LOAD * most * MEAN_PS / 1e6 / f64::from(workers);
        let mut simulated_ns = [0.0; POLICIES.len()];
        for (ns, policy) in simulated_ns.iter_mut().zip(POLICIES) {
            *ns = simulate(policy, workers, load, beside_ns)?;
        }
        Ok(Self { peak_mrps, load, beside_ns, p99_ns, simulated_ns })
    }

    fn print(&self, workers: u16, one_mrps: f64) {
        let what = |kind: &str| format!("exponential 10 us, {} behind one engine: {kind}", counted(workers, "worker"));
        let ideal = ("as many times one worker", one_mrps * f64::from(workers));
        against(&what("jbsq:2 at most"), self.peak_mrps[2], "M RPC/s", ideal, None);
        plain(&what("core time of an RPC beside its computation"), self.beside_ns, "ns");
        plain(&what("offered, of all that they could compute"), self.load, "of the cores");
        for (at, policy) in POLICIES.into_iter().enumerate() {
            let bound = (policy == "jbsq:2").then_some(AGREES);
            let simulated = ("the laboratory", self.simulated_ns[at]);
            against(&what(&format!("p99, {policy}")), self.p99_ns[at], "ns", simulated, bound);
        }
        let random = ("random", self.p99_ns[0]);
        against(&what("p99, jbsq:2, beside random"), self.p99_ns[2], "ns", random, None);
    }
}

/// Rounds of each policy in turns, with a server for each: an idle one would take the cores.
fn rounds(
    workers: u16,
    cores: &[usize],
    mut round: impl FnMut(&mut Clients) -> Result<Round, Failure>,
) -> Result<[Vec<Round>; POLICIES.len()], Failure> {
    let mut seen: [Vec<Round>; POLICIES.len()] = Default::default();
    for number in 0..ROUNDS {
        for (policy, seen) in POLICIES.into_iter().zip(&mut seen) {
            let endpoint = format!("shm://bench-scaling-{}", std::process::id());
            let pin = cores[1..OTHERS + usize::from(workers)].to_vec();
            let config = ServerConfig::default().workers(workers).policy(policy.parse()?).slo(SLO);
            let config = config.idle(IdlePolicy::Spin).pin(pin);
            let server = nebula::Server::bind(&endpoint).config(config).serve(computing(Clock::new()))?;
            let mut clients = Clients::connect(&endpoint, Seed(number).stream("load"))?;
            seen.push(round(&mut clients)?);
            drop(clients);
            server.stop();
        }
    }
    Ok(seen)
}

/// The p99 of the same workers and load in the laboratory, in nanoseconds.
fn simulate(policy: &str, workers: u16, load: f64, beside_ns: f64) -> Result<f64, Failure> {
    let costs = Costs { receive: Span::from_ps((beside_ns * 1e3) as u64), ..Costs::default() };
    let system = System::new(policy.parse::<Policy>()?, workers).costs(costs);
    let load = Load::open("exp:10us".parse()?, load);
    let runs = (0..RUNS).map(|run| {
        let tally = nebula_sim::run(&system, &load, Length::of(SIMULATED), Seed(1).replica(run))?;
        Ok(tally.latency.quantile(0.99) / 1e3)
    });
    Ok(median(runs.collect::<Result<_, Failure>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_laboratory_has_one_worker_as_theory_has_it() {
        // An M/M/1 at half its capacity: the p99 is ln 100 twice the mean.
        let p99 = simulate("single-queue", 1, 0.5, 0.0).expect("it runs");
        assert!((p99 / (2e4 * 100_f64.ln()) - 1.0).abs() < 0.05, "{p99}");
    }
}

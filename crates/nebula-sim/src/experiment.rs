//! One operating point with error bars: parallel replications, and a stopping rule.
//!
//! Replication `i` uses the seed's replica `i`, so a result depends on the seed and the number of replications, never on the number of
//! threads. Two systems with the same seed receive the same arrivals and the same service times.

use crate::error::SimError;
use crate::executor::{replications, try_each};
use crate::interval::Interval;
use crate::load::Load;
use crate::search::is_starving;
use crate::system::System;
use crate::tally::Tally;
use crate::world::{Length, run};
use nebula_workload::Seed;

/// How much is simulated for one operating point.
///
/// # Examples
///
/// ```
/// use nebula_sim::Effort;
///
/// let effort = Effort::default().rpcs(50_000).replications(4).precision(0.01);
/// assert!(effort.validate().is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// RPCs measured in each replication.
    pub rpcs: u64,
    /// RPCs of the warm-up before them, which fill the empty system; [`length`](Self::length) chooses if not set.
    pub warmup: Option<u64>,
    /// Replications; with a precision, rounds of this many run until it is reached.
    pub replications: u32,
    /// Half-width of the p99's interval, as a share of the p99, at which to stop.
    pub precision: Option<f64>,
    /// Most replications if a precision is set.
    pub replications_max: u32,
    /// Seed of all random draws.
    pub seed: Seed,
}

impl Default for Effort {
    /// Ten replications of 200,000 RPCs.
    fn default() -> Self {
        Self { rpcs: 200_000, warmup: None, replications: 10, precision: None, replications_max: 200, seed: Seed(1) }
    }
}

impl Effort {
    /// Sets the RPCs measured in each replication.
    #[must_use]
    pub const fn rpcs(mut self, rpcs: u64) -> Self {
        self.rpcs = rpcs;
        self
    }

    /// Sets the replications.
    #[must_use]
    pub const fn replications(mut self, replications: u32) -> Self {
        self.replications = replications;
        self
    }

    /// Sets the precision to stop at.
    #[must_use]
    pub const fn precision(mut self, share: f64) -> Self {
        self.precision = Some(share);
        self
    }

    /// Sets the seed.
    #[must_use]
    pub const fn seed(mut self, seed: Seed) -> Self {
        self.seed = seed;
        self
    }

    /// The length of one replication of `load`.
    ///
    /// Unless set, the warm-up is a tenth of the measured RPCs, or as long as the load takes to settle if that is longer, and at
    /// most twice the measured RPCs.
    #[must_use]
    pub fn length(&self, load: &Load) -> Length {
        let settling = || load.settling_rpcs().clamp(self.rpcs / 10, 2 * self.rpcs);
        Length { warmup: self.warmup.unwrap_or_else(settling), rpcs: self.rpcs }
    }

    /// Checks that this much can be simulated.
    ///
    /// # Errors
    ///
    /// [`SimError`] that says what is wrong.
    pub fn validate(&self) -> Result<(), SimError> {
        if !(1_000..=1_000_000_000_000).contains(&self.rpcs) {
            return Err(SimError::Rpcs { got: self.rpcs });
        }
        if !(2..=10_000).contains(&self.replications) {
            return Err(SimError::Replications { got: self.replications });
        }
        match self.precision {
            Some(got) if !(1e-5..1.0).contains(&got) => Err(SimError::Precision { got }),
            _ => Ok(()),
        }
    }
}

/// The results of an operating point.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// The sum of all replications.
    pub tally: Tally,
    /// The p99 of each replication in picoseconds, of the RPCs served.
    pub p99_ps: Vec<f64>,
    /// The p99 of each replication over all RPCs; a NACK counts as infinite.
    pub p99_ps_with_nacks: Vec<f64>,
    /// Mean latencies of each replication in picoseconds.
    pub mean_ps: Vec<f64>,
    /// Mean queue depths of each replication.
    pub depth_mean: Vec<f64>,
    /// p99 of the queue depth of each replication.
    pub depth_p99: Vec<f64>,
    /// Whether some RPCs starved: they waited as long as the load lasted. If they are fewer than 1 %, no p99 shows it.
    pub is_starving: bool,
    /// Whether the requested precision was reached; `None` if none was requested.
    pub is_precise: Option<bool>,
}

impl Estimate {
    fn empty() -> Self {
        let [p99_ps, p99_ps_with_nacks, mean_ps, depth_mean, depth_p99] = Default::default();
        let (tally, is_starving, is_precise) = (Tally::new(), false, None);
        Self { tally, p99_ps, p99_ps_with_nacks, mean_ps, depth_mean, depth_p99, is_starving, is_precise }
    }

    fn take(&mut self, system: &System, tally: &Tally) {
        self.is_starving |= is_starving(system, tally);
        self.tally.add(tally);
        self.p99_ps.push(tally.latency.quantile(0.99));
        self.p99_ps_with_nacks.push(tally.latency_with_nacks(0.99));
        self.mean_ps.push(tally.latency.mean());
        self.depth_mean.push(tally.queue_depth.mean());
        self.depth_p99.push(tally.queue_depth.quantile(0.99));
    }

    /// Number of replications that ran.
    #[must_use]
    pub fn replications(&self) -> usize {
        self.p99_ps.len()
    }

    /// The p99 in picoseconds, of the RPCs served.
    #[must_use]
    pub fn p99(&self) -> Interval {
        Interval::of(&self.p99_ps)
    }

    /// Whether the p99 of all RPCs meets the SLO, with a NACK counted as infinite, and no RPC starves.
    #[must_use]
    pub fn meets(&self, slo: nebula_nic::Span) -> bool {
        !self.is_starving && Interval::of(&self.p99_ps_with_nacks).value <= slo.as_ps() as f64
    }
}

/// Runs replications of one operating point until the effort is spent or the precision is reached.
///
/// `progress` is called after each replication, on the thread that ran it.
///
/// # Errors
///
/// [`SimError`] of the first replication that fails.
///
/// # Cost
///
/// Replications run in parallel on the threads of the current [`Executor`](crate::study::Executor), or else on rayon's global pool.
/// Memory for one tally per replication.
pub fn estimate(
    system: &System,
    load: &Load,
    effort: &Effort,
    progress: &(dyn Fn() + Sync),
) -> Result<Estimate, SimError> {
    effort.validate()?;
    let mut estimate = Estimate::empty();
    let mut first = 0;
    loop {
        let last = first + effort.replications;
        for tally in replicate(system, load, effort, first..last, progress)? {
            estimate.take(system, &tally);
        }
        let Some(precision) = effort.precision else { return Ok(estimate) };
        let is_precise = estimate.p99().relative() <= precision;
        if is_precise || last >= effort.replications_max {
            estimate.is_precise = Some(is_precise);
            return Ok(estimate);
        }
        first = last;
    }
}

fn replicate(
    system: &System,
    load: &Load,
    effort: &Effort,
    indices: std::ops::Range<u32>,
    progress: &(dyn Fn() + Sync),
) -> Result<Vec<Tally>, SimError> {
    let one = |&index: &u32| {
        let tally = run(system, load, effort.length(load), effort.seed.replica(u64::from(index)));
        progress();
        tally
    };
    try_each(&replications(indices), one)
}

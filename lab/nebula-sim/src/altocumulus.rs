//! Thresholds for the managers of `altocumulus:G`, trained offline: the queue length from which an
//! RPC misses its SLO.
//!
//! One group is simulated at each load of a grid. For each RPC the simulation records how many RPCs
//! waited when it arrived, and whether it was late. A threshold predicts that every RPC that finds
//! as many waiting or more is late. Two shares measure its quality:
//!
//! - **accuracy**: the share of the RPCs predicted late that were late;
//! - **effectiveness**: the share of the late RPCs that were predicted late.
//!
//! | threshold | is | accurate | effective |
//! |---|---|---|---|
//! | naive | the RPCs that the workers can serve within the SLO | very | little: it predicts too late |
//! | aggressive | the shortest queue that any late RPC found | hardly | completely |
//! | trained | the one with the best harmonic mean of the two | in between | in between |
//!
//! [`fit`] draws a line through the trained thresholds over Erlang's mean queue.

pub(crate) mod training;
mod judged;
mod monotone;
pub(crate) mod table;

use crate::altocumulus::training::LATE_MIN;
pub use crate::altocumulus::training::Training;
pub use judged::{Judged, LateByQueue};
pub use monotone::MonotoneRow;
pub use table::{ThresholdTable, TrainedRow};

use crate::error::SimError;
use crate::executor::{replications, try_each};
use crate::load::Load;
use crate::system::System;
use crate::world::late_by_queue;
use crate::world::length::Length;
use nebula_nic::schedule::Thresholds;
use nebula_nic::{Policy, Span, queue_depth_mean};
use nebula_workload::{Arrivals, Seed, ServiceTime};

impl Training {
    /// At most two RPCs at a worker, Poisson arrivals, loads from 0.5 to 0.98, 4 · 250,000 RPCs.
    #[must_use]
    pub fn new(workers: u16, service: ServiceTime, slo: Span) -> Self {
        let loads_permille = vec![500, 600, 700, 750, 800, 850, 900, 925, 950, 970, 980];
        Self {
            workers,
            bound: 2,
            service,
            arrivals: Arrivals::Poisson,
            slo,
            loads_permille,
            rpcs: 250_000,
            replications: 4,
            seed: Seed(1),
        }
    }

    /// The RPCs that the workers can serve within the SLO on average, plus one; needs no training.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is positive")]
    pub fn naive(&self) -> u32 {
        let services = libm::floor(self.slo.as_ps() as f64 / self.service.mean_ps()) as u32;
        Thresholds::naive(self.workers, services).at(0)
    }

    /// One row for each load, independent of the other loads; the same arguments give the same
    /// rows. `progress` is called after each replication.
    ///
    /// # Errors
    ///
    /// [`SimError`] of the first replication that fails.
    pub fn train(&self, progress: &(dyn Fn() + Sync)) -> Result<Vec<TrainedRow>, SimError> {
        try_each(&self.loads_permille, |&load_permille| {
            Ok(self.row(load_permille, &self.watch(load_permille, progress)?))
        })
    }

    /// RPCs, and late ones, by the queue length that they found at one load, in all replications.
    ///
    /// # Errors
    ///
    /// Those of [`train`](Self::train).
    pub fn watch(&self, load_permille: u32, progress: &(dyn Fn() + Sync)) -> Result<LateByQueue, SimError> {
        Ok(LateByQueue::all(&self.watch_each(load_permille, progress)?))
    }

    /// The same for each replication separately.
    ///
    /// # Errors
    ///
    /// Those of [`train`](Self::train).
    pub fn watch_each(&self, load_permille: u32, progress: &(dyn Fn() + Sync)) -> Result<Vec<LateByQueue>, SimError> {
        let load = Load::open(self.service.clone(), f64::from(load_permille) / 1000.0).arrivals(self.arrivals.clone());
        let system =
            System::new(if self.bound == 1 { Policy::SingleQueue } else { Policy::Jbsq(self.bound) }, self.workers);
        let length = Length { warmup: load.settling_rpcs().clamp(self.rpcs / 10, 2 * self.rpcs), rpcs: self.rpcs };
        let seed = self.seed.replica(load_permille.into());
        let one = |&index: &u32| {
            let late = late_by_queue(&system, &load, length, seed.replica(index.into()), self.slo);
            progress();
            late.map(LateByQueue::new)
        };
        try_each(&replications(0..self.replications), one)
    }

    pub(crate) fn row(&self, load_permille: u32, late: &LateByQueue) -> TrainedRow {
        let is_enough = late.late() >= LATE_MIN;
        let aggressive = late.aggressive().unwrap_or(self.naive());
        let trained = late.best().filter(|_| is_enough).unwrap_or(self.naive());
        let offered = f64::from(load_permille) / 1000.0 * f64::from(self.workers);
        TrainedRow {
            load_permille,
            queue_mean: queue_depth_mean(self.workers.into(), offered),
            aggressive,
            trained,
            late: late.late(),
            trained_judged: late.judge(trained),
        }
    }
}

/// The line through trained thresholds over Erlang's mean queue: a and b of T = a · E\[Nq\] + b, by
/// least squares. `None` unless at least two loads had enough late RPCs.
#[must_use]
pub fn fit(rows: &[TrainedRow]) -> Option<(f64, f64)> {
    let points: Vec<(f64, f64)> =
        rows.iter().filter(|row| row.late >= LATE_MIN).map(|row| (row.queue_mean, f64::from(row.trained))).collect();
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|point| (point.0 - x) * (point.0 - x)).sum();
    let both: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    (points.len() > 1 && spread > 0.0).then(|| (both / spread, y - both / spread * x))
}

//! How a run's core time was spent.

use super::Tally;
use crate::system::System;

/// Shares of all core time of a run, which add up to 1.
///
/// # Examples
///
/// ```
/// use nebula_nic::Policy;
/// use nebula_sim::{Length, Load, System, run};
/// use nebula_workload::Seed;
///
/// let system = System::new(Policy::SingleQueue, 16).dedicated(1);
/// let tally = run(&system, &Load::open("exp:1us".parse()?, 0.5), Length::of(50_000), Seed(1))?;
/// let spent = tally.core_time(&system);
/// assert_eq!(spent.scheduling, 1.0 / 16.0);
/// assert!((spent.service - 0.5).abs() < 0.02 && (spent.idle - 0.4375).abs() < 0.02);
/// # Ok::<(), nebula_sim::SimError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CoreTime {
    /// Service.
    pub service: f64,
    /// Receiving RPCs.
    pub dispatch: f64,
    /// Stealing, on both cores.
    pub stealing: f64,
    /// Locks, held or waited for.
    pub lock: f64,
    /// Interrupts, checks and context switches.
    pub preemption: f64,
    /// Descriptors sent and received.
    pub migration: f64,
    /// Cores that only schedule.
    pub scheduling: f64,
    /// Idle: the rest.
    pub idle: f64,
}

impl CoreTime {
    /// The name of each share in results, in the order of the fields.
    pub const NAMES: [&'static str; 8] =
        ["service", "dispatch", "stealing", "lock", "preemption", "migration", "scheduling", "idle"];

    /// The shares, in the order of [`NAMES`](Self::NAMES).
    #[must_use]
    pub const fn shares(&self) -> [f64; 8] {
        let Self { service, dispatch, stealing, lock, preemption, migration, scheduling, idle } = *self;
        [service, dispatch, stealing, lock, preemption, migration, scheduling, idle]
    }

    /// The utilization of the cores: all shares but the idle one.
    #[must_use]
    pub const fn busy(&self) -> f64 {
        1.0 - self.idle
    }
}

impl Tally {
    /// Core time of `system` on RPCs that ended in the measured window, as shares of all.
    #[must_use]
    pub fn core_time(&self, system: &System) -> CoreTime {
        let all_ps = self.window.as_ps() as f64 * f64::from(system.cores_everywhere());
        if all_ps == 0.0 {
            return CoreTime::default();
        }
        let share = |ps: u64| ps as f64 / all_ps;
        let spent = CoreTime {
            service: self.busy_ps as f64 / all_ps,
            dispatch: share(self.overheads.dispatch_ps),
            stealing: share(self.overheads.stealing_ps),
            lock: share(self.overheads.lock_ps),
            preemption: share(self.overheads.preemption_ps),
            migration: share(self.overheads.migration_ps),
            scheduling: f64::from(system.dedicated) / f64::from(system.cores.max(1)),
            idle: 0.0,
        };
        // The last RPCs of a window end after it.
        CoreTime { idle: (1.0 - spent.shares().iter().sum::<f64>()).max(0.0), ..spent }
    }
}

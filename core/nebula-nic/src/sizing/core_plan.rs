//! How a server divides its cores between engines and workers.
//!
//! An engine spends time on each RPC, whatever the number of workers behind it. Short RPCs on many
//! cores therefore need several engines, each with a group of workers.

use crate::dispatch::{Groups, Policy};
use crate::time::Span;

/// The time that an engine spends on an RPC over shared memory. Assumed: it takes some 250
/// instructions and the transfers of a few cache lines.
pub const ENGINE_TIME: Span = Span::from_ns(80);

/// The share of its time for which an engine can be busy before RPCs wait for it, as a fraction. In
/// simulation the p99 stays below ten times a mean of 1 µs up to 0.87 with one engine or two
/// (`nebula simulate --decision-time 80ns --find-slo`).
const ENGINE_BUSY_MAX: (u128, u128) = (4, 5);

/// Threads that poll, one a core, and the policy that suits them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorePlan {
    /// NIC engines.
    pub engines: u16,
    /// Workers, of all engines.
    pub workers: u16,
    /// `jbsq:2`, or `altocumulus:G` for several engines, each with its own workers.
    pub policy: Policy,
    /// Whether each engine runs on the thread of its only worker.
    pub is_inline: bool,
}

impl CorePlan {
    /// The fewest engines that can keep the other cores busy with RPCs of `service` on average, at
    /// `engine` an RPC. Where an engine would have less than two workers, there would be nothing to
    /// balance: then each core is engine and worker at once, for the clients that it is given.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula_nic::{CorePlan, ENGINE_TIME, Span};
    ///
    /// let plan = CorePlan::new(16, ENGINE_TIME, Span::from_us(10));
    /// assert_eq!((plan.engines, plan.workers), (1, 15));
    /// let plan = CorePlan::new(64, ENGINE_TIME, Span::from_us(1));
    /// assert_eq!((plan.engines, plan.workers), (6, 58));
    /// assert_eq!(plan.policy.to_string(), "altocumulus:6");
    /// ```
    #[must_use]
    pub fn new(cores: u16, engine: Span, service: Span) -> Self {
        let cores = cores.max(1);
        let engines = engines(cores, engine, service);
        let workers = cores.saturating_sub(engines);
        if workers < engines.saturating_mul(2) {
            return Self { engines: cores, workers: cores, policy: Policy::default(), is_inline: true };
        }
        let groups = Groups::try_new(engines).filter(|_| engines > 1);
        let policy = groups.map_or_else(Policy::default, Policy::Altocumulus);
        Self { engines, workers, policy, is_inline: false }
    }
}

/// Engines at most [`ENGINE_BUSY_MAX`] busy when all other cores are busy with handlers.
fn engines(cores: u16, engine: Span, service: Span) -> u16 {
    let (busy, of) = ENGINE_BUSY_MAX;
    let (cores_wide, engine, service) = (u128::from(cores), u128::from(engine.as_ps()), u128::from(service.as_ps()));
    // A worker asks for 1 / service, and an engine gives busy / (of × engine).
    let both = of * engine + busy * service;
    let engines = if both == 0 { cores_wide } else { (cores_wide * of * engine).div_ceil(both) };
    u16::try_from(engines).unwrap_or(cores).clamp(1, cores)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::borrow::ToOwned;
    use alloc::string::{String, ToString};
    use alloc::vec::Vec;

    fn plan(cores: u16, service_ns: u64) -> (u16, u16, String) {
        let plan = CorePlan::new(cores, ENGINE_TIME, Span::from_ns(service_ns));
        let threads = if plan.is_inline { plan.workers } else { plan.engines + plan.workers };
        assert_eq!(threads, cores.max(1), "one thread a core");
        assert!(plan.is_inline || plan.workers >= 2 * plan.engines);
        (plan.engines, plan.workers, plan.policy.to_string())
    }

    #[test]
    fn long_rpcs_need_one_engine_and_short_ones_several() {
        assert_eq!(plan(16, 10_000), (1, 15, "jbsq:2".to_owned()));
        assert_eq!(plan(16, 1000), (2, 14, "altocumulus:2".to_owned()));
        assert_eq!(plan(64, 1000), (6, 58, "altocumulus:6".to_owned()));
        assert_eq!(plan(64, 500), (11, 53, "altocumulus:11".to_owned()));
    }

    #[test]
    fn engines_that_would_have_one_worker_each_are_workers_themselves() {
        assert_eq!(plan(1, 1000), (1, 1, "jbsq:2".to_owned()));
        assert_eq!(plan(2, 1000), (2, 2, "jbsq:2".to_owned()));
        assert_eq!(plan(16, 50), (16, 16, "jbsq:2".to_owned()));
        assert_eq!(plan(0, 0), (1, 1, "jbsq:2".to_owned()));
        assert_eq!(plan(u16::MAX, 0), (u16::MAX, u16::MAX, "jbsq:2".to_owned()));
    }

    #[test]
    fn more_work_an_rpc_never_needs_more_engines() {
        for cores in 3..=128 {
            let engines: Vec<u16> = (1..200).map(|tenths| plan(cores, 100 * tenths).0).collect();
            assert!(engines.is_sorted_by(|shorter, longer| shorter >= longer), "{cores}: {engines:?}");
        }
    }
}

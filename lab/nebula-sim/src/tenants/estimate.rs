//! Each tenant's results, with intervals over replications.

use super::{Tenant, Tenants};
use crate::error::SimError;
use crate::executor::{replications, try_each};
use crate::experiment::Effort;
use crate::experiment::met::Met;
use crate::interval::Interval;
use crate::tally::distribution::Distribution;
use crate::world::Length;
use crate::world::tenants::{TenantTally, TenantsTally, run_tenants};
use nebula_nic::Span;

/// The results of tenants that share cores.
#[derive(Clone, Debug)]
pub struct TenantsEstimate {
    /// In the order of the file.
    pub tenants: Vec<OfTenant>,
}

/// The results of one tenant. Intervals are over replications.
#[derive(Clone, Debug)]
pub struct OfTenant {
    /// The tenant.
    pub tenant: Tenant,
    /// Its share of the cores while all tenants have work everywhere.
    pub fair_share: f64,
    /// Its share of the cores' busy time.
    pub share: Interval,
    /// The share of all cores' time that it used.
    pub busy: Interval,
    /// RPCs that arrived, per second.
    pub offered_rps: Interval,
    /// RPCs that were served, per second.
    pub served_rps: Interval,
    /// The share of its RPCs that was NACKed.
    pub nacked: Interval,
    /// Mean latency of the RPCs served, in picoseconds.
    pub mean_ps: Interval,
    /// Median latency of the RPCs served, in picoseconds.
    pub p50_ps: Interval,
    /// p99 of the latency of the RPCs served, in picoseconds.
    pub p99_ps: Interval,
    /// Whether the p99 of all its RPCs is within its SLO; a NACK counts as infinite.
    pub met: Met,
}

impl Tenants {
    /// Runs the effort's replications, each with its RPCs spread over all tenants.
    ///
    /// # Errors
    ///
    /// [`SimError`] if this cannot be simulated, or a queue grows without limit.
    pub fn estimate(&self, effort: &Effort, progress: &(dyn Fn() + Sync)) -> Result<TenantsEstimate, SimError> {
        effort.validate()?;
        self.validate()?;
        let length = Length { warmup: effort.warmup.unwrap_or(effort.rpcs / 10), rpcs: effort.rpcs };
        let runs = try_each(&replications(0..effort.replications), |&index| {
            let tallies = run_tenants(self, length, effort.seed.replica(u64::from(index)));
            progress();
            tallies
        })?;
        let of = |(index, tenant): (usize, &Tenant)| {
            let tallies: Vec<&TenantTally> = runs.iter().map(|run| &run.tenants[index]).collect();
            let over = |figure: &dyn Fn(&TenantTally) -> f64| {
                Interval::of_positive(&tallies.iter().map(|tally| figure(tally)).collect::<Vec<_>>())
            };
            let over_runs = |figure: &dyn Fn(f64, f64) -> f64| {
                let one = |run: &TenantsTally| figure(run.tenants[index].busy_ps as f64, run.used_ps());
                Interval::of_positive(&runs.iter().map(one).collect::<Vec<_>>())
            };
            let seconds = |tally: &TenantTally| tally.window.as_secs_f64();
            let capacity_ps = |tally: &TenantTally| tally.window.as_ps() as f64 * f64::from(self.cores.get());
            let with_nacks: Vec<f64> = tallies.iter().map(|tally| p99_with_nacks(tally)).collect();
            OfTenant {
                tenant: tenant.clone(),
                fair_share: self.fair_share(tenant),
                share: over_runs(&|busy_ps, used_ps| if used_ps == 0.0 { 0.0 } else { busy_ps / used_ps }),
                busy: over(&|tally| tally.busy_ps as f64 / capacity_ps(tally)),
                offered_rps: over(&|tally| tally.ended() as f64 / seconds(tally)),
                served_rps: over(&|tally| tally.served as f64 / seconds(tally)),
                nacked: over(&|tally| tally.nacked as f64 / tally.ended().max(1) as f64),
                mean_ps: over(&|tally| tally.latency.mean()),
                p50_ps: over(&|tally| tally.latency.quantile(0.5)),
                p99_ps: over(&|tally| tally.latency.quantile(0.99)),
                met: met(&with_nacks, tenant.slo),
            }
        };
        Ok(TenantsEstimate { tenants: self.tenants.iter().enumerate().map(of).collect() })
    }
}

fn p99_with_nacks(tally: &TenantTally) -> f64 {
    let latency: &Distribution = &tally.latency;
    latency.quantile_of_all(0.99, tally.served as f64 / tally.ended().max(1) as f64)
}

fn met(p99_ps: &[f64], slo: Span) -> Met {
    let slo_ps = slo.as_ps() as f64;
    if p99_ps.iter().all(|&p99| p99.is_infinite()) {
        return Met::No;
    }
    let interval = Interval::of(p99_ps);
    match interval {
        Interval { hi, .. } if hi <= slo_ps => Met::Yes,
        Interval { lo, .. } if lo > slo_ps && lo.is_finite() => Met::No,
        _ => Met::Undecided,
    }
}

//! The prediction: the laboratory's groups, with the handler times that were measured.

use nebula_nic::Span;
use nebula_nic::schedule::Thresholds;
use nebula_sim::{Altocumulus, Interval, Load, System};
use nebula_workload::{Seed, ServiceTime};

use super::measured::{Measured, share_of};
use super::setup::{CLIENTS, GROUPS, PERIOD, Setup};
use crate::demo::agreement::replicate;
use crate::output::Failure;
use nebula::MigrationConfig;

/// Replications, each as long as the run.
const REPLICATIONS: u64 = 20;
/// From one engine to another: about how often a resting one looks.
const MESSAGE: Span = Span::from_us(50);

/// What the laboratory says.
pub(super) struct Predicted {
    pub(super) p99_ms: Interval,
    /// The share of RPCs beyond the SLO, in 0 to 1.
    pub(super) late: Interval,
    pub(super) migrated: f64,
}

/// Simulates the same clients and groups.
///
/// # Errors
///
/// A fault of the simulation, such as a load of 1 and more: handlers took longer than they were to.
pub(super) fn predict(setup: &Setup, measured: &Measured) -> Result<Predicted, Failure> {
    let service = ServiceTime::from_spans("measured", measured.services.clone()).map_err(Failure::fault)?;
    let load = Load::open(service, setup.rate_rps() * measured.service_mean.as_secs_f64() / f64::from(setup.workers));
    let policy = format!("altocumulus:{GROUPS}").parse().map_err(Failure::fault)?;
    let system = System::new(policy, setup.workers).altocumulus(options(setup));
    let tallies = replicate(&system, &load, measured.rpcs, REPLICATIONS, Seed(setup.seed))?;
    let of = |figure: fn(&nebula_sim::Tally, Span) -> f64| {
        tallies.iter().map(|tally| figure(tally, setup.slo())).collect::<Vec<_>>()
    };
    Ok(Predicted {
        p99_ms: Interval::of_positive(&of(|tally, _| tally.latency.quantile(0.99) / 1e9)),
        late: share_of(&of(|tally, slo| tally.latency.share_above(slo.as_ps()))),
        migrated: Interval::of(&of(|tally, _| tally.migrations.share())).value,
    })
}

fn options(setup: &Setup) -> Altocumulus {
    let MigrationConfig { bulk, concurrency, foreign_max, .. } = MigrationConfig::default();
    let of_group = |(group, clients): (u16, u16)| (0..clients).map(move |_| group);
    Altocumulus {
        period: PERIOD,
        bulk,
        concurrency,
        message: MESSAGE,
        fifo: foreign_max,
        flows: Some(CLIENTS.iter().sum()),
        groups_of_flows: Some((0..).zip(CLIENTS).flat_map(of_group).collect()),
        ..Altocumulus::new(Thresholds::fixed(setup.waiting_max.unwrap_or(u32::MAX)))
    }
}

//! The prediction: the laboratory's groups, with the measured handler times and costs.

use nebula_nic::Span;
use nebula_nic::schedule::Thresholds;
use nebula_sim::{Altocumulus, Costs, Interval, Load, System, Tally};
use nebula_workload::{Seed, ServiceTime};

use super::measured::{Measured, share_of};
use super::setup::{CLIENTS, GROUPS, PERIOD, Setup};
use crate::agreement::{PARTS, replicate};
use nebula::MigrationConfig;
use nebula_ui::output::{Failure, units};

/// Each as long as a part of the run: a p99 of fewer RPCs is another figure.
const REPLICATIONS: u64 = 80;

pub(super) struct Predicted {
    pub(super) p99_ms: Interval,
    /// The share of RPCs beyond the SLO, in 0 to 1.
    pub(super) late: Interval,
    pub(super) migrated: f64,
}

/// Simulates the same clients and groups. Fails if the load reaches 1 because handlers slept too
/// long, or if the engines had no time for the costs in addition to handlers: RPCs would wait
/// without end.
pub(super) fn predict(setup: &Setup, measured: &Measured) -> Result<Predicted, Failure> {
    let service = ServiceTime::from_spans("measured", measured.services.clone()).map_err(Failure::fault)?;
    let load = Load::open(service, setup.rate_rps() * measured.service_mean.as_secs_f64() / f64::from(setup.workers));
    let policy = format!("altocumulus:{GROUPS}").parse().map_err(Failure::fault)?;
    let beside = measured.beside;
    let engine = engine_load(setup, beside.between);
    if engine >= 1.0 {
        return Err(Failure::fault(format!(
            "other work has this machine's cores: beside its handler an RPC took an engine {}, {engine:.1} of its time; try again when it is idle",
            units::span(beside.between)
        )));
    }
    let costs = Costs { receive: beside.between, dispatch: beside.start, ..Costs::ZERO };
    let system = System::new(policy, setup.workers).costs(costs).altocumulus(options(setup, beside.message));
    let tallies = replicate(&system, &load, measured.rpcs / PARTS, REPLICATIONS, Seed(setup.seed))?;
    let of = |figure: &dyn Fn(&Tally) -> f64| tallies.iter().map(figure).collect::<Vec<_>>();
    // The simulated latency ends with the handler.
    let slo = setup.slo() - beside.back;
    let p99_ms = |tally: &Tally| (tally.latency.quantile(0.99) + beside.back.as_ps() as f64) / 1e9;
    Ok(Predicted {
        p99_ms: Interval::of_positive(&of(&p99_ms)),
        late: share_of(&of(&|tally| tally.latency.share_above(slo.as_ps()))),
        migrated: Interval::of(&of(&|tally| tally.migrations.share())).value,
    })
}

/// The utilization of the engine of the larger group by the costs in addition to handlers.
fn engine_load(setup: &Setup, between: Span) -> f64 {
    let share = f64::from(CLIENTS[0]) / f64::from(CLIENTS.iter().sum::<u16>());
    setup.rate_rps() * share * between.as_secs_f64()
}

fn options(setup: &Setup, message: Span) -> Altocumulus {
    let MigrationConfig { bulk, concurrency, foreign_max, .. } = MigrationConfig::default();
    let of_group = |(group, clients): (u16, u16)| (0..clients).map(move |_| group);
    Altocumulus {
        period: PERIOD,
        bulk,
        concurrency,
        message,
        fifo: foreign_max,
        flows: Some(CLIENTS.iter().sum()),
        groups_of_flows: Some((0..).zip(CLIENTS).flat_map(of_group).collect()),
        ..Altocumulus::new(Thresholds::fixed(setup.waiting_max.unwrap_or(u32::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_has_the_share_of_the_group_with_the_most_clients() {
        let setup = Setup {
            service: Span::from_ms(1),
            load: 0.5,
            workers: 8,
            waiting_max: None,
            duration: Span::from_secs(1),
            seed: 1,
        };
        // Three of four clients send 3,000 of 4,000 RPC/s: an idle machine takes a few microseconds
        // each, a saturated one a third of a millisecond.
        assert!((engine_load(&setup, Span::from_us(10)) - 0.03).abs() < 1e-9);
        assert!(engine_load(&setup, Span::from_us(334)) > 1.0 && engine_load(&setup, Span::from_us(333)) < 1.0);
    }
}

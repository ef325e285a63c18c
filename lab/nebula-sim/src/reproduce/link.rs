//! Which link does the server need? NEBULA's section VI: 80 Gbps saturate while cores are idle.

use super::evaluation::value::{Value, judged};
use super::lab::Lab;
use super::paper::{self, Link};
use super::reproduction::{ReproduceError, Reproduction};
use super::row::Row;
use super::wording::{number, with_interval};
use crate::blocks::{self, Application, BlocksEstimate, RateAtSlo, Scenario};
use crate::executor::try_each;
use crate::experiment::Effort as Runs;
use crate::interval::Interval;
use nebula_workload::Rate;

pub(super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let runs = lab.effort.of([lab.runs(20_000, 3), lab.runs(50_000, 4), lab.runs(80_000, 8)]);
    compare(lab, &runs)
}

pub(super) fn compare(lab: &Lab<'_>, runs: &Runs) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::nebula().setup.link;
    let saturated = saturated(setup, runs)?;
    let [printed, ample] = rates(lab, setup, runs)?;
    let rows = vec![in_use(setup, &saturated)?, idle(setup, &saturated)?, over_ample(&printed, &ample)];
    Ok(rows.into_iter().map(judged).collect::<Vec<Row>>().into())
}

/// NEBULA with the mix, on the machine with this link or, with `None`, its own.
fn scenario(setup: &Link, link_gbps: Option<f64>) -> Result<Scenario, ReproduceError> {
    let evaluation = &paper::nebula().setup.evaluation;
    let text = blocks::Machine::source(&evaluation.machine).unwrap_or_default();
    let changes: Vec<(&str, f64)> = link_gbps.map(|gbps| ("nic.link_gbps", gbps)).into_iter().collect();
    let machine = blocks::Machine::parse_with(text, &changes)?;
    let design = blocks::Design::named(paper::Design::Nebula.file()).expect("the design ships with Nebula");
    let store = Application::key_value(f64::from(setup.gets_percent) / 100.0, evaluation.value_bytes);
    Ok(Scenario::new(machine, design, store))
}

fn saturated(setup: &Link, runs: &Runs) -> Result<BlocksEstimate, ReproduceError> {
    let rate = Rate::try_new(1e9 / setup.gap_ns)?;
    Ok(blocks::estimate(&scenario(setup, Some(setup.gbps))?, rate, runs, &|| ())?)
}

/// The highest rates with the machine's link, and with one for which no packet waits.
fn rates(lab: &Lab<'_>, setup: &Link, runs: &Runs) -> Result<[RateAtSlo; 2], ReproduceError> {
    let slo = scenario(setup, None)?.slo(paper::nebula().setup.evaluation.slo_services, lab.seed)?;
    let links = [None, Some(setup.ample_gbps)];
    let mut found = try_each(&links, |&link| {
        let scenario = scenario(setup, link)?;
        let bracket = scenario.bracket(lab.seed)?;
        Ok::<_, ReproduceError>(blocks::rate_at_slo(&scenario, slo, bracket, runs, &|| ())?)
    })?;
    let (ample, printed) = (found.pop(), found.pop());
    Ok([printed, ample].map(|found| found.expect("one of each link")))
}

fn in_use(setup: &Link, saturated: &BlocksEstimate) -> Result<Value, ReproduceError> {
    let Scenario { application, machine, .. } = scenario(setup, None)?;
    let bytes = application.request_bytes_mean(&machine)?;
    let gbps = saturated.over(|figures| figures.served_rps).scaled(bytes * 8.0 / 1e9);
    let why = format!(
        "an RPC has {} B with key and header, and {} of {} Gbps are used",
        number(bytes),
        with_interval(gbps),
        number(setup.gbps)
    );
    Ok(Value { id: "nebula/link/in_use".to_owned(), value: gbps.scaled(1.0 / setup.gbps), why, unfitted: None })
}

fn idle(setup: &Link, saturated: &BlocksEstimate) -> Result<Value, ReproduceError> {
    let served = saturated.over(|figures| figures.served_rps).scaled(1e-6);
    let why = format!(
        "at {} Gbps {} MRPS are served, each takes a core {} ns from its begin until its buffer is free, and {} % of what comes is NACKed",
        number(setup.gbps),
        with_interval(served),
        number(saturated.over(|figures| figures.service_mean_ps).value / 1e3),
        number(100.0 * (1.0 - saturated.over(|figures| figures.accepted).value)),
    );
    Ok(Value { id: "nebula/link/idle".to_owned(), value: saturated.over(|figures| figures.idle), why, unfitted: None })
}

fn over_ample(printed: &RateAtSlo, ample: &RateAtSlo) -> Value {
    let pairs = printed.rates_rps.iter().zip(&ample.rates_rps);
    let value = Interval::of(&pairs.map(|(printed, ample)| printed / ample).collect::<Vec<f64>>());
    let mrps = |found: &RateAtSlo| with_interval(found.rate_rps.scaled(1e-6));
    let why = format!("{} MRPS keep the SLO, and {} with a link that nothing waits for", mrps(printed), mrps(ample));
    Value { id: "nebula/link/rate_over_ample".to_owned(), value, why, unfitted: None }
}

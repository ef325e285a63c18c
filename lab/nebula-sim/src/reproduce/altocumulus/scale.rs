//! How do groups scale? Tails and late RPCs on 64 and 256 cores at two rates: with trained and
//! other thresholds, without migration, and with one queue for all cores.
//!
//! Neither the distribution of service times is published (a mean follows from the share of late
//! RPCs) nor how evenly RSS spreads the load over groups. Both are swept.

use super::super::paper::{self, Scale, TrainedLaw};
use super::super::row::{Judgment, Row};
use super::super::wording;
use super::figures::{grouped, offered, over, percent_over, shipped, tallies};
use crate::error::SimError;
use crate::executor::try_each;
use crate::interval::Interval;
use crate::reproduce::lab::Lab;
use crate::reproduce::reproduction::{ReproduceError, Reproduction};
use crate::system::{Altocumulus, System};
use nebula_nic::Policy;
use nebula_nic::schedule::Thresholds;

pub(in super::super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::altocumulus().setup.scale;
    let cases = cases(setup);
    lab.expect(cases.len(), replications(lab));
    let found: Vec<Found<'_>> = try_each(&cases, |&case| measure(lab, setup, case))?;
    let mut rows = judged(setup, &found);
    rows.extend(found.iter().flat_map(notes));
    Ok(rows.into())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheduling {
    Trained,
    Naive,
    /// Managers with a threshold of 0, which hand over each waiting RPC.
    Eager,
    Alone,
    OneQueue,
}

use Scheduling::{Alone, Eager, Naive, OneQueue, Trained};

impl Scheduling {
    /// Its name in row ids and in texts.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Trained => ("trained", "thresholds that were trained"),
            Naive => ("naive", "the naive threshold"),
            Eager => ("eager", "a threshold of 0"),
            Alone => ("alone", "no migration"),
            OneQueue => ("one-queue", "one JBSQ(2) queue for all cores"),
        }
    }

    /// The managers' configuration; `None` without groups.
    fn options(self, setup: &Scale, law: &TrainedLaw) -> Result<Option<Altocumulus>, SimError> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is positive")]
        let slo_services = libm::round(setup.slo.as_ps() as f64 / law.service.mean_ps()) as u32;
        Ok(Some(match self {
            Trained => Altocumulus::new(shipped(&law.thresholds)?),
            Naive => Altocumulus::naive(setup.group_cores - 1, slo_services),
            Eager => Altocumulus::new(Thresholds::fixed(0)),
            Alone => Altocumulus::without_migration(),
            OneQueue => return Ok(None),
        }))
    }
}

#[derive(Clone, Copy)]
struct Case<'a> {
    law: &'a TrainedLaw,
    cores: u16,
    /// The published rate, on the published number of cores.
    rate_mrps: f64,
    /// Number of flows; without one, each RPC is a separate flow.
    flows: Option<u16>,
    scheduling: Scheduling,
}

/// The judged law runs on each number of cores, and on the published one also with few flows. Other
/// laws run on that one only, with trained thresholds and without migration.
fn cases(setup: &Scale) -> Vec<Case<'_>> {
    let mut cases = Vec::new();
    for &rate_mrps in &setup.rates_mrps {
        for law in &setup.laws {
            let is_judged = law.id == setup.judged;
            for &cores in setup.cores.iter().filter(|&&cores| is_judged || cores == setup.of_cores) {
                let schedulings: &[_] = if is_judged { &[Trained, Eager, Alone, OneQueue] } else { &[Trained, Alone] };
                let case = |&scheduling| Case { law, cores, rate_mrps, flows: None, scheduling };
                cases.extend(schedulings.iter().map(case));
            }
            let flows = if is_judged { setup.flows.as_slice() } else { &[] };
            for &flows in flows {
                let (cores, flows) = (setup.of_cores, Some(flows));
                let case = |scheduling| Case { law, cores, rate_mrps, flows, scheduling };
                cases.extend([Trained, Naive, Eager, Alone].map(case));
            }
        }
    }
    cases
}

struct Found<'a> {
    case: Case<'a>,
    /// The total rate on the cores of this case.
    rate_mrps: f64,
    p99_us: Interval,
    late_percent: Interval,
    migrated_percent: Interval,
}

fn measure<'a>(lab: &Lab<'_>, setup: &Scale, case: Case<'a>) -> Result<Found<'a>, ReproduceError> {
    let Case { law, cores, flows, scheduling, .. } = case;
    let rate_mrps = case.rate_mrps * f64::from(cores) / f64::from(setup.of_cores);
    let load = offered(&law.service, cores, rate_mrps);
    let system = match scheduling.options(setup, law)? {
        Some(options) => grouped(cores, setup.group_cores, Altocumulus { flows, ..options }),
        None => System::new(Policy::Jbsq(2), cores).dedicated(cores / setup.group_cores),
    };
    let runs = lab.runs(lab.effort.of([60_000, 250_000, 1_000_000]), replications(lab));
    let each = tallies(lab, &system, &load, &runs)?;
    Ok(Found {
        case,
        rate_mrps,
        p99_us: over(&each, |tally| tally.latency.quantile(0.99) / 1e6),
        late_percent: percent_over(&each, |tally| 100.0 * tally.latency.share_above(setup.slo.as_ps())),
        migrated_percent: percent_over(&each, |tally| 100.0 * tally.migrations.share()),
    })
}

fn replications(lab: &Lab<'_>) -> u32 {
    lab.effort.of([4, 6, 10])
}

fn judged(setup: &Scale, found: &[Found<'_>]) -> Vec<Row> {
    let paper = paper::altocumulus();
    let rows_at = |&rate_mrps: &f64| {
        let trained: Vec<&Found<'_>> = found
            .iter()
            .filter(|Found { case, .. }| {
                case.cores == setup.of_cores && case.rate_mrps == rate_mrps && case.scheduling == Trained
            })
            .collect();
        let is_judged = |found: &&&Found<'_>| found.case.law.id == setup.judged && found.case.flows.is_none();
        let ours = trained.iter().find(is_judged).expect("the judged law is one of them");
        let row = |name: &str, figure: fn(&Found<'_>) -> Interval, said: fn(Interval) -> String| {
            let list = trained.iter().map(|found| format!("{} {}", found.case.spread(), said(figure(found))));
            let list = list.collect::<Vec<_>>().join(", ");
            let why = format!("neither service times nor flows are published; here: {list}");
            let published = paper.figure(&format!("altocumulus/scale/{name}_{rate_mrps}"));
            Row::judged(published, figure(ours), (Judgment::NotReproducibleAsPublished, why))
        };
        [row("p99", |found| found.p99_us, wording::with_interval), row("late", |found| found.late_percent, percent)]
    };
    setup.rates_mrps.iter().flat_map(rows_at).collect()
}

/// Four decimals, since a share can be below a thousandth.
fn percent(interval: Interval) -> String {
    let Interval { value, lo, hi } = interval;
    if lo == hi { format!("{value:.4} %") } else { format!("{value:.4} % [{lo:.4}, {hi:.4}]") }
}

impl Case<'_> {
    fn spread(&self) -> String {
        match self.flows {
            Some(flows) => format!("{} on {flows} flows", self.law.id),
            None => self.law.id.clone(),
        }
    }
}

fn notes(found: &Found<'_>) -> Vec<Row> {
    let Case { law, cores, rate_mrps, flows, scheduling } = found.case;
    let (name, said) = scheduling.words();
    let on = flows.map_or(String::new(), |flows| format!(", {flows} flows"));
    let rate = wording::number(found.rate_mrps);
    let flows = flows.map_or(String::new(), |flows| format!("{flows}-flows/"));
    let note = |figure: &str, what: &str, unit, value| {
        let id = format!("altocumulus/scale/{}/{cores}/{rate_mrps}/{flows}{name}/{figure}", law.id);
        let what = format!("{what} at {rate} MRPS on {cores} cores, {said}, {}{on}", law.service);
        Row::note(id, what, unit, value)
    };
    let mut rows =
        vec![note("p99", "p99", "µs", found.p99_us), note("late", "RPCs beyond the SLO", "%", found.late_percent)];
    if !matches!(scheduling, Alone | OneQueue) {
        rows.push(note("migrated", "RPCs handed over", "%", found.migrated_percent));
    }
    rows
}

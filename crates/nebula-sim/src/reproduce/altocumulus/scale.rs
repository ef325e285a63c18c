//! How do groups scale? Tails and late RPCs on 64 and 256 cores at two rates, with thresholds that were trained, without migration, and
//! beside one queue for all cores.
//!
//! The distribution of service times is not published, only that of late RPCs, from which a mean follows: it is swept.

use super::super::paper::{self, Scale, TrainedLaw};
use super::super::row::{Row, Verdict};
use super::super::{Lab, ReproduceError, Reproduction, wording};
use super::{grouped, offered, shipped};
use crate::interval::Interval;
use crate::system::{Altocumulus, System};
use nebula_nic::Policy;
use rayon::prelude::*;

pub(in super::super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::altocumulus().setup.scale;
    let cases = cases(setup);
    lab.expect(cases.len(), replications(lab));
    let found: Vec<Found<'_>> =
        cases.into_par_iter().map(|case| measure(lab, setup, case)).collect::<Result<_, _>>()?;
    let mut rows = judged(setup, &found);
    rows.extend(found.iter().flat_map(notes));
    Ok(rows.into())
}

/// Who decides where RPCs go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheduling {
    /// Managers with thresholds trained for the law.
    Trained,
    /// Managers that hand over whatever waits.
    Eager,
    /// Nobody, between groups.
    Alone,
    /// One queue for all cores.
    OneQueue,
}

impl Scheduling {
    const ALL: [(Self, &'static str, &'static str); 4] = [
        (Self::Trained, "trained", "thresholds that were trained"),
        (Self::Eager, "eager", "a threshold of 0"),
        (Self::Alone, "alone", "no migration"),
        (Self::OneQueue, "one-queue", "one JBSQ(2) queue for all cores"),
    ];

    fn words(self) -> (&'static str, &'static str) {
        let (_, id, said) = Self::ALL.into_iter().find(|&(scheduling, ..)| scheduling == self).expect("all are listed");
        (id, said)
    }
}

#[derive(Clone, Copy)]
struct Case<'a> {
    law: &'a TrainedLaw,
    cores: u16,
    /// As published, for the cores that it is published for.
    rate_mrps: f64,
    scheduling: Scheduling,
}

fn cases(setup: &Scale) -> Vec<Case<'_>> {
    let laws = setup.laws.iter().flat_map(|law| setup.cores.iter().map(move |&cores| (law, cores)));
    let rates = laws.flat_map(|(law, cores)| setup.rates_mrps.iter().map(move |&rate_mrps| (law, cores, rate_mrps)));
    let each =
        |(law, cores, rate_mrps)| Scheduling::ALL.map(|(scheduling, ..)| Case { law, cores, rate_mrps, scheduling });
    rates.flat_map(each).collect()
}

/// One value a replication.
struct Found<'a> {
    case: Case<'a>,
    /// In all, for these cores.
    rate_mrps: f64,
    p99_us: Interval,
    late_percent: f64,
    migrated_percent: f64,
}

fn measure<'a>(lab: &Lab<'_>, setup: &Scale, case: Case<'a>) -> Result<Found<'a>, ReproduceError> {
    let Case { law, cores, scheduling, .. } = case;
    let rate_mrps = case.rate_mrps * f64::from(cores) / f64::from(setup.of_cores);
    let load = offered(&law.service, cores, rate_mrps);
    let eager = nebula_nic::schedule::Thresholds::fixed(0);
    let system = match scheduling {
        Scheduling::Trained => grouped(cores, setup.group_cores, Altocumulus::new(shipped(&law.thresholds)?)),
        Scheduling::Eager => grouped(cores, setup.group_cores, Altocumulus::new(eager)),
        Scheduling::Alone => grouped(cores, setup.group_cores, Altocumulus::without_migration()),
        Scheduling::OneQueue => System::new(Policy::Jbsq(2), cores).dedicated(cores / setup.group_cores),
    };
    let runs = lab.runs(lab.effort.of([60_000, 250_000, 1_000_000]), replications(lab));
    let found = lab.estimate(&system, &load, &runs)?;
    Ok(Found {
        case,
        rate_mrps,
        p99_us: found.p99().scaled(1e-6),
        late_percent: 100.0 * found.tally.latency.share_above(setup.slo.as_ps()),
        migrated_percent: 100.0 * found.tally.migrations.share(),
    })
}

fn replications(lab: &Lab<'_>) -> u32 {
    lab.effort.of([4, 6, 10])
}

fn judged(setup: &Scale, found: &[Found<'_>]) -> Vec<Row> {
    let paper = paper::altocumulus();
    let of = |law: &str, rate_mrps: f64| {
        let is_it = |found: &&Found<'_>| {
            let Case { law: TrainedLaw { id, .. }, cores, scheduling, .. } = found.case;
            id == law
                && cores == setup.of_cores
                && found.case.rate_mrps == rate_mrps
                && scheduling == Scheduling::Trained
        };
        found.iter().find(is_it).expect("each law has run at each rate")
    };
    let rows_at = |&rate_mrps: &f64| {
        let list = |figure: &dyn Fn(&Found<'_>) -> String| {
            let each = setup.laws.iter().map(|law| format!("{} {}", law.id, figure(of(&law.id, rate_mrps))));
            format!(
                "the distribution of service times is not published; by law: {}",
                each.collect::<Vec<_>>().join(", ")
            )
        };
        let ours = of(&setup.judged, rate_mrps);
        let row = |name: &str, value, why| {
            let figure = paper.figure(&format!("altocumulus/scale/{name}_{rate_mrps}"));
            Row::judged(figure, value, (Verdict::NotReproducibleAsPublished, why))
        };
        [
            row("p99", ours.p99_us, list(&|found| wording::with_interval(found.p99_us))),
            row("late", Interval::exact(ours.late_percent), list(&|found| format!("{:.5} %", found.late_percent))),
        ]
    };
    setup.rates_mrps.iter().flat_map(rows_at).collect()
}

fn notes(found: &Found<'_>) -> Vec<Row> {
    let Case { law, cores, rate_mrps, scheduling } = found.case;
    let (id, said) = scheduling.words();
    let what = |what: &str| {
        format!("{what} at {} MRPS on {cores} cores, {said}, {}", wording::number(found.rate_mrps), law.service)
    };
    let note = |name: &str, said: &str, unit, value| {
        let id = format!("altocumulus/scale/{}/{cores}/{rate_mrps}/{id}/{name}", law.id);
        Row::note(id, what(said), unit, value)
    };
    let mut rows = vec![
        note("p99", "p99", "µs", found.p99_us),
        note("late", "RPCs beyond the SLO", "%", Interval::exact(found.late_percent)),
    ];
    if matches!(scheduling, Scheduling::Trained | Scheduling::Eager) {
        rows.push(note("migrated", "RPCs handed over", "%", Interval::exact(found.migrated_percent)));
    }
    rows
}

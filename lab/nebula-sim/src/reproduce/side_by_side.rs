//! Compares the highest loads of systems at the SLO, by replication on the same arrivals.
//!
//! Some figures compare the p99 at one load instead. A paper's file has the data: [`SideBySide`].

use super::lab::Lab;
use super::paper::{Case, Comparison, Measured, Paper, SideBySide};
use super::reproduction::{ReproduceError, Reproduction};
use super::row::{Judgment, Row};
use super::wording;
use crate::error::SimError;
use crate::executor::{replications as indices, try_each};
use crate::interval::Interval;
use crate::load::Load;
use crate::search::{Bracket, Objective};
use crate::world::run;
use nebula_workload::TypeId;

/// A row per comparison, judged by the figure of its name under `entry`, and a note per case.
pub(super) fn reproduce<S>(
    lab: &Lab<'_>,
    entry: &str,
    paper: &Paper<S>,
    setup: fn(&S) -> &SideBySide,
) -> Result<Reproduction, ReproduceError> {
    let setup = setup(&paper.setup);
    let replications = lab.effort.of([4, 6, 10]);
    lab.expect(setup.cases.len(), replications);
    let found: Vec<Found<'_>> = try_each(&setup.cases, |case| measure(lab, setup, case, replications))?;
    let mut rows = Vec::new();
    for comparison in &setup.comparisons {
        let sides = match comparison.p99_at {
            Some(load) => tails(lab, setup, comparison, load, replications)?,
            None => comparison.throughputs(&found),
        };
        let figure = paper.figure(&format!("{entry}/{}", comparison.figure));
        // A value that depends on an assumption cannot be judged to differ.
        let otherwise = if figure.assumes.is_some() { Judgment::NotReproducibleAsPublished } else { Judgment::Differs };
        rows.push(Row::judged(figure, comparison.over(&sides), (otherwise, comparison.why(&sides))));
    }
    let notes = found.iter().map(|found| {
        let what = format!("throughput at the SLO: {}", found.case.what);
        Row::note(format!("{entry}/{}", found.case.id), what, "MRPS", Interval::of(&found.mrps))
    });
    rows.extend(notes);
    Ok(rows.into())
}

struct Found<'a> {
    case: &'a Case,
    mrps: Vec<f64>,
}

fn measure<'a>(
    lab: &Lab<'_>,
    setup: &SideBySide,
    case: &'a Case,
    replications: u32,
) -> Result<Found<'a>, ReproduceError> {
    let system = case.system(setup.cores)?;
    let load = Load::open(case.service.clone(), BRACKET.lowest);
    let objective = objective(setup, case, &load);
    let runs = lab.runs(lab.effort.of(setup.rpcs), replications);
    let capacity_mrps = system.capacity() * 1e6 / load.service.mean_ps();
    let loads = match lab.load_at_objective(&system, &load, objective, BRACKET, &runs) {
        Err(ReproduceError::Sim(SimError::Slo { .. } | SimError::Slowdown { .. })) => vec![0.0; replications as usize],
        found => found?.loads,
    };
    Ok(Found { case, mrps: loads.iter().map(|load| load * capacity_mrps).collect() })
}

const BRACKET: Bracket = Bracket { lowest: 0.01, highest: 1.0 - WIDTH / 2.0, width: WIDTH };
const WIDTH: f64 = 0.002;

fn objective(setup: &SideBySide, case: &Case, load: &Load) -> Objective {
    let slo = case.slo.unwrap_or_else(|| load.slo(setup.slo_services));
    match (setup.slowdown, case.slo_of()) {
        (Some(times), _) => Objective::Slowdown(times),
        (None, Some(kind)) => Objective::P99OfType(kind, slo),
        (None, None) => Objective::P99(slo),
    }
}

/// The p99 of both sides at one load, in microseconds.
fn tails<'a>(
    lab: &Lab<'_>,
    setup: &SideBySide,
    comparison: &'a Comparison,
    load: f64,
    replications: u32,
) -> Result<Sides<'a>, ReproduceError> {
    let of = |id: &str| {
        let case = setup.cases.iter().find(|case| case.id == id);
        let case = case.unwrap_or_else(|| panic!("a comparison names the case {id:?}, which its set-up does not have"));
        let (system, load) = (case.system(setup.cores)?, Load::open(case.service.clone(), load));
        let runs = lab.runs(lab.effort.of(setup.rpcs), replications);
        let one =
            |&index: &u32| match run(&system, &load, runs.length(&system, &load), lab.seed.replica(u64::from(index))) {
                Ok(tally) => Ok(match case.slo_of() {
                    Some(TypeId(kind)) => tally.by_type[usize::from(kind)].latency.quantile(0.99) / 1e6,
                    None => tally.latency_with_nacks(0.99) / 1e6,
                }),
                Err(SimError::Outgrown { .. }) => Ok(f64::INFINITY),
                Err(error) => Err(ReproduceError::from(error)),
            };
        try_each(&indices(0..replications), one)
    };
    let side = |id: &'a String| Ok::<_, ReproduceError>((id.as_str(), of(id)?));
    let over = comparison.over.as_ref().map(side).transpose()?;
    Ok(Sides { of: side(&comparison.of)?, over, has: "a p99 of", unit: "µs" })
}

struct Sides<'a> {
    of: (&'a str, Vec<f64>),
    over: Option<(&'a str, Vec<f64>)>,
    has: &'static str,
    unit: &'static str,
}

impl Comparison {
    fn throughputs<'a>(&'a self, found: &'a [Found<'_>]) -> Sides<'a> {
        let side = |id: &'a String| (id.as_str(), mrps(found, id).to_vec());
        Sides { of: side(&self.of), over: self.over.as_ref().map(side), has: "sustains", unit: "MRPS" }
    }

    fn over(&self, sides: &Sides<'_>) -> Interval {
        let Some((_, over)) = &sides.over else { return Interval::of(&sides.of.1) };
        let as_measured = |(of, over): (&f64, &f64)| match self.measured {
            Measured::Ratio => of / over,
            Measured::Percent => 100.0 * of / over,
            Measured::PercentLess => 100.0 * (1.0 - of / over),
            Measured::PercentMore => 100.0 * (of / over - 1.0),
        };
        Interval::of(&sides.of.1.iter().zip(over).map(as_measured).collect::<Vec<_>>())
    }

    fn why(&self, sides: &Sides<'_>) -> String {
        let Sides { of, over, has, unit } = sides;
        let said = |(id, values): &(&str, Vec<f64>)| {
            format!("{id} {has} {} {unit}", wording::with_interval(Interval::of(values)))
        };
        let sides = [Some(said(of)), over.as_ref().map(said)];
        let sides = sides.into_iter().flatten().collect::<Vec<_>>().join(", ");
        match &self.remark {
            Some(remark) => format!("{sides}; {remark}"),
            None => sides,
        }
    }
}

fn mrps<'a>(found: &'a [Found<'_>], id: &str) -> &'a [f64] {
    let of_id = found.iter().find(|found| found.case.id == id);
    &of_id.unwrap_or_else(|| panic!("a comparison names the case {id:?}, which its set-up does not have")).mrps
}

//! How much more does one system bear than another? The highest load at the SLO of each, replication by replication on the same arrivals.
//!
//! Which systems, services and SLOs, and which figure compares which of them, is data: a [`SideBySide`] in a paper's file.

use super::paper::{Case, Comparison, Figure, Measured, SideBySide};
use super::row::{Row, Verdict};
use super::{Lab, ReproduceError, Reproduction, wording};
use crate::interval::Interval;
use crate::load::Load;
use crate::search::Bracket;
use rayon::prelude::*;

/// Rows for each comparison of `setup`, judged by the figures of the same names under `entry`, and a note for each case.
pub(super) fn reproduce<'a>(
    lab: &Lab<'_>,
    entry: &str,
    setup: &SideBySide,
    figure: impl Fn(&str) -> &'a Figure,
) -> Result<Reproduction, ReproduceError> {
    let replications = lab.effort.of([4, 6, 10]);
    lab.expect(setup.cases.len(), replications);
    let found: Vec<Found<'_>> =
        setup.cases.par_iter().map(|case| measure(lab, setup, case, replications)).collect::<Result<_, _>>()?;
    let judged = setup.comparisons.iter().map(|comparison| {
        let figure = figure(&format!("{entry}/{}", comparison.figure));
        Row::judged(figure, comparison.of(&found), (Verdict::Differs, comparison.why(&found)))
    });
    let notes = found.iter().map(|found| {
        let what = format!("throughput at the SLO: {}", found.case.what);
        Row::note(format!("{entry}/{}", found.case.id), what, "MRPS", Interval::of(&found.mrps))
    });
    Ok(judged.chain(notes).collect::<Vec<_>>().into())
}

/// What one case bears, one value a replication.
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
    let slo = case.slo.unwrap_or_else(|| load.slo(setup.slo_services));
    let runs = lab.runs(lab.effort.of([40_000, 100_000, 300_000]), replications);
    let capacity_mrps = f64::from(system.cores_total()) * 1e6 / load.service.mean_ps();
    let loads = match lab.load_at_slo(&system, &load, slo, BRACKET, &runs) {
        // It keeps the SLO at no load.
        Err(ReproduceError::Sim(crate::error::SimError::Slo { .. })) => vec![0.0; replications as usize],
        found => found?.loads,
    };
    Ok(Found { case, mrps: loads.iter().map(|load| load * capacity_mrps).collect() })
}

const BRACKET: Bracket = Bracket { lowest: 0.01, highest: 1.0 - WIDTH / 2.0, width: WIDTH };
const WIDTH: f64 = 0.002;

impl Comparison {
    fn of(&self, found: &[Found<'_>]) -> Interval {
        let of = mrps(found, &self.of);
        let Some(over) = &self.over else { return Interval::of(of) };
        let ratios: Vec<f64> = of.iter().zip(mrps(found, over)).map(|(of, over)| of / over).collect();
        let ratio = Interval::of(&ratios);
        match self.measured {
            Measured::Ratio => ratio,
            Measured::Percent => ratio.scaled(100.0),
        }
    }

    fn why(&self, found: &[Found<'_>]) -> String {
        let said = |id: &str| format!("{id} bears {} MRPS", wording::with_interval(Interval::of(mrps(found, id))));
        let sides = [Some(said(&self.of)), self.over.as_deref().map(said)];
        let sides = sides.into_iter().flatten().collect::<Vec<_>>().join(", ");
        match &self.remark {
            Some(remark) => format!("{sides}; {remark}"),
            None => sides,
        }
    }
}

fn mrps<'a>(found: &'a [Found<'_>], id: &str) -> &'a [f64] {
    let of_id = found.iter().find(|found| found.case.id == id);
    &of_id.unwrap_or_else(|| panic!("a comparison names the case {id:?}, which its setup has not")).mrps
}

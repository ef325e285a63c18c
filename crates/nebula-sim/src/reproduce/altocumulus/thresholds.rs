//! How do thresholds predict? Accuracy against effectiveness of the naive, the aggressive and the trained one, for a group alone.

use super::super::paper::{self, Thresholds as Setup};
use super::super::row::{Row, Verdict};
use super::super::{Lab, ReproduceError, Reproduction, wording};
use crate::altocumulus::{Judged, LateByQueue, TrainedRow, Training, fit};
use crate::interval::Interval;

pub(in super::super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::altocumulus().setup.thresholds;
    let training = Training::new(setup.workers, setup.service.clone(), setup.slo)
        .loads_permille(setup.loads_permille.clone())
        .rpcs(lab.effort.of([60_000, 250_000, 1_000_000]))
        .replications(lab.effort.of([4, 6, 10]))
        .seed(lab.seed);
    lab.expect(setup.loads_permille.len(), training.replications);
    let late: Vec<LateByQueue> = (setup.loads_permille.iter())
        .map(|&load| training.watch(load, &|| lab.progress.step()))
        .collect::<Result<_, _>>()?;
    let rows: Vec<TrainedRow> =
        setup.loads_permille.iter().zip(&late).map(|(&load, late)| training.row(load, late)).collect();
    let states: Vec<State<'_>> = rows.iter().zip(&late).map(|(row, late)| State { row, late }).collect();
    let mut found = judged(setup, &training, &states);
    found.extend(states.iter().flat_map(|state| notes(&training, state)));
    found.extend(line(&rows));
    Ok(found.into())
}

/// One load, and who was late there.
struct State<'a> {
    row: &'a TrainedRow,
    late: &'a LateByQueue,
}

fn judged(setup: &Setup, training: &Training, states: &[State<'_>]) -> Vec<Row> {
    let at = states.iter().find(|state| state.row.load_permille == setup.judged_permille);
    let State { row, late } = at.expect("the judged load is one of them");
    let aggressive = late.judge(row.aggressive);
    let each = states.iter().map(|State { row, late }| {
        let Judged { accuracy, .. } = late.judge(row.aggressive);
        format!("{} % at {}", wording::number(100.0 * accuracy), f64::from(row.load_permille) / 1000.0)
    });
    let accurate = format!(
        "as many as are late at all, since a queue of {} had a late RPC: {}",
        row.aggressive,
        each.collect::<Vec<_>>().join(", ")
    );
    let naive = f64::from(training.naive()) / f64::from(setup.workers);
    let row = |name: &str, ours, why: String| {
        let figure = paper::altocumulus().figure(&format!("altocumulus/thresholds/{name}"));
        Row::judged(figure, Interval::exact(ours), (Verdict::Differs, why))
    };
    vec![
        row("naive_per_worker", naive, format!("{} for {} workers", training.naive(), setup.workers)),
        row("aggressive_effective", 100.0 * aggressive.effectiveness, format!("{} were late", late.late())),
        row("aggressive_accurate", 100.0 * aggressive.accuracy, accurate),
    ]
}

fn notes(training: &Training, state: &State<'_>) -> Vec<Row> {
    let State { row, late } = state;
    let thresholds = [("naive", training.naive()), ("aggressive", row.aggressive), ("trained", row.trained)];
    let load = f64::from(row.load_permille) / 1000.0;
    let of = |(name, threshold): (&str, u32)| {
        let Judged { accuracy, effectiveness } = late.judge(threshold);
        let note = |what: &str, said: &str, unit, value| {
            let id = format!("altocumulus/thresholds/{load}/{name}/{what}");
            Row::note(id, format!("{said}, {name}, load {load}, {}", training.service), unit, Interval::exact(value))
        };
        [
            note("waiting", "threshold", "RPCs", f64::from(threshold)),
            note("accuracy", "of the RPCs predicted late, those that were", "%", 100.0 * accuracy),
            note("effectiveness", "of the late RPCs, those predicted", "%", 100.0 * effectiveness),
        ]
    };
    thresholds.into_iter().flat_map(of).collect()
}

/// The line over Erlang's mean queue.
fn line(rows: &[TrainedRow]) -> Vec<Row> {
    let Some((slope, at_zero)) = fit(rows) else { return Vec::new() };
    let note = |name: &str, value| {
        let what = format!("{name} of T = a · E[Nq] + b through the trained thresholds");
        Row::note(format!("altocumulus/thresholds/line/{name}"), what, "RPCs", Interval::exact(value))
    };
    vec![note("a", slope), note("b", at_zero)]
}

//! How well do thresholds predict late RPCs? Accuracy and effectiveness of the naive, the
//! aggressive and the trained threshold in one group.

use super::super::paper::{self, Thresholds as Setup};
use super::super::row::{Judgment, Row};
use super::super::wording;
use super::figures::percent_over;
use crate::altocumulus::{LateByQueue, TrainedRow, Training, fit};
use crate::interval::Interval;
use crate::reproduce::lab::Lab;
use crate::reproduce::reproduction::{ReproduceError, Reproduction};

pub(in super::super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::altocumulus().setup.thresholds;
    let training = Training::new(setup.workers, setup.service.clone(), setup.slo)
        .loads_permille(setup.loads_permille.clone())
        .rpcs(lab.effort.of([60_000, 250_000, 1_000_000]))
        .replications(lab.effort.of([4, 6, 10]))
        .seed(lab.seed);
    lab.expect(setup.loads_permille.len(), training.replications);
    let watch = |&load: &u32| -> Result<State, ReproduceError> {
        let each = training.watch_each(load, &|| lab.progress.step())?;
        Ok(State { row: training.row(load, &LateByQueue::all(&each)), each })
    };
    let states: Vec<State> = setup.loads_permille.iter().map(watch).collect::<Result<_, _>>()?;
    let mut found = judged(setup, &training, &states);
    found.extend(states.iter().flat_map(|state| notes(&training, state)));
    found.extend(line(&states));
    Ok(found.into())
}

struct State {
    row: TrainedRow,
    each: Vec<LateByQueue>,
}

impl State {
    fn accuracy_percent(&self, threshold: u32) -> Interval {
        percent_over(&self.each, |late| 100.0 * late.judge(threshold).accuracy)
    }

    fn effectiveness_percent(&self, threshold: u32) -> Interval {
        percent_over(&self.each, |late| 100.0 * late.judge(threshold).effectiveness)
    }
}

fn judged(setup: &Setup, training: &Training, states: &[State]) -> Vec<Row> {
    let at = states.iter().find(|state| state.row.load_permille == setup.judged_permille);
    let at = at.expect("the judged load is one of them");
    let aggressive = at.row.aggressive;
    let each = states.iter().map(|state| {
        let accuracy = state.accuracy_percent(state.row.aggressive);
        format!("{} % at {}", wording::number(accuracy.value), f64::from(state.row.load_permille) / 1000.0)
    });
    let each = each.collect::<Vec<_>>().join(", ");
    let accurate = format!("as many as are late at all, since a queue of {aggressive} had a late RPC: {each}");
    let naive = Interval::exact(f64::from(training.naive()) / f64::from(setup.workers));
    let row = |name: &str, ours, why: String| {
        let figure = paper::altocumulus().figure(&format!("altocumulus/thresholds/{name}"));
        Row::judged(figure, ours, (Judgment::Differs, why))
    };
    vec![
        row("naive_per_worker", naive, format!("{} for {} workers", training.naive(), setup.workers)),
        row("aggressive_effective", at.effectiveness_percent(aggressive), format!("{} were late", at.row.late)),
        row("aggressive_accurate", at.accuracy_percent(aggressive), accurate),
    ]
}

fn notes(training: &Training, state: &State) -> Vec<Row> {
    let row = &state.row;
    let thresholds = [("naive", training.naive()), ("aggressive", row.aggressive), ("trained", row.trained)];
    let load = f64::from(row.load_permille) / 1000.0;
    let of = |(name, threshold): (&str, u32)| {
        let note = |what: &str, said: &str, unit, value| {
            let id = format!("altocumulus/thresholds/{load}/{name}/{what}");
            Row::note(id, format!("{said}, {name}, load {load}, {}", training.service), unit, value)
        };
        [
            note("waiting", "threshold", "RPCs", Interval::exact(f64::from(threshold))),
            note("accuracy", "of the RPCs predicted late, those that were", "%", state.accuracy_percent(threshold)),
            note("effectiveness", "of the late RPCs, those predicted", "%", state.effectiveness_percent(threshold)),
        ]
    };
    thresholds.into_iter().flat_map(of).collect()
}

/// The line through the trained thresholds, against the mean queue length of Erlang C.
fn line(states: &[State]) -> Vec<Row> {
    let rows: Vec<TrainedRow> = states.iter().map(|state| state.row).collect();
    let Some((slope, at_zero)) = fit(&rows) else { return Vec::new() };
    let note = |name: &str, value| {
        let what = format!("{name} of T = a · E[Nq] + b through the trained thresholds");
        Row::note(format!("altocumulus/thresholds/line/{name}"), what, "RPCs", Interval::exact(value))
    };
    vec![note("a", slope), note("b", at_zero)]
}

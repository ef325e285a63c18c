//! How much on-chip traffic does migration save? It moves descriptors in place of payloads.

use super::super::paper::{self, Traffic};
use super::super::row::{Judgment, Row};
use super::super::wording;
use super::figures::{grouped, offered, over, shipped, tallies};
use crate::interval::Interval;
use crate::reproduce::lab::Lab;
use crate::reproduce::reproduction::{ReproduceError, Reproduction};
use crate::system::Altocumulus;
use crate::tally::Migrations;
use nebula_nic::schedule::Thresholds;

pub(in super::super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::altocumulus().setup.traffic;
    lab.expect(2, REPLICATIONS);
    let trained = moved(lab, setup, shipped(&setup.thresholds)?)?;
    let eager = moved(lab, setup, Thresholds::fixed(0))?;
    let figure = paper::altocumulus().figure("altocumulus/traffic/less");
    let list = setup
        .payloads_bytes
        .iter()
        .map(|&bytes| format!("{bytes} B {}", wording::number(less(setup, &eager, bytes).value)));
    let why = format!("how large payloads are is not published; by payload: {}", list.collect::<Vec<_>>().join(", "));
    let ours = less(setup, &eager, setup.payload_bytes);
    let mut rows = vec![Row::judged(figure, ours, (Judgment::NotReproducibleAsPublished, why))];
    rows.extend(setup.payloads_bytes.iter().map(|&bytes| {
        let what = format!("bytes of payloads over bytes of descriptors, payloads of {bytes} B");
        Row::note(format!("altocumulus/traffic/less/{bytes}"), what, "×", less(setup, &eager, bytes))
    }));
    rows.extend(notes(setup, "trained", "thresholds that were trained", &trained));
    rows.extend(notes(setup, "eager", "a threshold of 0", &eager));
    Ok(rows.into())
}

const REPLICATIONS: u32 = 4;

fn moved(lab: &Lab<'_>, setup: &Traffic, thresholds: Thresholds) -> Result<Vec<Migrations>, ReproduceError> {
    let system = grouped(setup.cores, setup.group_cores, Altocumulus::new(thresholds));
    let load = offered(&setup.service, setup.cores, setup.rate_mrps);
    let runs = lab.runs(lab.effort.of([100_000, 400_000, 2_000_000]), REPLICATIONS);
    Ok(tallies(lab, &system, &load, &runs)?.into_iter().map(|tally| tally.migrations).collect())
}

/// Payload bytes of the RPCs migrated over the bytes of all descriptors sent, in both directions.
fn less(setup: &Traffic, each: &[Migrations], payload_bytes: u32) -> Interval {
    over(each, |moved| moved.migrated() as f64 * f64::from(payload_bytes) / descriptor_bytes(setup, moved))
}

fn descriptor_bytes(setup: &Traffic, moved: &Migrations) -> f64 {
    (moved.descriptors + moved.refused) as f64 * f64::from(setup.descriptor_bytes)
}

fn notes(setup: &Traffic, id: &str, said: &str, each: &[Migrations]) -> Vec<Row> {
    let note = |name: &str, what: &str, unit, figure: &dyn Fn(&Migrations) -> f64| {
        let what = format!("{what}, {} MRPS on {} cores, {said}", setup.rate_mrps, setup.cores);
        Row::note(format!("altocumulus/traffic/{id}/{name}"), what, unit, over(each, figure))
    };
    let gb_per_s = |moved: &Migrations| descriptor_bytes(setup, moved) / moved.let_in as f64 * setup.rate_mrps / 1e3;
    let mut rows = vec![
        note("migrated", "RPCs handed over", "%", &|moved| 100.0 * moved.share()),
        note("descriptors", "descriptors", "GB/s", &gb_per_s),
        note("updates", "lengths published, an RPC", "messages", &|moved| moved.updates as f64 / moved.let_in as f64),
    ];
    if each.iter().all(|moved| moved.messages > 0) {
        let per_message = |moved: &Migrations| moved.descriptors as f64 / moved.messages as f64;
        rows.push(note("per_message", "descriptors a message", "RPCs", &per_message));
    }
    rows
}

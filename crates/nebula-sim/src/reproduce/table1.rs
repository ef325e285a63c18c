//! Which load keeps the SLO, and how deep is the queue there? NEBULA's table I, under every setting that may have made it.
//!
//! The paper's text names Poisson arrivals; the program that its first author published has steadier ones, and a die whose short RPCs are
//! rarer than meant. So each row of the table is judged under the text's setting, and the others stand beside it as notes: whether one of them
//! gives the published value is then a result and not an opinion.
//!
//! Near saturation a queue takes millions of RPCs to fill. Runs here begin empty and are as long as the effort asks: the
//! longest queues, those of Poisson arrivals at the highest loads, are still growing at their end.

use super::paper::{self, Printed, Setting, Table1};
use super::row::{Row, Verdict};
use super::{Lab, ReproduceError, Reproduction, wording};
use crate::interval::Interval;
use crate::load::Load;
use crate::search::Bracket;
use crate::system::System;
use nebula_nic::{Policy, Span};
use nebula_workload::ServiceTime;
use rayon::prelude::*;

pub(super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let table = &paper::nebula().setup.table1;
    let cases: Vec<(&Printed, &Setting)> =
        table.laws.iter().flat_map(|law| settings(table, law).map(move |setting| (law, setting))).collect();
    lab.expect(cases.len(), replications(lab) * 2);
    let found: Vec<Found<'_>> =
        cases.par_iter().map(|&(law, setting)| measure(lab, table, law, setting)).collect::<Result<_, _>>()?;
    let of_law = |law: &Printed| found.iter().filter(|found| found.law.id == law.id).collect::<Vec<_>>();
    Ok(table.laws.iter().flat_map(|law| rows(table, &of_law(law))).collect::<Vec<_>>().into())
}

/// The settings that differ for this law: the die matters only where shares are drawn.
fn settings<'a>(table: &'a Table1, law: &'a Printed) -> impl Iterator<Item = &'a Setting> {
    let is_textbook_again = move |setting: &Setting| {
        let textbook = textbook(table);
        setting.id != textbook.id
            && setting.arrivals == textbook.arrivals
            && law.service(setting) == law.service(textbook)
    };
    table.settings.iter().filter(move |setting| !is_textbook_again(setting))
}

fn textbook(table: &Table1) -> &Setting {
    let found = table.settings.iter().find(|setting| setting.id == table.textbook);
    found.expect("a test reads the table's settings")
}

/// What one law shows under one setting; latencies in nominal service times.
struct Found<'a> {
    law: &'a Printed,
    setting: &'a Setting,
    /// At the published load.
    p99_services: Interval,
    depth_p99: Interval,
    /// The highest load that keeps the SLO.
    load: Interval,
}

fn measure<'a>(
    lab: &Lab<'_>,
    table: &Table1,
    law: &'a Printed,
    setting: &'a Setting,
) -> Result<Found<'a>, ReproduceError> {
    let (service, system) = (law.service(setting), System::new(Policy::SingleQueue, table.cores));
    let nominal = Nominal::of(table, service);
    let load = Load::open(service.clone(), nominal.utilization(law.load)).arrivals(setting.arrivals.clone());
    let runs = lab.runs(lab.effort.of([400_000, 2_000_000, 8_000_000]), replications(lab));
    let point = lab.estimate(&system, &load, &runs)?;
    let runs = lab.runs(lab.effort.of([100_000, 500_000, 2_000_000]), replications(lab));
    let slo = Span::from_ps(nominal.service.as_ps() * whole(table.slo_services));
    let search = lab.load_at_slo(&system, &load, slo, BRACKET, &runs)?;
    Ok(Found {
        law,
        setting,
        p99_services: point.p99().scaled(1.0 / nominal.service.as_ps() as f64),
        depth_p99: Interval::of(&point.depth_p99),
        load: search.load.scaled(nominal.load_per_utilization()),
    })
}

/// Loads and SLO are reckoned by the nominal mean, whatever the die makes of it.
struct Nominal {
    service: Span,
    mean_ps: f64,
}

impl Nominal {
    fn of(table: &Table1, service: &ServiceTime) -> Self {
        Self { service: Span::from_ns(table.service_ns), mean_ps: service.mean_ps() }
    }

    fn load_per_utilization(&self) -> f64 {
        self.service.as_ps() as f64 / self.mean_ps
    }

    fn utilization(&self, load: f64) -> f64 {
        load / self.load_per_utilization()
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small whole number")]
fn whole(times: f64) -> u64 {
    times as u64
}

fn replications(lab: &Lab<'_>) -> u32 {
    lab.effort.of([4, 5, 10])
}

/// Every law keeps an SLO of ten service times at its lowest load.
const BRACKET: Bracket = Bracket { lowest: 0.9, highest: 0.9999, width: 0.0004 };

/// The published rows of one law, then the notes of all its settings.
fn rows(table: &Table1, found: &[&Found<'_>]) -> Vec<Row> {
    let textbook = found.iter().find(|found| found.setting.id == table.textbook).expect("it is among the settings");
    let published = |what: &str, ours, why| {
        let id = format!("nebula/table1/{}/{what}", textbook.law.id);
        Row::judged(paper::nebula().figure(&id), ours, (Verdict::NotReproducibleAsPublished, why))
    };
    let judged = [
        published("load", textbook.load, why_load(table, textbook, found)),
        published("depth", textbook.depth_p99, why_depth(textbook, found)),
    ];
    judged.into_iter().chain(found.iter().flat_map(|found| notes(found))).collect()
}

fn why_load(table: &Table1, textbook: &Found<'_>, found: &[&Found<'_>]) -> String {
    let is_kept = textbook.p99_services.value <= table.slo_services;
    let others = others(textbook, found, |other| {
        format!(
            "{} {} S and {}",
            other.setting.title,
            wording::number(other.p99_services.value),
            wording::load(other.load)
        )
    });
    format!(
        "with {} the p99 at load {} is {} S, {} the SLO, and load {} is the highest that keeps it; {others}",
        textbook.setting.title,
        textbook.law.load,
        wording::with_interval(textbook.p99_services),
        if is_kept { "within" } else { "above" },
        wording::load(textbook.load),
    )
}

fn why_depth(textbook: &Found<'_>, found: &[&Found<'_>]) -> String {
    let others =
        others(textbook, found, |other| format!("{} {}", other.setting.title, wording::with_interval(other.depth_p99)));
    format!(
        "with {} the queue at load {} is {} deep; {others}",
        textbook.setting.title,
        textbook.law.load,
        wording::with_interval(textbook.depth_p99),
    )
}

/// What the other settings give.
fn others(textbook: &Found<'_>, found: &[&Found<'_>], said: impl Fn(&Found<'_>) -> String) -> String {
    let others = found.iter().filter(|other| other.setting.id != textbook.setting.id);
    others.map(|other| format!("with {}", said(other))).collect::<Vec<_>>().join(", ")
}

fn notes(found: &Found<'_>) -> [Row; 3] {
    let Found { law, setting, .. } = found;
    let note = |what: &str, said: String, unit, ours| {
        let id = format!("nebula/table1/{}/{what}/{}", law.id, setting.id);
        Row::note(id, format!("{said}, {} service, {}", law.id, setting.title), unit, ours)
    };
    [
        note("load", "highest load at the SLO".to_owned(), "load", found.load),
        note("p99", format!("p99 at load {}", law.load), "S", found.p99_services),
        note("depth", format!("99th percentile of the queue depth at load {}", law.load), "RPCs", found.depth_p99),
    ]
}

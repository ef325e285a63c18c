//! Which load keeps the SLO, and how deep is the queue? NEBULA's table I, under several settings.
//!
//! The text names Poisson arrivals. The first author's published program has arrivals of lower
//! variance, and draws short RPCs less often than intended. Each row is judged under the text's
//! setting; notes show whether another setting gives the published value.
//!
//! Near saturation a queue takes millions of RPCs to become steady. With Poisson arrivals at the
//! highest loads, a quick run measures earlier and underestimates the depth.

use super::lab::{Effort, Lab};
use super::paper::{self, Printed, Setting, Table1};
use super::reproduction::{ReproduceError, Reproduction};
use super::row::{Judgment, Row};
use super::wording;
use crate::executor::try_each;
use crate::interval::Interval;
use crate::load::Load;
use crate::search::Bracket;
use crate::system::System;
use nebula_nic::{Policy, Span};
use nebula_workload::ServiceTime;

pub(super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let table = &paper::nebula().setup.table1;
    let cases: Vec<(&Printed, &Setting)> =
        table.laws.iter().flat_map(|law| settings(table, law).map(move |setting| (law, setting))).collect();
    lab.expect(cases.len(), replications(lab) * 2);
    let found: Vec<Found<'_>> = try_each(&cases, |&(law, setting)| measure(lab, table, law, setting))?;
    let of_law = |law: &Printed| found.iter().filter(|found| found.law.id == law.id).collect::<Vec<_>>();
    Ok(table.laws.iter().flat_map(|law| rows(table, &of_law(law))).collect::<Vec<_>>().into())
}

/// The settings that differ for this law: the dice matter only for a mix.
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

/// The results of a law under a setting. Latencies are in nominal service times.
struct Found<'a> {
    law: &'a Printed,
    setting: &'a Setting,
    /// At the published load.
    p99_services: Interval,
    depth_p99: Interval,
    /// The highest load that keeps the SLO, if it was searched for.
    load: Option<Interval>,
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
    let runs = lab.runs(lab.effort.of([1_000_000, 2_000_000, 4_000_000]), replications(lab));
    let point = lab.estimate(&system, &load, &runs)?;
    Ok(Found {
        law,
        setting,
        p99_services: point.p99().scaled(1.0 / nominal.service.as_ps() as f64),
        depth_p99: Interval::of(&point.depth_p99),
        load: is_searched(lab, table, setting).then(|| search(lab, table, &system, &load, &nominal)).transpose()?,
    })
}

fn search(
    lab: &Lab<'_>,
    table: &Table1,
    system: &System,
    load: &Load,
    nominal: &Nominal,
) -> Result<Interval, ReproduceError> {
    let runs = lab.runs(1_000_000, replications(lab));
    let found = lab.load_at_slo(system, load, nominal.service * table.slo_services, BRACKET, &runs)?;
    let is_beyond = found.loads.iter().any(|&load| load > BRACKET.highest - BRACKET.width);
    // A replication at the end of the bracket may sustain a higher load than found.
    let hi = if is_beyond { 1.0 } else { found.load.hi };
    Ok(Interval { hi, ..found.load }.scaled(nominal.load_per_utilization()))
}

fn is_searched(lab: &Lab<'_>, table: &Table1, setting: &Setting) -> bool {
    lab.effort != Effort::Quick || setting.id == table.textbook
}

/// The nominal mean service time defines loads and SLO, whatever the drawn mean.
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

fn replications(lab: &Lab<'_>) -> u32 {
    lab.effort.of([5, 5, 10])
}

/// At the lowest load every law keeps an SLO of ten service times. At the highest, a queue takes
/// longer than a run to fill.
const BRACKET: Bracket = Bracket { lowest: 0.965, highest: 0.9995, width: 0.0005 };

fn rows(table: &Table1, found: &[&Found<'_>]) -> Vec<Row> {
    let textbook = found.iter().find(|found| found.setting.id == table.textbook).expect("it is among the settings");
    let judged = |what: &str, ours, why: &str| {
        let id = format!("nebula/table1/{}/{what}", textbook.law.id);
        Row::judged(paper::nebula().figure(&id), ours, unreachable_as_published(why))
    };
    let load = textbook.load.expect("the textbook's load is always searched for");
    let (why_load, why_depth) = (why_load(table, textbook, load, found), why_depth(textbook, found));
    let load = judged("load", load, &why_load).only_if(textbook.keeps_slo(table), unreachable_as_published(&why_load));
    let depth = judged("depth", textbook.depth_p99, &why_depth);
    [load, depth].into_iter().chain(found.iter().flat_map(|found| notes(found))).collect()
}

/// The judgment if the text's setting gives another value.
fn unreachable_as_published(why: &str) -> (Judgment, String) {
    (Judgment::NotReproducibleAsPublished, why.to_owned())
}

impl Found<'_> {
    fn keeps_slo(&self, table: &Table1) -> bool {
        self.p99_services.value <= table.slo_services as f64
    }
}

fn why_load(table: &Table1, textbook: &Found<'_>, load: Interval, found: &[&Found<'_>]) -> String {
    let others = others(textbook, found, |other| {
        let load = other.load.map_or(String::new(), |load| format!(" and {}", wording::load(load)));
        format!("{}{load}", wording::number(other.p99_services.value))
    });
    format!(
        "with {} the p99 at load {} is {} service times, {} the SLO, and load {} is the highest that keeps it; {others}",
        textbook.setting.title,
        textbook.law.load,
        wording::with_interval(textbook.p99_services),
        if textbook.keeps_slo(table) { "within" } else { "above" },
        wording::load(load),
    )
}

fn why_depth(textbook: &Found<'_>, found: &[&Found<'_>]) -> String {
    let others = others(textbook, found, |other| wording::with_interval(other.depth_p99));
    format!(
        "with {} the queue at load {} is {} deep; {others}",
        textbook.setting.title,
        textbook.law.load,
        wording::with_interval(textbook.depth_p99),
    )
}

fn others(textbook: &Found<'_>, found: &[&Found<'_>], said: impl Fn(&Found<'_>) -> String) -> String {
    let others = found.iter().filter(|other| other.setting.id != textbook.setting.id);
    others.map(|other| format!("with {}: {}", other.setting.title, said(other))).collect::<Vec<_>>().join("; ")
}

fn notes(found: &Found<'_>) -> Vec<Row> {
    let Found { law, setting, .. } = found;
    let note = |what: &str, said: String, unit, ours| {
        let id = format!("nebula/table1/{}/{what}/{}", law.id, setting.id);
        Row::note(id, format!("{said}, {} service, {}", law.id, setting.title), unit, ours)
    };
    let load = found.load.map(|load| note("load", "highest load at the SLO".to_owned(), "load", load));
    let at = law.load;
    let others = [
        note("p99", format!("p99 in mean service times at load {at}"), "S", found.p99_services),
        note("depth", format!("99th percentile of the queue depth at load {at}"), "RPCs", found.depth_p99),
    ];
    load.into_iter().chain(others).collect()
}

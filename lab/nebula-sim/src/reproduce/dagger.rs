//! Dagger: the cost of the interface between cores and NIC, its scaling, and a store over it.

use super::lab::Lab;
use super::paper::{self, DaggerSetup, Derived, Figure, HostCase, Quantity};
use super::picture::{Curve, Measure, Picture, Point};
use super::reproduction::{ReproduceError, Reproduction};
use super::row::{Judgment, Row};
use super::wording;
use crate::executor::{replications as indices, try_each};
use crate::interval::Interval;
use crate::load::Load;
use crate::system::{Host, System};
use crate::tally::Tally;
use crate::world::run;
use nebula_workload::ServiceTime;

fn replications(lab: &Lab<'_>) -> u32 {
    lab.effort.of([4, 6, 10])
}

fn tallies(lab: &Lab<'_>, setup: &DaggerSetup, system: &System, load: &Load) -> Result<Vec<Tally>, ReproduceError> {
    let runs = lab.runs(lab.effort.of(setup.rpcs), replications(lab));
    let one = |&index: &u32| {
        let tally = run(system, load, runs.length(system, load), lab.seed.replica(u64::from(index)))?;
        lab.progress.step();
        Ok(tally)
    };
    try_each(&indices(0..replications(lab)), one)
}

/// Millions of RPCs per second in a closed loop by replication, and the share dropped.
fn mrps(
    lab: &Lab<'_>,
    setup: &DaggerSetup,
    system: &System,
    outstanding: u32,
) -> Result<(Vec<f64>, f64), ReproduceError> {
    let load = Load::closed(setup.service.clone(), outstanding, None);
    let tallies = tallies(lab, setup, system, &load)?;
    let dropped = tallies.iter().map(|tally| 1.0 - tally.accepted()).sum::<f64>() / tallies.len() as f64;
    Ok((tallies.iter().map(|tally| tally.served_rps() / 1e6).collect(), dropped))
}

/// Median and p99 of the round trip in microseconds, at a share of the system's saturation.
fn latencies(
    lab: &Lab<'_>,
    setup: &DaggerSetup,
    system: &System,
    service: &ServiceTime,
    share: f64,
) -> Result<[Vec<f64>; 2], ReproduceError> {
    let load = Load::open(service.clone(), share * system.saturation(service));
    let tallies = tallies(lab, setup, system, &load)?;
    Ok([0.5, 0.99].map(|share| tallies.iter().map(|tally| tally.latency_with_nacks(share) / 1e6).collect()))
}

/// A row per published value of an entry, in order; values without a model here are cited.
fn rows(entry: &str, row: impl Fn(&'static Figure, &str) -> Row) -> Vec<Row> {
    let prefix = format!("{entry}/");
    let figures = paper::dagger().figures.iter();
    let named = figures.filter_map(|figure| Some((figure, figure.id.strip_prefix(&prefix)?)));
    named.map(|(figure, name)| if figure.cited.is_some() { Row::cited(figure) } else { row(figure, name) }).collect()
}

/// A row that differs for a reason or, if it assumes something, is not reproducible as published.
fn judged(figure: &Figure, ours: Interval, why: String) -> Row {
    let otherwise = if figure.assumes.is_some() { Judgment::NotReproducibleAsPublished } else { Judgment::Differs };
    let why = figure.assumes.as_ref().map_or(why.clone(), |assumes| format!("{why}; not published: {assumes}"));
    Row::judged(figure, ours, (otherwise, why))
}

// -- one core, by interface --

pub(super) fn interfaces(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::dagger().setup;
    lab.expect(2 * setup.interfaces.cases.len(), replications(lab));
    let found: Vec<Found<'_>> = try_each(&setup.interfaces.cases, |case| Found::measure(lab, setup, case))?;
    let mut rows = rows("dagger/interfaces", |figure, name| {
        let derived = setup.interfaces.rows.iter().find(|derived| derived.figure == name);
        match derived {
            Some(derived) => derived_row(&found, figure, derived),
            None => measured_row(&found, figure, name),
        }
    });
    rows.extend(found.iter().map(dropped));
    rows.extend(pairs(&found));
    Ok(rows.into())
}

struct Found<'a> {
    case: &'a HostCase,
    host: Host,
    /// The load of the latencies, over the core's saturation.
    share: f64,
    mrps: Vec<f64>,
    dropped: f64,
    p50: Vec<f64>,
    p99: Vec<f64>,
}

impl<'a> Found<'a> {
    fn measure(lab: &Lab<'_>, setup: &DaggerSetup, case: &'a HostCase) -> Result<Self, ReproduceError> {
        let system = case.system(setup)?;
        let host = system.host.expect("a case is a system with a host interface");
        let share = if host.batch > 1 { setup.interfaces.busy } else { setup.interfaces.idle };
        let (mrps, dropped) = mrps(lab, setup, &system, case.outstanding)?;
        let [p50, p99] = latencies(lab, setup, &system, &setup.service, share)?;
        Ok(Self { case, host, share, mrps, dropped, p50, p99 })
    }

    fn values(&self, quantity: Quantity) -> Vec<f64> {
        match quantity {
            Quantity::Mrps => self.mrps.clone(),
            Quantity::P50 => self.p50.clone(),
            Quantity::P99 => self.p99.clone(),
            Quantity::Hop => vec![self.host.hop.as_ns_f64(); self.mrps.len()],
        }
    }

    /// Crossings of the interconnect in a round trip: each line to the NIC, and back to a core.
    fn crossings(&self) -> u32 {
        2 * (self.host.interface.crossings() + 1)
    }

    fn why(&self, quantity: Quantity) -> String {
        let Self { case, host, share, .. } = self;
        let ns = |span: nebula_nic::Span| wording::number(span.as_ns_f64());
        let value = wording::with_interval(Interval::of(&self.values(quantity)));
        match quantity {
            Quantity::Mrps => format!(
                "{}: {value} MRPS, of {} ns a core and RPC and {} ns a batch of {}",
                case.what,
                ns(host.per_rpc),
                ns(host.store),
                host.batch
            ),
            Quantity::P50 | Quantity::P99 => format!(
                "{}: {value} µs at {} % of what the core sustains: {} crossings of {} ns, twice {} ns in the NIC, the cores' work and waiting",
                case.what,
                wording::number(100.0 * share),
                self.crossings(),
                ns(host.hop),
                ns(host.pipeline)
            ),
            Quantity::Hop => format!("{}: a parameter of {value} ns", case.what),
        }
    }
}

fn find<'a, 'b>(found: &'a [Found<'b>], id: &str) -> &'a Found<'b> {
    let of_id = found.iter().find(|found| found.case.id == id);
    of_id.unwrap_or_else(|| panic!("a figure names the case {id:?}, which its set-up does not have"))
}

fn dropped(found: &Found<'_>) -> Row {
    let what = format!("RPCs dropped in the closed loop that measures the throughput: {}", found.case.what);
    Row::note(format!("dagger/interfaces/{}_dropped", found.case.id), what, "share", Interval::exact(found.dropped))
}

/// The throughput over the coherent interconnect divided by that over PCIe, for all pairs: the
/// paper does not say which of them its range covers.
fn pairs<'a>(found: &'a [Found<'_>]) -> impl Iterator<Item = Row> + 'a {
    let polls = |found: &&Found<'_>| found.host.interface.polls();
    let of = found.iter().filter(polls).filter(|found| !found.case.is_variant());
    of.flat_map(move |of| found.iter().filter(move |over| !polls(over)).map(move |over| (of, over))).map(
        |(of, over)| {
            let ratios = of.mrps.iter().zip(&over.mrps).map(|(of, over)| of / over);
            let what = format!("throughput of one core, {} over {}", of.case.what, over.case.what);
            let id = format!("dagger/interfaces/{}_over_{}", of.case.id, over.case.id);
            Row::note(id, what, "×", Interval::of(&ratios.collect::<Vec<_>>()))
        },
    )
}

/// The row of a figure whose name is a case and a quantity.
fn measured_row(found: &[Found<'_>], figure: &Figure, name: &str) -> Row {
    let measured = Quantity::MEASURED
        .iter()
        .find_map(|&(suffix, quantity)| Some((name.strip_suffix(suffix)?.strip_suffix('_')?, quantity)));
    let (id, quantity) = measured.unwrap_or_else(|| panic!("no row is made for the figure {name:?}"));
    let case = find(found, id);
    let ours = Interval::of(&case.values(quantity));
    let mut why = case.why(quantity);
    if quantity == Quantity::P50 && case.host.batch == 1 {
        let crossings = f64::from(case.crossings());
        let needed = case.host.hop.as_ns_f64() + (figure.value - ours.value) * 1e3 / crossings;
        why.push_str(&format!("; the published value would take {} ns a crossing", wording::number(needed)));
    }
    judged(figure, ours, why)
}

fn derived_row(found: &[Found<'_>], figure: &Figure, derived: &Derived) -> Row {
    let of = find(found, &derived.of);
    let over = derived.over.as_ref().map(|id| find(found, id));
    let divisors = over.map(|over| over.values(derived.measure));
    let divisor = |index: usize| divisors.as_ref().map_or(derived.over_value.unwrap_or(1.0), |values| values[index]);
    let ratios = of.values(derived.measure).into_iter().enumerate().map(|(index, value)| value / divisor(index));
    let over = over.map_or(String::new(), |over| format!("; {}", over.why(derived.measure)));
    judged(figure, Interval::of(&ratios.collect::<Vec<_>>()), format!("{}{over}", of.why(derived.measure)))
}

// -- threads --

pub(super) fn scaling(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::dagger().setup;
    let scaling = &setup.scaling;
    let points: Vec<(bool, u16)> =
        [true, false].iter().flat_map(|&way| scaling.threads.iter().map(move |&threads| (way, threads))).collect();
    lab.expect(points.len(), replications(lab));
    let found: Vec<Interval> = try_each(&points, |&(is_end_to_end, threads)| {
        let system = scaling.system(setup, threads, is_end_to_end)?;
        let each = if is_end_to_end { scaling.outstanding } else { scaling.outstanding_raw };
        let (mrps, _) = mrps(lab, setup, &system, each * u32::from(threads))?;
        Ok::<_, ReproduceError>(Interval::of(&mrps))
    })?;
    let at = |way: bool, threads: u16| {
        let place = points.iter().position(|&point| point == (way, threads));
        found[place.unwrap_or_else(|| panic!("no run has {threads} threads"))]
    };
    let most = scaling.threads.iter().copied().max().unwrap_or(1);
    let rows = rows("dagger/scaling", |figure, name| {
        let (way, threads) = match name {
            "linear_to" => (true, scaling.linear_to_threads),
            "raw_most" | "raw_abstract" => (false, most),
            _ => point_of(name),
        };
        let (ours, one) = (at(way, threads), at(way, 1));
        let (lines, total) = (if way { 2 } else { 1 }, wording::number(one.value * f64::from(threads)));
        let why = format!(
            "{threads} times one thread's {} MRPS are {total}; the NIC takes {lines} of its lines for an RPC",
            wording::number(one.value)
        );
        judged(figure, ours, why)
    });
    let curve = |name: &str, way: bool, prefix: &str| Curve {
        name: name.to_owned(),
        points: scaling.threads.iter().map(|&threads| Point { at: threads.into(), value: at(way, threads) }).collect(),
        published: scaling
            .threads
            .iter()
            .map(|&threads| {
                (threads.into(), paper::dagger().figure(&format!("dagger/scaling/{prefix}_{threads}")).value)
            })
            .collect(),
    };
    let picture = Picture {
        title: "Throughput by threads, UPI, batches of 4".to_owned(),
        x: Measure::Threads,
        y: Measure::Throughput,
        slo: None,
        curves: vec![curve("end to end", true, "end-to-end"), curve("one way", false, "raw")],
    };
    Ok(Reproduction { rows, pictures: vec![picture] })
}

/// Whether end to end, and the threads: `end-to-end_3`.
fn point_of(name: &str) -> (bool, u16) {
    let point = name.split_once('_').and_then(|(way, threads)| Some((way, threads.parse().ok()?)));
    match point {
        Some(("end-to-end", threads)) => (true, threads),
        Some(("raw", threads)) => (false, threads),
        _ => panic!("no row is made for the figure {name:?}"),
    }
}

// -- stores --

pub(super) fn kvs(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::dagger().setup;
    lab.expect(1, replications(lab));
    let kvs = &setup.kvs;
    let [p50, p99] = latencies(lab, setup, &kvs.system()?, &kvs.service, kvs.busy)?.map(|values| Interval::of(&values));
    let rows = rows("dagger/kvs", |figure, name| {
        let ours = if name.ends_with("_p50") { p50 } else { p99 };
        let why = format!(
            "{} µs with a service of {} at {} % of what the core sustains",
            wording::with_interval(ours),
            kvs.service,
            wording::number(100.0 * kvs.busy)
        );
        judged(figure, ours, why)
    });
    Ok(rows.into())
}

//! At which load does each design keep the SLO? NEBULA's figure 6a: imbalance and buffer bloat.
//!
//! Each design is judged by its highest rate and by its results at the printed load. The next load
//! of the grid is a note: a design that keeps the SLO there is better here than published.

use super::evaluation::bench::Bench;
use super::evaluation::case::Case;
use super::evaluation::chart::{Published, tail_chart};
use super::evaluation::point::mrps;
use super::evaluation::value::{Value, judged};
use super::lab::Lab;
use super::paper::{self, AtLoad, Design, Fig6a};
use super::reproduction::{ReproduceError, Reproduction};
use super::row::Row;
use super::wording::number;
use crate::interval::Interval;
use crate::md1;

pub(super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    compare(&Bench::new(lab))
}

pub(super) fn compare(bench: &Bench<'_>) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::nebula().setup.fig6a;
    let cases: Vec<Case> = setup.designs.iter().map(|at| bench.case(at.design)).collect();
    bench.prepare(&cases, &bench.with_unfitted(&cases), &points(bench, setup))?;
    let values: Result<Vec<Value>, ReproduceError> =
        values(bench, setup)?.into_iter().map(|value| with_bound(bench, setup, value)).collect();
    let mut rows: Vec<Row> = values?.into_iter().map(judged).collect();
    for at in &setup.designs {
        rows.push(next_load(bench, at)?);
    }
    for at in &setup.designs {
        let id = format!("nebula/fig6a/{}", at.design.id());
        rows.extend(bench.unfitted_notes(&id, at.design.title(), bench.case(at.design))?);
    }
    Ok(Reproduction {
        rows,
        pictures: vec![tail_chart(bench, "Tail latency, 512 B, half GETs", lines(bench, setup)?)?],
    })
}

/// The printed loads, and the next one of the grid for each.
fn points(bench: &Bench<'_>, setup: &Fig6a) -> Vec<(Case, f64)> {
    let printed = setup
        .designs
        .iter()
        .flat_map(|at| [at.gap_ns, next_gap_ns(bench, at.gap_ns)].map(|gap_ns| (bench.case(at.design), gap_ns)));
    printed.collect()
}

fn next_gap_ns(bench: &Bench<'_>, gap_ns: f64) -> f64 {
    let next = bench.setup.gaps_ns.iter().copied().find(|&next| next < gap_ns);
    next.expect("the grid goes beyond every printed load")
}

fn values(bench: &Bench<'_>, setup: &Fig6a) -> Result<Vec<Value>, ReproduceError> {
    let case = |design| bench.case(design);
    let (rss, rpcvalet, srq) = (case(Design::Rss), case(Design::RpcValet), case(Design::Srq));
    let (base, nebula) = (case(Design::Base), case(Design::Nebula));
    let id = |name: &str| format!("nebula/fig6a/{name}");
    let of = |at: &AtLoad, name: &str| id(&format!("{}/{name}", at.design.id()));
    let rates = setup.designs.iter().map(|at| bench.rate(&of(at, "rate"), case(at.design), at.gap_ns));
    let slos = setup.designs.iter().map(|at| bench.slos(&of(at, "p99_slos"), case(at.design), at.gap_ns));
    let others = [
        bench.rates(&id("nebula_over_rpcvalet"), nebula, rpcvalet),
        bench.rates(&id("nebula_over_srq"), nebula, srq),
        bench.rates(&id("srq_over_rpcvalet"), srq, rpcvalet),
        bench.rates(&id("base_over_srq"), base, srq),
        bench.rates(&id("nebula_over_base"), nebula, base),
        bench.tails(&id("rss_over_rpcvalet_p99"), rss, rpcvalet, setup.tail_gap_ns),
        bench.tails(&id("srq_over_base_p99"), srq, base, setup.balance_gap_ns),
        bench.point(&id("base/p99_ns"), base, setup.base_gap_ns, |point| point.p99_ns()),
        bench.point(&id("base/accepted"), base, setup.base_gap_ns, |point| point.accepted()),
        bench.point(&id("base/nacked_beyond"), base, setup.beyond_gap_ns, |point| {
            point.over(|shot| 1.0 - shot.accepted)
        }),
    ];
    rates.chain(slos).chain(others).collect()
}

/// Adds to a value of `SRQ_emu` the bound of random assignment, by which each core is a queue with
/// Poisson arrivals. Of all service times with the same mean, equal ones make RPCs wait least.
fn with_bound(bench: &Bench<'_>, setup: &Fig6a, value: Value) -> Result<Value, ReproduceError> {
    if paper::nebula().figure(&value.id).assumes.is_none() {
        return Ok(value);
    }
    let srq = bench.case(Design::Srq);
    let (alone_ns, cores) = (bench.alone(srq.under(Design::Base))?.service_ns().value, f64::from(bench.cores()));
    let slo_ns = bench.slo(srq)?.as_ns_f64();
    let gap_ns = setup.designs.iter().find(|at| at.design == Design::Srq).map_or(setup.balance_gap_ns, |at| at.gap_ns);
    let loaded_ns = bench.at(srq, gap_ns)?.service_ns().value;
    let mrps_at_slo = |service_ns: f64| md1::load_at(slo_ns / service_ns) * cores * 1e3 / service_ns;
    let load = alone_ns / setup.balance_gap_ns / cores;
    let tail_ns = md1::p99(load) * alone_ns;
    let base_ns = bench.at(srq.under(Design::Base), setup.balance_gap_ns)?.p99_ns().value;
    let why = format!(
        "{}; with a random core for each RPC no service times wait less than equal ones (M/D/1): these keep the SLO up to {} MRPS with the {} ns of an RPC alone and {} MRPS with the {} ns at {} MRPS, and at {} MRPS their p99 is {} ns, {} times that of NEBULA_base here",
        value.why,
        number(mrps_at_slo(alone_ns)),
        number(alone_ns),
        number(mrps_at_slo(loaded_ns)),
        number(loaded_ns),
        number(mrps(gap_ns)),
        number(mrps(setup.balance_gap_ns)),
        number(tail_ns),
        number(tail_ns / base_ns),
    );
    Ok(Value { why, ..value })
}

/// The results at the next load of the grid, which is inferred from the printed loads, as a note.
fn next_load(bench: &Bench<'_>, at: &AtLoad) -> Result<Row, ReproduceError> {
    let gap_ns = next_gap_ns(bench, at.gap_ns);
    let id = format!("nebula/fig6a/{}/p99_slos_next", at.design.id());
    let value: Interval = bench.slos(&id, bench.case(at.design), gap_ns)?.value;
    let what = format!("{}: p99 at the next load of the grid, {} MRPS", at.design.title(), number(mrps(gap_ns)));
    Ok(Row::note(id, what, "SLO", value))
}

/// The published points: each design's highest load, at the SLO, and the p99 of `NEBULA_base`.
fn lines(bench: &Bench<'_>, setup: &Fig6a) -> Result<Vec<(Case, Published)>, ReproduceError> {
    let line = |at: &AtLoad| {
        let case = bench.case(at.design);
        let slo_ns = bench.slo(case)?.as_ns_f64();
        let highest = paper::nebula().figure(&format!("nebula/fig6a/{}/rate", at.design.id())).value;
        let p99_ns = (at.design == Design::Base).then(|| paper::nebula().figure("nebula/fig6a/base/p99_ns").value);
        Ok((case, vec![(highest, p99_ns.unwrap_or(slo_ns))]))
    };
    setup.designs.iter().map(line).collect()
}

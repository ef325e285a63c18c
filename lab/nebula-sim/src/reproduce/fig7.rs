//! How much does the size of values matter? NEBULA's figure 7: RPCValet and `NEBULA_base`, with
//! values of one to eight cache blocks.

use super::evaluation::bench::Bench;
use super::evaluation::case::Case;
use super::evaluation::chart::{Cell, columns};
use super::evaluation::point::over;
use super::evaluation::value::{Value, judged};
use super::lab::Lab;
use super::paper::{self, Design, Fig7, ValueSize};
use super::picture::Measure;
use super::reproduction::{ReproduceError, Reproduction};
use super::row::Row;
use super::wording::with_interval;
use crate::interval::Interval;

pub(super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    compare(&Bench::new(lab))
}

pub(super) fn compare(bench: &Bench<'_>) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::nebula().setup.fig7;
    let of = |&ValueSize { value_bytes, rpcvalet_gap_ns, base_gap_ns }: &ValueSize| {
        let case = |design| bench.case(design).values(value_bytes);
        Cell::both(&format!("nebula/fig7/{value_bytes}"), value_bytes, [rpcvalet_gap_ns, base_gap_ns], case)
    };
    let bars: Vec<Cell> = setup.sizes.iter().flat_map(of).collect();
    let cases: Vec<Case> = bars.iter().map(|bar| bar.case).collect();
    let points: Vec<(Case, f64)> = bars.iter().map(|bar| (bar.case, bar.gap_ns)).collect();
    bench.prepare(&[], &bench.with_unfitted(&cases), &points)?;
    let mut rows: Vec<Row> = values(bench, setup, &bars)?.into_iter().map(judged).collect();
    rows.extend(services(bench, setup)?);
    for bar in bars.iter().filter(|bar| bar.at != bench.setup.value_bytes) {
        let what = format!("{}, {} B", bar.case.design.title(), bar.at);
        rows.extend(bench.unfitted_notes(&bar.id, &what, bar.case)?);
    }
    let rate = |bar: &Cell| Ok(bench.highest(bar.case)?.rate());
    let axes = (Measure::ValueBytes, Measure::Mrps);
    let picture = columns("Highest rate at the SLO, by size of values", axes, &bars, "rate", rate)?;
    Ok(Reproduction { rows, pictures: vec![picture] })
}

fn values(bench: &Bench<'_>, setup: &Fig7, bars: &[Cell]) -> Result<Vec<Value>, ReproduceError> {
    let rates = bars.iter().map(|bar| bench.rate(&bar.figure("rate"), bar.case, bar.gap_ns));
    let sizes = || setup.sizes.iter().map(|size| size.value_bytes);
    let smallest = sizes().min().unwrap_or_default();
    let of = |design, value_bytes| bench.case(design).values(value_bytes);
    let others = [
        large_items(bench, bars, smallest),
        bench.rates(
            &format!("nebula/fig7/{smallest}/base_over_rpcvalet"),
            of(Design::Base, smallest),
            of(Design::RpcValet, smallest),
        ),
    ];
    let smaller = sizes().filter(|&bytes| bytes < bench.setup.value_bytes).map(|bytes| service(bench, bytes));
    rates.chain(others).chain(smaller).collect()
}

fn large_items(bench: &Bench<'_>, bars: &[Cell], smallest: u32) -> Result<Value, ReproduceError> {
    let is_large = |bar: &&Cell| bar.case.design == Design::RpcValet && bar.at > smallest;
    let most = bars.iter().filter(is_large).min_by_key(|bar| bar.at).expect("the figure has such sizes");
    bench.rate("nebula/fig7/rpcvalet_large_items", most.case, most.gap_ns)
}

/// Mean service time of an RPC alone in the server, over that with the usual value size.
fn service(bench: &Bench<'_>, value_bytes: u32) -> Result<Value, ReproduceError> {
    let usual = bench.case(Design::Base);
    let (small, large) = (bench.alone(usual.values(value_bytes))?, bench.alone(usual)?);
    let why = format!(
        "alone in the server an RPC takes {} ns with values of {value_bytes} B and {} ns with {} B",
        with_interval(small.service_ns()),
        with_interval(large.service_ns()),
        bench.setup.value_bytes
    );
    let value = over(&small, &large, |small, large| small.service_ns / large.service_ns);
    Ok(Value { id: format!("nebula/fig7/{value_bytes}/service"), value, why, unfitted: None })
}

/// The service times, as notes. The one with the usual value size is calibrated and no result.
fn services(bench: &Bench<'_>, setup: &Fig7) -> Result<Vec<Row>, ReproduceError> {
    let note = |size: &ValueSize| {
        let value: Interval = bench.alone(bench.case(Design::Base).values(size.value_bytes))?.service_ns();
        let is_usual = size.value_bytes == bench.setup.value_bytes;
        let calibrated = if is_usual { ", to which the machine is calibrated" } else { "" };
        let what = format!("{} B: mean service alone in the server{calibrated}", size.value_bytes);
        Ok(Row::note(format!("nebula/fig7/{}/service_ns", size.value_bytes), what, "ns", value))
    };
    setup.sizes.iter().map(note).collect()
}

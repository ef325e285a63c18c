//! How much does the size of values matter? NEBULA's figure 7: RPCValet and `NEBULA_base`, with
//! values of one to eight cache blocks.

use super::evaluation::bench::Bench;
use super::evaluation::case::Case;
use super::evaluation::chart::{Column, columns};
use super::evaluation::point::over;
use super::evaluation::value::{Value, judged};
use super::lab::Lab;
use super::paper::{self, Design, Fig7, ValueSize};
use super::picture::{Measure, Picture};
use super::reproduction::{ReproduceError, Reproduction};
use super::row::Row;
use super::wording::with_interval;
use crate::interval::Interval;

pub(super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    compare(&Bench::new(lab))
}

pub(super) fn compare(bench: &Bench<'_>) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::nebula().setup.fig7;
    let bars: Vec<Bar> = setup.sizes.iter().flat_map(|size| Bar::of(bench, size)).collect();
    let cases: Vec<Case> = bars.iter().map(|bar| bar.case).collect();
    let points: Vec<(Case, f64)> = bars.iter().map(|bar| (bar.case, bar.gap_ns)).collect();
    bench.prepare(&[], &bench.with_unfitted(&cases), &points)?;
    let mut rows: Vec<Row> = values(bench, setup, &bars)?.into_iter().map(judged).collect();
    rows.extend(services(bench, setup)?);
    for bar in bars.iter().filter(|bar| bar.value_bytes != bench.setup.value_bytes) {
        let what = format!("{}, {} B", bar.case.design.title(), bar.value_bytes);
        rows.extend(bench.unfitted_notes(&bar.id, &what, bar.case)?);
    }
    Ok(Reproduction { rows, pictures: vec![picture(bench, &bars)?] })
}

struct Bar {
    id: String,
    value_bytes: u32,
    case: Case,
    gap_ns: f64,
}

impl Bar {
    fn of(bench: &Bench<'_>, size: &ValueSize) -> [Self; 2] {
        let value_bytes = size.value_bytes;
        [(Design::RpcValet, size.rpcvalet_gap_ns), (Design::Base, size.base_gap_ns)].map(|(design, gap_ns)| Self {
            id: format!("nebula/fig7/{value_bytes}/{}", design.id()),
            value_bytes,
            case: bench.case(design).values(value_bytes),
            gap_ns,
        })
    }
}

fn values(bench: &Bench<'_>, setup: &Fig7, bars: &[Bar]) -> Result<Vec<Value>, ReproduceError> {
    let rates = bars.iter().map(|bar| bench.rate(&format!("{}/rate", bar.id), bar.case, bar.gap_ns));
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

fn large_items(bench: &Bench<'_>, bars: &[Bar], smallest: u32) -> Result<Value, ReproduceError> {
    let is_large = |bar: &&Bar| bar.case.design == Design::RpcValet && bar.value_bytes > smallest;
    let most = bars.iter().filter(is_large).min_by_key(|bar| bar.value_bytes).expect("the figure has such sizes");
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

fn picture(bench: &Bench<'_>, bars: &[Bar]) -> Result<Picture, ReproduceError> {
    let line = |design: Design| {
        let column = |bar: &Bar| {
            let published = paper::nebula().figure(&format!("{}/rate", bar.id)).value;
            Ok(Column { at: bar.value_bytes.into(), ours: bench.highest(bar.case)?.rate(), published })
        };
        let mut columns: Vec<Column> =
            bars.iter().filter(|bar| bar.case.design == design).map(column).collect::<Result<_, ReproduceError>>()?;
        columns.sort_by(|one, other| one.at.total_cmp(&other.at));
        Ok((design.title(), columns))
    };
    let lines = [Design::RpcValet, Design::Base].into_iter().map(line).collect::<Result<_, ReproduceError>>()?;
    Ok(columns("Highest rate at the SLO, by size of values", (Measure::ValueBytes, Measure::Mrps), lines))
}

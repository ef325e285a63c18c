//! How much does the share of GETs matter? NEBULA's table III: RPCValet and `NEBULA_base`.

use super::evaluation::bench::Bench;
use super::evaluation::case::Case;
use super::evaluation::chart::{Cell, columns};
use super::evaluation::point::over;
use super::evaluation::value::{Value, judged};
use super::lab::Lab;
use super::paper::{self, Design, Mix, Table3};
use super::picture::{Measure, Picture};
use super::reproduction::{ReproduceError, Reproduction};
use super::row::Row;
use super::wording::with_interval;

pub(super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    compare(&Bench::new(lab))
}

pub(super) fn compare(bench: &Bench<'_>) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::nebula().setup.table3;
    let of = |mix: &Mix| {
        let case = |design| bench.case(design).gets(mix.gets_percent);
        let gaps_ns = [mix.rpcvalet_gap_ns, mix.base_gap_ns];
        Cell::both(&format!("nebula/table3/{}", mix.id), mix.gets_percent, gaps_ns, case)
    };
    let cells: Vec<Cell> = setup.mixes.iter().flat_map(of).collect();
    let cases: Vec<Case> = cells.iter().map(|cell| cell.case).collect();
    let points: Vec<(Case, f64)> = cells.iter().map(|cell| (cell.case, cell.gap_ns)).collect();
    bench.prepare(&[], &bench.with_unfitted(&cases), &points)?;
    let mut rows: Vec<Row> = values(bench, setup, &cells)?.into_iter().map(judged).collect();
    for cell in cells.iter().filter(|cell| cell.case != bench.case(cell.case.design)) {
        let what = format!("{}, {}/{} GET/SET", cell.case.design.title(), cell.at, 100 - cell.at);
        rows.extend(bench.unfitted_notes(&cell.id, &what, cell.case)?);
    }
    Ok(Reproduction { rows, pictures: pictures(bench, &cells)? })
}

fn values(bench: &Bench<'_>, setup: &Table3, cells: &[Cell]) -> Result<Vec<Value>, ReproduceError> {
    let of_cell = |cell: &Cell| {
        let rate = bench.rate(&cell.figure("rate"), cell.case, cell.gap_ns);
        [rate, bench.bandwidth(&cell.figure("bandwidth"), cell.case, cell.gap_ns)]
    };
    let base = bench.case(Design::Base);
    let sets = base.gets(setup.mixes.iter().map(|mix| mix.gets_percent).min().unwrap_or(0));
    let others = [bench.rates("nebula/table3/sets_over_half", sets, base), service_gain(bench, sets, base)];
    cells.iter().flat_map(of_cell).chain(others).collect()
}

fn service_gain(bench: &Bench<'_>, sets: Case, half: Case) -> Result<Value, ReproduceError> {
    let (sets, half) = (bench.alone(sets)?, bench.alone(half)?);
    let why = format!(
        "alone in the server an RPC takes {} ns with SETs alone and {} ns with half GETs",
        with_interval(sets.service_ns()),
        with_interval(half.service_ns())
    );
    let value = over(&half, &sets, |half, sets| half.service_ns - sets.service_ns);
    Ok(Value { id: "nebula/table3/sets_service_gain_ns".to_owned(), value, why, unfitted: None })
}

fn pictures(bench: &Bench<'_>, cells: &[Cell]) -> Result<Vec<Picture>, ReproduceError> {
    let rate = |cell: &Cell| Ok(bench.highest(cell.case)?.rate());
    let bandwidth = |cell: &Cell| Ok(bench.at(cell.case, cell.gap_ns)?.gb_per_s());
    let by_mix = |y| (Measure::GetsPercent, y);
    Ok(vec![
        columns("Highest rate at the SLO, by mix", by_mix(Measure::Mrps), cells, "rate", rate)?,
        columns("DRAM bandwidth at the printed rates, by mix", by_mix(Measure::GbPerS), cells, "bandwidth", bandwidth)?,
    ])
}

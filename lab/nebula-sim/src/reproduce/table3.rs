//! How much does the share of GETs matter? NEBULA's table III: RPCValet and `NEBULA_base`.

use super::evaluation::bench::Bench;
use super::evaluation::case::Case;
use super::evaluation::chart::{Column, columns};
use super::evaluation::point::over;
use super::evaluation::value::{Value, judged};
use super::lab::Lab;
use super::paper::{self, Design, Mix, Table3};
use super::picture::{Measure, Picture};
use super::reproduction::{ReproduceError, Reproduction};
use super::row::Row;
use super::wording::with_interval;
use crate::interval::Interval;

pub(super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    compare(&Bench::new(lab))
}

pub(super) fn compare(bench: &Bench<'_>) -> Result<Reproduction, ReproduceError> {
    let setup = &paper::nebula().setup.table3;
    let cells: Vec<Cell<'_>> = setup.mixes.iter().flat_map(|mix| Cell::of(bench, mix)).collect();
    let cases: Vec<Case> = cells.iter().map(|cell| cell.case).collect();
    let points: Vec<(Case, f64)> = cells.iter().map(|cell| (cell.case, cell.gap_ns)).collect();
    bench.prepare(&[], &bench.with_unfitted(&cases), &points)?;
    let mut rows: Vec<Row> = values(bench, setup, &cells)?.into_iter().map(judged).collect();
    for cell in cells.iter().filter(|cell| cell.case != bench.case(cell.case.design)) {
        rows.extend(bench.unfitted_notes(&cell.id, &cell.title(), cell.case)?);
    }
    Ok(Reproduction { rows, pictures: pictures(bench, &cells)? })
}

struct Cell<'a> {
    id: String,
    mix: &'a Mix,
    case: Case,
    gap_ns: f64,
}

impl<'a> Cell<'a> {
    fn of(bench: &Bench<'_>, mix: &'a Mix) -> [Self; 2] {
        [(Design::RpcValet, mix.rpcvalet_gap_ns), (Design::Base, mix.base_gap_ns)].map(|(design, gap_ns)| Self {
            id: format!("nebula/table3/{}/{}", mix.id, design.id()),
            mix,
            case: bench.case(design).gets(mix.gets_percent),
            gap_ns,
        })
    }

    fn title(&self) -> String {
        format!("{}, {} GET/SET", self.case.design.title(), self.mix.id.replace('-', "/"))
    }

    fn figure(&self, name: &str) -> String {
        format!("{}/{name}", self.id)
    }
}

fn values(bench: &Bench<'_>, setup: &Table3, cells: &[Cell<'_>]) -> Result<Vec<Value>, ReproduceError> {
    let of_cell = |cell: &Cell<'_>| {
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

fn pictures(bench: &Bench<'_>, cells: &[Cell<'_>]) -> Result<Vec<Picture>, ReproduceError> {
    let rate = |cell: &Cell<'_>| Ok(bench.highest(cell.case)?.rate());
    let bandwidth = |cell: &Cell<'_>| Ok(bench.at(cell.case, cell.gap_ns)?.gb_per_s());
    Ok(vec![
        picture("Highest rate at the SLO, by mix", Measure::Mrps, cells, ("rate", &rate))?,
        picture("DRAM bandwidth at the printed rates, by mix", Measure::GbPerS, cells, ("bandwidth", &bandwidth))?,
    ])
}

type Shown<'a> = &'a dyn Fn(&Cell<'_>) -> Result<Interval, ReproduceError>;

fn picture(
    title: &str,
    y: Measure,
    cells: &[Cell<'_>],
    (name, ours): (&str, Shown<'_>),
) -> Result<Picture, ReproduceError> {
    let column = |cell: &Cell<'_>| {
        let published = paper::nebula().figure(&cell.figure(name)).value;
        Ok(Column { at: cell.mix.gets_percent.into(), ours: ours(cell)?, published })
    };
    let line = |design: Design| {
        let of_design = cells.iter().filter(|cell| cell.case.design == design);
        Ok((design.title(), of_design.map(column).collect::<Result<_, ReproduceError>>()?))
    };
    let lines = [Design::RpcValet, Design::Base].into_iter().map(line).collect::<Result<_, ReproduceError>>()?;
    Ok(columns(title, (Measure::GetsPercent, y), lines))
}

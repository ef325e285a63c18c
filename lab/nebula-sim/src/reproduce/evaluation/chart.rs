//! The charts: curves against load, and columns of the highest rates.

use super::super::paper::{self, Design};
use super::super::picture::{Curve, Measure, Picture, Point as Dot};
use super::bench::Bench;
use super::case::Case;
use super::point::Point;
use crate::interval::Interval;
use crate::reproduce::reproduction::ReproduceError;

pub(in super::super) type Published = Vec<(f64, f64)>;

pub(in super::super) fn tail_chart(
    bench: &Bench<'_>,
    title: &str,
    lines: Vec<(Case, Published)>,
) -> Result<Picture, ReproduceError> {
    let slo = lines.first().map(|&(case, _)| bench.slo(case)).transpose()?;
    let picture = against_load(bench, title, Measure::TailNs, Point::p99_ns, lines)?;
    Ok(Picture { slo: slo.map(|slo| slo.as_ns_f64()), ..picture })
}

pub(in super::super) fn bandwidth_chart(
    bench: &Bench<'_>,
    title: &str,
    lines: Vec<(Case, Published)>,
) -> Result<Picture, ReproduceError> {
    against_load(bench, title, Measure::GbPerS, Point::gb_per_s, lines)
}

fn against_load(
    bench: &Bench<'_>,
    title: &str,
    y: Measure,
    figure: impl Fn(&Point) -> Interval,
    lines: Vec<(Case, Published)>,
) -> Result<Picture, ReproduceError> {
    let curve = |(case, published): (Case, Published)| {
        let points = bench.curve(case)?;
        let points = points.iter().map(|point| Dot { at: point.mrps, value: figure(point) }).collect();
        Ok(Curve { name: case.design.title().to_owned(), points, published })
    };
    let curves = lines.into_iter().map(curve).collect::<Result<_, ReproduceError>>()?;
    Ok(Picture { title: title.to_owned(), x: Measure::Mrps, y, slo: None, curves })
}

/// RPCValet or `NEBULA_base` at one place of an axis.
pub(in super::super) struct Cell {
    pub(in super::super) id: String,
    pub(in super::super) at: u32,
    pub(in super::super) case: Case,
    /// The highest load that the paper prints.
    pub(in super::super) gap_ns: f64,
}

impl Cell {
    /// One of each design; the gaps have RPCValet's first.
    pub(in super::super) fn both(id: &str, at: u32, gaps_ns: [f64; 2], case: impl Fn(Design) -> Case) -> [Self; 2] {
        std::array::from_fn(|index| {
            let (design, gap_ns) = (DESIGNS[index], gaps_ns[index]);
            Self { id: format!("{id}/{}", design.id()), at, case: case(design), gap_ns }
        })
    }

    pub(in super::super) fn figure(&self, name: &str) -> String {
        format!("{}/{name}", self.id)
    }
}

const DESIGNS: [Design; 2] = [Design::RpcValet, Design::Base];

/// A line for each design: our values, and the published ones of this name.
pub(in super::super) fn columns(
    title: &str,
    (x, y): (Measure, Measure),
    cells: &[Cell],
    name: &str,
    ours: impl Fn(&Cell) -> Result<Interval, ReproduceError>,
) -> Result<Picture, ReproduceError> {
    let curve = |design: Design| {
        let mut cells: Vec<&Cell> = cells.iter().filter(|cell| cell.case.design == design).collect();
        cells.sort_by_key(|cell| cell.at);
        let point = |cell: &&Cell| Ok(Dot { at: cell.at.into(), value: ours(cell)? });
        let published = |cell: &&Cell| (cell.at.into(), paper::nebula().figure(&cell.figure(name)).value);
        Ok(Curve {
            name: design.title().to_owned(),
            points: cells.iter().map(point).collect::<Result<_, ReproduceError>>()?,
            published: cells.iter().map(published).collect(),
        })
    };
    let curves = DESIGNS.into_iter().map(curve).collect::<Result<_, ReproduceError>>()?;
    Ok(Picture { title: title.to_owned(), x, y, slo: None, curves })
}

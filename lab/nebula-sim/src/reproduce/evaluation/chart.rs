//! The charts: curves against load, and columns of the highest rates.

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

pub(in super::super) struct Column {
    pub(in super::super) at: f64,
    pub(in super::super) ours: Interval,
    pub(in super::super) published: f64,
}

pub(in super::super) fn columns(title: &str, (x, y): (Measure, Measure), lines: Vec<(&str, Vec<Column>)>) -> Picture {
    let curve = |(name, columns): (&str, Vec<Column>)| Curve {
        name: name.to_owned(),
        points: columns.iter().map(|column| Dot { at: column.at, value: column.ours }).collect(),
        published: columns.iter().map(|column| (column.at, column.published)).collect(),
    };
    Picture { title: title.to_owned(), x, y, slo: None, curves: lines.into_iter().map(curve).collect() }
}
